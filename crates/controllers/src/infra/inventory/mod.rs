//! What an account holds, as objects that ask for exactly that.

mod buckets;
mod databases;
mod machines;
mod queues;

use std::collections::BTreeSet;
use std::fmt;

use api::annotations::{ADOPT, MODE};
use api::conditions::Reason;
use api::infra::{ProviderRef, Tags};
use kit::{Fault, Name, Object, Reader, Retry};
use ports::aws::{Account, Error};
use serde_json::{Value, json};

use super::Desk;
use super::course::OBSERVE;
use super::provider::{self, Provider};
use super::tags::OWNER;

/// Longest name that every object may have.
const NAME_MAX: usize = 63;
/// How many resources are looked at side by side.
const AT_A_TIME: usize = 8;

/// What can be found in an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Buckets.
    S3Bucket,
    /// Database servers.
    RDSInstance,
    /// Machines.
    EC2Instance,
    /// Queues.
    SQSQueue,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::S3Bucket => "S3Bucket",
            Self::RDSInstance => "RDSInstance",
            Self::EC2Instance => "EC2Instance",
            Self::SQSQueue => "SQSQueue",
        })
    }
}

/// A resource, and an object that asks for exactly what is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The kind.
    pub kind: Kind,
    /// What AWS calls it.
    pub resource: String,
    /// The object that it belongs to already, as `namespace/name`.
    pub owner: Option<String>,
    /// The object. It watches only, until somebody takes that annotation off.
    pub manifest: Value,
}

impl Found {
    /// The object's name.
    pub fn name(&self) -> &str {
        self.manifest["metadata"]["name"].as_str().unwrap_or_default()
    }
}

/// A resource before it is written down.
struct Seen<K> {
    /// What AWS calls it.
    resource: String,
    /// The tags that it has.
    tags: Tags,
    /// The object.
    object: K,
}

impl Desk {
    /// All resources of a kind in the account and region of a provider, in the order of their names.
    pub async fn inventory(
        &self,
        reader: &Reader,
        (namespace, provider): (&str, &ProviderRef),
        kind: Kind,
    ) -> Result<Vec<Found>, Fault> {
        let visitor = Name::new(namespace, "inventory");
        let account = match provider::find(reader, (&visitor, false), provider, &self.aws).await? {
            Provider::Ready(account, _) => account,
            Provider::Local => {
                return Err(closed(Reason::InvalidSpec, "the provider is this machine, which is no account"));
            }
            Provider::Unusable(reason, message) => return Err(closed(reason, message)),
        };
        let mut found = self.found(&account, provider, kind).await?;
        found.sort_by(|one, other| one.resource.cmp(&other.resource));
        tell_apart(&mut found);
        found.iter_mut().for_each(|found| found.manifest["metadata"]["namespace"] = namespace.into());
        Ok(found)
    }

    /// All resources of a kind in an account and region.
    pub async fn found(
        &self,
        account: &Account,
        provider: &ProviderRef,
        kind: Kind,
    ) -> Result<Vec<Found>, Error> {
        let aws = &self.aws;
        Ok(match kind {
            Kind::S3Bucket => written(kind, buckets::found(aws, account, provider).await?),
            Kind::RDSInstance => written(kind, databases::found(aws, account, provider).await?),
            Kind::EC2Instance => written(kind, machines::found(aws, account, provider).await?),
            Kind::SQSQueue => written(kind, queues::found(aws, account, provider).await?),
        })
    }
}

fn closed(reason: Reason, message: impl Into<String>) -> Fault {
    Fault::Outside { system: "AWS", retry: Retry::Slowly, reason, source: message.into().into() }
}

/// Resources as manifests that only watch. An object of ours takes over only what nobody has.
fn written<K: Object>(kind: Kind, seen: Vec<Seen<K>>) -> Vec<Found> {
    let one = |Seen { resource, tags, object }: Seen<K>| {
        let mut manifest = json!({
            "apiVersion": K::api_version(&()), "kind": K::kind(&()),
            "metadata": { "name": object.meta().name, "annotations": object.meta().annotations.clone().unwrap_or_default() },
            "spec": serde_json::to_value(&object).unwrap_or_default()["spec"],
        });
        manifest["metadata"]["annotations"][ADOPT] = "true".into();
        manifest["metadata"]["annotations"][MODE] = OBSERVE.into();
        Found { kind, resource, owner: tags.get(OWNER).cloned(), manifest }
    };
    seen.into_iter().map(one).collect()
}

/// Names that two resources share are numbered.
fn tell_apart(found: &mut [Found]) {
    let mut taken = BTreeSet::new();
    for found in found {
        let first = found.name().to_owned();
        let mut name = first.clone();
        let mut number = 1;
        while !taken.insert(name.clone()) {
            number += 1;
            let end = format!("-{number}");
            name = format!("{}{end}", &first[..first.len().min(NAME_MAX - end.len())]);
        }
        found.manifest["metadata"]["name"] = name.into();
    }
}

/// A name for the object of a resource: its own, in the letters that Kubernetes allows.
fn name(resource: &str) -> String {
    let lower = resource.to_ascii_lowercase();
    let spelled: String =
        lower.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' }).collect();
    let name: String = spelled.trim_start_matches('-').chars().take(NAME_MAX).collect();
    let name = name.trim_end_matches('-');
    if name.is_empty() { "resource".to_owned() } else { name.to_owned() }
}

/// The tags of a resource that a spec can ask for: not ours, and not AWS's own.
fn tags(live: &Tags) -> Tags {
    let asked = |key: &str| key != OWNER && !key.starts_with("aws:");
    live.iter().filter(|(key, _)| asked(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}
