//! What a deployment says of its roll-out, in the words that `kubectl rollout status` reads.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{DeploymentCondition, DeploymentStatus, ReplicaSet};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kit::Next;

use super::bounds::bounds;
use super::{Rollout, available, size};

const AVAILABLE: &str = "Available";
const PROGRESSING: &str = "Progressing";
const REPLICA_FAILURE: &str = "ReplicaFailure";
const DONE: &str = "NewReplicaSetAvailable";
const TIMED_OUT: &str = "ProgressDeadlineExceeded";
const PAUSED: &str = "DeploymentPaused";

/// What is to be said of one type.
struct Word {
    type_: &'static str,
    status: &'static str,
    reason: &'static str,
    message: String,
}

pub(super) fn status(rollout: &Rollout<'_>) -> DeploymentStatus {
    let mut status = counted(rollout);
    availability(rollout, &mut status);
    replica_failure(rollout, &mut status);
    let Some(limit) = limit(rollout) else {
        conditions(&mut status).retain(|held| held.type_ != PROGRESSING);
        return status;
    };
    if pausing(rollout, &mut status) || rollout.paused() || rollout.rescaled() {
        return status;
    }
    progress(rollout, &mut status, limit);
    status
}

fn counted(rollout: &Rollout<'_>) -> DeploymentStatus {
    let sum = |of: fn(&ReplicaSet) -> i32| rollout.all().map(of).sum::<i32>();
    let some = |number: i32| (number != 0).then_some(number);
    let held = |set: &ReplicaSet| set.status.as_ref().map_or(0, |status| status.replicas);
    let ready = |set: &ReplicaSet| set.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or(0);
    let going =
        |set: &ReplicaSet| set.status.as_ref().and_then(|status| status.terminating_replicas).unwrap_or(0);
    let mut status = rollout.deployment.status.clone().unwrap_or_default();
    status.observed_generation = rollout.deployment.metadata.generation;
    status.replicas = some(sum(held));
    status.updated_replicas = some(rollout.new.map_or(0, held));
    status.ready_replicas = some(sum(ready));
    status.available_replicas = some(sum(available));
    status.unavailable_replicas = some((sum(size) - sum(available)).max(0));
    status.terminating_replicas = Some(sum(going));
    status
}

fn availability(rollout: &Rollout<'_>, status: &mut DeploymentStatus) {
    let least = rollout.wanted() - bounds(rollout).missing;
    let word = if status.available_replicas.unwrap_or(0) >= least {
        Word {
            type_: AVAILABLE,
            status: "True",
            reason: "MinimumReplicasAvailable",
            message: "Deployment has minimum availability.".into(),
        }
    } else {
        Word {
            type_: AVAILABLE,
            status: "False",
            reason: "MinimumReplicasUnavailable",
            message: "Deployment does not have minimum availability.".into(),
        }
    };
    say(status, word, rollout.world.now);
}

/// Copies what a set says of pods that could not be made; the new set's word counts first.
fn replica_failure(rollout: &Rollout<'_>, status: &mut DeploymentStatus) {
    let sets = rollout.new.into_iter().chain(rollout.old.iter().copied());
    let mut told =
        sets.flat_map(|set| set.status.iter().flat_map(|status| status.conditions.iter().flatten()));
    let failure = told.find(|held| held.type_ == REPLICA_FAILURE && held.status == "True");
    let Some(failure) = failure else {
        conditions(status).retain(|held| held.type_ != REPLICA_FAILURE);
        return;
    };
    let word = Word {
        type_: REPLICA_FAILURE,
        status: "True",
        reason: "FailedCreate",
        message: failure.message.clone().unwrap_or_default(),
    };
    say(status, word, rollout.world.now);
}

/// Tells that a roll-out was paused, or goes on. Returns whether it did.
fn pausing(rollout: &Rollout<'_>, status: &mut DeploymentStatus) -> bool {
    let held = progressing(status).and_then(|held| held.reason.as_deref());
    if held == Some(TIMED_OUT) {
        return false;
    }
    let (reason, message) = match (rollout.paused(), held == Some(PAUSED)) {
        (true, false) => (PAUSED, "Deployment is paused"),
        (false, true) => ("DeploymentResumed", "Deployment is resumed"),
        (true, true) | (false, false) => return false,
    };
    say(
        status,
        Word { type_: PROGRESSING, status: "Unknown", reason, message: message.into() },
        rollout.world.now,
    );
    true
}

fn progress(rollout: &Rollout<'_>, status: &mut DeploymentStatus, limit: SignedDuration) {
    let now = rollout.world.now;
    let held = progressing(status).cloned();
    let reason = held.as_ref().and_then(|held| held.reason.as_deref());
    if status.replicas == status.updated_replicas && reason == Some(DONE) {
        return;
    }
    let who = match rollout.new.and_then(|new| new.metadata.name.as_deref()) {
        Some(set) => format!("ReplicaSet \"{set}\""),
        None => format!("Deployment \"{}\"", rollout.name()),
    };
    let word = |status, reason, message| Word { type_: PROGRESSING, status, reason, message };
    if complete(rollout, status) {
        say(status, word("True", DONE, format!("{who} has successfully progressed.")), now);
    } else if advanced(rollout, status) {
        // Said anew each time: its date is what the deadline is counted from.
        conditions(status).retain(|held| held.type_ != PROGRESSING);
        say(status, word("True", "ReplicaSetUpdated", format!("{who} is progressing.")), now);
        if let (Some(held), Some(told)) = (held, progressing_mut(status)) {
            told.last_transition_time = held.last_transition_time.filter(|_| held.status == told.status);
        }
    } else if reason == Some(TIMED_OUT) || due(held.as_ref(), limit).is_some_and(|due| due < now) {
        say(status, word("False", TIMED_OUT, format!("{who} has timed out progressing.")), now);
    } else if held.is_none() {
        let (reason, message) = match rollout.new.and_then(|new| new.metadata.name.as_deref()) {
            Some(set) => ("FoundNewReplicaSet", format!("Found new replica set \"{set}\"")),
            None => {
                let set = super::set_name(rollout.deployment);
                ("NewReplicaSetCreated", format!("Created new replica set \"{set}\""))
            }
        };
        say(status, word("True", reason, message), now);
    }
}

/// Whether everything wanted is there, and nothing else.
pub(super) fn complete(rollout: &Rollout<'_>, status: &DeploymentStatus) -> bool {
    let wanted = rollout.wanted();
    let is = |number: Option<i32>| number.unwrap_or(0) == wanted;
    rollout.new.is_some()
        && is(status.updated_replicas)
        && is(status.replicas)
        && is(status.available_replicas)
}

/// Whether there are more new pods, fewer old ones, or more that work than was last said.
fn advanced(rollout: &Rollout<'_>, status: &DeploymentStatus) -> bool {
    let last = rollout.deployment.status.clone().unwrap_or_default();
    let n = |number: Option<i32>| number.unwrap_or(0);
    let old = |status: &DeploymentStatus| n(status.replicas) - n(status.updated_replicas);
    n(status.updated_replicas) > n(last.updated_replicas)
        || old(status) < old(&last)
        || n(status.ready_replicas) > n(last.ready_replicas)
        || n(status.available_replicas) > n(last.available_replicas)
}

/// When to look again: at the deadline, while a roll-out is under way.
pub(super) fn deadline(rollout: &Rollout<'_>, status: &DeploymentStatus) -> Next {
    let held = progressing(status).filter(|held| {
        !rollout.paused() && ![Some(DONE), Some(TIMED_OUT), Some(PAUSED)].contains(&held.reason.as_deref())
    });
    let due = limit(rollout).and_then(|limit| due(held, limit));
    let Some(due) = due else { return Next::OnChange };
    let left = Duration::try_from(due.duration_since(rollout.world.now)).unwrap_or_default();
    // A second more: the date of a condition has whole seconds.
    Next::After(left + Duration::from_secs(1))
}

fn due(held: Option<&DeploymentCondition>, limit: SignedDuration) -> Option<Timestamp> {
    let held = held.filter(|held| held.reason.as_deref() != Some(DONE))?;
    held.last_update_time.as_ref()?.0.checked_add(limit).ok()
}

/// How long a roll-out may stand still; the largest number means for ever.
fn limit(rollout: &Rollout<'_>) -> Option<SignedDuration> {
    let seconds = rollout.spec.progress_deadline_seconds.filter(|seconds| *seconds != i32::MAX)?;
    Some(SignedDuration::from_secs(i64::from(seconds)))
}

fn conditions(status: &mut DeploymentStatus) -> &mut Vec<DeploymentCondition> {
    status.conditions.get_or_insert_default()
}

fn progressing(status: &DeploymentStatus) -> Option<&DeploymentCondition> {
    status.conditions.iter().flatten().find(|held| held.type_ == PROGRESSING)
}

fn progressing_mut(status: &mut DeploymentStatus) -> Option<&mut DeploymentCondition> {
    status.conditions.iter_mut().flatten().find(|held| held.type_ == PROGRESSING)
}

/// Says it, unless it was said before: only a new status or reason is news. The loop dates the transition.
fn say(status: &mut DeploymentStatus, word: Word, now: Timestamp) {
    let conditions = conditions(status);
    let held = conditions.iter().position(|held| held.type_ == word.type_);
    if let Some(held) = held.map(|place| &conditions[place])
        && held.status == word.status
        && held.reason.as_deref() == Some(word.reason)
    {
        return;
    }
    let told = DeploymentCondition {
        type_: word.type_.into(),
        status: word.status.into(),
        reason: Some(word.reason.into()),
        message: Some(word.message),
        last_update_time: Some(Time(now)),
        last_transition_time: None,
    };
    match held {
        Some(place) => conditions[place] = told,
        None => conditions.push(told),
    }
}
