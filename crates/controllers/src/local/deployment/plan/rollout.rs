//! The two ways from one template to the next.

use std::collections::BTreeMap;
use std::convert::Infallible;

use k8s_openapi::api::apps::v1::ReplicaSet;
use kit::{Address, Child, Do};
use serde_json::json;

use super::bounds::{Bounds, bounds};
use super::scaling::{notes, scale};
use super::{HASH, Rollout, Steps, available, hash, history, set_name, size};

/// Grows the new set and shrinks the old ones, never above or below the bounds.
pub(super) fn roll(rollout: &Rollout<'_>) -> Steps {
    let Some(new) = rollout.new else { return vec![create(rollout, new_size(rollout, 0))] };
    let wanted = rollout.wanted();
    let to = if size(new) > wanted { wanted } else { new_size(rollout, size(new)) };
    if size(new) != to {
        return scale(rollout, new, to);
    }
    shrink_old(rollout, new)
}

/// Ends all old pods before the first new one starts.
pub(super) fn recreate(rollout: &Rollout<'_>) -> Steps {
    let active = rollout.old.iter().filter(|set| size(set) > 0);
    let steps: Steps = active.flat_map(|set| scale(rollout, set, 0)).collect();
    let busy =
        |set: &&ReplicaSet| set.metadata.uid.as_ref().is_some_and(|uid| rollout.world.busy.contains(uid));
    if !steps.is_empty() || rollout.old.iter().any(busy) {
        return steps;
    }
    match rollout.new {
        None => vec![create(rollout, rollout.wanted())],
        Some(new) if size(new) != rollout.wanted() => scale(rollout, new, rollout.wanted()),
        Some(_) => Vec::new(),
    }
}

/// How many pods the new set may have, when it has so many.
fn new_size(rollout: &Rollout<'_>, has: i32) -> i32 {
    let wanted = rollout.wanted();
    if rollout.recreates() {
        return wanted;
    }
    let room = wanted + bounds(rollout).surge - rollout.total();
    if room <= 0 {
        return has;
    }
    has + room.min(wanted - has)
}

/// Takes from old sets what can be spared: first pods that do not work, then those that do.
fn shrink_old(rollout: &Rollout<'_>, new: &ReplicaSet) -> Steps {
    if rollout.old.iter().all(|set| size(set) == 0) {
        return Vec::new();
    }
    let Bounds { missing, .. } = bounds(rollout);
    let least = rollout.wanted() - missing;
    let spare = rollout.total() - least - (size(new) - available(new));
    if spare <= 0 {
        return Vec::new();
    }
    let mut sizes: Vec<i32> = rollout.old.iter().map(|set| size(set)).collect();
    let mut spared = 0;
    for (set, to) in rollout.old.iter().zip(&mut sizes) {
        let broken = (*to - available(set)).max(0).min(spare - spared);
        *to -= broken;
        spared += broken;
    }
    let mut healthy = rollout.all().map(available).sum::<i32>() - least;
    for to in &mut sizes {
        let taken = (*to).min(healthy).max(0);
        *to -= taken;
        healthy -= taken;
    }
    let changed = rollout.old.iter().zip(sizes).filter(|(set, to)| size(set) != *to);
    changed.flat_map(|(set, to)| scale(rollout, set, to)).collect()
}

/// The set of the template as it is now.
fn create(rollout: &Rollout<'_>, replicas: i32) -> Do<Infallible> {
    let hash = hash(rollout.deployment);
    let name = set_name(rollout.deployment);
    let spec = rollout.spec;
    let mut template = spec.template.clone();
    let meta = template.metadata.get_or_insert_default();
    meta.labels.get_or_insert_default().insert(HASH.into(), hash.clone());
    let labels = meta.labels.clone();
    let mut selector = spec.selector.clone();
    selector.match_labels.get_or_insert_default().insert(HASH.into(), hash);
    let mut annotations: BTreeMap<String, String> = history::copied(rollout);
    annotations.extend(notes(rollout));
    annotations.insert(history::REVISION.into(), history::next_revision(rollout).to_string());
    let body = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name, "namespace": rollout.namespace(), "labels": labels, "annotations": annotations,
        },
        "spec": {
            "replicas": replicas,
            "minReadySeconds": spec.min_ready_seconds.unwrap_or(0),
            "selector": selector,
            "template": template,
        },
    });
    let address = Address::new::<ReplicaSet>(rollout.namespace(), &name);
    Do::Create(Box::new(Child { address, body, owned: true }))
}
