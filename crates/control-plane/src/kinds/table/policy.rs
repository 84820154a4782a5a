//! What the server itself obeys: budgets, webhooks, policies, classes, and the APIs it serves.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::fields::{
    NONE, UNSET, age, amount, at, cells, condition, count, deleted, flag, has, int, list, name, text,
    text_or, texts,
};
use super::time;

/// The cells of a pod disruption budget.
pub(super) fn disruption_budget(object: &Value, now: Timestamp) -> Vec<Value> {
    let bound = |path: &str| if has(object, path) { amount(at(object, path)) } else { "N/A".into() };
    cells![
        name(object),
        bound("spec.minAvailable"),
        bound("spec.maxUnavailable"),
        int(object, "status.disruptionsAllowed"),
        age(object, now),
    ]
}

/// The cells of a webhook configuration.
pub(super) fn webhooks(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![name(object), count(object, "webhooks"), age(object, now)]
}

/// The cells of a policy that validates.
pub(super) fn validating_policy(object: &Value, now: Timestamp) -> Vec<Value> {
    policy(object, count(object, "spec.validations"), now)
}

/// The cells of a policy that mutates.
pub(super) fn mutating_policy(object: &Value, now: Timestamp) -> Vec<Value> {
    policy(object, count(object, "spec.mutations"), now)
}

/// The cells of a policy's binding.
pub(super) fn policy_binding(object: &Value, now: Timestamp) -> Vec<Value> {
    let parameter = at(object, "spec.paramRef");
    let shown = match text(parameter, "name") {
        "" if has(parameter, "selector") => go_selector(at(parameter, "selector")),
        "" => UNSET.to_owned(),
        name => format!("{}/{name}", text_or(parameter, "namespace", "*")),
    };
    cells![name(object), text(object, "spec.policyName"), shown, age(object, now)]
}

/// The cells of a priority class.
pub(super) fn priority_class(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        name(object),
        int(object, "value"),
        flag(object, "globalDefault", false),
        age(object, now),
        text(object, "preemptionPolicy"),
    ]
}

/// The cells of a runtime class.
pub(super) fn runtime_class(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![name(object), text(object, "handler"), age(object, now)]
}

/// The cells of an API and who serves it.
pub(super) fn api_service(object: &Value, now: Timestamp) -> Vec<Value> {
    let service = at(object, "spec.service");
    let server = if service.is_null() {
        "Local".to_owned()
    } else {
        format!("{}/{}", text(service, "namespace"), text(service, "name"))
    };
    let found = condition(object, "status.conditions", "Available");
    let available = found.map_or_else(
        || "Unknown".to_owned(),
        |found| match (text(found, "status"), text(found, "reason")) {
            (status, reason) if status != "True" && !reason.is_empty() => format!("{status} ({reason})"),
            (status, _) => status.to_owned(),
        },
    );
    cells![name(object), server, available, age(object, now)]
}

/// The cells of a certificate signing request.
pub(super) fn signing_request(object: &Value, now: Timestamp) -> Vec<Value> {
    let is = |kind: &str| condition(object, "status.conditions", kind).is_some();
    let mut state = if is("Denied") {
        "Denied".to_owned()
    } else if is("Approved") {
        "Approved".to_owned()
    } else {
        "Pending".to_owned()
    };
    if is("Failed") {
        state.push_str(",Failed");
    }
    if !text(object, "status.certificate").is_empty() {
        state.push_str(",Issued");
    }
    let lifetime = at(object, "spec.expirationSeconds").as_i64();
    cells![
        name(object),
        age(object, now),
        text_or(object, "spec.signerName", NONE),
        text(object, "spec.username"),
        lifetime.map_or_else(|| NONE.to_owned(), |seconds| time::human(SignedDuration::from_secs(seconds))),
        state,
    ]
}

/// The cells of a flow schema.
pub(super) fn flow_schema(object: &Value, now: Timestamp) -> Vec<Value> {
    let method = at(object, "spec.distinguisherMethod");
    let dangling = condition(object, "status.conditions", "Dangling");
    cells![
        name(object),
        text(object, "spec.priorityLevelConfiguration.name"),
        int(object, "spec.matchingPrecedence"),
        if method.is_null() { NONE } else { text(method, "type") },
        age(object, now),
        dangling.map_or("?", |dangling| text(dangling, "status")),
    ]
}

/// The cells of a priority level.
pub(super) fn priority_level(object: &Value, now: Timestamp) -> Vec<Value> {
    let limited = at(object, "spec.limited");
    let queuing = at(limited, "limitResponse.queuing");
    let number = |holder: &Value, field: &str| {
        if holder.is_null() { Value::from(NONE) } else { Value::from(int(holder, field)) }
    };
    cells![
        name(object),
        text(object, "spec.type"),
        number(limited, "nominalConcurrencyShares"),
        number(queuing, "queues"),
        number(queuing, "handSize"),
        number(queuing, "queueLengthLimit"),
        age(object, now),
    ]
}

/// The cells of a claim on devices.
pub(super) fn resource_claim(object: &Value, now: Timestamp) -> Vec<Value> {
    let allocated = has(object, "status.allocation");
    let reserved = allocated && !list(object, "status.reservedFor").is_empty();
    let states = [
        (deleted(object), "deleted"),
        (!allocated && !deleted(object), "pending"),
        (allocated, "allocated"),
        (reserved, "reserved"),
    ];
    let states = states.iter().filter(|(holds, _)| *holds).map(|(_, state)| *state);
    cells![name(object), states.collect::<Vec<_>>().join(","), age(object, now)]
}

/// The cells of a node's share of devices.
pub(super) fn resource_slice(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        name(object),
        text(object, "spec.nodeName"),
        text(object, "spec.driver"),
        text(object, "spec.pool.name"),
        age(object, now),
    ]
}

fn policy(object: &Value, rules: i64, now: Timestamp) -> Vec<Value> {
    let kind = at(object, "spec.paramKind");
    let kind = if kind.is_null() {
        UNSET.to_owned()
    } else {
        format!("{}/{}", text(kind, "apiVersion"), text(kind, "kind"))
    };
    cells![name(object), rules, kind, age(object, now)]
}

/// A selector the way the original's Go type prints itself, which is what its column shows.
fn go_selector(selector: &Value) -> String {
    let mut labels: Vec<(&String, &Value)> =
        at(selector, "matchLabels").as_object().into_iter().flatten().collect();
    labels.sort_unstable_by_key(|(key, _)| *key);
    let label = |(key, value): (&String, &Value)| format!("{key}: {},", value.as_str().unwrap_or_default());
    let labels: String = labels.into_iter().map(label).collect();
    let expression = |found: &Value| {
        let (key, operator, values) = (text(found, "key"), text(found, "operator"), texts(found, "values"));
        let values = values.join(" ");
        format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},")
    };
    let expressions: String = list(selector, "matchExpressions").iter().map(expression).collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},\
         MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}
