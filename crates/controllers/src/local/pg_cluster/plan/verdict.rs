//! What the status says, in CloudNativePG's words.

use api::conditions::{READY, Reason, Standing};
use api::foreign::cnpg::{Cluster, ClusterStatus, SecretsResourceVersion};
use api::foreign::find;
use ports::postgres::{Facts, Instance, Number, Run, There};

use super::super::super::quantity::units;
use super::super::{CONTINUOUS_ARCHIVING, FORMED, STORAGE_SUFFICIENT};
use super::failover::{Lead, facts};
use super::standbys::Doing;
use super::{Door, Held, World, instance_name, roles, superuser, there};

/// Phases as CloudNativePG writes them (`api/v1/cluster_types.go` there).
pub(super) const FIRST_PRIMARY: &str = "Setting up primary";
pub(super) const NO_OBJECTS: &str = "Unable to create required cluster objects";
pub(super) const UNRECOVERABLE: &str = "Cluster is unrecoverable and needs manual intervention";
pub(super) const WAITS_FOR_USER: &str = "Waiting for user action";
const COPYING: &str = "Creating a new replica";
const FAILING_OVER: &str = "Failing over";
const COMING_UP: &str = "Waiting for the instances to become active";
const RESTARTING: &str = "Primary instance is being restarted in-place";
const CONFIGURING: &str = "Applying configuration";
const HEALTHY: &str = "Cluster in healthy state";

/// CloudNativePG's reasons.
const IS_READY: &str = "ClusterIsReady";
pub(in super::super) const NOT_READY: &str = "ClusterIsNotReady";
const ARCHIVING: &str = "ContinuousArchivingSuccess";
const NOT_ARCHIVING: &str = "ContinuousArchivingFailing";
const NEARLY_FULL: &str = "StorageNearlyFull";
const WERE_UP: &str = "AllInstancesWereUp";

/// How full a disk may be, in percent, before it is told.
const FULL_ENOUGH: u64 = 90;

/// How much may be left on the machine's disk before it is told: a few segments of a server's history.
const FREE_ENOUGH: u64 = 32 << 20;

/// What is going on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Told {
    pub(super) phase: &'static str,
    /// Why, or what is done about it; empty if there is nothing to say.
    pub(super) why: String,
    /// Who takes writes when the steps are done, and what it answered.
    pub(super) leads: Option<(Number, Option<Facts>)>,
    /// Whether all is as asked.
    pub(super) complete: bool,
}

/// What is going on in a cluster that has data.
pub(super) fn told(
    cluster: &Cluster,
    world: &World,
    lead: &Lead<'_>,
    doing: Doing,
    trouble: Option<&String>,
) -> Told {
    let down = |phase, why: String| Told { phase, why, leads: None, complete: false };
    match lead {
        Lead::Up(number, facts) => up(cluster, world, (*number, facts), (doing, trouble)),
        Lead::Over { new, why, .. } => {
            let why = format!("{why}; instance {new} takes over");
            Told { phase: FAILING_OVER, why, leads: Some((*new, None)), complete: false }
        }
        Lead::Double { stays, .. } => {
            down(FAILING_OVER, format!("more than one instance would take writes; instance {stays} stays"))
        }
        Lead::Back(number) => {
            down(COMING_UP, format!("nobody else can take writes, so instance {number} is started again"))
        }
        Lead::Start(_, why) | Lead::Restart(_, why) | Lead::Wait(_, why, _) => down(COMING_UP, why.clone()),
        Lead::Lost(why) => down(UNRECOVERABLE, why.clone()),
    }
}

fn up(
    cluster: &Cluster,
    world: &World,
    (number, facts): (Number, &Facts),
    (doing, trouble): (Doing, Option<&String>),
) -> Told {
    let wanted = usize::try_from(cluster.spec.instances).unwrap_or(1).max(1);
    let lacking: Vec<String> =
        world.seen.instances.iter().filter_map(|(held, instance)| lacks(*held, instance, number)).collect();
    if let Some(why) = world.unreachable.clone() {
        let leads = Some((number, Some(facts.clone())));
        return Told { phase: NO_OBJECTS, why, leads, complete: false };
    }
    let (phase, why) = match (trouble, doing) {
        (Some(trouble), _) => (COMING_UP, trouble.clone()),
        (None, Doing::Copying) if lacking.is_empty() => {
            (COPYING, "one more is copied from the primary".into())
        }
        (None, Doing::Copying) => (COPYING, lacking.join("; ")),
        (None, Doing::Removing) => (COMING_UP, format!("there are more instances than {wanted}: one goes")),
        (None, Doing::Restarting) if wanted == 1 => (RESTARTING, "its settings need it".into()),
        (None, Doing::Restarting) => (CONFIGURING, "instances restart one after another".into()),
        (None, Doing::Nothing) if lacking.is_empty() => (HEALTHY, String::new()),
        (None, Doing::Nothing) => (COMING_UP, lacking.join("; ")),
    };
    let leads = Some((number, Some(facts.clone())));
    Told { phase, why, leads, complete: phase == HEALTHY }
}

/// What an instance lacks, in words.
fn lacks(number: Number, instance: &Instance, primary: Number) -> Option<String> {
    let why = match instance {
        Instance::Coming { .. } => "is being copied".to_owned(),
        Instance::Broken { story, .. } => format!("could not be copied, which is tried again: {story}"),
        Instance::There(there) if there.fenced => "was put aside and rejoins".into(),
        Instance::There(There { run, .. }) => match run {
            Run::Stopped => "is started".into(),
            Run::Ended { story, .. } => format!("has ended and is started again: {story}"),
            Run::Starting { story, .. } => {
                format!("is starting: {}", story.as_deref().unwrap_or("it does not answer yet"))
            }
            Run::Up(facts) if number != primary && !facts.streaming => {
                "does not receive from the primary yet".into()
            }
            Run::Up(_) => return None,
        },
    };
    Some(format!("instance {number} {why}"))
}

/// The status when all steps are done.
pub(super) fn status(cluster: &Cluster, world: &World, told: Told) -> ClusterStatus {
    let mut status = cluster.status.clone().unwrap_or_default();
    let count = |count: usize| i32::try_from(count).ok();
    let taking = there(&world.seen).filter(|(_, there)| facts(there).is_some()).count();
    status.instances = count(world.seen.instances.len());
    status.ready_instances = count(taking);
    status.instance_names =
        world.seen.instances.keys().map(|number| instance_name(cluster, *number)).collect();
    status.write_service = Some(Door::Write.service(cluster));
    status.read_service = Some(Door::Any.service(cluster));
    if let Some((number, facts)) = &told.leads {
        let name = instance_name(cluster, *number);
        status.current_primary = Some(name.clone());
        status.target_primary = Some(name);
        let timeline = facts.as_ref().map(|facts| i64::from(facts.timeline));
        status.timeline_id = timeline.or(status.timeline_id);
    }
    let versions = SecretsResourceVersion {
        application_secret_version: version(&world.app),
        superuser_secret_version: version(&world.superuser).filter(|_| superuser::own_secret(cluster)),
    };
    if versions != SecretsResourceVersion::default() {
        status.secrets_resource_version = Some(versions);
    }
    status.managed_roles_status = roles::told(cluster, world);
    status.phase = Some(told.phase.to_owned());
    status.phase_reason = Some(told.why.clone()).filter(|why| !why.is_empty());
    conditions(cluster, world, &told, &mut status);
    status
}

fn version(held: &Held) -> Option<String> {
    match held {
        Held::Ours { version, .. } => Some(version.clone()),
        Held::Nothing | Held::Foreign => None,
    }
}

fn conditions(cluster: &Cluster, world: &World, told: &Told, status: &mut ClusterStatus) {
    let leads = told.leads.is_some();
    let taking = there(&world.seen).filter(|(_, there)| facts(there).is_some()).count();
    let wanted = usize::try_from(cluster.spec.instances).unwrap_or(1).max(1);
    if leads && told.complete && taking >= wanted {
        let message = "all instances have been up at once";
        status.say(FORMED, Some(true), Reason::Code(WERE_UP.into()), message);
    }
    let formed = find(&status.conditions, FORMED).is_some();
    let foreign = matches!(world.app, Held::Foreign)
        || superuser::own_secret(cluster) && matches!(world.superuser, Held::Foreign);
    if leads && formed && world.unreachable.is_none() && !foreign {
        let message = if told.why.is_empty() { "Cluster is Ready" } else { &told.why };
        status.say(READY, Some(true), Reason::Code(IS_READY.into()), message);
    } else {
        status.say(READY, Some(false), Reason::Code(NOT_READY.into()), told.why.clone());
    }
    archiving(world, told, status);
    storage(cluster, world, status);
}

fn archiving(world: &World, told: &Told, status: &mut ClusterStatus) {
    if !world.archive {
        status.conditions.retain(|condition| condition.type_ != CONTINUOUS_ARCHIVING);
        return;
    }
    let archives = told.leads.as_ref().and_then(|(_, facts)| facts.as_ref()).map(|facts| facts.archives);
    match archives {
        Some(true) => {
            let message = "Continuous archiving is working";
            status.say(CONTINUOUS_ARCHIVING, Some(true), Reason::Code(ARCHIVING.into()), message);
        }
        // Until somebody can be asked, what was said last stays.
        None if find(&status.conditions, CONTINUOUS_ARCHIVING).is_some() => {}
        Some(false) | None => {
            let message = "the archive of the server's history is being turned on";
            status.say(CONTINUOUS_ARCHIVING, Some(false), Reason::Code(NOT_ARCHIVING.into()), message);
        }
    }
}

fn storage(cluster: &Cluster, world: &World, status: &mut ClusterStatus) {
    let written = cluster.spec.storage.size.as_deref();
    let size = written.and_then(units).filter(|size| *size > 0);
    let percent = size.map(|size| u128::from(world.seen.bytes) * 100 / u128::from(size));
    let full = percent.filter(|percent| *percent >= u128::from(FULL_ENOUGH));
    let short = world.seen.free.filter(|free| *free < FREE_ENOUGH);
    let message = match (short, full, written) {
        (Some(free), _, _) => {
            format!("the disk of this machine has {} MiB of space left; make room on it", free >> 20)
        }
        (None, Some(percent), Some(written)) => format!(
            "{percent} % of the {written} in spec.storage.size are used; delete data, or raise it (it cannot be lowered again)"
        ),
        _ => {
            status.conditions.retain(|condition| condition.type_ != STORAGE_SUFFICIENT);
            return;
        }
    };
    status.say(STORAGE_SUFFICIENT, Some(false), Reason::Code(NEARLY_FULL.into()), message);
}
