//! What becomes of a cluster: whoever is to lead first, then all others, then what clients see.

mod failover;
mod farewell;
mod objects;
mod origin;
mod roles;
mod settings;
mod standbys;
mod step;
mod superuser;
mod verdict;

use std::collections::BTreeMap;
use std::time::Duration;

use api::foreign::cnpg::{Cluster, ClusterStatus};
use api::secret::Sealed;
use jiff::Timestamp;
use kit::{Do, Next, Plan, Refusal};
use kube::ResourceExt;
use ports::authority;
use ports::postgres::{Instance, Number, Seen, There};

use failover::Lead;
use objects::Shown;
use settings::Dress;
use verdict::Told;

pub(super) use farewell::kept_name;
pub(super) use roles::named as named_roles;
pub use step::Step;
pub(super) use verdict::NOT_READY;

/// How soon it is looked again at what was just begun: most of it takes less.
const SOON: Duration = Duration::from_millis(200);
/// How often it is looked at what is under way.
const UNDER_WAY: Duration = Duration::from_millis(500);
/// How often a cluster with standbys is looked at: a primary that hangs does not tell.
const WATCH: Duration = Duration::from_secs(2);
/// How often a single server is looked at; when its process ends, that is told at once.
const REST: Duration = Duration::from_secs(30);

/// What is known when a plan is made.
#[derive(Clone, Debug)]
pub struct World {
    pub(super) now: Timestamp,
    /// Builds on this machine: whole version by major.
    pub(super) builds: BTreeMap<u32, String>,
    pub(super) seen: Seen,
    /// What the servers' certificate says; `None` also if the authority is another one by now.
    pub(super) certificate: Option<authority::Facts>,
    pub(super) root_pem: String,
    /// The addresses of the Services that have one.
    pub(super) addresses: BTreeMap<Door, String>,
    /// Why clients cannot reach the primary through its Service, if they cannot.
    pub(super) unreachable: Option<String>,
    /// Names of the slices that belong to this cluster.
    pub(super) slices: Vec<String>,
    pub(super) app: Held,
    /// The login in the Secret that the spec names, if it is there and whole.
    pub(super) given: Option<Given>,
    /// What lies under the name of the superuser's Secret.
    pub(super) superuser: Held,
    /// The superuser's login in the Secret that the spec names, if it is there and whole.
    pub(super) given_superuser: Option<Given>,
    /// The logins of further roles, by their names, where their Secrets are there and whole.
    pub(super) given_roles: BTreeMap<String, Given>,
    /// Whether a Backup of this cluster is there or wanted.
    pub(super) archive: bool,
    /// The Backup that the cluster is made from, if it is there.
    pub(super) origin: Option<Origin>,
    /// The uid of the Backup that keeps the data of the deleted cluster.
    pub(super) kept: Option<String>,
    /// Whether the whole namespace goes.
    pub(super) namespace_goes: bool,
    /// A password that nobody has yet.
    pub(super) spare: Sealed<String>,
    /// Another one.
    pub(super) spare_superuser: Sealed<String>,
    /// Since when standbys that are up receive nothing.
    pub(super) silent: BTreeMap<Number, Timestamp>,
}

/// What lies under the name of the login's Secret.
#[derive(Clone, Debug)]
pub(super) enum Held {
    Nothing,
    /// One that somebody else made.
    Foreign,
    Ours {
        data: Sealed<BTreeMap<String, String>>,
        version: String,
    },
}

/// A login that the owner of the cluster brings.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) username: String,
    pub(super) password: Sealed<String>,
    /// The version of the Secret.
    pub(super) version: String,
}

/// A Backup that a cluster is made from.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) uid: String,
    pub(super) phase: String,
}

/// A Service of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Door {
    /// To the primary.
    Write,
    /// To the standbys.
    Read,
    /// To any instance.
    Any,
}

impl Door {
    pub(super) const ALL: [Self; 3] = [Self::Write, Self::Read, Self::Any];

    /// The name of the Service, as CloudNativePG has it.
    pub(super) fn service(self, cluster: &Cluster) -> String {
        let suffix = match self {
            Self::Write => "rw",
            Self::Read => "ro",
            Self::Any => "r",
        };
        format!("{}-{suffix}", cluster.name_any())
    }
}

/// The Secret with the login of the database's owner.
pub(super) fn app_secret(cluster: &Cluster) -> String {
    format!("{}-app", cluster.name_any())
}

/// The Secret with the login of the superuser.
pub(super) fn superuser_secret(cluster: &Cluster) -> String {
    format!("{}-superuser", cluster.name_any())
}

/// An instance as CloudNativePG calls it.
fn instance_name(cluster: &Cluster, number: Number) -> String {
    format!("{}-{number}", cluster.name_any())
}

/// Instances whose directory is there.
fn there(seen: &Seen) -> impl Iterator<Item = (Number, &There)> {
    seen.instances.iter().filter_map(|(number, instance)| match instance {
        Instance::There(there) => Some((*number, there)),
        Instance::Coming { .. } | Instance::Broken { .. } => None,
    })
}

/// The plan for one pass over one cluster.
pub(super) fn plan(
    keep: Duration,
    cluster: &Cluster,
    world: &World,
) -> Result<Plan<Step, ClusterStatus>, Refusal> {
    if cluster.metadata.deletion_timestamp.is_some() {
        return Ok(farewell::farewell(keep, cluster, world));
    }
    let objects = objects::doors(cluster, world);
    let major = match origin::major(cluster, world) {
        Ok(major) => major,
        Err(wait) => return Ok(waiting(cluster, world, wait, Vec::new())),
    };
    if there(&world.seen).next().is_none() {
        return match origin::first(cluster, world, major)? {
            Ok(begun) => Ok(beginning(cluster, world, begun, objects)),
            Err(wait) => Ok(waiting(cluster, world, wait, objects)),
        };
    }
    Ok(tend(cluster, world, objects))
}

/// Nothing can be done at the moment, and this is why.
#[derive(Clone, Debug, PartialEq)]
struct Wait {
    phase: &'static str,
    why: String,
    delay: Duration,
}

fn waiting(
    cluster: &Cluster,
    world: &World,
    wait: Wait,
    objects: Vec<Do<Step>>,
) -> Plan<Step, ClusterStatus> {
    let told = Told { phase: wait.phase, why: wait.why, leads: None, complete: false };
    Plan::part(objects, verdict::status(cluster, world, told), Next::After(wait.delay))
}

/// The first instance is made, or on its way.
fn beginning(
    cluster: &Cluster,
    world: &World,
    begun: origin::Begun,
    mut steps: Vec<Do<Step>>,
) -> Plan<Step, ClusterStatus> {
    steps.extend(begun.step.map(Do::Outside));
    let told = Told { phase: verdict::FIRST_PRIMARY, why: begun.why, leads: None, complete: false };
    Plan::part(steps, verdict::status(cluster, world, told), Next::After(UNDER_WAY.min(begun.delay)))
}

/// The plan for a cluster that has data.
fn tend(cluster: &Cluster, world: &World, doors: Vec<Do<Step>>) -> Plan<Step, ClusterStatus> {
    let lead = failover::lead(&world.seen, last_primary(cluster), world.now);
    let dress = settings::dress(cluster, world);
    let care = standbys::care(cluster, world, &lead, dress.settings.as_ref());
    let login = objects::login(cluster, world);
    let granted = login.as_ref().is_ok_and(|login| world.seen.granted.as_ref() == Some(&login.mark));
    let grant = match (&lead, &login) {
        (Lead::Up(primary, _), Ok(login)) if !granted => {
            Some(Step::Grant { primary: *primary, login: login.clone() })
        }
        _ => None,
    };
    // A Secret never names a login that does not exist.
    let promised = login.as_ref().ok().filter(|_| granted || grant.is_some());
    let secret = objects::secrets(cluster, world, promised);
    let access = superuser::access(cluster, world, &lead);
    let further = roles::care(cluster, world, &lead);
    let (at_once, start) = failover::steps(&lead, dress.settings.as_ref(), world);
    let certify = dress.order.clone().map(Step::Certify);
    let outside = |steps: Vec<Step>| steps.into_iter().map(Do::Outside);
    let mut steps: Vec<Do<Step>> = Vec::new();
    // Who leads, and for whom it waits, comes first: no trouble with objects keeps a standby from taking over.
    steps.extend(outside([at_once, care.waits.into_iter().collect()].concat()));
    steps.extend(doors);
    let logins = grant.into_iter().chain(access.step).chain(further.steps);
    steps.extend(outside(certify.into_iter().chain(start).chain(logins).collect()));
    // Clients are led to the primary before the others are seen to, which may take long or fail.
    steps.extend(secret.into_iter().chain(access.secret));
    steps.extend(objects::slices(cluster, world, &Shown::new(world, &lead)));
    steps.extend(outside(care.steps));
    let acted = steps.iter().any(|step| matches!(step, Do::Outside(_))) || missing(world, &dress);
    let trouble = login.err().or(access.trouble).or(further.trouble);
    let told = verdict::told(cluster, world, &lead, care.doing, trouble.as_ref());
    let next = next(cluster, world, &lead, &told, acted);
    Plan::part(steps, verdict::status(cluster, world, told), Next::After(next))
}

/// Whether something is awaited that comes at once: the addresses of Services that were just made.
fn missing(world: &World, dress: &Dress) -> bool {
    dress.settings.is_none() || world.addresses.len() < Door::ALL.len()
}

fn next(cluster: &Cluster, world: &World, lead: &Lead<'_>, told: &Told, acted: bool) -> Duration {
    let alone = cluster.spec.instances <= 1 && world.seen.instances.len() == 1;
    match lead {
        _ if acted => SOON,
        Lead::Wait(_, _, delay) => *delay,
        Lead::Lost(_) => REST,
        Lead::Up(..) if told.complete && alone => REST,
        Lead::Up(..) if told.complete => WATCH,
        Lead::Up(..)
        | Lead::Over { .. }
        | Lead::Double { .. }
        | Lead::Back(_)
        | Lead::Start(..)
        | Lead::Restart(..) => UNDER_WAY,
    }
}

/// The instance that led when the status was last written.
fn last_primary(cluster: &Cluster) -> Option<Number> {
    let name = cluster.status.as_ref()?.current_primary.as_deref()?;
    name.strip_prefix(&cluster.name_any())?.strip_prefix('-')?.parse().ok()
}
