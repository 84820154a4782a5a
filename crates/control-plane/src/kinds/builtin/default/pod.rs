//! Defaults of pods, shared by everything that makes pods.

use serde_json::{Value, json};

use super::claim_spec;
use crate::kinds::builtin::fields::{Fields, each, ensure, fill, fill_zero, is_empty, object};

/// Lists of containers in a pod.
const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// Readable by all, writable by the owner: 0644.
const FILE_MODE: i64 = 420;

/// A pod itself knows more than its template: requests follow limits, links are on.
pub(super) fn pod(map: &mut Fields) {
    ensure(map, "status");
    let spec = ensure(map, "spec");
    pod_spec(spec);
    fill(spec, "enableServiceLinks", true);
    let host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["containers", "initContainers"] {
        for container in each(spec, list) {
            requests_follow_limits(container);
            if host_network {
                each(container, "ports").for_each(host_port);
            }
        }
    }
}

/// The part that templates share.
pub(super) fn pod_spec(spec: &mut Fields) {
    fill(spec, "restartPolicy", "Always");
    fill(spec, "terminationGracePeriodSeconds", 30);
    fill(spec, "dnsPolicy", "ClusterFirst");
    // The account has an old name that old clients still read.
    for (from, to) in [("serviceAccount", "serviceAccountName"), ("serviceAccountName", "serviceAccount")] {
        if let Some(name) = spec.get(from).cloned().filter(|name| !is_empty(name)) {
            fill(spec, to, name);
        }
    }
    ensure(spec, "securityContext");
    fill(spec, "schedulerName", "default-scheduler");
    for list in CONTAINERS {
        each(spec, list).for_each(container);
    }
    each(spec, "volumes").for_each(volume);
}

fn container(container: &mut Fields) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let policy = if is_latest(image) { "Always" } else { "IfNotPresent" };
    ensure(container, "resources");
    fill(container, "terminationMessagePath", "/dev/termination-log");
    fill(container, "terminationMessagePolicy", "File");
    fill(container, "imagePullPolicy", policy);
    each(container, "ports").for_each(|port| fill(port, "protocol", "TCP"));
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = object(container, name) {
            fill_zero(probe, "timeoutSeconds", 1);
            fill_zero(probe, "periodSeconds", 10);
            fill_zero(probe, "successThreshold", 1);
            fill_zero(probe, "failureThreshold", 3);
            handler(probe);
        }
    }
    for hook in ["postStart", "preStop"] {
        if let Some(action) = object(container, "lifecycle").and_then(|lifecycle| object(lifecycle, hook)) {
            handler(action);
        }
    }
    for variable in each(container, "env") {
        if let Some(source) = object(variable, "valueFrom") {
            references(source);
        }
    }
}

fn handler(action: &mut Fields) {
    if let Some(get) = object(action, "httpGet") {
        fill(get, "path", "/");
        fill(get, "scheme", "HTTP");
    }
    if let Some(call) = object(action, "grpc") {
        call.entry("service").or_insert_with(|| json!(""));
    }
}

/// An image without a tag or a digest is the latest.
fn is_latest(image: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or_default();
    let (name, digest) = last.split_once('@').map_or((last, None), |(name, digest)| (name, Some(digest)));
    match name.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => digest.is_none(),
    }
}

fn volume(volume: &mut Fields) {
    if volume.keys().all(|key| key == "name") {
        volume.insert("emptyDir".into(), json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(files) = object(volume, source) {
            fill(files, "defaultMode", FILE_MODE);
            field_references(files);
            for part in each(files, "sources") {
                if let Some(token) = object(part, "serviceAccountToken") {
                    fill(token, "expirationSeconds", 3600);
                }
                if let Some(downward) = object(part, "downwardAPI") {
                    field_references(downward);
                }
            }
        }
    }
    if let Some(path) = object(volume, "hostPath") {
        path.entry("type").or_insert_with(|| json!(""));
    }
    if let Some(image) = object(volume, "image") {
        let latest = is_latest(image.get("reference").and_then(Value::as_str).unwrap_or_default());
        fill(image, "pullPolicy", if latest { "Always" } else { "IfNotPresent" });
    }
    let claim = object(volume, "ephemeral").and_then(|source| object(source, "volumeClaimTemplate"));
    if let Some(template) = claim {
        ensure(template, "metadata");
        claim_spec(ensure(template, "spec"));
    }
}

fn references(source: &mut Fields) {
    if let Some(reference) = object(source, "fieldRef") {
        fill(reference, "apiVersion", "v1");
    }
    if let Some(reference) = object(source, "resourceFieldRef") {
        fill(reference, "divisor", "0");
    }
}

fn field_references(files: &mut Fields) {
    each(files, "items").for_each(references);
}

fn requests_follow_limits(container: &mut Fields) {
    let resources = ensure(container, "resources");
    let limits = resources.get("limits").and_then(Value::as_object).cloned().unwrap_or_default();
    if limits.is_empty() {
        return;
    }
    let requests = ensure(resources, "requests");
    for (name, amount) in limits {
        requests.entry(name).or_insert(amount);
    }
}

fn host_port(port: &mut Fields) {
    if let Some(number) = port.get("containerPort").and_then(Value::as_i64) {
        fill_zero(port, "hostPort", number);
    }
}
