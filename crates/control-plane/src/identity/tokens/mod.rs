//! ServiceAccount tokens: JSON Web Tokens with one algorithm, ES256.
//!
//! Signing and checking are done with the cryptography already linked: with one algorithm and one issuer,
//! a general library would add more choices to get wrong than lines it saves.

mod claims;
#[cfg(test)]
mod tests;
mod verify;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub use claims::{Bound, Claims, TokenClaims};
pub use verify::Refusal;

const ALGORITHM: &str = "ES256";

/// The key is not one this issuer can sign with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No key for ECDSA on P-256 in the text.
    #[error("not a private key for ECDSA on P-256")]
    Key,
    /// The signature could not be made.
    #[error("cannot sign a token")]
    Signing,
    /// The token would end after the end of time.
    #[error("the token would never end")]
    Lifetime,
}

/// Issues tokens, and judges those it issued.
pub struct Tokens {
    key: EcdsaKeyPair,
    issuer: String,
    key_id: String,
}

impl Tokens {
    /// An issuer with the key of [`super::authority::Authority::token_key`]. `issuer` is its address, and the
    /// audience of tokens that name none.
    pub fn new(key_pem: &str, issuer: &str) -> Result<Self, Error> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(key_pem.as_bytes()).map_err(|_| Error::Key)?;
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.secret_pkcs8_der())
            .map_err(|_| Error::Key)?;
        let mut tokens = Self { key, issuer: issuer.into(), key_id: String::new() };
        // The key's name is its RFC 7638 thumbprint: members in order, without spaces.
        let (x, y) = tokens.coordinates();
        let members = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
        tokens.key_id = URL_SAFE_NO_PAD.encode(Sha256::digest(members));
        Ok(tokens)
    }

    /// Signs a token.
    pub fn issue(&self, wanted: &TokenClaims, now: Timestamp) -> Result<String, Error> {
        let header = json!({"alg": ALGORITHM, "kid": self.key_id});
        let id = uuid::Uuid::new_v4().to_string();
        let claims = claims::write(wanted, &self.issuer, &id, now.as_second()).ok_or(Error::Lifetime)?;
        let encoded = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", encoded(&header), encoded(&claims));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes()).map_err(|_| Error::Signing)?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// Judges a token for the given audiences; none mean the issuer itself. Whether the account and the bound
    /// object still exist is the caller's to see.
    pub fn verify(&self, token: &str, audiences: &[String], now: Timestamp) -> Result<Claims, Refusal> {
        let payload = verify::signed_payload(token, &self.key_id, self.key.public_key().as_ref())?;
        let own = [self.issuer.clone()];
        let audiences = if audiences.is_empty() { &own } else { audiences };
        claims::read(&payload, &self.issuer, audiences, now.as_second())
    }

    /// `/.well-known/openid-configuration`.
    pub fn openid_configuration(&self, jwks_uri: &str) -> Value {
        json!({
            "issuer": self.issuer, "jwks_uri": jwks_uri, "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": [ALGORITHM],
        })
    }

    /// `/openid/v1/jwks`.
    pub fn jwks(&self) -> Value {
        let (x, y) = self.coordinates();
        json!({"keys": [{
            "use": "sig", "kty": "EC", "kid": self.key_id, "crv": "P-256", "alg": ALGORITHM, "x": x, "y": y,
        }]})
    }

    /// The two halves of the public point, behind the byte that says it is uncompressed.
    fn coordinates(&self) -> (String, String) {
        let point = self.key.public_key().as_ref();
        let (x, y) = point.get(1..).unwrap_or_default().split_at(32.min(point.len().saturating_sub(1)));
        (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y))
    }
}
