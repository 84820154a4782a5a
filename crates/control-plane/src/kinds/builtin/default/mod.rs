//! What the server fills in where a client said nothing. Clients compare objects with what they sent, so the
//! values are the original's.

mod pod;
mod workload;

use std::sync::{Arc, LazyLock};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::fields::{Fields, each, ensure, fill, is_empty, object};
use super::{definitions, quantity};
use crate::kinds::Kind;
use crate::kinds::schema::{Additional, Schema};

/// The group that roles and their subjects belong to.
const RBAC: &str = "rbac.authorization.k8s.io";

static QUANTITY: LazyLock<Arc<Schema>> =
    LazyLock::new(|| definitions::schema("io.k8s.apimachinery.pkg.api.resource.Quantity"));

/// Fills in the defaults of a built-in kind, after the object's types were checked. Custom kinds carry
/// theirs in their schemas. Doing it twice changes nothing.
pub fn default(kind: &Kind, object: &mut Value) {
    if !kind.builtin {
        return;
    }
    if let Some(schema) = kind.schema.get() {
        tidy(&schema, object);
    }
    let Some(map) = object.as_object_mut() else { return };
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => pod::pod(map),
        ("", "PodTemplate") => workload::template(map),
        ("", "Namespace") => namespace(map),
        ("", "Node") => node(map),
        ("", "Secret") => secret(map),
        ("", "Service") => service(map),
        ("", "PersistentVolume") => volume(map),
        ("", "PersistentVolumeClaim") => claim(map),
        ("", "LimitRange") => each(ensure(map, "spec"), "limits").for_each(limit),
        ("", "Endpoints") => {
            each(map, "subsets")
                .for_each(|set| each(set, "ports").for_each(|port| fill(port, "protocol", "TCP")));
        }
        ("", "Event") => event(map),
        ("apps", _) => workload::apps(&kind.kind, map),
        ("batch", "Job") => workload::job(map),
        ("batch", "CronJob") => workload::cron_job(map),
        ("networking.k8s.io", "NetworkPolicy") => network_policy(map),
        ("networking.k8s.io", "IngressClass") => {
            if let Some(parameters) = object_at(map, &["spec", "parameters"]) {
                fill(parameters, "scope", "Cluster");
            }
        }
        (RBAC, "RoleBinding" | "ClusterRoleBinding") => binding(map),
        ("discovery.k8s.io", "EndpointSlice") => endpoint_slice(map),
        ("storage.k8s.io", "StorageClass") => {
            fill(map, "reclaimPolicy", "Delete");
            fill(map, "volumeBindingMode", "Immediate");
        }
        ("scheduling.k8s.io", "PriorityClass") => {
            fill(map, "preemptionPolicy", "PreemptLowerPriority");
            map.entry("value").or_insert_with(|| json!(0));
        }
        _ => {}
    }
}

/// Null is absence in built-in kinds, and amounts are kept in their canonical form.
fn tidy(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(map) => {
            match &schema.additional {
                // A null in a map of strings is an empty string, elsewhere it is nothing.
                Additional::Map(values) if values.kind == Some(crate::kinds::schema::Type::String) => {
                    map.values_mut().filter(|value| value.is_null()).for_each(|value| *value = json!(""));
                }
                _ if schema.preserve_unknown => return,
                _ => map.retain(|_, value| !value.is_null()),
            }
            for (name, value) in map.iter_mut() {
                if let Some(field) = schema.field(name) {
                    amend(field, value);
                }
            }
        }
        Value::Array(list) => {
            if let Some(items) = &schema.items {
                list.iter_mut().for_each(|value| amend(items, value));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn amend(schema: &Arc<Schema>, value: &mut Value) {
    if Arc::ptr_eq(schema, &QUANTITY) {
        if let Some(text) = quantity::canonical(value) {
            *value = json!(text);
        }
        return;
    }
    tidy(schema, value);
}

/// The object at a path of keys, if there is one.
fn object_at<'a>(map: &'a mut Fields, path: &[&str]) -> Option<&'a mut Fields> {
    path.iter().try_fold(map, |map, key| object(map, key))
}

/// True where the text under `key` is `value`.
fn says(map: &Fields, key: &str, value: &str) -> bool {
    map.get(key).is_some_and(|found| found == value)
}

fn namespace(map: &mut Fields) {
    let metadata = ensure(map, "metadata");
    if let Some(name) = metadata.get("name").cloned().filter(|name| !is_empty(name)) {
        ensure(metadata, "labels").insert("kubernetes.io/metadata.name".into(), name);
    }
    ensure(map, "spec");
    fill(ensure(map, "status"), "phase", "Active");
}

fn node(map: &mut Fields) {
    ensure(map, "spec");
    let status = ensure(map, "status");
    if let Some(capacity) = status.get("capacity").cloned() {
        fill(status, "allocatable", capacity);
    }
}

/// What is written as text is kept as base64, as all else is.
fn secret(map: &mut Fields) {
    fill(map, "type", "Opaque");
    if let Some(Value::Object(texts)) = map.shift_remove("stringData") {
        let data = ensure(map, "data");
        for (key, value) in texts {
            data.insert(key, json!(STANDARD.encode(value.as_str().unwrap_or_default())));
        }
    }
}

fn service(map: &mut Fields) {
    fill(ensure(map, "status"), "loadBalancer", json!({}));
    let spec = ensure(map, "spec");
    fill(spec, "type", "ClusterIP");
    fill(spec, "sessionAffinity", "None");
    if says(spec, "sessionAffinity", "None") {
        spec.shift_remove("sessionAffinityConfig");
    } else if says(spec, "sessionAffinity", "ClientIP") {
        let client = ensure(ensure(spec, "sessionAffinityConfig"), "clientIP");
        fill(client, "timeoutSeconds", 10800);
    }
    for port in each(spec, "ports") {
        fill(port, "protocol", "TCP");
        let same = port.get("port").cloned().unwrap_or_else(|| json!(0));
        if port.get("targetPort") == Some(&json!(0)) {
            port.shift_remove("targetPort");
        }
        fill(port, "targetPort", same);
    }
    let external = says(spec, "type", "NodePort") || says(spec, "type", "LoadBalancer");
    let named = says(spec, "type", "ExternalName");
    if external || (!named && spec.get("externalIPs").is_some_and(|list| !is_empty(list))) {
        fill(spec, "externalTrafficPolicy", "Cluster");
    }
    if !named {
        fill(spec, "internalTrafficPolicy", "Cluster");
    }
    if says(spec, "type", "LoadBalancer") {
        fill(spec, "allocateLoadBalancerNodePorts", true);
    }
}

fn volume(map: &mut Fields) {
    let spec = ensure(map, "spec");
    fill(spec, "persistentVolumeReclaimPolicy", "Retain");
    fill(spec, "volumeMode", "Filesystem");
    fill(ensure(map, "status"), "phase", "Pending");
}

fn claim(map: &mut Fields) {
    claim_spec(ensure(map, "spec"));
    fill(ensure(map, "status"), "phase", "Pending");
}

/// Also the spec of a StatefulSet's claim templates and of a pod's own claims.
fn claim_spec(spec: &mut Fields) {
    fill(spec, "volumeMode", "Filesystem");
    ensure(spec, "resources");
}

/// A container's limit is its largest allowed amount, its request its limit, unless said otherwise.
fn limit(item: &mut Fields) {
    if !says(item, "type", "Container") {
        return;
    }
    for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
        let amounts = item.get(from).and_then(Value::as_object).cloned().unwrap_or_default();
        if amounts.is_empty() {
            continue;
        }
        let target = ensure(item, to);
        for (name, amount) in amounts {
            target.entry(name).or_insert(amount);
        }
    }
}

fn event(map: &mut Fields) {
    ensure(map, "involvedObject");
    ensure(map, "source");
    for name in ["reportingComponent", "reportingInstance"] {
        fill(map, name, "");
    }
}

fn network_policy(map: &mut Fields) {
    let spec = ensure(map, "spec");
    ensure(spec, "podSelector");
    if spec.get("policyTypes").is_none_or(is_empty) {
        let outgoing = spec.get("egress").is_some_and(|rules| !is_empty(rules));
        let types = if outgoing { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
        spec.insert("policyTypes".into(), types);
    }
    for direction in ["ingress", "egress"] {
        each(spec, direction)
            .for_each(|rule| each(rule, "ports").for_each(|port| fill(port, "protocol", "TCP")));
    }
}

fn binding(map: &mut Fields) {
    fill(ensure(map, "roleRef"), "apiGroup", RBAC);
    for subject in each(map, "subjects") {
        if says(subject, "kind", "User") || says(subject, "kind", "Group") {
            fill(subject, "apiGroup", RBAC);
        }
    }
}

fn endpoint_slice(map: &mut Fields) {
    for port in each(map, "ports") {
        fill(port, "name", "");
        fill(port, "protocol", "TCP");
    }
}
