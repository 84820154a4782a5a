//! Revisions: which set was when, and which are kept.

use std::collections::BTreeMap;

use api::annotations::APPLIED;
use k8s_openapi::api::apps::v1::ReplicaSet;
use kit::{Address, Do};
use serde_json::{Map, Value, json};

use super::{Rollout, Steps, size};

/// On a deployment and its sets: the number of the roll-out.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
/// On a set: the numbers that it had before.
const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// Annotations of a deployment that say nothing of its sets.
const OWN: [&str; 7] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    super::scaling::DESIRED,
    super::scaling::MAX,
    "deprecated.deployment.rollback.to",
    APPLIED,
];
/// Old sets that are kept where the deployment does not say, as in Kubernetes.
const KEPT: i32 = 10;

/// The annotations of the deployment that its set has too.
pub(super) fn copied(rollout: &Rollout<'_>) -> BTreeMap<String, String> {
    let all = rollout.deployment.metadata.annotations.clone().unwrap_or_default();
    all.into_iter().filter(|(key, _)| !OWN.contains(&key.as_str())).collect()
}

/// The number of the roll-out under way.
pub(super) fn next_revision(rollout: &Rollout<'_>) -> i64 {
    rollout.old.iter().filter_map(|set| revision(set)).max().unwrap_or(0) + 1
}

fn revision(set: &ReplicaSet) -> Option<i64> {
    set.metadata.annotations.as_ref()?.get(REVISION)?.parse().ok()
}

/// Writes the number of the roll-out onto the new set and the deployment, and what else both should say.
pub(super) fn keep_books(rollout: &Rollout<'_>) -> Steps {
    let Some(new) = rollout.new else { return Vec::new() };
    let number = next_revision(rollout).max(revision(new).unwrap_or(0));
    let mut steps = Vec::new();
    let patch = set_patch(rollout, new, number);
    if !patch.is_empty() {
        steps.push(Do::Patch(Address::of(new), Value::Object(patch)));
    }
    let held = rollout.deployment.metadata.annotations.as_ref().and_then(|all| all.get(REVISION));
    if held != Some(&number.to_string()) {
        let patch = json!({ "metadata": { "annotations": { REVISION: number.to_string() } } });
        steps.push(Do::Patch(Address::of(rollout.deployment), patch));
    }
    steps
}

fn set_patch(rollout: &Rollout<'_>, new: &ReplicaSet, number: i64) -> Map<String, Value> {
    let held = new.metadata.annotations.clone().unwrap_or_default();
    let mut wanted = copied(rollout);
    wanted.insert(REVISION.into(), number.to_string());
    if let Some(before) = held.get(REVISION).filter(|before| **before != number.to_string()) {
        let history = held.get(REVISION_HISTORY).map(|all| format!("{all},{before}"));
        wanted.insert(REVISION_HISTORY.into(), history.unwrap_or_else(|| before.clone()));
    }
    wanted.retain(|key, value| held.get(key) != Some(value));
    let mut patch = Map::new();
    if !wanted.is_empty() {
        patch.insert("metadata".into(), json!({ "annotations": wanted }));
    }
    let min_ready = rollout.spec.min_ready_seconds.unwrap_or(0);
    let held = new.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0);
    if held != min_ready {
        patch.insert("spec".into(), json!({ "minReadySeconds": min_ready }));
    }
    patch
}

/// Deletes the oldest sets without pods, beyond those that are kept.
pub(super) fn tidy(rollout: &Rollout<'_>) -> Steps {
    let limit = rollout.spec.revision_history_limit.unwrap_or(KEPT);
    let limit = usize::try_from(limit).unwrap_or_default();
    let mut old = rollout.old.clone();
    let beyond = old.len().saturating_sub(limit);
    old.sort_by_key(|set| revision(set));
    let oldest = old.into_iter().take(beyond).filter(|set| {
        let status = set.status.as_ref();
        let seen = status.and_then(|status| status.observed_generation).unwrap_or(0);
        let empty = size(set) == 0 && status.is_none_or(|status| status.replicas == 0);
        empty && set.metadata.generation.unwrap_or(0) <= seen
    });
    oldest.map(|set| Do::Delete(Address::of(set), None)).collect()
}
