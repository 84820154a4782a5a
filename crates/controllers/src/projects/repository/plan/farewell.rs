//! The end of a repository's object. It always comes: a host that is gone holds nothing for ever.

use std::time::Duration;

use api::conditions::{READY, Reason, Standing, find};
use api::projects::tenancy::deploy_key_of;
use api::projects::{Repository, RepositoryDeletionPolicy, RepositoryStatus};
use k8s_openapi::api::core::v1::Secret;
use kit::{Address, Do, Next, Plan};
use kube::ResourceExt;
use ports::git::Place;

use super::{Access, Deed, Held, Seen, Step, World, key, making, mark, steps};

/// How long a host is asked to let our key in no longer. A key that nobody holds any more does little harm.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it is asked to delete the repository: that was asked for, and it is worth more trouble.
const PATIENCE_TO_DELETE: Duration = Duration::from_secs(600);
/// How long between two tries.
const PAUSE: Duration = Duration::from_secs(15);
/// How long the last words can be read before the object is gone.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How it is said that something stays at the host.
const LEFT_BEHIND: &str = "LeftBehind";

/// The plan for one pass over an object that goes.
pub(super) fn plan(
    object: &Repository,
    world: &World,
    mut status: RepositoryStatus,
) -> Plan<Step, RepositoryStatus> {
    let mut all = secret(object, world);
    let told = told(object);
    let late = late(object, world);
    // What was tried and refused is not tried for ever.
    let stuck = late && told.as_deref().is_some_and(|reason| reason != Reason::Deleting.as_str());
    let why = match &world.access {
        Access::Open { place, seen } if !stuck => {
            all.extend(seen.iter().flat_map(|seen| host(object, place, seen, &status)));
            return Plan::release(all, status);
        }
        Access::Open { place, .. } => format!("{} refused to let go", place.host.name()),
        Access::Locked(why) | Access::Silent { story: why } => why.clone(),
    };
    if told.as_deref() == Some(LEFT_BEHIND) || untouched(object, &status) {
        return Plan::release(all, status);
    }
    let left = left(object, &status);
    let pause = match late {
        true => {
            status.not_ready(Reason::Code(LEFT_BEHIND.into()), format!("{why}; {left}"));
            LAST_WORDS
        }
        false => {
            let limit = patience(object).as_secs();
            let words = format!("{why}; {limit} s after its deletion the object is let go, and then {left}");
            status.not_ready(Reason::Deleting, words);
            PAUSE
        }
    };
    Plan::part(all, status, Next::After(pause))
}

/// The Secret goes first: it never holds a key that is refused.
fn secret(object: &Repository, world: &World) -> Vec<Do<Step>> {
    match world.secret {
        Held::Ours(_) => {
            let name = deploy_key_of(&object.name_any());
            vec![Do::Delete(Address::new::<Secret>(&world.home.namespace, &name), None)]
        }
        Held::Nothing | Held::Foreign => Vec::new(),
    }
}

/// What is done at the host. Only what we made, and what still says so, is ever deleted.
fn host(object: &Repository, place: &Place, seen: &Seen, status: &RepositoryStatus) -> Vec<Do<Step>> {
    let made = status.adopted == Some(false) || (status.adopted.is_none() && making(object));
    let deletes = object.spec.deletion_policy == RepositoryDeletionPolicy::Delete
        && made
        && seen.repository.description == mark(object);
    match deletes {
        true => steps(place, vec![Deed::Delete]),
        false => steps(place, key::ours(object, seen).map(|key| Deed::DropKey(key.clone())).collect()),
    }
}

/// The reason that was last given since the object goes.
fn told(object: &Repository) -> Option<String> {
    let status = object.status.as_ref()?;
    let ready = find(&status.conditions, READY).filter(|ready| ready.status == "False")?;
    let since =
        ready.observed_generation.is_some() && ready.observed_generation == object.metadata.generation;
    since.then(|| ready.reason.clone())
}

fn patience(object: &Repository) -> Duration {
    match object.spec.deletion_policy {
        RepositoryDeletionPolicy::Retain => PATIENCE,
        RepositoryDeletionPolicy::Delete => PATIENCE_TO_DELETE,
    }
}

fn late(object: &Repository, world: &World) -> bool {
    let since = object.metadata.deletion_timestamp.as_ref().map_or(world.now, |since| since.0);
    Duration::try_from(world.now.duration_since(since)).is_ok_and(|passed| passed >= patience(object))
}

/// Whether nothing was ever done at the host.
fn untouched(object: &Repository, status: &RepositoryStatus) -> bool {
    status.url.is_none() && status.deploy_key.is_none() && !making(object)
}

/// What stays at the host.
fn left(object: &Repository, status: &RepositoryStatus) -> String {
    let url = status.url.as_deref().unwrap_or("the host");
    let key = match &status.deploy_key {
        Some(key) => format!("deploy key {} stays at {url}", key.fingerprint),
        None => format!("what was made at {url} stays"),
    };
    match object.spec.deletion_policy {
        RepositoryDeletionPolicy::Retain => format!("{key}: remove it there"),
        RepositoryDeletionPolicy::Delete => format!("{key}, and the repository too: remove both there"),
    }
}
