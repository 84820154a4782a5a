//! Certificates whose subject has several organizations, which `rcgen` cannot write: it keeps one value per
//! attribute. The subject of a finished certificate is exchanged, and the certificate signed again.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::SigningKey;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_ID: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
const BIT_STRING: u8 = 0x03;
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];
const ORGANIZATION: [u8; 3] = [0x55, 0x04, 0x0a];
/// What stands before the subject in a certificate of version 3: version, serial number, algorithm, issuer and
/// validity (RFC 5280, section 4.1).
const BEFORE_SUBJECT: usize = 5;

/// The certificate with another subject, signed by `key`; `None` if `certificate` is not one.
pub(super) fn exchanged(
    certificate: &[u8],
    user: &str,
    groups: &[&str],
    key: &impl SigningKey,
) -> Option<Vec<u8>> {
    let (_, content, _) = element(certificate)?;
    let (signed, _, rest) = element(content)?;
    let (algorithm, _, _) = element(rest)?;
    let (_, fields, _) = element(signed)?;
    let mut after = fields;
    for _ in 0..BEFORE_SUBJECT {
        after = element(after)?.2;
    }
    let before = &fields[..fields.len() - after.len()];
    let (_, _, after) = element(after)?;
    let signed = encoded(SEQUENCE, &[before, &subject(user, groups), after].concat());
    let signature = key.sign(&signed).ok()?;
    // A bit string begins with the number of bits that its last byte leaves unused.
    let signature = encoded(BIT_STRING, &[&[0], signature.as_slice()].concat());
    Some(encoded(SEQUENCE, &[signed.as_slice(), algorithm, &signature].concat()))
}

/// The text form of a certificate.
pub(super) fn pem(der: &[u8]) -> String {
    let encoded = STANDARD.encode(der);
    let mut text = String::from("-----BEGIN CERTIFICATE-----\n");
    for line in encoded.as_bytes().chunks(64) {
        text.extend(line.iter().map(|byte| char::from(*byte)));
        text.push('\n');
    }
    text.push_str("-----END CERTIFICATE-----\n");
    text
}

fn subject(user: &str, groups: &[&str]) -> Vec<u8> {
    let organizations = groups.iter().map(|group| attribute(&ORGANIZATION, group));
    let parts: Vec<u8> = organizations.chain([attribute(&COMMON_NAME, user)]).flatten().collect();
    encoded(SEQUENCE, &parts)
}

fn attribute(kind: &[u8], value: &str) -> Vec<u8> {
    let pair = [encoded(OBJECT_ID, kind), encoded(UTF8_STRING, value.as_bytes())].concat();
    encoded(SET, &encoded(SEQUENCE, &pair))
}

fn encoded(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let bytes = length.to_be_bytes();
    let bytes = &bytes[bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len() - 1)..];
    let mut whole = vec![tag];
    if length >= 0x80 {
        // A long length tells first how many bytes it has: at most eight.
        whole.push(0x80 | bytes.len() as u8);
    }
    whole.extend_from_slice(bytes);
    whole.extend_from_slice(content);
    whole
}

/// The first element as a whole, its content, and what follows it.
fn element(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let first = usize::from(*bytes.get(1)?);
    let (header, length) = match first {
        0..0x80 => (2, first),
        _ => {
            let count = first - 0x80;
            let length =
                bytes.get(2..2 + count)?.iter().fold(0_usize, |sum, byte| (sum << 8) | usize::from(*byte));
            (2 + count, length)
        }
    };
    let end = header.checked_add(length)?;
    let whole = bytes.get(..end)?;
    Some((whole, &whole[header..], &bytes[end..]))
}
