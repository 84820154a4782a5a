//! What a pod says of itself.

use k8s_openapi::api::core::v1::{HostIP, PodCondition, PodIP, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::container::Considered;
use super::{Restarts, Scene, restarts};

/// The condition that all containers are ready.
pub(in super::super) const CONTAINERS_READY: &str = "ContainersReady";
const READY: &str = "Ready";
/// Where pods are reached on this machine.
const LOOPBACK: &str = "127.0.0.1";

pub(super) fn status(scene: &Scene<'_>, init: &[Considered], main: &[Considered]) -> PodStatus {
    let mut status = scene.pod.status.clone().unwrap_or_default();
    let phase = phase(scene, init, main);
    status.phase = Some(phase.into());
    status.host_ip = Some(LOOPBACK.into());
    status.host_ips = Some(vec![HostIP { ip: LOOPBACK.into() }]);
    status.pod_ip = Some(LOOPBACK.into());
    status.pod_ips = Some(vec![PodIP { ip: LOOPBACK.into() }]);
    status.start_time = status.start_time.or(Some(Time(scene.world.now)));
    status.observed_generation = scene.pod.metadata.generation;
    let statuses = |all: &[Considered]| all.iter().map(|one| one.status.clone()).collect::<Vec<_>>();
    if !init.is_empty() {
        let mut told = statuses(init);
        let later = super::init_containers(scene.spec).iter().skip(init.len());
        told.extend(later.map(|one| super::container::initializing(scene, one).status));
        status.init_container_statuses = Some(told);
    }
    status.container_statuses = Some(statuses(main));
    conditions(&mut status, scene, (init, main), phase);
    status
}

/// Pending until every container has run, then running until all have ended for good.
fn phase(scene: &Scene<'_>, init: &[Considered], main: &[Considered]) -> &'static str {
    if init.iter().any(|one| one.failed) {
        return "Failed";
    }
    let begun = |one: &Considered| {
        let state = one.status.state.as_ref();
        state.is_some_and(|state| state.waiting.is_none()) || one.status.last_state.is_some()
    };
    if !main.iter().all(begun) {
        return "Pending";
    }
    let over = |one: &Considered| one.done || one.failed;
    if restarts(scene.spec) == Restarts::Always || !main.iter().all(over) {
        return "Running";
    }
    if main.iter().any(|one| one.failed) { "Failed" } else { "Succeeded" }
}

fn conditions(
    status: &mut PodStatus,
    scene: &Scene<'_>,
    (init, main): (&[Considered], &[Considered]),
    phase: &str,
) {
    let names = |all: &mut dyn Iterator<Item = &str>| format!("[{}]", all.collect::<Vec<_>>().join(" "));
    say(status, "PodReadyToStartContainers", None);
    let wanted = super::init_containers(scene.spec);
    let mut incomplete = wanted
        .iter()
        .filter(|one| !init.iter().any(|seen| seen.done && seen.status.name == one.name))
        .map(|one| one.name.as_str())
        .peekable();
    let trouble = incomplete.peek().is_some().then(|| {
        ("ContainersNotInitialized", format!("containers with incomplete status: {}", names(&mut incomplete)))
    });
    say(status, "Initialized", trouble);
    let unready: Vec<&str> =
        main.iter().filter(|one| !one.status.ready).map(|one| one.status.name.as_str()).collect();
    let completed = phase == "Succeeded";
    let trouble = (completed || phase == "Failed" || !unready.is_empty()).then(|| {
        let reason = if completed { "PodCompleted" } else { "ContainersNotReady" };
        let mut message = if completed {
            String::new()
        } else {
            format!("containers with unready status: {}", names(&mut unready.iter().copied()))
        };
        for why in init.iter().chain(main).filter_map(|one| one.trouble.as_ref()) {
            message.push_str("; ");
            message.push_str(why);
        }
        (reason, message)
    });
    say(status, CONTAINERS_READY, trouble.clone());
    say(status, READY, trouble);
    say(status, "PodScheduled", None);
}

/// A pod that is about to end is ready for nobody.
pub(super) fn leaving(mut status: PodStatus) -> PodStatus {
    say(&mut status, READY, Some(("PodTerminating", "the pod is going away".into())));
    status
}

/// Says that something holds, or why it does not.
fn say(status: &mut PodStatus, type_: &str, trouble: Option<(&str, String)>) {
    let conditions = status.conditions.get_or_insert_default();
    let told = PodCondition {
        type_: type_.into(),
        status: if trouble.is_some() { "False" } else { "True" }.into(),
        reason: trouble.as_ref().map(|(reason, _)| (*reason).to_owned()),
        message: trouble.map(|(_, message)| message).filter(|message| !message.is_empty()),
        ..PodCondition::default()
    };
    match conditions.iter_mut().find(|held| held.type_ == type_) {
        Some(held) => *held = told,
        None => conditions.push(told),
    }
}
