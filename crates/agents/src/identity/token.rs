//! Tokens: shown once, kept as a digest.

use std::collections::BTreeMap;

use api::annotations::MANAGED_BY;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::ObjectMeta;
use sha2::{Digest, Sha256};

use super::{Caller, Role};
use crate::audit::hex;

/// Where tokens are kept.
pub const NAMESPACE: &str = "terrace-system";
/// What marks a Secret as a token; its value is the role.
pub const LABEL: &str = "terrace.dev/agent-token";
/// The type of those Secrets.
pub const TYPE: &str = "terrace.dev/agent-token";
/// When a token ends, as RFC 3339.
const EXPIRES: &str = "terrace.dev/expires";
/// The namespaces that a token ends at, separated by commas.
const NAMESPACES: &str = "terrace.dev/namespaces";
/// The token's own name.
const NAME: &str = "terrace.dev/token-name";
/// The key of the digest.
const DIGEST: &str = "sha256";
/// How a token begins, so that scanners of leaked secrets find it.
const PREFIX: &str = "trc_";
/// How many digits of the digest tell tokens apart.
const FINGERPRINT: usize = 16;

/// What is kept of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// Its digest.
    pub digest: String,
    /// When it ends.
    pub expires: Option<Timestamp>,
    /// Where its rights end; empty means nowhere.
    pub namespaces: Vec<String>,
}

impl Kept {
    /// Who holds it.
    pub fn caller(&self) -> Caller {
        Caller {
            name: self.name.clone(),
            fingerprint: fingerprint(&self.digest),
            role: self.role,
            scoped: !self.namespaces.is_empty(),
        }
    }

    /// Whether it has ended.
    pub fn expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|end| end <= now)
    }

    /// The Secret that keeps it. The token itself is not in it.
    pub fn secret(&self) -> Secret {
        let mut annotations = BTreeMap::from([(NAME.to_owned(), self.name.clone())]);
        if let Some(end) = self.expires {
            annotations.insert(EXPIRES.into(), end.to_string());
        }
        if !self.namespaces.is_empty() {
            annotations.insert(NAMESPACES.into(), self.namespaces.join(","));
        }
        let labels = [(LABEL.to_owned(), self.role.name().to_owned()), (MANAGED_BY.into(), "terrace".into())];
        Secret {
            metadata: ObjectMeta {
                name: Some(format!("agent-token-{}", self.name)),
                namespace: Some(NAMESPACE.into()),
                labels: Some(labels.into()),
                annotations: Some(annotations),
                ..ObjectMeta::default()
            },
            type_: Some(TYPE.into()),
            immutable: Some(true),
            data: Some(BTreeMap::from([(DIGEST.to_owned(), ByteString(self.digest.clone().into_bytes()))])),
            ..Secret::default()
        }
    }
}

/// What a Secret keeps; `None` if it is no token.
pub fn kept(secret: &Secret) -> Option<Kept> {
    let digest = secret.data.as_ref()?.get(DIGEST)?;
    let digest = String::from_utf8(digest.0.clone()).ok()?;
    let role = Role::named(secret.labels().get(LABEL)?)?;
    let annotations = secret.annotations();
    let namespaces = annotations.get(NAMESPACES).map(|all| all.split(',').map(str::to_owned).collect());
    // An end that cannot be read is one that has come.
    let expires = annotations.get(EXPIRES).map(|end| end.parse().unwrap_or(Timestamp::UNIX_EPOCH));
    Some(Kept {
        name: annotations.get(NAME)?.clone(),
        role,
        digest,
        expires,
        namespaces: namespaces.unwrap_or_default(),
    })
}

/// A new token: what its holder gets, once, and its digest.
pub fn mint() -> (String, String) {
    let drawn: [u8; 32] = rand::random();
    let token = format!("{PREFIX}{}", hex(&drawn));
    let digest = Presented::new(&token).0;
    (token, digest)
}

/// A token as it was presented: only its digest is ever compared or kept.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Presented(pub(super) String);

impl Presented {
    /// What was presented.
    pub fn new(token: &str) -> Self {
        Self(hex(&Sha256::digest(token.as_bytes())))
    }

    /// What tells it from others, for the audit trail.
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.0)
    }
}

fn fingerprint(digest: &str) -> String {
    digest.chars().take(FINGERPRINT).collect()
}
