//! Every rule of the kind.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use api::annotations::ADOPT;
use api::conditions::{DELETION_BLOCKED, Reason, Standing};
use api::foreign::cnpg::Cluster;
use api::services::{ManagedService, ManagedServicePhase, ManagedServiceStatus};
use kit::{Address, Child, Do, Next, Plan, Refusal};
use kube::ResourceExt;

use crate::services::Config;

mod database;
mod verdict;

use verdict::{Verdict, verdict};

/// How often a service is looked at that is not ready yet (seed 000, reconcile logic, 6).
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// What is said where nobody runs databases (seed 000, open question 5).
const NOT_AVAILABLE: &str = "managed services are not available on this platform instance";

/// What is known when a plan is made.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Whether the kind of databases is served.
    pub served: bool,
    /// The Cluster of the service's name, whoever made it.
    pub cluster: Option<Arc<Cluster>>,
    /// Whether the connection Secret is there, and belongs to that Cluster.
    pub secret_there: bool,
    /// The applications that name that Secret, sorted.
    pub bound_apps: Vec<String>,
}

/// The plan for one pass over one service.
pub(super) fn plan(
    service: &ManagedService,
    world: &World,
    config: &Config,
) -> Result<Plan<Infallible, ManagedServiceStatus>, Refusal> {
    let mut status = service.status.clone().unwrap_or_default();
    status.observed_generation = service.metadata.generation;
    status.bound_apps.clone_from(&world.bound_apps);
    status.conditions.retain(|condition| condition.type_ != DELETION_BLOCKED);
    if service.metadata.deletion_timestamp.is_some() {
        return Ok(farewell(service, world, status));
    }
    if !world.served {
        tell(&mut status, Verdict::failed(Reason::KindMissing, NOT_AVAILABLE));
        return Ok(Plan::part(Vec::new(), status, Next::OnChange));
    }
    if let Some(held) = world.cluster.as_deref().and_then(|cluster| held(service, cluster)) {
        tell(&mut status, held);
        return Ok(Plan::part(Vec::new(), status, Next::After(LOOK_AGAIN)));
    }
    let cluster = database::cluster(service, world.cluster.as_deref(), config)?;
    let verdict = verdict(service, world);
    let next = if verdict.settled { Next::OnChange } else { Next::After(LOOK_AGAIN) };
    status.connection_secret_ref = verdict::connection_secret_ref(service, world, &verdict);
    tell(&mut status, verdict);
    Ok(Plan::whole(vec![Do::Apply(Box::new(Child::of(&cluster)))], status, next))
}

/// Why the Cluster of our name cannot be ours, if so.
fn held(service: &ManagedService, cluster: &Cluster) -> Option<Verdict> {
    let name = service.name_any();
    if cluster.metadata.deletion_timestamp.is_some() {
        let message =
            format!("Cluster {name} is being deleted; the database is made anew as soon as it is gone");
        return Some(Verdict::provisioning(message));
    }
    let adopted = cluster.annotations().get(ADOPT).is_some_and(|adopt| adopt == "true");
    if ours(service, cluster) || adopted {
        return None;
    }
    let message = format!(
        "Cluster {name} exists and was not made for this service; choose another name, or let Terrace have it with the annotation {ADOPT}: \"true\""
    );
    Some(Verdict::failed(Reason::NotOurs, message))
}

fn ours(service: &ManagedService, cluster: &Cluster) -> bool {
    let controller = cluster.owner_references().iter().find(|owner| owner.controller == Some(true));
    controller.is_some_and(|owner| Some(&owner.uid) == service.metadata.uid.as_ref())
}

/// The end: not while anybody uses it, and not before the database is gone.
fn farewell(
    service: &ManagedService,
    world: &World,
    mut status: ManagedServiceStatus,
) -> Plan<Infallible, ManagedServiceStatus> {
    if !world.bound_apps.is_empty() {
        let message = format!("cannot delete: apps still bound: [{}]", world.bound_apps.join(", "));
        status.say(DELETION_BLOCKED, Some(true), Reason::StillBound, message.clone());
        tell(&mut status, Verdict::failed(Reason::StillBound, message));
        return Plan::part(Vec::new(), status, Next::OnChange);
    }
    let Some(cluster) = world.cluster.as_deref().filter(|cluster| ours(service, cluster)) else {
        return Plan::release(Vec::new(), status);
    };
    status.phase = Some(ManagedServicePhase::Deleting);
    let message = "the database is being deleted";
    status.message = Some(message.into());
    status.not_ready(Reason::Deleting, message);
    let going = cluster.metadata.deletion_timestamp.is_some();
    let steps = if going { Vec::new() } else { vec![Do::Delete(Address::of(cluster), None)] };
    Plan::part(steps, status, Next::After(LOOK_AGAIN))
}

fn tell(status: &mut ManagedServiceStatus, verdict: Verdict) {
    let Verdict { phase, ready, reason, message, settled: _ } = verdict;
    status.phase = Some(phase);
    status.message = Some(message.clone());
    match ready {
        true => status.ready(reason, message),
        false => status.not_ready(reason, message),
    }
}
