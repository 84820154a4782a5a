//! Deployments and what they make, jobs and what makes them.

use jiff::Timestamp;
use serde_json::Value;

use super::fields::{
    NONE, UNSET, age, at, cells, count, deleted, has, holds, int, list, name, set_or, since, text,
};
use super::{selector, time};

/// The cells of a deployment.
pub(super) fn deployment(object: &Value, now: Timestamp) -> Vec<Value> {
    let pods = "spec.template.spec.containers";
    cells![
        name(object),
        format!("{}/{}", int(object, "status.readyReplicas"), int(object, "spec.replicas")),
        int(object, "status.updatedReplicas"),
        int(object, "status.availableReplicas"),
        age(object, now),
        joined(object, pods, "name"),
        joined(object, pods, "image"),
        selector::written(at(object, "spec.selector")).unwrap_or_else(|| "<invalid>".into()),
    ]
}

/// The cells of a replica set.
pub(super) fn replica_set(object: &Value, now: Timestamp) -> Vec<Value> {
    replicated(object, selector::shown(at(object, "spec.selector")), now)
}

/// The cells of a replication controller.
pub(super) fn replication_controller(object: &Value, now: Timestamp) -> Vec<Value> {
    replicated(object, selector::labels(at(object, "spec.selector")), now)
}

/// The cells of a stateful set.
pub(super) fn stateful_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let pods = "spec.template.spec.containers";
    cells![
        name(object),
        format!("{}/{}", int(object, "status.readyReplicas"), int(object, "spec.replicas")),
        age(object, now),
        joined(object, pods, "name"),
        joined(object, pods, "image"),
    ]
}

/// The cells of a daemon set.
pub(super) fn daemon_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let pods = "spec.template.spec.containers";
    cells![
        name(object),
        int(object, "status.desiredNumberScheduled"),
        int(object, "status.currentNumberScheduled"),
        int(object, "status.numberReady"),
        int(object, "status.updatedNumberScheduled"),
        int(object, "status.numberAvailable"),
        selector::labels(at(object, "spec.template.spec.nodeSelector")),
        age(object, now),
        joined(object, pods, "name"),
        joined(object, pods, "image"),
        selector::shown(at(object, "spec.selector")),
    ]
}

/// The cells of a job.
pub(super) fn job(object: &Value, now: Timestamp) -> Vec<Value> {
    let pods = "spec.template.spec.containers";
    cells![
        name(object),
        job_status(object),
        completions(object),
        job_duration(object, now),
        age(object, now),
        joined(object, pods, "name"),
        joined(object, pods, "image"),
        selector::shown(at(object, "spec.selector")),
    ]
}

/// The cells of a cron job.
pub(super) fn cron_job(object: &Value, now: Timestamp) -> Vec<Value> {
    let pods = "spec.jobTemplate.spec.template.spec.containers";
    let suspended = match at(object, "spec.suspend").as_bool() {
        Some(true) => "True",
        Some(false) => "False",
        None => UNSET,
    };
    let last = "status.lastScheduleTime";
    cells![
        name(object),
        text(object, "spec.schedule"),
        set_or(object, "spec.timeZone", NONE),
        suspended,
        count(object, "status.active"),
        if has(object, last) { since(object, last, now) } else { NONE.into() },
        age(object, now),
        joined(object, pods, "name"),
        joined(object, pods, "image"),
        selector::shown(at(object, "spec.jobTemplate.spec.selector")),
    ]
}

/// The cells of a pod template.
pub(super) fn pod_template(object: &Value, _: Timestamp) -> Vec<Value> {
    let pods = "template.spec.containers";
    cells![
        name(object),
        joined(object, pods, "name"),
        joined(object, pods, "image"),
        selector::labels(at(object, "template.metadata.labels")),
    ]
}

/// The cells of a controller revision.
pub(super) fn controller_revision(object: &Value, now: Timestamp) -> Vec<Value> {
    let controls = |owner: &&Value| at(owner, "controller") == &Value::Bool(true);
    let owner = list(object, "metadata.ownerReferences").iter().find(controls);
    let controller = owner.map_or_else(
        || NONE.to_owned(),
        |owner| {
            let group = text(owner, "apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
            let kind = crate::status::qualified(text(owner, "kind"), group).to_lowercase();
            format!("{kind}/{}", text(owner, "name"))
        },
    );
    cells![name(object), controller, int(object, "revision"), age(object, now)]
}

fn replicated(object: &Value, selector: String, now: Timestamp) -> Vec<Value> {
    let pods = "spec.template.spec.containers";
    cells![
        name(object),
        int(object, "spec.replicas"),
        int(object, "status.replicas"),
        int(object, "status.readyReplicas"),
        age(object, now),
        joined(object, pods, "name"),
        joined(object, pods, "image"),
        selector,
    ]
}

fn job_status(object: &Value) -> &'static str {
    let holds = |kind: &&&str| holds(object, kind);
    if let Some(end) = ["Complete", "Failed"].iter().find(holds) {
        return end;
    }
    if deleted(object) {
        return "Terminating";
    }
    ["Suspended", "FailureTarget", "SuccessCriteriaMet"].iter().find(holds).copied().unwrap_or("Running")
}

fn completions(object: &Value) -> String {
    let done = int(object, "status.succeeded");
    match (at(object, "spec.completions").as_i64(), int(object, "spec.parallelism")) {
        (Some(wanted), _) => format!("{done}/{wanted}"),
        (None, parallel) if parallel > 1 => format!("{done}/1 of {parallel}"),
        (None, _) => format!("{done}/1"),
    }
}

fn job_duration(object: &Value, now: Timestamp) -> String {
    let Some(start) = time::moment(at(object, "status.startTime")) else {
        return String::new();
    };
    let end = time::moment(at(object, "status.completionTime")).unwrap_or(now);
    time::human(end.duration_since(start))
}

/// One field of every item of a list, joined by commas.
fn joined(object: &Value, path: &str, field: &str) -> String {
    list(object, path).iter().map(|item| text(item, field)).collect::<Vec<_>>().join(",")
}
