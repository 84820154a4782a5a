//! Events follow from changes of condition: no room writes any.

use api::conditions::{READY, RECONCILING, STALLED};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use serde_json::Value;

use crate::address::Object;
use crate::tools::{MANAGER, Tools};

/// Longest note that Kubernetes takes.
const NOTE_MAX: usize = 1024;

impl Tools {
    /// Tells of every condition whose status or reason changed. What cannot be told is no reason to fail.
    pub(crate) async fn tell<K: Object>(&self, object: &K, old: &Value, new: &Value) {
        let reporter = Reporter { controller: MANAGER.into(), instance: None };
        for event in told(old, new) {
            let recorder = Recorder::new(self.reader().client().clone(), reporter.clone());
            self.wrote();
            if let Err(error) = recorder.publish(&event, &object.object_ref(&())).await {
                tracing::debug!(%error, "an event could not be written");
            }
        }
    }
}

/// The events that a change of status makes.
fn told(old: &Value, new: &Value) -> Vec<Event> {
    let list = |status: &Value| status["conditions"].as_array().cloned().unwrap_or_default();
    let held = list(old);
    let changed = list(new).into_iter().filter(|condition| {
        !held
            .iter()
            .any(|held| ["type", "status", "reason"].iter().all(|field| held[*field] == condition[*field]))
    });
    // What the loop derives from `Ready` would only say it twice.
    let ready = list(new).into_iter().find(|condition| condition["type"] == READY).unwrap_or_default();
    let warned = |condition: &Value| {
        let reason = ready["reason"].as_str().unwrap_or_default();
        condition["type"] == STALLED && condition["reason"] == reason && troubling(&ready, reason)
    };
    let kept = changed.filter(|condition| condition["type"] != RECONCILING && !warned(condition));
    kept.filter_map(|condition| event(&condition)).collect()
}

fn event(condition: &Value) -> Option<Event> {
    let reason = condition["reason"].as_str().filter(|reason| !reason.is_empty())?;
    let message = condition["message"].as_str().unwrap_or_default();
    let note = if message.is_empty() { condition["type"].as_str().unwrap_or_default() } else { message };
    let type_ = if troubling(condition, reason) { EventType::Warning } else { EventType::Normal };
    Some(Event {
        type_,
        reason: reason.to_owned(),
        note: Some(note.chars().take(NOTE_MAX).collect()),
        action: condition["type"].as_str().unwrap_or("Reconcile").to_owned(),
        secondary: None,
    })
}

/// Whether a person may have to do something.
fn troubling(condition: &Value, reason: &str) -> bool {
    let words =
        ["Fail", "BackOff", "CrashLoop", "Conflict", "Missing", "Invalid", "Blocked", "Exceeded", "Lose"];
    condition["type"] == STALLED
        || (condition["status"] != "True" && words.iter().any(|word| reason.contains(word)))
}
