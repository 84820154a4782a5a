//! Pods: one word for everything that may go wrong in them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::fields::{
    NONE, age, at, cells, condition, deleted, flag, has, holds, int, list, name, text, text_or,
};
use super::time;
use crate::kinds::Kind;

/// The cells of a pod.
pub(super) fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let seen = look(pod);
    let restarts = match seen.restarted {
        Some(moment) if seen.restarts != 0 => {
            format!("{} ({} ago)", seen.restarts, time::since(Some(moment), now))
        }
        _ => seen.restarts.to_string(),
    };
    let first = list(pod, "status.podIPs").first().unwrap_or(&Value::Null);
    cells![
        name(pod),
        format!("{}/{}", seen.ready, containers(pod)),
        seen.reason,
        restarts,
        age(pod, now),
        text_or(first, "ip", text_or(pod, "status.podIP", NONE)),
        text_or(pod, "spec.nodeName", NONE),
        text_or(pod, "status.nominatedNodeName", NONE),
        gates(pod),
    ]
}

/// The condition a finished pod's row carries, by which clients hide it.
pub(super) fn completed(kind: &Kind, object: &Value) -> Option<Value> {
    if !(kind.builtin && kind.group.is_empty() && kind.plural == "pods") {
        return None;
    }
    let (reason, message) = match text(object, "status.phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!({ "type": "Completed", "status": "True", "reason": reason, "message": message }))
}

/// What the containers tell, gathered while walking them.
#[derive(Default)]
struct Seen {
    reason: String,
    ready: usize,
    restarts: i64,
    restarted: Option<Timestamp>,
}

impl Seen {
    fn count(&mut self, status: &Value) {
        self.restarts += int(status, "restartCount");
        let finished = time::moment(at(status, "lastState.terminated.finishedAt"));
        self.restarted = self.restarted.max(finished);
    }
}

fn look(pod: &Value) -> Seen {
    let mut seen = Seen { reason: text(pod, "status.phase").to_owned(), ..Seen::default() };
    seen.reason = text_or(pod, "status.reason", &seen.reason).to_owned();
    let scheduled = |condition: &&Value| text(condition, "type") == "PodScheduled";
    let mut conditions = list(pod, "status.conditions").iter().filter(scheduled);
    if conditions.any(|condition| text(condition, "reason") == "SchedulingGated") {
        seen.reason = "SchedulingGated".into();
    }
    let (initializing, sidecars) = look_at_init(pod, &mut seen);
    if !initializing || holds(pod, "Initialized") {
        // Once the pod runs, only those init containers count that still run with it.
        seen.restarts = sidecars.restarts;
        seen.restarted = sidecars.restarted;
        look_at_containers(pod, &mut seen);
    }
    let phase = text(pod, "status.phase");
    if deleted(pod) && text(pod, "status.reason") == "NodeLost" {
        seen.reason = "Unknown".into();
    } else if deleted(pod) && !matches!(phase, "Succeeded" | "Failed") {
        seen.reason = "Terminating".into();
    }
    seen
}

/// Walks the init containers up to the first unfinished one. Tells whether there is one, and what the
/// restartable ones among them counted.
fn look_at_init(pod: &Value, seen: &mut Seen) -> (bool, Seen) {
    let mut sidecars = Seen::default();
    for (index, status) in list(pod, "status.initContainerStatuses").iter().enumerate() {
        let sidecar = is_sidecar(pod, text(status, "name"));
        seen.count(status);
        if sidecar {
            sidecars.count(status);
        }
        let ended = at(status, "state.terminated");
        if !ended.is_null() && int(ended, "exitCode") == 0 {
            continue;
        }
        if sidecar && flag(status, "started", false) {
            seen.ready += usize::from(flag(status, "ready", false));
            continue;
        }
        let waiting = text(status, "state.waiting.reason");
        seen.reason = if !ended.is_null() {
            format!("Init:{}", ending(ended))
        } else if !waiting.is_empty() && waiting != "PodInitializing" {
            format!("Init:{waiting}")
        } else {
            format!("Init:{index}/{}", list(pod, "spec.initContainers").len())
        };
        return (true, sidecars);
    }
    (false, sidecars)
}

fn look_at_containers(pod: &Value, seen: &mut Seen) {
    let mut running = false;
    let mut failure = None;
    // From the last to the first, so that the first container has the last word.
    for status in list(pod, "status.containerStatuses").iter().rev() {
        seen.count(status);
        let waiting = text(status, "state.waiting.reason");
        let ended = at(status, "state.terminated");
        if !waiting.is_empty() {
            seen.reason = waiting.to_owned();
        } else if !ended.is_null() {
            seen.reason = ending(ended);
            if int(ended, "exitCode") != 0 {
                failure = Some(seen.reason.clone());
            }
        } else if flag(status, "ready", false) && has(status, "state.running") {
            running = true;
            seen.ready += 1;
        }
    }
    if seen.reason != "Completed" {
        return;
    }
    let ready = list(pod, "status.conditions")
        .iter()
        .any(|condition| text(condition, "type") == "Ready" && text(condition, "status") == "True");
    if running && ready {
        seen.reason = "Running".into();
    } else if let Some(failure) = failure {
        seen.reason = failure;
    } else if running {
        seen.reason = "NotReady".into();
    }
}

/// Why a container ended: its reason, else its signal, else its exit code.
fn ending(terminated: &Value) -> String {
    match (text(terminated, "reason"), int(terminated, "signal")) {
        ("", 0) => format!("ExitCode:{}", int(terminated, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn containers(pod: &Value) -> usize {
    let sidecars = list(pod, "spec.initContainers").iter().filter(|container| restarts_always(container));
    list(pod, "spec.containers").len() + sidecars.count()
}

fn is_sidecar(pod: &Value, name: &str) -> bool {
    let mut named = list(pod, "spec.initContainers").iter().rev();
    named.find(|container| text(container, "name") == name).is_some_and(restarts_always)
}

fn restarts_always(container: &Value) -> bool {
    text(container, "restartPolicy") == "Always"
}

fn gates(pod: &Value) -> String {
    let gates = list(pod, "spec.readinessGates");
    if gates.is_empty() {
        return NONE.into();
    }
    let open = |gate: &&Value| {
        let found = condition(pod, "status.conditions", text(gate, "conditionType"));
        found.is_some_and(|condition| text(condition, "status") == "True")
    };
    format!("{}/{}", gates.iter().filter(open).count(), gates.len())
}
