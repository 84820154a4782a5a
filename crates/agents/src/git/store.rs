//! Credentials as Secrets, in the form that kpack reads.

use std::collections::BTreeMap;

use api::annotations::MANAGED_BY;
use api::names::Label;
use api::secret::Sealed;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PartialObjectMeta, PostParams, Preconditions};
use kube::{Client, ResourceExt};
use schemars::JsonSchema;
use serde::Serialize;

use super::host::{Host, Kind};
use crate::Error;

/// Label on the Secrets of credentials.
pub const LABEL: &str = "terrace.dev/git-credential";
/// What a credential is for, where kpack looks for it.
pub const GIT: &str = "kpack.io/git";
/// What the Secrets' names begin with: no other Secret of the platform's is called so.
const PREFIX: &str = "git-credential-";
/// The longest name.
const NAME_MAX: usize = 40;
/// The longest secret: an RSA key of 16,384 bits has about 12 KiB.
const SECRET_MAX: usize = 32 * 1024;
/// Who is said to ask, where nobody is named: hosts of repositories look at the token alone.
const ANYBODY: &str = "git";

/// A credential without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub host: Host,
    /// What kind of secret it has.
    pub kind: Kind,
    /// Whom it belongs to, at the host.
    pub username: Option<String>,
}

/// A credential as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub host: String,
    /// What kind of secret it has.
    pub kind: Kind,
    /// When it was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub created: Option<Timestamp>,
}

/// Refuses a name that no credential can have.
pub fn checked_name(name: &str) -> Result<(), Error> {
    if let Err(error) = name.parse::<Label>() {
        return Err(Error::invalid("name", error.to_string()));
    }
    if name.len() > NAME_MAX {
        return Err(Error::invalid("name", format!("it has more than {NAME_MAX} characters")));
    }
    Ok(())
}

/// Refuses a user name that cannot be sent.
pub fn checked_username(username: &str) -> Result<(), Error> {
    let odd = |letter: char| letter.is_control() || letter == ':';
    match username.is_empty() || username.len() > 256 || username.chars().any(odd) {
        true => {
            Err(Error::invalid("username", "it is empty or too long, or holds a colon or a control letter"))
        }
        false => Ok(()),
    }
}

/// The credentials of a namespace, by name. What they hold is not read.
pub async fn list(client: &Client, namespace: &str) -> Result<Vec<Listed>, Error> {
    let found = api(client, namespace).list_metadata(&ListParams::default().labels(LABEL)).await?;
    let mut all: Vec<Listed> = found.items.iter().filter_map(listed).collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

/// One credential. What it holds is not read.
pub async fn find(client: &Client, namespace: &str, name: &str) -> Result<Option<Listed>, Error> {
    let found = api(client, namespace).get_metadata_opt(&object(name)).await?;
    match found {
        None => Ok(None),
        Some(found) => match listed(&found) {
            Some(listed) => Ok(Some(listed)),
            None => Err(exists(namespace, name)),
        },
    }
}

/// Stores a credential. One of that name is left as it is.
pub async fn put(
    client: &Client,
    namespace: &str,
    wish: &Wish,
    secret: &Sealed<String>,
) -> Result<(), Error> {
    let secret = filled(wish, secret)?;
    match api(client, namespace).create(&PostParams::default(), &secret).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
            Err(exists(namespace, &wish.name))
        }
        Err(error) => Err(error.into()),
    }
}

/// Deletes a credential; a Secret that is none is left alone.
pub async fn remove(client: &Client, namespace: &str, name: &str) -> Result<(), Error> {
    let missing =
        || Error::NotFound { what: "git credential", name: name.into(), namespace: namespace.into() };
    let found = api(client, namespace).get_metadata_opt(&object(name)).await?;
    let found = found.filter(|found| found.labels().contains_key(LABEL)).ok_or_else(missing)?;
    let same = Preconditions { uid: found.uid(), resource_version: None };
    api(client, namespace).delete(&object(name), &DeleteParams::default().preconditions(same)).await?;
    Ok(())
}

fn api(client: &Client, namespace: &str) -> Api<Secret> {
    Api::namespaced(client.clone(), namespace)
}

fn object(name: &str) -> String {
    format!("{PREFIX}{name}")
}

fn exists(namespace: &str, name: &str) -> Error {
    Error::Exists { what: "git credential", name: name.into(), namespace: namespace.into() }
}

fn listed(found: &PartialObjectMeta<Secret>) -> Option<Listed> {
    found.labels().get(LABEL)?;
    let host = found.annotations().get(GIT)?.clone();
    let kind = if host.contains("://") { Kind::Token } else { Kind::Ssh };
    let name = found.name_any().strip_prefix(PREFIX)?.to_owned();
    let created = found.metadata.creation_timestamp.as_ref().map(|time| time.0);
    Some(Listed { name, host, kind, created })
}

/// The Secret of a credential.
fn filled(wish: &Wish, secret: &Sealed<String>) -> Result<Secret, Error> {
    let Wish { name, host, kind, username } = wish;
    let refused = |why: &str| Err(Error::invalid("secret", why));
    let text = secret.open().replace("\r\n", "\n");
    let text = text.trim();
    if text.is_empty() || text.len() > SECRET_MAX {
        return refused("it is empty, or too long to be one");
    }
    let (type_, data) = match kind {
        Kind::Token if text.chars().any(char::is_control) => {
            return refused("it holds more than one line; a token or password has one");
        }
        Kind::Token => {
            let username = username.as_deref().unwrap_or(ANYBODY);
            checked_username(username)?;
            let data = [("username", username.to_owned()), ("password", text.to_owned())];
            ("kubernetes.io/basic-auth", BTreeMap::from(data))
        }
        Kind::Ssh if !text.starts_with("-----BEGIN ") || !text.contains("PRIVATE KEY-----") => {
            return refused("it is no private key; one begins with -----BEGIN OPENSSH PRIVATE KEY-----");
        }
        Kind::Ssh => ("kubernetes.io/ssh-auth", BTreeMap::from([("ssh-privatekey", format!("{text}\n"))])),
    };
    let data = data.into_iter().map(|(key, value)| (key.to_owned(), ByteString(value.into_bytes())));
    let labels = [(LABEL.to_owned(), "true".to_owned()), (MANAGED_BY.into(), "terrace".into())];
    Ok(Secret {
        metadata: ObjectMeta {
            name: Some(object(name)),
            labels: Some(labels.into()),
            annotations: Some([(GIT.to_owned(), host.to_string())].into()),
            ..ObjectMeta::default()
        },
        type_: Some(type_.into()),
        data: Some(data.collect()),
        ..Secret::default()
    })
}
