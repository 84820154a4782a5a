//! How many pods there are to be, and which of them go first.

use std::cmp::Reverse;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetSpec, ReplicaSetStatus};
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use kit::{Address, Child, Do, Next, Plan};
use serde_json::{Value, json};

use super::super::code::drawn;
use super::super::readiness::{active, available_at, phase, ready, ready_since};
use super::super::selection;

/// The condition that tells of pods which could not be made or ended.
pub(super) const REPLICA_FAILURE: &str = "ReplicaFailure";
/// How many pods one pass makes or ends: enough for any one machine, and others get their turn.
const BURST: usize = 50;
/// On a pod: what it costs to end it; the cheapest goes first.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// What is known when a plan is made.
#[derive(Debug, Default)]
pub struct World {
    /// The time.
    pub(super) now: Timestamp,
    /// Pods that the set controls.
    pub(super) pods: Vec<Arc<Pod>>,
    /// Pods that fit and that nobody controls.
    pub(super) orphans: Vec<Arc<Pod>>,
    /// A number drawn for the names of new pods.
    pub(super) seed: u64,
}

pub(super) fn plan(set: &ReplicaSet, world: &World) -> Plan<Infallible, ReplicaSetStatus> {
    let Some(spec) = &set.spec else {
        return Plan::part(Vec::new(), set.status.clone().unwrap_or_default(), Next::OnChange);
    };
    let fits = |pod: &&Arc<Pod>| selection::selects(&spec.selector, pod.metadata.labels.as_ref());
    let strays = world.pods.iter().filter(|pod| !fits(pod) && pod.metadata.deletion_timestamp.is_none());
    let mut steps: Vec<Do<Infallible>> = strays.map(|pod| selection::release(set, &**pod)).collect();
    steps.extend(world.orphans.iter().map(|pod| selection::adopt(set, &**pod)));

    let mine: Vec<&Pod> = world
        .pods
        .iter()
        .filter(fits)
        .chain(&world.orphans)
        .map(|pod| &**pod)
        .filter(|pod| active(pod))
        .collect();
    let wanted = usize::try_from(spec.replicas.unwrap_or(1)).unwrap_or_default();
    if mine.len() < wanted {
        steps.extend((0..(wanted - mine.len()).min(BURST)).map(|place| create(set, spec, world.seed, place)));
    } else {
        let surplus = (mine.len() - wanted).min(BURST);
        let first = in_order_of_farewell(mine.clone());
        steps.extend(first.into_iter().take(surplus).map(|pod| Do::Delete(Address::of(pod), None)));
    }
    let next = next_look(spec, &mine, world.now);
    Plan::part(steps, status(set, spec, &mine, world), next)
}

fn create(set: &ReplicaSet, spec: &ReplicaSetSpec, seed: u64, place: usize) -> Do<Infallible> {
    let set_name = set.metadata.name.as_deref().unwrap_or_default();
    let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
    let name = drawn(set_name, seed, place);
    let template = spec.template.clone().unwrap_or_default();
    let body = pod_body(&template, namespace, &name, set_name);
    Do::Create(Box::new(Child { address: Address::new::<Pod>(namespace, &name), body, owned: true }))
}

fn pod_body(template: &PodTemplateSpec, namespace: &str, name: &str, set_name: &str) -> Value {
    let meta = template.metadata.clone().unwrap_or_default();
    let mut metadata =
        json!({ "name": name, "namespace": namespace, "generateName": format!("{set_name}-") });
    if let Some(labels) = meta.labels {
        metadata["labels"] = json!(labels);
    }
    if let Some(annotations) = meta.annotations {
        metadata["annotations"] = json!(annotations);
    }
    if let Some(finalizers) = meta.finalizers {
        metadata["finalizers"] = json!(finalizers);
    }
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.spec })
}

/// The order in which pods go, as in Kubernetes: those that serve nobody first, then the cheap, then the young.
fn in_order_of_farewell(mut pods: Vec<&Pod>) -> Vec<&Pod> {
    pods.sort_by_key(|pod| {
        let assigned = pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref()).is_some();
        let stage = match phase(pod) {
            "Running" => 2,
            "Unknown" => 1,
            _ => 0,
        };
        let annotations = pod.metadata.annotations.as_ref();
        let cost =
            annotations.and_then(|all| all.get(DELETION_COST)).and_then(|text| text.parse::<i32>().ok());
        let ready_at = ready_since(pod).map(Reverse);
        let created = pod.metadata.creation_timestamp.as_ref().map(|time| Reverse(time.0));
        let name = pod.metadata.name.clone();
        (assigned, stage, ready(pod), cost.unwrap_or(0), ready_at, Reverse(restarts(pod)), created, name)
    });
    pods
}

fn restarts(pod: &Pod) -> i32 {
    let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_deref());
    statuses.unwrap_or_default().iter().map(|status| status.restart_count).max().unwrap_or(0)
}

fn status(set: &ReplicaSet, spec: &ReplicaSetSpec, mine: &[&Pod], world: &World) -> ReplicaSetStatus {
    let mut status = set.status.clone().unwrap_or_default();
    let template = spec.template.as_ref().and_then(|template| template.metadata.as_ref());
    let wanted = template.and_then(|meta| meta.labels.as_ref());
    let labelled = |pod: &&&Pod| {
        let labels = pod.metadata.labels.as_ref();
        wanted.into_iter().flatten().all(|(key, value)| labels.and_then(|all| all.get(key)) == Some(value))
    };
    let min_ready = spec.min_ready_seconds.unwrap_or(0);
    let available = |pod: &&&Pod| available_at(pod, min_ready).is_some_and(|at| at <= world.now);
    status.replicas = count(mine.len());
    status.fully_labeled_replicas = some(mine.iter().filter(labelled).count());
    status.ready_replicas = some(mine.iter().filter(|pod| ready(pod)).count());
    status.available_replicas = some(mine.iter().filter(available).count());
    let going = world.pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_some());
    status.terminating_replicas = Some(count(going.count()));
    status.observed_generation = set.metadata.generation;
    if let Some(conditions) = &mut status.conditions {
        conditions.retain(|condition| condition.type_ != REPLICA_FAILURE);
    }
    status.conditions = status.conditions.filter(|conditions| !conditions.is_empty());
    status
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// Kubernetes leaves out a count of zero.
fn some(number: usize) -> Option<i32> {
    (number > 0).then(|| count(number))
}

/// When the next pod that is ready will have been so for long enough.
fn next_look(spec: &ReplicaSetSpec, mine: &[&Pod], now: Timestamp) -> Next {
    let min_ready = spec.min_ready_seconds.unwrap_or(0);
    let times = mine.iter().filter_map(|pod| available_at(pod, min_ready)).filter(|at| *at > now);
    match times.min() {
        Some(at) => Next::After(Duration::try_from(at.duration_since(now)).unwrap_or_default()),
        None => Next::OnChange,
    }
}
