//! The deploy key: let in, published, and some time later the one before is let in no longer.

use std::collections::BTreeMap;
use std::time::Duration;

use api::annotations::ROTATE;
use api::conditions::Reason;
use api::projects::tenancy::{PROJECT_LABEL, PROJECT_NAMESPACE_LABEL, deploy_key_of};
use api::projects::{DeployKey, GitProvider, Repository};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kit::Name;
use kube::ResourceExt;
use ports::git::{Key, KeyWish, Place};
use sha2::{Digest as _, Sha256};

use super::{Contents, Deed, Held, Home, Issued, Publication, Seen, World};

/// How long the key before stays let in: a fetch that began with it ends, and whoever reads the Secret has read the new one.
const GRACE: Duration = Duration::from_secs(300);

/// What is done about the key.
#[derive(Default)]
pub(super) struct Course {
    pub(super) issue: Vec<Deed>,
    pub(super) drop: Vec<Deed>,
    pub(super) key: Option<DeployKey>,
    /// Why there is none.
    pub(super) waits: Option<(Reason, String)>,
    /// When there is more to do.
    pub(super) again: Option<Duration>,
}

/// What is done about the key.
pub(super) fn course(object: &Repository, place: &Place, seen: &Seen, world: &World) -> Course {
    let name = Name::new(&*world.home.namespace, deploy_key_of(&object.name_any()));
    if let Some(waits) = waits(world, &name) {
        return Course { waits: Some(waits), ..Course::default() };
    }
    let asked = object.annotations().get(ROTATE).cloned();
    let held = match &world.secret {
        Held::Ours(issued) => good(issued, place, seen).filter(|_| asked.is_none() || issued.asked == asked),
        Held::Nothing | Held::Foreign => None,
    };
    match held {
        Some((issued, fingerprint)) => keep(object, seen, world, (name, issued, fingerprint)),
        None => issue(object, place, (name, asked), (seen, world)),
    }
}

fn waits(world: &World, name: &Name) -> Option<(Reason, String)> {
    if let (Home { namespace, project: Some(project), .. }, false) = (&world.home, world.home.there) {
        let why =
            format!("waiting for namespace {namespace} of project {project}, where the deploy key goes");
        return Some((Reason::DependencyNotReady, why));
    }
    matches!(world.secret, Held::Foreign).then(|| {
        let why = format!("Secret {name} exists and was not made for this repository; remove or rename it");
        (Reason::NotOurs, why)
    })
}

/// What the Secret holds, if the host lets it in.
fn good<'a>(issued: &'a Issued, place: &Place, seen: &Seen) -> Option<(&'a Issued, &'a str)> {
    let fingerprint = issued.fingerprint.as_deref()?;
    let whole = !issued.contents.private.open().is_empty()
        && (place.host.provider != GitProvider::Local || issued.contents.password.is_some());
    let let_in = seen.repository.keys.iter().any(|key| key.fingerprint == fingerprint);
    (whole && let_in).then_some((issued, fingerprint))
}

/// The key stays. Others of ours go when their time is over.
fn keep(
    object: &Repository,
    seen: &Seen,
    world: &World,
    (name, issued, fingerprint): (Name, &Issued, &str),
) -> Course {
    let at = issued.at.unwrap_or(Timestamp::UNIX_EPOCH);
    let mut course = Course { key: told(&name, fingerprint, at), ..Course::default() };
    if issued.contents.known_hosts != seen.repository.known_hosts {
        let contents =
            Contents { known_hosts: seen.repository.known_hosts.clone(), ..issued.contents.clone() };
        let publication = publication(object, &world.home, (name, contents), (at, issued.asked.clone()));
        course.issue.push(Deed::Publish(Box::new(publication)));
    }
    let before = ours(object, seen).filter(|key| key.fingerprint != fingerprint);
    let over = at.saturating_add(GRACE).unwrap_or(at);
    match Duration::try_from(over.duration_since(world.now)) {
        Ok(left) if !left.is_zero() => course.again = before.count().gt(&0).then_some(left),
        _ => course.drop = before.map(|key| Deed::DropKey(key.clone())).collect(),
    }
    course
}

/// A new key: let in first, published second, so that the Secret never holds one that is refused.
fn issue(
    object: &Repository,
    place: &Place,
    (name, asked): (Name, Option<String>),
    (seen, world): (&Seen, &World),
) -> Course {
    let pair = &world.spare.pair;
    let local = place.host.provider == GitProvider::Local;
    let password = local.then(|| world.spare.password.clone());
    let digest = password.as_ref().map(|password| hex(&Sha256::digest(password.open())));
    let short: String = pair.fingerprint.trim_start_matches("SHA256:").chars().take(8).collect();
    let wish = KeyWish {
        title: format!("{}{short}", title(object)),
        public: pair.public.clone(),
        password_digest: digest,
        read_only: false,
    };
    let contents = Contents {
        private: pair.private.clone(),
        public: pair.public.clone(),
        known_hosts: seen.repository.known_hosts.clone(),
        password,
    };
    let at = Timestamp::from_second(world.now.as_second()).unwrap_or(world.now);
    let key = told(&name, &pair.fingerprint, at);
    let publication = publication(object, &world.home, (name, contents), (at, asked));
    Course {
        issue: vec![Deed::AddKey(wish), Deed::Publish(Box::new(publication))],
        key,
        again: ours(object, seen).next().map(|_| GRACE),
        ..Course::default()
    }
}

fn publication(
    object: &Repository,
    home: &Home,
    (name, contents): (Name, Contents),
    (at, asked): (Timestamp, Option<String>),
) -> Publication {
    let labels = home.project.iter().flat_map(|project| {
        let own = object.namespace().unwrap_or_default();
        [(PROJECT_LABEL.to_owned(), project.clone()), (PROJECT_NAMESPACE_LABEL.to_owned(), own)]
    });
    let labels: BTreeMap<String, String> = labels.collect();
    Publication {
        name,
        labels,
        made_for: Name::of(object),
        shared: home.project.is_some(),
        at,
        asked,
        contents,
    }
}

fn told(name: &Name, fingerprint: &str, at: Timestamp) -> Option<DeployKey> {
    let secret_name = name.name.parse().ok()?;
    Some(DeployKey { secret_name, fingerprint: fingerprint.to_owned(), created_at: Some(Time(at)) })
}

/// The keys that we let in for this very object. Those of others are not even looked at.
pub(super) fn ours<'a>(object: &Repository, seen: &'a Seen) -> impl Iterator<Item = &'a Key> {
    let title = title(object);
    seen.repository.keys.iter().filter(move |key| key.title.starts_with(&title))
}

/// What the titles of our keys begin with. The uid tells objects of the same name in other clusters apart.
fn title(object: &Repository) -> String {
    let uid: String = object.uid().unwrap_or_default().chars().take(8).collect();
    format!("terrace {} {uid}-", Name::of(object))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
