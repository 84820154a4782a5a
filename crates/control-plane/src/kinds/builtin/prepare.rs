//! Who may write what: the server and the subresources own fields that a plain write cannot touch.

use serde_json::{Value, json};

use super::fields::{Fields, at, ensure, fill, fill_zero, list, object, text};
use super::quantity;
use crate::kinds::Kind;

/// Built-in resources that count their generations; the others carry none.
const COUNTED: [&str; 21] = [
    "pods",
    "podtemplates",
    "daemonsets",
    "deployments",
    "replicasets",
    "statefulsets",
    "cronjobs",
    "jobs",
    "ingressclasses",
    "ingresses",
    "networkpolicies",
    "poddisruptionbudgets",
    "endpointslices",
    "priorityclasses",
    "customresourcedefinitions",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "mutatingwebhookconfigurations",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "validatingwebhookconfigurations",
];

/// Makes a new object what the server lets a client create: the status is the server's, the generation 1.
/// Name, uid and creation time are set before; a Job derives its selector from them.
pub fn prepare_create(kind: &Kind, object: &mut Value) {
    let Some(map) = object.as_object_mut() else { return };
    if kind.status && !(kind.builtin && kind.plural == "nodes") {
        map.shift_remove("status");
        if let Some(status) = kind.builtin.then(|| first_status(&kind.plural, map)).flatten() {
            map.insert("status".into(), status);
        }
    }
    if kind.builtin && kind.kind == "Namespace" {
        claim_namespace(map);
    }
    if kind.builtin && kind.kind == "Job" {
        select_own_pods(map);
    }
    set_generation(map, counts(kind).then_some(1));
}

/// Makes a replacement what the main endpoint may write: the status stays, and the generation rises when
/// the wish changed.
pub fn prepare_update(kind: &Kind, new: &mut Value, old: &Value) {
    if kind.status {
        keep(new, old, "status");
    }
    if kind.builtin && kind.kind == "Namespace" {
        keep(new, old, "spec");
    }
    if kind.builtin && kind.kind == "Service" {
        keep_allocated(new, old);
    }
    let generation = old["metadata"]["generation"].as_i64();
    let changed = counts(kind) && wish_changed(kind, new, old);
    let Some(map) = new.as_object_mut() else { return };
    set_generation(map, generation.map(|count| count + i64::from(changed)));
}

/// Makes a replacement what `/status` may write: everything but the status stays, and so does the metadata
/// of custom resources; built-in kinds let a status writer touch annotations and finalizers.
pub fn prepare_status(kind: &Kind, new: &mut Value, old: &Value) {
    let mut result = old.clone();
    let whole_metadata = !kind.builtin
        || matches!(
            kind.plural.as_str(),
            "customresourcedefinitions" | "apiservices" | "validatingadmissionpolicies"
        );
    if let (Some(kept), Some(given)) = (result["metadata"].as_object_mut(), new["metadata"].as_object()) {
        if !whole_metadata {
            let mut merged = given.clone();
            let own: &[&str] = match kind.kind.as_str() {
                "Pod" => &["generation", "ownerReferences"],
                "Deployment" => &["generation", "labels"],
                _ => &["generation"],
            };
            for key in own {
                take(&mut merged, key, kept.get(*key).cloned());
            }
            *kept = merged;
        } else {
            for key in ["managedFields", "resourceVersion"] {
                take(kept, key, given.get(key).cloned());
            }
        }
    }
    let mut status = new.get("status").cloned();
    if kind.builtin && kind.kind == "Pod" {
        let quality = at(old, &["status", "qosClass"]).cloned();
        if let (Some(Value::Object(status)), Some(quality)) = (&mut status, quality) {
            status.entry("qosClass").or_insert(quality);
        }
    }
    if let Some(map) = result.as_object_mut() {
        take(map, "status", status);
    }
    *new = result;
}

/// Makes a replacement what a namespace's `/finalize` may write: its finalizers.
pub fn prepare_finalize(new: &mut Value, old: &Value) {
    let finalizers = at(new, &["spec", "finalizers"]).cloned();
    let version = at(new, &["metadata", "resourceVersion"]).cloned();
    *new = old.clone();
    let Some(map) = new.as_object_mut() else { return };
    take(ensure(map, "spec"), "finalizers", finalizers);
    if let Some(version) = version {
        ensure(map, "metadata").insert("resourceVersion".into(), version);
    }
}

fn counts(kind: &Kind) -> bool {
    !kind.builtin || COUNTED.contains(&kind.plural.as_str())
}

/// Everything but metadata and a separately served status is a wish. Some kinds count more, or less.
fn wish_changed(kind: &Kind, new: &Value, old: &Value) -> bool {
    let wish = |value: &Value| {
        let mut wish = value.as_object().cloned().unwrap_or_default();
        for key in ["metadata", "kind", "apiVersion"] {
            wish.shift_remove(key);
        }
        if kind.status {
            wish.shift_remove("status");
        }
        wish
    };
    let differs = |key: &str| new["metadata"].get(key) != old["metadata"].get(key);
    match (kind.builtin, kind.kind.as_str()) {
        // Annotations travel from a Deployment to its ReplicaSets.
        (true, "Deployment") => wish(new) != wish(old) || differs("annotations"),
        (true, "EndpointSlice") => wish(new) != wish(old) || differs("annotations") || differs("labels"),
        (true, "PriorityClass") => false,
        _ => wish(new) != wish(old),
    }
}

fn set_generation(map: &mut Fields, generation: Option<i64>) {
    if let Some(metadata) = object(map, "metadata") {
        take(metadata, "generation", generation.map(Value::from));
    }
}

fn keep(new: &mut Value, old: &Value, key: &str) {
    if let Some(map) = new.as_object_mut() {
        take(map, key, old.get(key).cloned());
    }
}

/// Sets a field, or removes it where there is no value.
fn take(map: &mut Fields, key: &str, value: Option<Value>) {
    match value {
        Some(value) => drop(map.insert(key.to_owned(), value)),
        None => drop(map.shift_remove(key)),
    }
}

/// The status a new object starts with.
fn first_status(plural: &str, map: &Fields) -> Option<Value> {
    Some(match plural {
        "namespaces" => json!({ "phase": "Active" }),
        "persistentvolumeclaims" | "persistentvolumes" => json!({ "phase": "Pending" }),
        "pods" => json!({ "phase": "Pending", "qosClass": quality(map.get("spec").unwrap_or(&Value::Null)) }),
        "services" | "ingresses" => json!({ "loadBalancer": {} }),
        "replicasets" => json!({ "replicas": 0 }),
        "statefulsets" => json!({ "replicas": 0, "availableReplicas": 0 }),
        "daemonsets" => json!({
            "currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0,
        }),
        "poddisruptionbudgets" => json!({
            "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0,
        }),
        "customresourcedefinitions" => return None,
        _ => json!({}),
    })
}

/// How well a pod is treated when memory runs out: by whether it says what it needs, and means it.
fn quality(spec: &Value) -> &'static str {
    let containers: Vec<&Value> =
        list(spec, &["containers"]).iter().chain(list(spec, &["initContainers"])).collect();
    let amount = |container: &Value, which: &str, what: &str| {
        at(container, &["resources", which, what]).and_then(quantity::nanos).filter(|amount| *amount > 0)
    };
    let kinds = ["cpu", "memory"];
    let asks = |container: &&Value| {
        kinds
            .iter()
            .any(|what| amount(container, "requests", what).or(amount(container, "limits", what)).is_some())
    };
    let guaranteed = |container: &&Value| {
        kinds.iter().all(|what| {
            let limit = amount(container, "limits", what);
            limit.is_some() && amount(container, "requests", what).or(limit) == limit
        })
    };
    match () {
        () if !containers.iter().any(asks) => "BestEffort",
        () if containers.iter().all(guaranteed) => "Guaranteed",
        () => "Burstable",
    }
}

/// A namespace is held by its own finalizer until its content is gone.
fn claim_namespace(map: &mut Fields) {
    let spec = ensure(map, "spec");
    let finalizers = spec.entry("finalizers").or_insert_with(|| json!([]));
    if let Value::Array(list) = finalizers
        && !list.iter().any(|name| name == "kubernetes")
    {
        list.push(json!("kubernetes"));
    }
}

/// A Job that names no selector selects the pods that carry its uid.
fn select_own_pods(map: &mut Fields) {
    let job = Value::Object(map.clone());
    let (name, uid) = (text(&job, &["metadata", "name"]), text(&job, &["metadata", "uid"]));
    if uid.is_empty() || at(&job, &["spec", "manualSelector"]) == Some(&Value::Bool(true)) {
        return;
    }
    // A Job that was given no labels wears those of its pods.
    let alike = at(&job, &["metadata", "labels"]) == at(&job, &["spec", "template", "metadata", "labels"]);
    let mark = |labels: &mut Fields| {
        for (key, value) in [("controller-uid", uid), ("job-name", name)] {
            labels.entry(format!("batch.kubernetes.io/{key}")).or_insert_with(|| json!(value));
            labels.entry(key).or_insert_with(|| json!(value));
        }
    };
    if alike {
        mark(ensure(ensure(map, "metadata"), "labels"));
    }
    let spec = ensure(map, "spec");
    mark(ensure(ensure(ensure(spec, "template"), "metadata"), "labels"));
    let selector = ensure(ensure(spec, "selector"), "matchLabels");
    selector.entry("batch.kubernetes.io/controller-uid").or_insert_with(|| json!(uid));
}

/// A replacement that does not name a Service's addresses and ports means the ones it was given.
fn keep_allocated(new: &mut Value, old: &Value) {
    let kind = text(new, &["spec", "type"]);
    let has_address = |kind: &str| kind != "ExternalName";
    if !has_address(kind) || !has_address(text(old, &["spec", "type"])) {
        return;
    }
    let opens = |kind: &str| matches!(kind, "NodePort" | "LoadBalancer");
    let open = opens(kind);
    let closing = !open && opens(text(old, &["spec", "type"]));
    let same =
        |left: &Value, right: &Value| left["port"] == right["port"] && left["protocol"] == right["protocol"];
    let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if let Some(given) = at(old, &["spec", key]) {
            fill(spec, key, given.clone());
        }
    }
    if closing {
        for key in ["externalTrafficPolicy", "allocateLoadBalancerNodePorts", "healthCheckNodePort"] {
            if spec.get(key) == at(old, &["spec", key]) {
                spec.shift_remove(key);
            }
        }
        for port in super::fields::each(spec, "ports") {
            let given = list(old, &["spec", "ports"])
                .iter()
                .any(|old| Some(&old["nodePort"]) == port.get("nodePort"));
            if given {
                port.shift_remove("nodePort");
            }
        }
    }
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut).filter(|_| open);
    for port in ports.into_iter().flatten() {
        let before = list(old, &["spec", "ports"]).iter().find(|before| same(before, port));
        let number = before.and_then(|before| before["nodePort"].as_i64()).unwrap_or(0);
        if let Some(port) = port.as_object_mut().filter(|_| number > 0) {
            fill_zero(port, "nodePort", number);
        }
    }
}
