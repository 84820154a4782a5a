//! The Secret with a connection: the one place where a password is, and the memory of when it was issued.

use std::collections::BTreeMap;

use api::annotations::{ISSUED_AT, ROTATE};
use api::connection::Connection;
use api::secret::Sealed;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kit::{Child, Name};
use kube::ResourceExt;

/// What there is under the name of a claim's Secret.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Held {
    /// Nothing.
    #[default]
    Nothing,
    /// Somebody else's.
    Foreign,
    /// The claim's own.
    Ours(Issued),
}

/// What a claim's own Secret says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Issued {
    /// The login.
    pub username: String,
    /// Its password.
    pub password: Sealed<String>,
    /// When the password was issued; `None` if that cannot be read any more.
    pub at: Option<Timestamp>,
    /// The rotation that was asked for then.
    pub asked: Option<String>,
    /// All that it says.
    pub words: BTreeMap<String, Sealed<String>>,
}

impl Held {
    /// Reads a Secret, on behalf of the claim with this uid.
    pub(super) fn read(secret: Option<&Secret>, uid: Option<&str>) -> Self {
        let Some(secret) = secret else { return Self::Nothing };
        let owners = secret.owner_references();
        if !owners.iter().any(|owner| owner.controller == Some(true) && Some(owner.uid.as_str()) == uid) {
            return Self::Foreign;
        }
        let word = |key: &str| text(secret, key).unwrap_or_default();
        Self::Ours(Issued {
            username: word("username"),
            password: Sealed::new(word("password")),
            at: secret.annotations().get(ISSUED_AT).and_then(|at| at.parse().ok()),
            asked: secret.annotations().get(ROTATE).cloned(),
            words: words(secret),
        })
    }

    /// What the claim's own Secret says.
    pub(super) fn ours(&self) -> Option<&Issued> {
        match self {
            Self::Ours(issued) => Some(issued),
            Self::Nothing | Self::Foreign => None,
        }
    }
}

fn words(secret: &Secret) -> BTreeMap<String, Sealed<String>> {
    let all = secret.data.iter().flatten();
    all.map(|(key, value)| (key.clone(), Sealed::new(String::from_utf8_lossy(&value.0).into_owned())))
        .collect()
}

/// A value of a Secret.
pub(super) fn text(secret: &Secret, key: &str) -> Option<String> {
    let value = secret.data.as_ref()?.get(key)?;
    String::from_utf8(value.0.clone()).ok().filter(|value| !value.is_empty())
}

/// The Secret as it is to be: all keys in one write.
pub(super) fn child(
    name: &Name,
    connection: &Connection,
    dsn_name: &str,
    at: Timestamp,
    asked: Option<&String>,
) -> Child {
    let data = connection.secret_data(dsn_name);
    let data = data.into_iter().map(|(key, value)| (key, ByteString(value.into_open().into_bytes())));
    let mut annotations = BTreeMap::from([(ISSUED_AT.to_owned(), seconds(at))]);
    annotations.extend(asked.map(|asked| (ROTATE.to_owned(), asked.clone())));
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(name.name.clone()),
            namespace: Some(name.namespace.clone()),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        },
        type_: Some("Opaque".into()),
        data: Some(data.collect()),
        ..Secret::default()
    };
    Child::of(&secret)
}

/// A Secret with all that another holds, and the memory of when that was issued.
pub(super) fn copy(name: &Name, from: &Secret) -> Child {
    let annotations = from.annotations().get(ISSUED_AT).map(|at| (ISSUED_AT.to_owned(), at.clone()));
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(name.name.clone()),
            namespace: Some(name.namespace.clone()),
            annotations: Some(annotations.into_iter().collect()),
            ..ObjectMeta::default()
        },
        type_: Some("Opaque".into()),
        data: from.data.clone(),
        ..Secret::default()
    };
    Child::of(&secret)
}

/// A time as Kubernetes writes it.
pub(super) fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
