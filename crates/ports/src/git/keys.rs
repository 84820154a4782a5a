//! Deploy keys, as OpenSSH writes them (https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.key).

use api::secret::Sealed;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use sha2::{Digest as _, Sha256};

use super::Error;

/// The only kind of key that we make.
const KIND: &str = "ssh-ed25519";
/// What the private half begins with before it is text.
const MAGIC: &[u8] = b"openssh-key-v1\0";
/// Letters in a line of the private half.
const LINE: usize = 70;
/// What the private half is padded to where no cipher says so.
const BLOCK: usize = 8;

/// Both halves of a deploy key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPair {
    /// The private half: a file of OpenSSH, without a passphrase.
    pub private: Sealed<String>,
    /// The public half: one line, `ssh-ed25519 AAAA… comment`.
    pub public: String,
    /// Fingerprint of the public half: `SHA256:…`.
    pub fingerprint: String,
}

/// The key of these random bytes: the same bytes give the same key.
pub fn key_pair(seed: &Sealed<[u8; 32]>, comment: &str) -> Result<KeyPair, Error> {
    let pair = Ed25519KeyPair::from_seed_unchecked(seed.open());
    let pair = pair.map_err(|_| Error::Invalid { what: "no key can be made of these bytes".to_owned() })?;
    if comment.contains(char::is_control) {
        return Err(Error::Invalid { what: "a comment of a key is one line".to_owned() });
    }
    let half = pair.public_key().as_ref();
    let mut public = Vec::new();
    put(&mut public, KIND.as_bytes());
    put(&mut public, half);
    let line = format!("{KIND} {} {comment}", STANDARD.encode(&public)).trim_end().to_owned();
    let fingerprint = fingerprint(&line)?;

    // Two equal numbers tell OpenSSH that it read the file rightly; they need not be secret, only there.
    let check = Sha256::digest(&public);
    let mut secret = [&check[..4], &check[..4]].concat();
    put(&mut secret, KIND.as_bytes());
    put(&mut secret, half);
    put(&mut secret, &[&seed.open()[..], half].concat());
    put(&mut secret, comment.as_bytes());
    secret.extend((1..).take(secret.len().next_multiple_of(BLOCK) - secret.len()));

    let mut whole = MAGIC.to_vec();
    for part in ["none", "none", ""] {
        put(&mut whole, part.as_bytes());
    }
    whole.extend(1_u32.to_be_bytes());
    put(&mut whole, &public);
    put(&mut whole, &secret);
    Ok(KeyPair { private: Sealed::new(armoured(&whole)), public: line, fingerprint })
}

/// Fingerprint of the public half of a key, which is one line of OpenSSH.
pub fn fingerprint(public: &str) -> Result<String, Error> {
    let invalid = || Error::Invalid { what: "the public half of a key is one line of OpenSSH".to_owned() };
    let mut words = public.split_ascii_whitespace();
    let (kind, blob) = words.next().zip(words.next()).ok_or_else(invalid)?;
    let blob = STANDARD.decode(blob).map_err(|_| invalid())?;
    let mut begin = Vec::new();
    put(&mut begin, kind.as_bytes());
    if !blob.starts_with(&begin) || public.trim_end().contains(['\n', '\r']) {
        return Err(invalid());
    }
    Ok(format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(&blob))))
}

/// Appends bytes with their length before them.
fn put(to: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    to.extend(length.to_be_bytes());
    to.extend(bytes);
}

fn armoured(bytes: &[u8]) -> String {
    let mut text = "-----BEGIN OPENSSH PRIVATE KEY-----\n".to_owned();
    let mut rest = STANDARD.encode(bytes);
    while !rest.is_empty() {
        let tail = rest.split_off(rest.len().min(LINE));
        text.push_str(&rest);
        text.push('\n');
        rest = tail;
    }
    text + "-----END OPENSSH PRIVATE KEY-----\n"
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;

    use super::*;

    fn ssh_keygen(arguments: &[&str]) -> String {
        let told = Command::new("ssh-keygen").args(arguments).output().expect("ssh-keygen runs");
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        String::from_utf8(told.stdout).expect("it speaks in plain text")
    }

    #[test]
    fn openssh_reads_what_is_written() {
        for (seed, comment) in [(0, "mpas-shop"), (1, ""), (255, "a longer comment, of some words")] {
            let pair = key_pair(&Sealed::new([seed; 32]), comment).expect("a key is made");
            let home = tempfile::tempdir().expect("a directory");
            let file = home.path().join("identity");
            std::fs::write(&file, pair.private.open()).expect("it is written");
            std::fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("it is closed");
            let file = file.to_str().expect("a plain path");
            assert_eq!(ssh_keygen(&["-y", "-f", file]).trim_end(), pair.public);
            std::fs::write(format!("{file}.pub"), &pair.public).expect("it is written");
            let told = ssh_keygen(&["-lf", &format!("{file}.pub")]);
            assert_eq!(told.split(' ').nth(1), Some(pair.fingerprint.as_str()), "{told}");
        }
    }

    #[test]
    fn the_same_bytes_give_the_same_key_and_others_another() {
        let of = |seed| key_pair(&Sealed::new([seed; 32]), "x").expect("a key is made");
        assert_eq!(of(7), of(7));
        assert_ne!(of(7).public, of(8).public);
        assert!(!format!("{:?}", of(7)).contains("PRIVATE KEY"));
    }

    #[test]
    fn what_is_no_key_has_no_fingerprint() {
        let blob = STANDARD.encode(b"\0\0\0\x07ssh-rsa");
        let other = format!("ssh-ed25519 {blob}");
        for line in
            ["", "ssh-ed25519", "ssh-ed25519 !", "ssh-ed25519 AAAA", &other, &format!("ssh-rsa {blob}\nx")]
        {
            assert!(fingerprint(line).is_err(), "{line}");
        }
        assert!(fingerprint(&format!("ssh-rsa {blob} me@here\n")).is_ok());
    }
}
