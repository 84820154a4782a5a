mod farewell;
mod key;
mod layout;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use api::conditions::{Reason, Standing};
use api::projects::{ExistingRepositoryPolicy, GitProvider, Repository, RepositoryStatus};
use api::secret::Sealed;
use jiff::Timestamp;
use kit::{Address, Do, Name, Next, Plan, Refusal};
use kube::ResourceExt;
use ports::git::{self, CommitWish, Key, KeyWish, Place, Wish, keys::KeyPair};
use serde_json::json;

pub(super) use layout::{LAYOUT, OWNERS, keep_of};

/// How often a repository is looked at where nobody says: hosts tell nobody of changes, and allow so many requests an hour.
const INTERVAL: Duration = Duration::from_secs(300);
/// Shortest time between two looks that anybody may ask for.
const INTERVAL_MIN: Duration = Duration::from_secs(10);
/// On the object: its uid, written before the repository is made. Whoever dies between the two knows it again as made.
const MAKING: &str = "mpas.ocm.software/making";
/// What is said when all is well.
const WELL: &str = "the repository is laid out, and its deploy key is let in";

/// What is known of a repository.
#[derive(Clone, Debug)]
pub struct World {
    pub(super) now: Timestamp,
    pub(super) access: Access,
    pub(super) home: Home,
    pub(super) secret: Held,
    pub(super) spare: Spare,
}

/// How it stands with the host.
#[derive(Clone, Debug)]
pub(super) enum Access {
    /// There is no login for it; why, and what to do.
    Locked(String),
    /// It did not answer, or refused. Only of an object that goes: of others it is a fault.
    Silent { story: String },
    /// It answered.
    Open { place: Box<Place>, seen: Option<Box<Seen>> },
}

/// A repository at the host.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) repository: git::Repository,
    pub(super) files: Files,
}

/// What of the layout is there.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    pub(super) there: BTreeSet<&'static str>,
    pub(super) owners: Option<String>,
}

/// Where the deploy key goes.
#[derive(Clone, Debug)]
pub(super) struct Home {
    pub(super) namespace: String,
    /// The project whose namespace it is.
    pub(super) project: Option<String>,
    pub(super) there: bool,
}

/// What lies under the name of the Secret.
#[derive(Clone, Debug)]
pub(super) enum Held {
    Nothing,
    /// A Secret that somebody else made.
    Foreign,
    Ours(Box<Issued>),
}

/// What our Secret says.
#[derive(Clone, Debug)]
pub(super) struct Issued {
    pub(super) fingerprint: Option<String>,
    pub(super) at: Option<Timestamp>,
    /// The rotation that was asked for then.
    pub(super) asked: Option<String>,
    pub(super) contents: Contents,
}

/// What is in the Secret.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Contents {
    pub(super) private: Sealed<String>,
    pub(super) public: String,
    pub(super) known_hosts: String,
    /// Only for hosts that speak HTTP alone.
    pub(super) password: Option<Sealed<String>>,
}

/// A key and a password that nobody has seen.
#[derive(Clone, Debug)]
pub(super) struct Spare {
    pub(super) pair: KeyPair,
    pub(super) password: Sealed<String>,
}

/// What is done, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub(super) place: Place,
    pub(super) deed: Deed,
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// The repository is made.
    Create(Wish),
    /// Files are committed.
    Commit(CommitWish),
    /// A deploy key is let in.
    AddKey(KeyWish),
    /// The Secret receives a key that is let in.
    Publish(Box<Publication>),
    /// A person is invited.
    Invite(String),
    /// A deploy key is let in no longer.
    DropKey(Key),
    /// The repository is deleted.
    Delete,
}

/// A Secret that is to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Publication {
    pub(super) name: Name,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) made_for: Name,
    /// Whether it lies in the namespace of a project.
    pub(super) shared: bool,
    pub(super) at: Timestamp,
    pub(super) asked: Option<String>,
    pub(super) contents: Contents,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = format!("{} at {}", self.place.path(), self.place.host.name());
        match &self.deed {
            Deed::Create(_) => write!(f, "create repository {place}"),
            Deed::Commit(wish) => {
                let told = wish.files.iter().map(|(path, bytes)| match bytes {
                    Some(_) => path.clone(),
                    None => format!("no {path}"),
                });
                write!(f, "commit {} to {} of {place}", told.collect::<Vec<_>>().join(", "), wish.branch)
            }
            Deed::AddKey(_) => write!(f, "let a new deploy key into {place}"),
            Deed::Publish(publication) => write!(f, "publish the deploy key in Secret {}", publication.name),
            Deed::Invite(person) => write!(f, "invite {person} to {place}"),
            Deed::DropKey(key) => write!(f, "drop deploy key {} of {place}", key.fingerprint),
            Deed::Delete => write!(f, "delete repository {place}"),
        }
    }
}

/// The plan for one pass over one repository.
pub(super) fn plan(object: &Repository, world: &World) -> Result<Plan<Step, RepositoryStatus>, Refusal> {
    let mut status = object.status.clone().unwrap_or_default();
    status.observed_generation = object.metadata.generation;
    if object.metadata.deletion_timestamp.is_some() {
        return Ok(farewell::plan(object, world, status));
    }
    let interval = interval(object);
    let (place, seen) = match &world.access {
        Access::Locked(why) => {
            return Ok(Plan::wait(status, Reason::CredentialsMissing, why.clone(), interval));
        }
        Access::Silent { story } => {
            return Ok(Plan::wait(status, Reason::DependencyNotReady, story.clone(), interval));
        }
        Access::Open { place, seen } => (&**place, seen.as_deref()),
    };
    let Some(seen) = seen else { return Ok(made(object, place, status)) };
    if let Some(why) = foreign(object, place, seen) {
        return Ok(Plan::wait(status, Reason::NotOurs, why, interval));
    }
    let ours = made_here(object, place, seen);
    status.adopted = Some(!ours && status.adopted.unwrap_or(true));
    status.url = Some(seen.repository.clone_url.clone());
    status.deploy_url = Some(seen.repository.deploy_url.clone());
    status.default_branch = Some(seen.repository.default_branch.clone());
    let course = key::course(object, place, seen, world);
    let mut deeds: Vec<Deed> = layout::deeds(object, seen);
    deeds.extend(course.issue);
    deeds.extend(invitations(object, seen));
    deeds.extend(course.drop);
    if let Some(key) = course.key {
        status.deploy_key = Some(key);
    }
    match course.waits {
        Some((reason, why)) => status.not_ready(reason, why),
        None => status.ready(Reason::Available, WELL),
    }
    let next = course.again.map_or(interval, |again| again.min(interval));
    Ok(Plan::part(steps(place, deeds), status, Next::After(next)))
}

fn steps(place: &Place, deeds: Vec<Deed>) -> Vec<Do<Step>> {
    deeds.into_iter().map(|deed| Do::Outside(Step { place: place.clone(), deed })).collect()
}

fn interval(object: &Repository) -> Duration {
    object.spec.interval.as_ref().map_or(INTERVAL, |span| span.duration().max(INTERVAL_MIN))
}

/// What a repository that we made says of itself.
fn mark(object: &Repository) -> String {
    Name::of(object).to_string()
}

/// Whether we began to make the repository.
fn making(object: &Repository) -> bool {
    object.metadata.uid.is_some() && object.annotations().get(MAKING) == object.metadata.uid.as_ref()
}

/// Whether the repository is one that we made. The words in a description are no proof at a host that others use, too.
fn made_here(object: &Repository, place: &Place, seen: &Seen) -> bool {
    let certain = making(object) || place.host.provider == GitProvider::Local;
    certain && seen.repository.description == mark(object)
}

/// There is none: it is made, and looked at again at once.
fn made(object: &Repository, place: &Place, mut status: RepositoryStatus) -> Plan<Step, RepositoryStatus> {
    let spec = &object.spec;
    let wish = Wish {
        visibility: spec.visibility,
        default_branch: spec.default_branch.clone(),
        description: mark(object),
    };
    let intent = json!({ "metadata": { "annotations": { MAKING: object.metadata.uid } } });
    let mut all = vec![Do::Patch(Address::of(object), intent)];
    all.extend(steps(place, vec![Deed::Create(wish)]));
    status.adopted = Some(false);
    status.not_ready(Reason::Provisioning, "the repository is made; its layout and its key are next");
    Plan::part(all, status, Next::After(Duration::ZERO))
}

/// Why a repository that is there is not used.
fn foreign(object: &Repository, place: &Place, seen: &Seen) -> Option<String> {
    let (path, host) = (place.path(), place.host.name());
    let marked = seen.repository.description == mark(object);
    if place.host.provider == GitProvider::Local {
        // Whoever may name a repository here must not get at the contents of another tenant's.
        return (!marked).then(|| {
            format!("repository {path} on {host} belongs to another object; choose another owner or name")
        });
    }
    let known = object.status.as_ref().is_some_and(|status| status.adopted.is_some());
    let refuses = object.spec.existing_repository_policy == ExistingRepositoryPolicy::Fail;
    (refuses && !marked && !known).then(|| {
        format!(
            "repository {path} exists at {host}, and existingRepositoryPolicy is `fail`; choose another name, remove that repository, or set the policy to `adopt`"
        )
    })
}

/// People who are not there yet. Teams and addresses cannot be invited; and on this machine rights are Kubernetes' own.
fn invitations(object: &Repository, seen: &Seen) -> Vec<Deed> {
    if object.spec.provider == GitProvider::Local {
        return Vec::new();
    }
    let people = object.spec.maintainers.iter().map(|person| person.trim_start_matches('@'));
    let people = people.filter(|person| !person.is_empty() && !person.contains(['/', '@']));
    let there = |person: &&str| seen.repository.people.iter().any(|held| held.eq_ignore_ascii_case(person));
    people.filter(|person| !there(person)).map(|person| Deed::Invite(person.to_owned())).collect()
}
