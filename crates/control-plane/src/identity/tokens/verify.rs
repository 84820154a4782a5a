//! From a string anybody may have sent to a payload this server signed.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::ALGORITHM;

/// Why a token is not accepted. Clients hear only that it is invalid, or that it has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not three parts of base64 with JSON in them, or too long to be one of ours.
    #[error("invalid bearer token")]
    Malformed,
    /// Another algorithm than the one there is.
    #[error("invalid bearer token")]
    Algorithm,
    /// Signed by nobody, somebody else, or for another text.
    #[error("invalid bearer token")]
    Signature,
    /// Made by another issuer with the same key.
    #[error("invalid bearer token")]
    Issuer,
    /// Its claims are not those of a ServiceAccount.
    #[error("invalid bearer token")]
    Claims,
    /// Its time is over.
    #[error("[invalid bearer token, service account token has expired]")]
    Expired,
    /// Its time has not come.
    #[error("[invalid bearer token, service account token is not valid yet]")]
    Early,
    /// Meant for others.
    #[error("[invalid bearer token, token audiences do not intersect with those wanted]")]
    Audience,
}

/// Longer than any token we sign; nobody's megabytes are hashed.
const LONGEST: usize = 16 * 1024;

/// The payload of a token whose header names our algorithm and key, and whose signature holds.
pub(super) fn signed_payload(token: &str, key_id: &str, public_key: &[u8]) -> Result<Value, Refusal> {
    if token.len() > LONGEST {
        return Err(Refusal::Malformed);
    }
    let (signed, signature) = token.rsplit_once('.').ok_or(Refusal::Malformed)?;
    let (header, payload) = signed.split_once('.').ok_or(Refusal::Malformed)?;
    let header = json(header)?;
    if header["alg"] != ALGORITHM || !header["crit"].is_null() {
        return Err(Refusal::Algorithm);
    }
    if header["kid"] != key_id {
        return Err(Refusal::Signature);
    }
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| Refusal::Malformed)?;
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public_key)
        .verify(signed.as_bytes(), &signature)
        .map_err(|_| Refusal::Signature)?;
    json(payload)
}

fn json(part: &str) -> Result<Value, Refusal> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| Refusal::Malformed)?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| Refusal::Malformed)?;
    if value.is_object() { Ok(value) } else { Err(Refusal::Malformed) }
}
