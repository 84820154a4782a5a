//! Namespaces, nodes, events, configuration, and who may do what.

use jiff::Timestamp;
use serde_json::Value;

use super::fields::{
    NONE, UNKNOWN, age, amount, at, cells, condition, count, flag, int, list, name, text, text_or,
};
use super::time;

/// The cells of a namespace.
pub(super) fn namespace(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![name(object), text(object, "status.phase"), age(object, now)]
}

/// The cells of a secret.
pub(super) fn secret(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![name(object), text(object, "type"), count(object, "data"), age(object, now)]
}

/// The cells of a config map.
pub(super) fn config_map(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![name(object), count(object, "data") + count(object, "binaryData"), age(object, now)]
}

/// The cells of kinds that show a name and an age alone.
pub(super) fn name_and_age(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![name(object), age(object, now)]
}

/// The cells of kinds that show a name and the moment of creation.
pub(super) fn name_and_creation(object: &Value, _: Timestamp) -> Vec<Value> {
    let created = text_or(object, "metadata.creationTimestamp", "0001-01-01T00:00:00Z");
    cells![name(object), created]
}

/// The cells of a node.
pub(super) fn node(object: &Value, now: Timestamp) -> Vec<Value> {
    // The last condition of a type counts here, not the first.
    let ready = list(object, "status.conditions").iter().rev().find(|found| text(found, "type") == "Ready");
    let status = match ready.map(|ready| text(ready, "status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let closed = if flag(object, "spec.unschedulable", false) { ",SchedulingDisabled" } else { "" };
    let info = at(object, "status.nodeInfo");
    let architecture = match text(info, "architecture") {
        "" => String::new(),
        architecture => format!(" ({architecture})"),
    };
    cells![
        name(object),
        format!("{status}{closed}"),
        roles(object),
        age(object, now),
        text(info, "kubeletVersion"),
        node_address(object, "InternalIP"),
        node_address(object, "ExternalIP"),
        text_or(info, "osImage", UNKNOWN),
        format!("{}{architecture}", text_or(info, "kernelVersion", UNKNOWN)),
        text_or(info, "containerRuntimeVersion", UNKNOWN),
    ]
}

/// The cells of an event, of either group: the newer one renamed most fields.
pub(super) fn event(object: &Value, now: Timestamp) -> Vec<Value> {
    let either = |old: &str, new: &str| {
        let old = at(object, old);
        if old.is_null() { at(object, new) } else { old }
    };
    let told = time::moment(at(object, "eventTime"));
    let first = time::moment(either("firstTimestamp", "deprecatedFirstTimestamp")).or(told);
    let mut last = time::moment(either("lastTimestamp", "deprecatedLastTimestamp")).or(first);
    let mut times = either("count", "deprecatedCount").as_i64().filter(|count| *count != 0).unwrap_or(1);
    let series = at(object, "series");
    if !series.is_null() {
        last = time::moment(at(series, "lastObservedTime"));
        times = int(series, "count");
    }
    let target = either("involvedObject", "regarding");
    let kind = text(target, "kind").to_lowercase();
    let source = either("source", "deprecatedSource");
    let component =
        text_or(source, "component", reporter(object, "reportingComponent", "reportingController"));
    let host = text_or(source, "host", text(object, "reportingInstance"));
    cells![
        time::since(last, now),
        text(object, "type"),
        text(object, "reason"),
        if text(target, "name").is_empty() { kind } else { format!("{kind}/{}", text(target, "name")) },
        text(target, "fieldPath"),
        if host.is_empty() { component.to_owned() } else { format!("{component}, {host}") },
        either("message", "note").as_str().unwrap_or_default().trim(),
        time::since(first, now),
        times,
        name(object),
    ]
}

/// The cells of a binding of a role, in a namespace or everywhere.
pub(super) fn role_binding(object: &Value, now: Timestamp) -> Vec<Value> {
    let role = at(object, "roleRef");
    let named = |kind: &str| {
        let subjects = list(object, "subjects").iter().filter(|subject| text(subject, "kind") == kind);
        let shown = subjects.map(|subject| match kind {
            "ServiceAccount" => format!("{}/{}", text(subject, "namespace"), text(subject, "name")),
            _ => text(subject, "name").to_owned(),
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    cells![
        name(object),
        format!("{}/{}", text(role, "kind"), text(role, "name")),
        age(object, now),
        named("User"),
        named("Group"),
        named("ServiceAccount"),
    ]
}

/// The cells of a resource quota: limits apart from all the rest.
pub(super) fn resource_quota(object: &Value, now: Timestamp) -> Vec<Value> {
    let hard = at(object, "status.hard").as_object();
    let used = at(object, "status.used");
    let mut lines: Vec<(&String, &Value)> = hard.into_iter().flatten().collect();
    lines.sort_unstable_by_key(|(resource, _)| *resource);
    let shown = |limits: bool| {
        let lines = lines.iter().filter(|(resource, _)| resource.starts_with("limits.") == limits);
        let line = |(resource, hard): &(&String, &Value)| {
            let used = amount(used.get(resource.as_str()).unwrap_or(&Value::Null));
            format!("{resource}: {used}/{}", amount(hard))
        };
        lines.map(line).collect::<Vec<_>>().join(", ")
    };
    cells![name(object), shown(false), shown(true), age(object, now)]
}

/// The cells of a lease.
pub(super) fn lease(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![name(object), text(object, "spec.holderIdentity"), age(object, now)]
}

/// The cells of a component's status.
pub(super) fn component_status(object: &Value, _: Timestamp) -> Vec<Value> {
    let health = condition(object, "conditions", "Healthy");
    let word = match health.map(|health| text(health, "status")) {
        Some("True") => "Healthy",
        Some(_) => "Unhealthy",
        None => "Unknown",
    };
    let health = health.unwrap_or(&Value::Null);
    cells![name(object), word, text(health, "message"), text(health, "error")]
}

fn roles(object: &Value) -> String {
    let labels = at(object, "metadata.labels").as_object().into_iter().flatten();
    let role = |(key, value): (&'_ String, &'_ Value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => role.to_owned(),
        None if key == "kubernetes.io/role" => value.as_str().unwrap_or_default().to_owned(),
        None => String::new(),
    };
    let mut roles: Vec<String> = labels.map(role).filter(|role| !role.is_empty()).collect();
    roles.sort_unstable();
    roles.dedup();
    if roles.is_empty() { NONE.into() } else { roles.join(",") }
}

fn node_address<'a>(object: &'a Value, kind: &str) -> &'a str {
    let mut addresses = list(object, "status.addresses").iter();
    addresses.find(|address| text(address, "type") == kind).map_or(NONE, |address| text(address, "address"))
}

fn reporter<'a>(object: &'a Value, old: &str, new: &str) -> &'a str {
    text_or(object, old, text(object, new))
}
