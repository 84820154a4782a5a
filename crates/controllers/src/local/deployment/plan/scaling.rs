//! How many pods each set has: what is written of it, and how a change of the whole is shared out.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::ReplicaSet;
use kit::{Address, Do};
use serde_json::json;

use super::bounds::bounds;
use super::{Rollout, Steps, available, size};

/// On a set: how many pods the deployment wanted when the set was last scaled.
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
/// On a set: how many pods there could have been in all when it was last scaled.
pub(super) const MAX: &str = "deployment.kubernetes.io/max-replicas";

/// How many pods the deployment wanted when a set was last scaled.
pub(super) fn told_replicas(set: &ReplicaSet) -> Option<i32> {
    number(set, DESIRED)
}

fn number(set: &ReplicaSet, key: &str) -> Option<i32> {
    set.metadata.annotations.as_ref()?.get(key)?.parse().ok()
}

/// The annotations that a set of this roll-out has when it is scaled.
pub(super) fn notes(rollout: &Rollout<'_>) -> BTreeMap<String, String> {
    let wanted = rollout.wanted();
    let most = if wanted > 0 { wanted + bounds(rollout).surge } else { 0 };
    BTreeMap::from([(DESIRED.to_owned(), wanted.to_string()), (MAX.to_owned(), most.to_string())])
}

/// Gives a set its number of pods, if that is news.
pub(super) fn scale(rollout: &Rollout<'_>, set: &ReplicaSet, to: i32) -> Steps {
    let notes = notes(rollout);
    let held = set.metadata.annotations.clone().unwrap_or_default();
    let noted = notes.iter().all(|(key, value)| held.get(key) == Some(value));
    if size(set) == to && noted {
        return Vec::new();
    }
    let patch = json!({ "metadata": { "annotations": notes }, "spec": { "replicas": to } });
    vec![Do::Patch(Address::of(set), patch)]
}

/// Shares a new number of replicas out among the sets, without rolling anything out.
pub(super) fn plan(rollout: &Rollout<'_>) -> Steps {
    if let Some(only) = active_or_latest(rollout) {
        return scale(rollout, only, rollout.wanted());
    }
    if rollout.new.is_some_and(|new| saturated(rollout, new)) {
        let old = rollout.old.iter().filter(|set| size(set) > 0);
        return old.flat_map(|set| scale(rollout, set, 0)).collect();
    }
    if rollout.recreates() {
        return Vec::new();
    }
    in_proportion(rollout)
}

/// The one set that has pods, or, where none has, the newest.
fn active_or_latest<'a>(rollout: &Rollout<'a>) -> Option<&'a ReplicaSet> {
    let active: Vec<&ReplicaSet> = rollout.all().filter(|set| size(set) > 0).collect();
    match active.as_slice() {
        [] => rollout.new.or_else(|| rollout.old.last().copied()),
        [only] => Some(*only),
        _ => None,
    }
}

/// Whether the new set alone is all that is wanted.
fn saturated(rollout: &Rollout<'_>, new: &ReplicaSet) -> bool {
    let wanted = rollout.wanted();
    size(new) == wanted && told_replicas(new) == Some(wanted) && available(new) == wanted
}

fn in_proportion(rollout: &Rollout<'_>) -> Steps {
    let wanted = rollout.wanted();
    let allowed = if wanted > 0 { wanted + bounds(rollout).surge } else { 0 };
    let mut sets: Vec<&ReplicaSet> = rollout.all().filter(|set| size(set) > 0).collect();
    let change = allowed - sets.iter().map(|set| size(set)).sum::<i32>();
    // The largest first; of two equal ones the newer grows first, and the older shrinks first.
    if change > 0 {
        sets.reverse();
    }
    sets.sort_by_key(|set| std::cmp::Reverse(size(set)));
    let mut sizes: Vec<i32> = Vec::new();
    let mut done = 0;
    for set in &sets {
        let share = if change == 0 { 0 } else { share(rollout, set, change, done) };
        done += share;
        sizes.push(size(set) + share);
    }
    if let Some(first) = sizes.first_mut() {
        *first = (*first + change - done).max(0);
    }
    sets.iter().zip(sizes).flat_map(|(set, to)| scale(rollout, set, to.max(0))).collect()
}

/// What a set gets of a change, by its part in the whole before.
fn share(rollout: &Rollout<'_>, set: &ReplicaSet, change: i32, done: i32) -> i32 {
    let left = change - done;
    if left == 0 {
        return 0;
    }
    let wanted = rollout.wanted();
    let fraction = if wanted == 0 {
        -size(set)
    } else {
        let most = i64::from(wanted + bounds(rollout).surge);
        let before = number(set, MAX).filter(|before| *before > 0);
        let status = rollout.deployment.status.as_ref().and_then(|status| status.replicas);
        let before = i64::from(before.or(status).unwrap_or(wanted).max(1));
        let exact = i64::from(size(set)) * most;
        let rounded = (2 * exact + before) / (2 * before);
        i32::try_from(rounded).unwrap_or(i32::MAX) - size(set)
    };
    if change > 0 { fraction.min(left) } else { fraction.max(left) }
}
