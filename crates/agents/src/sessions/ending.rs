//! The end of a session, in its order: applications, logins and databases that were claimed, services, their databases,
//! what was kept of them, the namespace.
//!
//! A namespace that is deleted with a database in it would leave the data on disk without an object that names it. So
//! the data goes first, and the namespace when nothing of it is left.

use api::apps::Application;
use api::claims::{DatabaseClaim, DbRoleClaim};
use api::foreign::cnpg::{Backup, Cluster};
use api::services::ManagedService;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, Preconditions};
use kube::core::ApiResource;
use kube::{Client, ResourceExt};
use serde_json::json;

use super::sweep::{self, Step};
use super::{ENDED, EXPIRED, is_session};
use crate::Error;

/// What a session can hold that has to go in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An application.
    App,
    /// Logins in a claimed database. They go before it.
    Role,
    /// A claimed database, on a server of its own or of others.
    Claim,
    /// A database, as it was asked for.
    Service,
    /// The servers behind it.
    Database,
    /// A copy of one, or the kept data of a deleted one. Its object is the last that names the data.
    Backup,
}

impl Kind {
    /// All of them, in the order in which they go.
    pub const ORDER: [Self; 6] =
        [Self::App, Self::Role, Self::Claim, Self::Service, Self::Database, Self::Backup];

    /// What people call it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::Role => "role claim",
            Self::Claim => "database claim",
            Self::Service => "service",
            Self::Database => "database",
            Self::Backup => "backup",
        }
    }

    /// Whether it holds data, or leads to it.
    pub const fn is_data(self) -> bool {
        match self {
            Self::App | Self::Role => false,
            Self::Claim | Self::Service | Self::Database | Self::Backup => true,
        }
    }

    fn resource(self) -> ApiResource {
        match self {
            Self::App => ApiResource::erase::<Application>(&()),
            Self::Role => ApiResource::erase::<DbRoleClaim>(&()),
            Self::Claim => ApiResource::erase::<DatabaseClaim>(&()),
            Self::Service => ApiResource::erase::<ManagedService>(&()),
            Self::Database => ApiResource::erase::<Cluster>(&()),
            Self::Backup => ApiResource::erase::<Backup>(&()),
        }
    }
}

/// One object of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thing {
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// What tells it from another of the same name.
    pub uid: Option<String>,
    /// Whether it is on its way out.
    pub goes: bool,
}

impl Thing {
    /// What it is, with its name.
    pub fn told(&self) -> String {
        format!("{} {}", self.kind.word(), self.name)
    }
}

/// What is left of a session that has ended; `None` when there is nothing, not even the namespace.
pub type Left = Option<Vec<String>>;

/// Everything in a namespace that has to go in its turn, by kind and name.
pub async fn things(client: &Client, namespace: &str) -> Result<Vec<Thing>, Error> {
    let mut all = Vec::new();
    for kind in Kind::ORDER {
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind.resource());
        let found = match api.list_metadata(&ListParams::default()).await {
            Ok(found) => found.items,
            // Nobody has installed that kind.
            Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let mut of_kind: Vec<Thing> = found
            .iter()
            .map(|object| Thing {
                kind,
                name: object.name_any(),
                uid: object.uid(),
                goes: object.metadata.deletion_timestamp.is_some(),
            })
            .collect();
        of_kind.sort_by(|one, other| one.name.cmp(&other.name));
        all.append(&mut of_kind);
    }
    Ok(all)
}

/// What a person is told that will be done, one line for each step.
pub fn plan(namespace: &str, things: &[Thing]) -> Vec<String> {
    let line = |thing: &Thing| match thing.kind {
        Kind::App => Some(format!("delete app {}", thing.name)),
        Kind::Role => Some(format!("remove the logins of role claim {}", thing.name)),
        Kind::Claim => {
            Some(format!("delete database claim {} and its data, as its deletePolicy says", thing.name))
        }
        Kind::Service => Some(format!("delete database {} with all its data", thing.name)),
        // It goes with its service, where it has one.
        Kind::Database => {
            let served = |other: &Thing| other.kind == Kind::Service && other.name == thing.name;
            (!things.iter().any(served)).then(|| format!("delete database {} with all its data", thing.name))
        }
        Kind::Backup => Some(format!("discard backup {}", thing.name)),
    };
    let last = format!("delete namespace {namespace} with everything else in it");
    things.iter().filter_map(line).chain([last]).collect()
}

/// Marks a session as ended. From here on it is carried to its end, whoever stops watching.
pub async fn mark(client: &Client, namespace: &str) -> Result<(), Error> {
    note(client, namespace, ENDED, None).await
}

/// Marks a session, if it is still as it was seen.
pub(super) async fn note(
    client: &Client,
    namespace: &str,
    mark: &str,
    seen: Option<&str>,
) -> Result<(), Error> {
    let mut patch = json!({ "metadata": { "annotations": { mark: Timestamp::now().to_string() } } });
    if let Some(version) = seen {
        patch["metadata"]["resourceVersion"] = version.into();
    }
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.patch(namespace, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

/// Takes one more step with a session, if there is one to take now, and tells what is left of it. It is safe to be
/// called by several at once.
pub async fn carry(client: &Client, namespace: &str, now: Timestamp) -> Result<(Step, Left), Error> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let Some(found) = namespaces.get_opt(namespace).await?.filter(is_session) else {
        return Ok((Step::Rest, None));
    };
    let things = things(client, namespace).await?;
    let world = sweep::World::of(&found, things, now);
    let step = sweep::plan(&world);
    let version = found.resource_version();
    match &step {
        Step::Rest | Step::Wait => {}
        Step::End => note(client, namespace, ENDED, version.as_deref()).await?,
        Step::Expire => note(client, namespace, EXPIRED, version.as_deref()).await?,
        Step::Delete(things) => {
            for thing in things {
                delete(client, namespace, thing).await?;
            }
        }
        Step::DeleteNamespace => {
            let same = Preconditions { uid: found.uid(), resource_version: None };
            gone(namespaces.delete(namespace, &DeleteParams::default().preconditions(same)).await)?;
        }
    }
    let mut left: Vec<String> = world.things.iter().map(Thing::told).collect();
    left.push(format!("namespace {namespace}"));
    Ok((step, Some(left)))
}

async fn delete(client: &Client, namespace: &str, thing: &Thing) -> Result<(), Error> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &thing.kind.resource());
    // Only the one that was looked at: another of the same name may have come since.
    let same = Preconditions { uid: thing.uid.clone(), resource_version: None };
    gone(api.delete(&thing.name, &DeleteParams::background().preconditions(same)).await)
}

/// What is gone already is as good as deleted; what came in its place is seen by the next step.
fn gone<T>(deleted: Result<T, kube::Error>) -> Result<(), Error> {
    match deleted {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
