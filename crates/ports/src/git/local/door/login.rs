//! What is shown at the door, and what a deploy key opens.

use api::secret::Sealed;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, header};
use sha2::{Digest as _, Sha256};

use super::super::papers::{KeyPaper, Keys};
use super::{Access, Login, Ruling};

/// The login that a request shows; none if it shows none.
pub(super) fn shown(headers: &HeaderMap) -> Result<Option<Login>, ()> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (all.next(), all.next()) else {
        return if headers.contains_key(header::AUTHORIZATION) { Err(()) } else { Ok(None) };
    };
    let (scheme, rest) = value.to_str().map_err(drop)?.split_once(' ').ok_or(())?;
    let rest = rest.trim();
    let (username, password) = match scheme.to_ascii_lowercase().as_str() {
        "bearer" => (String::new(), rest.to_owned()),
        "basic" => {
            let text = String::from_utf8(STANDARD.decode(rest).map_err(drop)?).map_err(drop)?;
            let (username, password) = text.split_once(':').ok_or(())?;
            (username.to_owned(), password.to_owned())
        }
        _ => return Err(()),
    };
    if password.is_empty() {
        return Err(());
    }
    Ok(Some(Login { username, password: Sealed::new(password) }))
}

/// What the keys of a repository say to a password. Every key is compared, so that time tells nothing.
pub(super) fn key_ruling(keys: &Keys, login: &Login, access: Access) -> Ruling {
    let digest = Sha256::digest(login.password.open().as_bytes());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let fits = |key: &&KeyPaper| {
        let held = key.password_digest.as_deref().unwrap_or_default().to_ascii_lowercase();
        verify_slices_are_equal(held.as_bytes(), digest.as_bytes()).is_ok()
    };
    let fitting: Vec<&KeyPaper> = keys.keys.iter().filter(fits).collect();
    match fitting.is_empty() {
        true => Ruling::Unknown,
        false if access == Access::Read || fitting.iter().any(|key| !key.read_only) => Ruling::Allowed,
        false => Ruling::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(value: &str) -> Result<Option<Login>, ()> {
        let value = http::HeaderValue::from_str(value).expect("a header");
        shown(&HeaderMap::from_iter([(header::AUTHORIZATION, value)]))
    }

    #[test]
    fn only_whole_logins_are_read() {
        let read = |username: &str, password: &str| {
            Ok(Some(Login { username: username.to_owned(), password: Sealed::new(password.to_owned()) }))
        };
        assert_eq!(login(&format!("Basic {}", STANDARD.encode("ann:a:b"))), read("ann", "a:b"));
        assert_eq!(login("bearer t0ken"), read("", "t0ken"));
        assert_eq!(shown(&HeaderMap::new()), Ok(None));
        for bad in ["Basic", "Basic !", "Basic YQ==", "Basic YTo=", "Digest x", "Bearer ", "x"] {
            assert_eq!(login(bad), Err(()), "{bad}");
        }
        let mut two = HeaderMap::new();
        two.append(header::AUTHORIZATION, http::HeaderValue::from_static("Bearer a"));
        two.append(header::AUTHORIZATION, http::HeaderValue::from_static("Bearer b"));
        assert_eq!(shown(&two), Err(()));
    }

    #[test]
    fn a_key_opens_what_it_was_made_for() {
        let digest =
            |text: &str| Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let key = |password: Option<&str>, read_only| KeyPaper {
            title: String::new(),
            fingerprint: String::new(),
            password_digest: password.map(digest),
            read_only,
        };
        let keys = Keys { keys: vec![key(None, false), key(Some("read"), true), key(Some("write"), false)] };
        let ruling = |password: &str, access| {
            let login = Login { username: String::new(), password: Sealed::new(password.to_owned()) };
            key_ruling(&keys, &login, access)
        };
        assert_eq!(ruling("read", Access::Read), Ruling::Allowed);
        assert_eq!(ruling("read", Access::Write), Ruling::Refused);
        assert_eq!(ruling("write", Access::Write), Ruling::Allowed);
        assert_eq!(ruling("other", Access::Read), Ruling::Unknown);
        assert_eq!(ruling("", Access::Read), Ruling::Unknown);
        assert_eq!(ruling(&digest("write"), Access::Read), Ruling::Unknown);
    }
}
