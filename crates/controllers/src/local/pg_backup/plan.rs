use std::fmt;
use std::time::Duration;

use api::annotations::KEPT_UNTIL;
use api::foreign::cnpg::{Backup, BackupStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kit::{Address, Do, Next, Plan};
use kube::ResourceExt;
use ports::postgres::{Copied, Facts, Instance, Key, Number, Run, Seen};

/// Phases as CloudNativePG writes them.
const PENDING: &str = "pending";
const STARTED: &str = "started";
const RUNNING: &str = "running";
pub(super) const COMPLETED: &str = "completed";
const FAILED: &str = "failed";
/// How it is copied, if the spec does not say.
const METHOD: &str = "terrace";
/// How often it is looked at what is under way.
const UNDER_WAY: Duration = Duration::from_secs(1);
/// How often it is looked for what somebody else has to bring.
const REST: Duration = Duration::from_secs(30);

/// What is known of a backup.
#[derive(Clone, Debug)]
pub struct World {
    pub(super) now: Timestamp,
    /// How far it is; `None` if it was never begun.
    pub(super) progress: Option<ports::postgres::Backup>,
    /// The cluster that it is of, if it is there and matters.
    pub(super) cluster: Option<Served>,
    /// Whether a cluster of that name is on its way out.
    pub(super) goes: bool,
}

/// A cluster, and how its servers stand.
#[derive(Clone, Debug)]
pub(super) struct Served {
    pub(super) key: Key,
    pub(super) seen: Seen,
}

/// What is done about it.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Begins the copy.
    BackUp {
        /// Of which cluster.
        cluster: Key,
        /// From which instance.
        number: Number,
        /// Under which uid.
        backup: String,
    },
    /// Removes the copy of this uid.
    Discard(String),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BackUp { cluster, number, .. } => write!(f, "back up {} from {number}", cluster.name),
            Self::Discard(_) => f.write_str("discard"),
        }
    }
}

/// The plan for one pass over one backup.
pub(super) fn plan(backup: &Backup, world: &World) -> Plan<Step, BackupStatus> {
    let mut status = backup.status.clone().unwrap_or_default();
    let uid = backup.uid().unwrap_or_default();
    if backup.metadata.deletion_timestamp.is_some() {
        return Plan::release(vec![Do::Outside(Step::Discard(uid))], status);
    }
    let last = status.phase.take();
    status.error = None;
    status.backup_id = Some(uid.clone());
    status.method = backup.spec.method.clone().or_else(|| Some(METHOD.into()));
    let until = backup.annotations().get(KEPT_UNTIL);
    if let Some(Ok(until)) = until.map(|until| until.parse::<Timestamp>())
        && until <= world.now
    {
        status.phase = last;
        return Plan::part(vec![Do::Delete(Address::of(backup), None)], status, Next::OnChange);
    }
    let next = match &world.progress {
        Some(ports::postgres::Backup::Done(copied)) => {
            done(&mut status, copied);
            until.map_or(Next::OnChange, |until| ends(until, world.now))
        }
        Some(ports::postgres::Backup::Running { since }) => {
            (status.phase, status.started_at) = (Some(RUNNING.into()), Some(seconds(*since)));
            Next::After(UNDER_WAY)
        }
        Some(ports::postgres::Backup::Failed { story }) => fails(&mut status, story),
        None if until.is_some() => kept(&mut status, world),
        None if last.as_deref() == Some(COMPLETED) => {
            fails(&mut status, "the copy is no longer on this machine")
        }
        None => return begin(backup, world, status),
    };
    Plan::part(Vec::new(), status, next)
}

fn done(status: &mut BackupStatus, copied: &Copied) {
    status.phase = Some(COMPLETED.into());
    status.started_at = Some(seconds(copied.began));
    status.stopped_at = Some(seconds(copied.ended));
    status.begin_lsn = copied.first.map(|lsn| lsn.to_string());
    status.end_lsn = copied.last.map(|lsn| lsn.to_string());
}

fn fails(status: &mut BackupStatus, why: &str) -> Next {
    (status.phase, status.error) = (Some(FAILED.into()), Some(why.to_owned()));
    Next::OnChange
}

/// The data of a deleted cluster, which is not here: it comes when the cluster has ended.
fn kept(status: &mut BackupStatus, world: &World) -> Next {
    if world.goes {
        status.phase = Some(PENDING.into());
        return Next::After(UNDER_WAY);
    }
    fails(status, "the data of the deleted cluster is not on this machine");
    Next::After(REST)
}

/// When a kept one goes.
fn ends(until: &str, now: Timestamp) -> Next {
    let Ok(until) = until.parse::<Timestamp>() else { return Next::OnChange };
    Next::After(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

/// Begins the copy, or says what it waits for.
fn begin(backup: &Backup, world: &World, mut status: BackupStatus) -> Plan<Step, BackupStatus> {
    status.phase = Some(PENDING.into());
    let Some(served) = &world.cluster else {
        let cluster = &backup.spec.cluster.name;
        status.error = Some(format!("Cluster {cluster:?} does not exist in this namespace"));
        return Plan::part(Vec::new(), status, Next::After(REST));
    };
    let Some(number) = from(&served.seen) else {
        // It is woken when the primary comes up, and when the archive is on.
        return Plan::part(Vec::new(), status, Next::After(UNDER_WAY));
    };
    (status.phase, status.started_at) = (Some(STARTED.into()), Some(seconds(world.now)));
    let step = Step::BackUp { cluster: served.key.clone(), number, backup: backup.uid().unwrap_or_default() };
    Plan::part(vec![Do::Outside(step)], status, Next::After(UNDER_WAY))
}

/// Whom to copy: a standby that receives, else the primary; nobody while the history is not archived.
fn from(seen: &Seen) -> Option<Number> {
    let up: Vec<(Number, &Facts)> = seen
        .instances
        .iter()
        .filter_map(|(number, instance)| match instance {
            Instance::There(there) => match &there.run {
                Run::Up(facts) => Some((*number, facts)),
                Run::Stopped | Run::Ended { .. } | Run::Starting { .. } => None,
            },
            Instance::Coming { .. } | Instance::Broken { .. } => None,
        })
        .collect();
    let (primary, _) = up.iter().find(|(_, facts)| !facts.in_recovery && facts.archives)?;
    let standby = up.iter().find(|(_, facts)| facts.in_recovery && facts.streaming);
    Some(standby.map_or(*primary, |(number, _)| *number))
}

/// Kubernetes writes whole seconds.
fn seconds(time: Timestamp) -> Time {
    Time(Timestamp::from_second(time.as_second()).unwrap_or(time))
}
