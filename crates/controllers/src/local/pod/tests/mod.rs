//! What becomes of a pod, by table, and pods through the two tests of every kind.

mod environment;
mod life;
mod trip;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kit::{Do, Next};
use ports::images::LocalImage;
use ports::process::{Cause, End, Launch, State};
use serde_json::{Value, json};

use super::plan::{Found, Seen, Step, Supplies, World, plan};

const UID: &str = "11111111-2222-3333-4444-555555555555";

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().expect("a time")
}

fn ago(seconds: i64) -> Timestamp {
    now().checked_sub(SignedDuration::from_secs(seconds)).expect("a time")
}

/// A bound pod with one container `app` of image `shop` that declares port 8080.
fn pod(change: impl FnOnce(&mut Value)) -> Pod {
    let mut value = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "a", "namespace": "ns", "uid": UID, "labels": { "tier": "web" },
            "annotations": { "terrace.dev/port.8080": "20001" } },
        "spec": { "nodeName": "local", "containers": [
            { "name": "app", "image": "shop", "ports": [{ "containerPort": 8080 }] },
        ] },
        "status": {},
    });
    change(&mut value);
    serde_json::from_value(value).expect("a pod")
}

fn image() -> LocalImage {
    LocalImage {
        root: "/images/1".into(),
        command: vec!["serve".into()],
        env: BTreeMap::from([("PATH".to_owned(), "/images/1/bin".to_owned())]),
        workdir: "/images/1/app".into(),
        expose: Vec::new(),
    }
}

/// A world in which container `app` stands like this.
fn world(seen: Seen) -> World {
    let images = BTreeMap::from([("shop".to_owned(), Found::Here(image()))]);
    World {
        now: now(),
        node: "local".into(),
        seen: BTreeMap::from([("app".to_owned(), seen)]),
        supplies: Supplies { images, ..Supplies::default() },
        home: "/homes/1".into(),
        ..World::default()
    }
}

fn running(seconds: i64) -> Option<State> {
    Some(State::Running { pid: 1, since: ago(seconds) })
}

fn ended(cause: Cause, seconds_ago: i64) -> Option<State> {
    let last_line = Some("boom".to_owned());
    Some(State::Ended(End { since: ago(seconds_ago + 5), at: ago(seconds_ago), cause, last_line }))
}

/// The steps, the phase, how `app` stands, whether the pod is ready and why not, and when it is looked at again.
fn told(pod: &Pod, world: &World) -> String {
    let planned = plan(pod, world);
    let status = serde_json::to_value(&planned.status).expect("a status is JSON");
    let mut words: Vec<String> =
        planned.steps.iter().map(|step| words_of(step).replace(&format!("{UID}-"), "")).collect();
    words.push(status["phase"].as_str().unwrap_or("-").to_owned());
    words.push(container(&status["containerStatuses"][0]));
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let ready = conditions.iter().find(|held| held["type"] == "Ready").cloned().unwrap_or_default();
    words.push(match ready["status"].as_str() {
        Some("True") => "ready".into(),
        _ => ready["message"]
            .as_str()
            .unwrap_or("-")
            .replace("containers with unready status: [app]", "unready"),
    });
    words.push(match planned.next {
        Next::OnChange => "OnChange".into(),
        Next::After(delay) => format!("{}ms", delay.as_millis()),
        Next::Release => "Release".into(),
    });
    words.join("; ")
}

fn container(status: &Value) -> String {
    let state = status["state"].as_object().and_then(|state| state.iter().next());
    let Some((kind, state)) = state else { return "-".into() };
    let reason = state["reason"].as_str().map(|reason| format!(" {reason}")).unwrap_or_default();
    format!("{kind}{reason} #{}", status["restartCount"])
}

fn words_of(step: &Do<Step>) -> String {
    match step {
        Do::Create(child) => format!("bind to {}", child.body["target"]["name"].as_str().unwrap_or_default()),
        Do::Patch(_, patch) => format!("note {}", patch["metadata"]["annotations"]),
        Do::Outside(Step::Prepare(_)) => "prepare".into(),
        Do::Outside(Step::TurnLog(_)) => "turn log".into(),
        other => other.to_string(),
    }
}

/// What would be started.
fn launch(pod: &Pod, world: &World) -> Option<Launch> {
    plan(pod, world).steps.into_iter().find_map(|step| match step {
        Do::Outside(Step::Start(launch)) => Some(*launch),
        _ => None,
    })
}
