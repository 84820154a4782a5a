//! How far a service is, read off its Cluster.

use api::conditions::{READY, Reason};
use api::foreign::cnpg::{Cluster, ClusterStatus};
use api::foreign::find;
use api::names::ObjectName;
use api::services::{ManagedService, ManagedServicePhase, connection_secret};
use kube::ResourceExt;

use super::World;

/// How CloudNativePG says that nothing is wrong.
const HEALTHY: &str = "Cluster in healthy state";
/// Phases that a Cluster does not leave by itself, and what they mean to its users. The words are CloudNativePG's own
/// (`api/v1/cluster_types.go`; that of the disk stands in its controller).
const FAILURES: [(&str, &str); 8] = [
    ("Cluster is unrecoverable and needs manual intervention", "no instance is left to start from"),
    // Until 1.21.
    ("Cluster is in an unrecoverable state, needs manual intervention", "no instance is left to start from"),
    ("Unable to create required cluster objects", "something that it needs could not be made"),
    ("Not enough disk space", "the disk is full: take a larger plan"),
    (
        "Cluster cannot proceed to reconciliation due to an unknown plugin being required",
        "the operator lacks a plugin",
    ),
    (
        "Cluster cannot proceed to reconciliation due to an error while interacting with plugins",
        "a plugin of the operator fails",
    ),
    ("Cluster has incomplete or invalid image catalog", "there is no image of this version"),
    (
        "Cluster cannot execute instance online upgrade due to missing architecture binary",
        "the operator does not know the machines that it runs on",
    ),
];

/// How far a service is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verdict {
    pub(super) phase: ManagedServicePhase,
    pub(super) ready: bool,
    pub(super) reason: Reason,
    pub(super) message: String,
    /// Whether nothing more is to come, as far as anybody knows.
    pub(super) settled: bool,
}

impl Verdict {
    pub(super) fn failed(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            phase: ManagedServicePhase::Failed,
            ready: false,
            reason,
            message: message.into(),
            settled: false,
        }
    }

    pub(super) fn provisioning(message: impl Into<String>) -> Self {
        let phase = ManagedServicePhase::Provisioning;
        Self { phase, ready: false, reason: Reason::Provisioning, message: message.into(), settled: false }
    }

    fn ready(message: String, settled: bool) -> Self {
        let phase = ManagedServicePhase::Ready;
        Self { phase, ready: true, reason: Reason::Available, message, settled }
    }
}

/// How far a service is whose Cluster is its own.
pub(super) fn verdict(service: &ManagedService, world: &World) -> Verdict {
    let Some(cluster) = world.cluster.as_deref() else {
        return Verdict::provisioning("the database cluster is being created");
    };
    let status = cluster.status.clone().unwrap_or_default();
    let words = status.words();
    let worries = worries(&status);
    let ready = find(&status.conditions, READY).is_some_and(|ready| ready.status == "True");
    if ready && !world.secret_there {
        let secret = connection_secret(&service.name_any());
        return Verdict::provisioning(format!(
            "the database runs; waiting for Secret {secret} with its login"
        ));
    }
    if ready {
        return running(cluster, &status, &worries);
    }
    if let Some((_, meaning)) = FAILURES.iter().find(|(phase, _)| Some(*phase) == status.phase.as_deref()) {
        let message = joined(&format!("{words} ({meaning})"), &worries);
        let ran = was_ready(service, world);
        let reason = if ran { Reason::DependencyNotReady } else { Reason::CreationFailed };
        return Verdict::failed(reason, message);
    }
    if !was_ready(service, world) {
        return Verdict::provisioning(joined(&words, &worries));
    }
    if serves(&status) {
        return Verdict::ready(joined(&format!("the database takes connections; {words}"), &worries), false);
    }
    let message =
        format!("the database takes no connections at the moment, and is being brought back: {words}");
    Verdict::failed(Reason::DependencyNotReady, joined(&message, &worries))
}

/// The Secret with the login: from the moment that the service is ready, for as long as the Secret is there.
pub(super) fn connection_secret_ref(
    service: &ManagedService,
    world: &World,
    verdict: &Verdict,
) -> Option<ObjectName> {
    let named = verdict.ready || was_ready(service, world);
    connection_secret(&service.name_any()).parse().ok().filter(|_| named && world.secret_there)
}

/// Whether it was ready once. Nobody can observe that, so the Secret's name in the status remembers it.
fn was_ready(service: &ManagedService, world: &World) -> bool {
    let named = service.status.as_ref().is_some_and(|status| status.connection_secret_ref.is_some());
    named && world.secret_there
}

fn running(cluster: &Cluster, status: &ClusterStatus, worries: &[String]) -> Verdict {
    let up = status.ready_instances.unwrap_or(cluster.spec.instances);
    let wanted = cluster.spec.instances;
    let mut message = "the database takes connections".to_owned();
    if up < wanted {
        message = format!("{message}; {up} of {wanted} instances are up");
    }
    let calm = status.phase.as_deref().is_none_or(|phase| phase == HEALTHY);
    if !calm {
        message = format!("{message}; {}", status.words());
    }
    Verdict::ready(joined(&message, worries), calm)
}

/// Whether a primary takes connections, though not all instances are up.
fn serves(status: &ClusterStatus) -> bool {
    let primary = status.current_primary.as_deref().filter(|primary| !primary.is_empty());
    let moving = status.target_primary.as_deref().is_some_and(|target| Some(target) != primary);
    primary.is_some() && !moving && status.ready_instances.unwrap_or_default() > 0
}

/// What else the Cluster complains of.
fn worries(status: &ClusterStatus) -> Vec<String> {
    let conditions = status.conditions.iter();
    let bad = conditions.filter(|condition| condition.type_ != READY && condition.status == "False");
    let told = bad.filter_map(|condition| {
        let message = condition.message.as_deref().filter(|message| !message.trim().is_empty())?;
        Some(format!("{}: {message}", condition.type_))
    });
    told.collect()
}

fn joined(message: &str, worries: &[String]) -> String {
    std::iter::once(message).chain(worries.iter().map(String::as_str)).collect::<Vec<_>>().join("; ")
}
