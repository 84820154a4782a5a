//! The end of a pod: first nobody is sent to it any more, then it answers who is there, then it is asked to end, and
//! last it is forgotten.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use kit::{Address, Do, Next, Plan};
use ports::process::State;

use super::super::super::readiness;
use super::{Scene, Step, all_containers, report};

/// How soon it is looked again whether somebody is still being answered.
const LOOK: Duration = Duration::from_millis(100);
/// How long nobody is sent to it before it is believed: who was sent a moment ago may be on the way.
const QUIET: SignedDuration = SignedDuration::from_millis(150);
/// The longest time for those who are being answered, beside half of the grace.
const DRAIN: SignedDuration = SignedDuration::from_secs(10);
/// How soon a run that was asked to end is looked at again, if its end should go unheard.
const ENDING: Duration = Duration::from_secs(5);

pub(super) fn plan(scene: &Scene<'_>) -> Plan<Step, PodStatus> {
    let status = scene.pod.status.clone().unwrap_or_default();
    let running = runs(scene, |state| matches!(state, State::Running { .. }));
    if running.is_empty() {
        return Plan::part(forget(scene), status, Next::OnChange);
    }
    if readiness::ready(scene.pod) {
        return Plan::part(Vec::new(), report::leaving(status), Next::After(LOOK));
    }
    if drains(scene) {
        return Plan::part(Vec::new(), status, Next::After(LOOK));
    }
    let left = ends_at(scene.pod).map(|at| at.duration_since(scene.world.now));
    let left = left.map_or(scene.grace(), |left| Duration::try_from(left).unwrap_or_default());
    let steps = running.into_iter().map(|run| Do::Outside(Step::Stop(run, left))).collect();
    Plan::part(steps, status, Next::After(ENDING))
}

fn ends_at(pod: &Pod) -> Option<Timestamp> {
    pod.metadata.deletion_timestamp.as_ref().map(|time| time.0)
}

/// Whether somebody may still be sent to it, or is being answered, and there is time left for that.
fn drains(scene: &Scene<'_>) -> bool {
    let Some(farewell) = &scene.world.farewell else { return false };
    let now = scene.world.now;
    let grace = SignedDuration::from_secs(scene.pod.metadata.deletion_grace_period_seconds.unwrap_or(0));
    let asked = ends_at(scene.pod).and_then(|at| at.checked_sub(grace).ok()).unwrap_or(now);
    let limit = asked.checked_add((grace / 2).min(DRAIN)).unwrap_or(asked);
    let quiet = farewell.quiet_since.is_some_and(|since| now.duration_since(since) >= QUIET);
    now < limit && (farewell.requests > 0 || !quiet)
}

fn runs(scene: &Scene<'_>, fits: fn(&State) -> bool) -> Vec<ports::process::Id> {
    let all = all_containers(scene.pod).filter_map(|one| Some((one, scene.world.seen.get(&one.name)?)));
    all.filter(|(_, seen)| seen.state.as_ref().is_some_and(fits))
        .map(|(one, seen)| scene.run(&one.name, seen.attempt))
        .collect()
}

/// All has ended: nothing of it is kept.
fn forget(scene: &Scene<'_>) -> Vec<Do<Step>> {
    let mut steps = Vec::new();
    for one in all_containers(scene.pod) {
        let Some(seen) = scene.world.seen.get(&one.name) else { continue };
        if seen.findings.is_some() {
            steps.push(Step::AskNoMore(scene.run(&one.name, seen.attempt)));
        }
        if seen.before.is_some() {
            steps.push(Step::Forget(scene.run(&one.name, seen.attempt - 1)));
        }
        if seen.state.is_some() {
            steps.push(Step::Forget(scene.run(&one.name, seen.attempt)));
        }
    }
    steps.push(Step::RemoveHome);
    steps.push(Step::RemoveLogs);
    let mut steps: Vec<Do<Step>> = steps.into_iter().map(Do::Outside).collect();
    steps.push(Do::Delete(Address::of(scene.pod), Some(Duration::ZERO)));
    steps
}
