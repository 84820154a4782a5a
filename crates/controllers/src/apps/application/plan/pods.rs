//! What ails the pods.

use std::sync::Arc;
use std::time::Duration;

use api::conditions::Reason;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Pod};
use kit::Name;

use super::World;
use super::program::CONTAINER;

/// The label by which a Deployment tells the pods of its versions apart.
const VERSION: &str = "pod-template-hash";
/// How long a program may run before a port that nobody answers on is worth a word. Most listen within a second or two;
/// the others need the word.
const BEGINNING: Duration = Duration::from_secs(10);
/// Longest last line that is told: as much as a person reads in a table.
const LINE_MAX: usize = 300;

/// What ails the pods of the newest version.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trouble {
    /// Why they do not come up, for programs.
    pub reason: Reason,
    /// Why, for people.
    pub story: String,
    /// Since when at least no copy takes requests, and this one ails.
    pub since: Timestamp,
    /// Whether it is the program or its settings, rather than the cluster that has no room yet.
    pub grave: bool,
}

/// A container that died, and whose last lines tell why.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::apps::application) struct Dying {
    /// Its pod.
    pub pod: Name,
    /// Its name.
    pub container: String,
    /// Whether it runs again, so that the lines are those of the run before.
    pub again: bool,
}

/// The container whose last lines matter, if one is dying.
pub(in crate::apps::application) fn dying(pods: &[Arc<Pod>]) -> Option<Dying> {
    newest(pods).into_iter().find_map(|pod| {
        let container = containers(pod).find(|container| death(container).is_some())?;
        let again = container.state.as_ref().is_some_and(|state| state.running.is_some());
        Some(Dying { pod: Name::of(pod), container: container.name.clone(), again })
    })
}

/// What ails the pods of the newest version, if anything does.
pub(super) fn trouble(world: &World, port: i32) -> Option<Trouble> {
    newest(&world.pods).into_iter().find_map(|pod| ailment(pod, world, port)).or_else(|| unmade(world))
}

/// Whether some pods are not ready, so that time itself may bring news.
pub(super) fn unready(world: &World) -> bool {
    newest(&world.pods).into_iter().any(|pod| containers(pod).any(|container| !container.ready))
}

/// The pods of the newest version that are not on their way out, the newest first.
fn newest(pods: &[Arc<Pod>]) -> Vec<&Pod> {
    let mut living: Vec<&Pod> =
        pods.iter().map(|pod| &**pod).filter(|pod| pod.metadata.deletion_timestamp.is_none()).collect();
    living.sort_by_key(|pod| std::cmp::Reverse((created(pod), pod.metadata.name.clone())));
    let version = living.first().map(|pod| version(pod));
    living.retain(|pod| Some(self::version(pod)) == version);
    living
}

fn version(pod: &Pod) -> Option<&String> {
    pod.metadata.labels.as_ref()?.get(VERSION)
}

fn created(pod: &Pod) -> Timestamp {
    pod.metadata.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0)
}

fn containers(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten())
}

/// How a container that is not ready ended last.
fn death(container: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    if container.ready {
        return None;
    }
    let states = [container.state.as_ref(), container.last_state.as_ref()];
    states.into_iter().flatten().find_map(|state| state.terminated.as_ref())
}

fn ailment(pod: &Pod, world: &World, port: i32) -> Option<Trouble> {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let since = created(pod).max(unavailable_since(world).unwrap_or(Timestamp::UNIX_EPOCH));
    let grave = |(reason, story): (Reason, String)| Trouble { reason, story, since, grave: true };
    let ill = containers(pod).filter(|container| !container.ready).find_map(|container| {
        waiting(container, name)
            .or_else(|| Some((Reason::CrashLoopBackOff, obituary(container, name, world)?)))
            .or_else(|| unanswered(container, name, world, port))
    });
    ill.map(grave).or_else(|| {
        let story = format!("pod {name} cannot be placed: {}", unplaced(pod)?);
        Some(Trouble { reason: Reason::Deploying, story, since, grave: false })
    })
}

/// A container that cannot begin.
fn waiting(container: &ContainerStatus, pod: &str) -> Option<(Reason, String)> {
    let waiting = container.state.as_ref()?.waiting.as_ref()?;
    let word = waiting.reason.as_deref().unwrap_or_default();
    let reason = match word {
        "" | "ContainerCreating" | "PodInitializing" | "CrashLoopBackOff" => return None,
        "ImagePullBackOff" | "ErrImagePull" | "InvalidImageName" | "ErrImageNeverPull"
        | "ImageInspectError" => Reason::ImagePullBackOff,
        other => Reason::Code(other.to_owned()),
    };
    let why = waiting.message.as_deref().unwrap_or_default();
    let story = match reason {
        Reason::ImagePullBackOff => format!("pod {pod} cannot fetch image {}: {word}", container.image),
        _ => format!("pod {pod} cannot start: {word}"),
    };
    Some((reason, if why.is_empty() { story } else { format!("{story}: {}", line(why)) }))
}

/// A container that died, and may be running again.
fn obituary(container: &ContainerStatus, pod: &str, world: &World) -> Option<String> {
    let end = death(container)?;
    let why = match end.reason.as_deref() {
        None | Some("" | "Error" | "Completed") => String::new(),
        Some(reason) => format!(" ({reason})"),
    };
    let restarts = match container.restart_count {
        1 => "1 restart".to_owned(),
        count => format!("{count} restarts"),
    };
    let advice = if end.exit_code == 0 { "; an application must keep running" } else { "" };
    let last = world.last_words.as_deref().and_then(last_line);
    let last = last.map(|line| format!("; its last line: {line}")).unwrap_or_default();
    Some(format!("pod {pod} exited with code {}{why}, {restarts}{advice}{last}", end.exit_code))
}

/// A container that runs without answering.
fn unanswered(container: &ContainerStatus, pod: &str, world: &World, port: i32) -> Option<(Reason, String)> {
    let began = container.state.as_ref()?.running.as_ref()?.started_at.as_ref()?.0;
    let ran = Duration::try_from(world.now.duration_since(began)).unwrap_or_default();
    // Other containers are somebody else's: we only know the port of ours.
    if container.name != CONTAINER || ran < BEGINNING {
        return None;
    }
    let story = format!(
        "pod {pod} runs, but nothing answers on port {port}; the program must listen on 0.0.0.0 and on the port in PORT"
    );
    Some((Reason::ProbeFailing, story))
}

/// Why no node takes a pod.
fn unplaced(pod: &Pod) -> Option<&str> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let placed = conditions.iter().find(|condition| condition.type_ == "PodScheduled")?;
    (placed.status == "False").then(|| placed.message.as_deref().unwrap_or("no node has room"))
}

/// Why there are no pods at all: a quota, or an admission rule.
fn unmade(world: &World) -> Option<Trouble> {
    let conditions = world.deployment.as_ref()?.status.as_ref()?.conditions.as_ref()?;
    let failure = conditions.iter().find(|c| c.type_ == "ReplicaFailure" && c.status == "True")?;
    let since = failure.last_transition_time.as_ref().map_or(world.now, |time| time.0);
    let story = format!("pods cannot be made: {}", line(failure.message.as_deref().unwrap_or_default()));
    Some(Trouble { reason: Reason::Deploying, story, since, grave: false })
}

/// Since when no copy takes requests.
fn unavailable_since(world: &World) -> Option<Timestamp> {
    let conditions = world.deployment.as_ref()?.status.as_ref()?.conditions.as_ref()?;
    let available = conditions.iter().find(|c| c.type_ == "Available" && c.status == "False")?;
    available.last_transition_time.as_ref().map(|time| time.0)
}

/// The last line that says something.
fn last_line(text: &str) -> Option<String> {
    text.lines().rev().map(line).find(|line| !line.is_empty())
}

/// A text as one line, without what would move a terminal's cursor.
fn line(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let plain = plain.trim();
    let mut cut: String = plain.chars().take(LINE_MAX).collect();
    if cut.len() < plain.len() {
        cut.push('…');
    }
    cut
}
