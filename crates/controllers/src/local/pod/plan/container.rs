//! What becomes of one container.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ports::probe::{Finding, Purpose};
use ports::process::{Cause, End, Id, State};

use super::launch::{Trouble, launch};
use super::{Restarts, Scene, Seen, Step, probes, status_of};

/// The first back-off; it doubles from one end to the next (kubelet).
const BACK_OFF: Duration = Duration::from_secs(10);
/// The longest back-off (kubelet).
const BACK_OFF_MAX: Duration = Duration::from_secs(300);

/// What becomes of one container.
pub(super) struct Considered {
    /// What it says of itself.
    pub(super) status: ContainerStatus,
    /// What is to be done.
    pub(super) steps: Vec<Step>,
    /// When to look again, if nothing happens before.
    pub(super) again: Option<Duration>,
    /// Whether it has ended well, and is not started again.
    pub(super) done: bool,
    /// Whether it has ended badly, and is not started again.
    pub(super) failed: bool,
    /// What keeps it from being ready, for a person.
    pub(super) trouble: Option<String>,
}

/// A container that may run now.
pub(super) fn consider(scene: &Scene<'_>, one: &Container, policy: Restarts) -> Considered {
    let seen = &scene.world.seen.get(&one.name).unwrap_or(&NEVER_SEEN);
    match &seen.state {
        None => start(scene, one, seen, seen.attempt),
        Some(State::Running { since, .. }) => running(scene, one, seen, *since),
        Some(State::Ended(end)) => ended(scene, one, (seen, end), policy),
    }
}

/// A container of which nothing is known.
static NEVER_SEEN: Seen = Seen { attempt: 0, state: None, before: None, failures: 0, findings: None };

/// A container that waits for the init containers.
pub(super) fn initializing(scene: &Scene<'_>, one: &Container) -> Considered {
    let waiting = ContainerStateWaiting { reason: Some("PodInitializing".into()), message: None };
    still(with_state(
        blank(scene, one, 0),
        ContainerState { waiting: Some(waiting), ..ContainerState::default() },
    ))
}

/// An init container that was done long ago.
pub(super) fn bygone(scene: &Scene<'_>, one: &Container) -> Considered {
    let status = status_of(scene.pod, &one.name).cloned();
    let seen = &scene.world.seen.get(&one.name).unwrap_or(&NEVER_SEEN);
    let mut considered = still(status.unwrap_or_else(|| blank(scene, one, 0)));
    if let Some(State::Ended(end)) = &seen.state {
        let run = scene.run(&one.name, seen.attempt);
        considered.status = with_state(considered.status, terminated(end, &run));
        considered.status.ready = true;
    }
    considered.done = true;
    considered
}

fn start(scene: &Scene<'_>, one: &Container, seen: &Seen, attempt: i32) -> Considered {
    let mut status = blank(scene, one, attempt);
    if attempt > 0 {
        status.last_state = match (&seen.state, &seen.before) {
            (Some(State::Ended(end)), _) => Some(terminated(end, &scene.run(&one.name, attempt - 1))),
            (_, Some(end)) => Some(terminated(end, &scene.run(&one.name, attempt - 1))),
            (_, None) => status.last_state,
        };
    }
    let run = scene.run(&one.name, attempt);
    let steps = match launch(scene, one, &run) {
        Ok(steps) => steps,
        Err(trouble) => return waiting(scene, status, trouble),
    };
    let mut steps: Vec<Step> = steps;
    if attempt > 1 {
        steps.push(Step::Forget(scene.run(&one.name, attempt - 2)));
    }
    let asked = probes::probes(scene, one);
    if !asked.is_empty() {
        steps.push(Step::Ask(run.clone(), asked));
    }
    status.container_id = Some(format!("terrace://{run}"));
    let ready = one.readiness_probe.is_none() && one.startup_probe.is_none();
    status.started = Some(one.startup_probe.is_none());
    status.ready = ready;
    let running = ContainerStateRunning { started_at: Some(Time(scene.world.now)) };
    let status = with_state(status, ContainerState { running: Some(running), ..ContainerState::default() });
    Considered { steps, ..still(status) }
}

fn waiting(scene: &Scene<'_>, status: ContainerStatus, trouble: Trouble) -> Considered {
    let held = status_of(scene.pod, &status.name)
        .and_then(|held| held.state.as_ref()?.waiting.as_ref()?.reason.clone());
    // The first time it failed, from then on it is backed off from.
    let reason = match (trouble.reason, held) {
        ("ErrImagePull", Some(held)) if held == "ErrImagePull" || held == "ImagePullBackOff" => {
            "ImagePullBackOff"
        }
        (reason, _) => reason,
    };
    let told = format!("{}: {}", status.name, trouble.message);
    let waiting = ContainerStateWaiting { reason: Some(reason.into()), message: Some(trouble.message) };
    let status = with_state(status, ContainerState { waiting: Some(waiting), ..ContainerState::default() });
    Considered { again: Some(trouble.again), trouble: Some(told), ..still(status) }
}

fn running(scene: &Scene<'_>, one: &Container, seen: &Seen, since: Timestamp) -> Considered {
    let run = scene.run(&one.name, seen.attempt);
    let mut status = blank(scene, one, seen.attempt);
    let id = format!("terrace://{run}");
    let held = status_of(scene.pod, &one.name).filter(|held| held.container_id.as_ref() == Some(&id));
    // What was said of the start stays said: the clock of the machine may be a breath apart from ours.
    let told = held.and_then(|held| held.state.as_ref()?.running.as_ref()?.started_at.clone());
    let running = ContainerStateRunning { started_at: told.or(Some(Time(since))) };
    if let Some(end) = &seen.before {
        status.last_state = Some(terminated(end, &scene.run(&one.name, seen.attempt - 1)));
    }
    status.container_id = Some(id);
    let state = ContainerState { running: Some(running), ..ContainerState::default() };
    let mut considered = still(with_state(status, state));
    let asked = probes::probes(scene, one);
    if seen.findings.is_none() && !asked.is_empty() {
        considered.steps.push(Step::Ask(run.clone(), asked));
    }
    let was_ready = held.is_some_and(|held| held.ready);
    let was_started = held.is_some_and(|held| held.started == Some(true));
    judge(scene, one, (seen, &run), (was_started, was_ready), considered)
}

/// What the probes say. Where they have not said anything yet, what was said before holds.
fn judge(
    scene: &Scene<'_>,
    one: &Container,
    (seen, run): (&Seen, &Id),
    (was_started, was_ready): (bool, bool),
    mut considered: Considered,
) -> Considered {
    let finding =
        |purpose| seen.findings.as_ref().and_then(|all| all.get(&purpose)).cloned().unwrap_or_default();
    let Finding { passes: starts, trouble: start_trouble } = finding(Purpose::Startup);
    let Finding { passes: serves, trouble: serve_trouble } = finding(Purpose::Readiness);
    let Finding { passes: lives, trouble: life_trouble } = finding(Purpose::Liveness);
    let started = one.startup_probe.is_none() || starts.unwrap_or(was_started);
    let ready = started && (one.readiness_probe.is_none() || serves.unwrap_or(was_ready));
    considered.status.started = Some(started);
    considered.status.ready = ready;
    let told = |kind: &str, why: Option<String>| {
        why.map(|why| format!("{kind} probe failed: {why}{}", probes::hint(scene, one, &why)))
    };
    if !ready {
        considered.trouble = told("startup", start_trouble.clone()).or(told("readiness", serve_trouble));
    }
    let dead = match (starts, lives) {
        (Some(false), _) => told("startup", start_trouble.or(Some("no good answer in time".into()))),
        (_, Some(false)) => told("liveness", life_trouble.or(Some("no good answer".into()))),
        _ => None,
    };
    if dead.is_some() {
        let own = one.liveness_probe.as_ref().and_then(|probe| probe.termination_grace_period_seconds);
        let own = own.map(|seconds| Duration::from_secs(u64::try_from(seconds).unwrap_or_default()));
        considered.steps.push(Step::Stop(run.clone(), own.unwrap_or_else(|| scene.grace())));
        considered.trouble = dead;
    }
    considered
}

fn ended(scene: &Scene<'_>, one: &Container, (seen, end): (&Seen, &End), policy: Restarts) -> Considered {
    let run = scene.run(&one.name, seen.attempt);
    let well = end.cause == Cause::Exited(0);
    let again = match policy {
        Restarts::Always => true,
        Restarts::OnFailure => !well,
        Restarts::Never => false,
    };
    let rest: Vec<Step> = seen.findings.iter().map(|_| Step::AskNoMore(run.clone())).collect();
    if !again {
        let mut status = with_state(blank(scene, one, seen.attempt), terminated(end, &run));
        status.container_id = Some(format!("terrace://{run}"));
        status.started = Some(false);
        status.ready = well;
        return Considered { done: well, failed: !well, steps: rest, ..still(status) };
    }
    let wait = back_off(seen.failures);
    let due = end.at.checked_add(SignedDuration::try_from(wait).unwrap_or_default()).unwrap_or(end.at);
    let left = due.duration_since(scene.world.now);
    if wait.is_zero() || !left.is_positive() {
        let mut started = start(scene, one, seen, seen.attempt + 1);
        started.steps.splice(0..0, rest);
        return started;
    }
    let mut status = blank(scene, one, seen.attempt);
    status.container_id = Some(format!("terrace://{run}"));
    status.started = Some(false);
    status.last_state = Some(terminated(end, &run));
    let message = format!(
        "back-off {} restarting failed container={} pod={}_{}({})",
        spelled(wait),
        one.name,
        scene.name(),
        scene.namespace(),
        scene.uid()
    );
    let waiting = ContainerStateWaiting { reason: Some("CrashLoopBackOff".into()), message: Some(message) };
    let status = with_state(status, ContainerState { waiting: Some(waiting), ..ContainerState::default() });
    let again = Duration::try_from(left).ok();
    Considered { steps: rest, again, trouble: Some(farewell_words(&one.name, end)), ..still(status) }
}

/// How long it rests after so many ends in a row. After the first it does not.
pub(super) fn back_off(failures: u32) -> Duration {
    match failures.checked_sub(2) {
        None => Duration::ZERO,
        Some(more) => BACK_OFF.saturating_mul(2_u32.saturating_pow(more)).min(BACK_OFF_MAX),
    }
}

/// A duration as Go spells it.
fn spelled(wait: Duration) -> String {
    match (wait.as_secs() / 60, wait.as_secs() % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}

fn farewell_words(name: &str, end: &End) -> String {
    let how = match &end.cause {
        Cause::Exited(code) => format!("ended with code {code}"),
        Cause::Signaled(signal) => format!("was ended by signal {signal}"),
        Cause::OutOfMemory => "held more memory than its limit".into(),
        Cause::TimedOut => "ran longer than its limit".into(),
        Cause::TooManyProcesses => "started more processes than its limit".into(),
        Cause::NotStarted(why) => format!("could not be started: {why}"),
        Cause::Lost => "ended while nobody watched".into(),
    };
    match &end.last_line {
        Some(line) => format!("{name} {how}: {line}"),
        None => format!("{name} {how}"),
    }
}

/// What is said of a run that ended.
fn terminated(end: &End, run: &Id) -> ContainerState {
    let (exit_code, signal, reason) = match &end.cause {
        Cause::Exited(0) => (0, None, "Completed"),
        Cause::Exited(code) => (*code, None, "Error"),
        Cause::Signaled(signal) => (128 + signal, Some(*signal), "Error"),
        Cause::OutOfMemory => (137, Some(9), "OOMKilled"),
        Cause::TimedOut => (137, Some(9), "DeadlineExceeded"),
        Cause::TooManyProcesses => (137, Some(9), "Error"),
        Cause::NotStarted(_) => (128, None, "StartError"),
        Cause::Lost => (137, None, "ContainerStatusUnknown"),
    };
    let message = match &end.cause {
        Cause::NotStarted(why) => Some(why.clone()),
        Cause::TooManyProcesses => Some("it started more processes than its limit".into()),
        Cause::Exited(_) | Cause::Signaled(_) | Cause::OutOfMemory | Cause::TimedOut | Cause::Lost => {
            end.last_line.clone()
        }
    };
    let terminated = ContainerStateTerminated {
        container_id: Some(format!("terrace://{run}")),
        exit_code,
        signal,
        reason: Some(reason.into()),
        message,
        started_at: Some(Time(end.since)),
        finished_at: Some(Time(end.at)),
    };
    ContainerState { terminated: Some(terminated), ..ContainerState::default() }
}

fn blank(scene: &Scene<'_>, one: &Container, attempt: i32) -> ContainerStatus {
    let image = one.image.clone().unwrap_or_default();
    let held = status_of(scene.pod, &one.name);
    ContainerStatus {
        name: one.name.clone(),
        image_id: if image.contains("@sha256:") { image.clone() } else { String::new() },
        image,
        restart_count: attempt,
        last_state: held.and_then(|held| held.last_state.clone()),
        started: Some(false),
        ..ContainerStatus::default()
    }
}

fn with_state(mut status: ContainerStatus, state: ContainerState) -> ContainerStatus {
    status.state = Some(state);
    status
}

fn still(status: ContainerStatus) -> Considered {
    Considered { status, steps: Vec::new(), again: None, done: false, failed: false, trouble: None }
}
