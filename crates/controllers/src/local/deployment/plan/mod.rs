//! What becomes of a deployment's sets in one pass.

mod bounds;
mod history;
mod rollout;
mod scaling;
mod status;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStatus, ReplicaSet};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use kit::{Do, Next, Plan};
use serde_json::Value;

use super::super::code::{code, digest};
use super::super::selection;

/// Label that tells the pods of one template from those of another.
pub(super) const HASH: &str = "pod-template-hash";
/// Length of that label.
const HASH_LETTERS: usize = 10;
/// How soon a name that was taken is tried with another code.
const AGAIN: Duration = Duration::from_millis(50);

/// A step; all of them are in the cluster.
type Steps = Vec<Do<Infallible>>;

/// What is known when a plan is made.
#[derive(Debug, Default)]
pub struct World {
    /// The time.
    pub(super) now: Timestamp,
    /// Sets that the deployment controls.
    pub(super) sets: Vec<Arc<ReplicaSet>>,
    /// Sets that fit and that nobody controls.
    pub(super) orphans: Vec<Arc<ReplicaSet>>,
    /// The uids of the sets some pods of which have not ended.
    pub(super) busy: BTreeSet<String>,
    /// A set of the name that the next set of this template would have.
    pub(super) namesake: Option<Arc<ReplicaSet>>,
}

/// A deployment with its sets told apart.
struct Rollout<'a> {
    deployment: &'a Deployment,
    spec: &'a DeploymentSpec,
    /// The set of the template as it is now.
    new: Option<&'a ReplicaSet>,
    /// All others, the oldest first.
    old: Vec<&'a ReplicaSet>,
    world: &'a World,
}

pub(super) fn plan(deployment: &Deployment, world: &World) -> Plan<Infallible, DeploymentStatus> {
    let mut status = deployment.status.clone().unwrap_or_default();
    let Some(spec) = &deployment.spec else { return Plan::part(Vec::new(), status, Next::OnChange) };
    if !world.orphans.is_empty() {
        let steps = world.orphans.iter().map(|set| selection::adopt(deployment, &**set)).collect();
        return Plan::part(steps, status, Next::OnChange);
    }
    let rollout = Rollout::of(deployment, spec, world);
    if rollout.name_is_taken() {
        status.collision_count = Some(status.collision_count.unwrap_or(0) + 1);
        return Plan::part(Vec::new(), status, Next::After(AGAIN));
    }
    let mut steps = history::keep_books(&rollout);
    let deciding = if rollout.paused() || rollout.rescaled() {
        scaling::plan(&rollout)
    } else if rollout.recreates() {
        rollout::recreate(&rollout)
    } else {
        rollout::roll(&rollout)
    };
    let quiet = deciding.is_empty();
    steps.extend(deciding);
    let status = status::status(&rollout);
    if quiet && (rollout.paused() || status::complete(&rollout, &status)) {
        steps.extend(history::tidy(&rollout));
    }
    let next = status::deadline(&rollout, &status);
    Plan::part(steps, status, next)
}

/// How many pods there may be beyond the wanted number, and how many of it may be missing.
#[cfg(test)]
pub(super) fn resolve_bounds(
    surge: &k8s_openapi::apimachinery::pkg::util::intstr::IntOrString,
    missing: &k8s_openapi::apimachinery::pkg::util::intstr::IntOrString,
    wanted: i32,
) -> (i32, i32) {
    let found = bounds::resolve(surge, missing, wanted);
    (found.surge, found.missing)
}

/// The name of the set that this template would have.
pub(super) fn set_name(deployment: &Deployment) -> String {
    format!("{}-{}", deployment.metadata.name.as_deref().unwrap_or_default(), hash(deployment))
}

/// A code that stands for the template, and for how often its name was found taken.
fn hash(deployment: &Deployment) -> String {
    let template = deployment.spec.as_ref().map(|spec| plain(&spec.template)).unwrap_or_default();
    let collisions = deployment.status.as_ref().and_then(|status| status.collision_count).unwrap_or(0);
    code(digest(&[&template.to_string(), &collisions.to_string()]), HASH_LETTERS)
}

/// A template without its hash, and without fields that say nothing.
fn plain(template: &PodTemplateSpec) -> Value {
    let mut template = template.clone();
    if let Some(labels) = template.metadata.as_mut().and_then(|meta| meta.labels.as_mut()) {
        labels.remove(HASH);
    }
    if let Some(meta) = &mut template.metadata {
        meta.creation_timestamp = None;
    }
    let mut value = serde_json::to_value(template).unwrap_or_default();
    strip(&mut value);
    value
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(strip);
            fields.retain(|_, field| match field {
                Value::Null => false,
                Value::Object(inner) => !inner.is_empty(),
                Value::Array(inner) => !inner.is_empty(),
                Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
            });
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// How many pods a set is told to have.
fn size(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

/// How many of a set's pods are available.
fn available(set: &ReplicaSet) -> i32 {
    set.status.as_ref().and_then(|status| status.available_replicas).unwrap_or(0)
}

impl<'a> Rollout<'a> {
    fn of(deployment: &'a Deployment, spec: &'a DeploymentSpec, world: &'a World) -> Self {
        let mut sets: Vec<&ReplicaSet> = world
            .sets
            .iter()
            .map(|set| &**set)
            .filter(|set| set.metadata.deletion_timestamp.is_none())
            .collect();
        sets.sort_by_key(|set| {
            (set.metadata.creation_timestamp.as_ref().map(|time| time.0), set.metadata.name.clone())
        });
        let wanted = plain(&spec.template);
        let same = |set: &&ReplicaSet| {
            let template = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
            template.is_some_and(|template| plain(template) == wanted)
        };
        let place = sets.iter().position(same);
        let new = place.map(|place| sets.remove(place));
        Self { deployment, spec, new, old: sets, world }
    }

    fn name(&self) -> &str {
        self.deployment.metadata.name.as_deref().unwrap_or_default()
    }

    fn namespace(&self) -> &str {
        self.deployment.metadata.namespace.as_deref().unwrap_or_default()
    }

    fn wanted(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }

    fn all(&self) -> impl Iterator<Item = &'a ReplicaSet> {
        self.old.clone().into_iter().chain(self.new)
    }

    /// Pods that all sets are told to have.
    fn total(&self) -> i32 {
        self.all().map(size).sum()
    }

    fn paused(&self) -> bool {
        self.spec.paused == Some(true)
    }

    fn recreates(&self) -> bool {
        self.spec.strategy.as_ref().is_some_and(|strategy| strategy.type_.as_deref() == Some("Recreate"))
    }

    /// Whether the number of replicas changed since a set was last scaled.
    fn rescaled(&self) -> bool {
        let told = self.all().filter(|set| size(set) > 0).filter_map(scaling::told_replicas);
        told.into_iter().any(|told| told != self.wanted())
    }

    /// Whether a set that is to be made has the name of one that is something else.
    fn name_is_taken(&self) -> bool {
        let namesake = self.world.namesake.as_ref();
        self.new.is_none()
            && !self.paused()
            && namesake.is_some_and(|set| set.metadata.deletion_timestamp.is_none())
    }
}
