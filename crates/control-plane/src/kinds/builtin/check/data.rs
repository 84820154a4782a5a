//! Rules of the kinds that hold data: Secrets, ConfigMaps, claims, leases, classes, events.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Causes, NEGATIVE, NOT_POSITIVE};
use crate::kinds::builtin::fields::{at, list, text};
use crate::kinds::builtin::quantity;
use crate::status::Cause;

/// Most bytes in a Secret or ConfigMap.
const MAX_BYTES: usize = 1024 * 1024;
/// Most characters in a key.
const MAX_KEY: usize = 253;
/// Largest priority that is not the system's.
const MAX_PRIORITY: i64 = 1_000_000_000;
const BAD_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
     'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const SEALED: &str = "field is immutable when `immutable` is set";
const FROZEN_CLAIM: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

/// A Secret.
pub(super) fn secret(causes: &mut Causes, object: &Value, old: Option<&Value>) {
    causes.immutable(object, old, &["type"]);
    sealed(causes, object, old, &["data"]);
    keys(causes, object, "data");
    let mut total = 0;
    for (key, value) in at(object, &["data"]).and_then(Value::as_object).into_iter().flatten() {
        match STANDARD.decode(value.as_str().unwrap_or_default()) {
            Ok(bytes) => total += bytes.len(),
            Err(error) => causes.invalid(
                format!("data[{key}]"),
                &json!("<secret contents redacted>"),
                &error.to_string(),
            ),
        }
    }
    if total > MAX_BYTES {
        causes.add(Cause::too_long("data", MAX_BYTES));
    }
    let has = |key: &str| object["data"].get(key).is_some();
    let mut need = |key: &str| causes.add(Cause::required(format!("data[{key}]"), ""));
    match text(object, &["type"]) {
        "kubernetes.io/dockercfg" if !has(".dockercfg") => need(".dockercfg"),
        "kubernetes.io/dockerconfigjson" if !has(".dockerconfigjson") => need(".dockerconfigjson"),
        "kubernetes.io/ssh-auth" if !has("ssh-privatekey") => need("ssh-privatekey"),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            need("username");
            need("password");
        }
        "kubernetes.io/tls" => ["tls.crt", "tls.key"].into_iter().filter(|key| !has(key)).for_each(need),
        "kubernetes.io/service-account-token" => {
            let name = at(object, &["metadata", "annotations", "kubernetes.io/service-account.name"]);
            causes.require("metadata.annotations[kubernetes.io/service-account.name]", name, "");
        }
        _ => {}
    }
}

/// A ConfigMap.
pub(super) fn config_map(causes: &mut Causes, object: &Value, old: Option<&Value>) {
    sealed(causes, object, old, &["data", "binaryData"]);
    keys(causes, object, "data");
    keys(causes, object, "binaryData");
    let entries = |name: &str| object[name].as_object().into_iter().flatten();
    let mut total = 0;
    for (key, value) in entries("data") {
        total += value.as_str().unwrap_or_default().len();
        if object["binaryData"].get(key).is_some() {
            causes.invalid(format!("data[{key}]"), &json!(key), "duplicate of key present in binaryData");
        }
    }
    for (key, value) in entries("binaryData") {
        match STANDARD.decode(value.as_str().unwrap_or_default()) {
            Ok(bytes) => total += bytes.len(),
            Err(error) => causes.invalid(format!("binaryData[{key}]"), value, &error.to_string()),
        }
    }
    if total > MAX_BYTES {
        // The original names no field: the whole is too long.
        causes.add(Cause::too_long("[]", MAX_BYTES));
    }
}

/// What is sealed stays as it is, and stays sealed.
fn sealed(causes: &mut Causes, object: &Value, old: Option<&Value>, fields: &[&str]) {
    let Some(old) = old.filter(|old| old["immutable"] == true) else { return };
    if object["immutable"] != true {
        causes.add(Cause::forbidden("immutable", SEALED));
    }
    for field in fields {
        if at(object, &[field]) != at(old, &[field]) {
            causes.add(Cause::forbidden(*field, SEALED));
        }
    }
}

fn keys(causes: &mut Causes, object: &Value, field: &str) {
    for key in at(object, &[field]).and_then(Value::as_object).into_iter().flatten().map(|(key, _)| key) {
        let mut bad = |why: &str| causes.invalid(format!("{field}[{key}]"), &json!(key), why);
        if key.len() > MAX_KEY {
            bad("must be no more than 253 characters");
        }
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)) {
            bad(BAD_KEY);
        }
        match key.as_str() {
            "." => bad("must not be '.'"),
            ".." => bad("must not be '..'"),
            _ if key.starts_with("..") => bad("must not start with '..'"),
            _ => {}
        }
    }
}

/// A PersistentVolumeClaim.
pub(super) fn claim(causes: &mut Causes, object: &Value, old: Option<&Value>) {
    let modes = at(object, &["spec", "accessModes"]);
    causes.require("spec.accessModes", modes, "at least 1 access mode is required");
    for mode in list(object, &["spec", "accessModes"]) {
        let known = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
        causes.one_of("spec.accessModes", Some(mode), &known);
    }
    let size = at(object, &["spec", "resources", "requests", "storage"]);
    match size {
        None => causes.add(Cause::required("spec.resources[storage]", "")),
        Some(amount) if quantity::nanos(amount).is_some_and(|amount| amount <= 0) => {
            causes.invalid("spec.resources[storage]", amount, NOT_POSITIVE);
        }
        Some(_) => {}
    }
    let Some(old) = old else { return };
    let rest = |claim: &Value| {
        let mut spec = claim["spec"].as_object().cloned().unwrap_or_default();
        if text(old, &["spec", "volumeName"]).is_empty() {
            spec.shift_remove("volumeName");
        }
        if at(old, &["spec", "storageClassName"]).is_none() {
            spec.shift_remove("storageClassName");
        }
        if text(old, &["status", "phase"]) == "Bound" {
            spec.shift_remove("volumeAttributesClassName");
            if let Some(resources) = spec.get_mut("resources").and_then(Value::as_object_mut) {
                resources.shift_remove("requests");
            }
        }
        spec
    };
    if rest(object) != rest(old) {
        causes.add(Cause::forbidden("spec", FROZEN_CLAIM));
    }
    let amount = |size: Option<&Value>| size.and_then(quantity::nanos).unwrap_or(0);
    let held = amount(at(old, &["status", "capacity", "storage"]));
    let before = amount(at(old, &["spec", "resources", "requests", "storage"]));
    if amount(size) < before && amount(size) <= held {
        let why = "field can not be less than status.capacity";
        causes.add(Cause::forbidden("spec.resources.requests.storage", why));
    }
}

/// A LimitRange.
pub(super) fn limit_range(causes: &mut Causes, object: &Value) {
    let mut seen: Vec<&str> = Vec::new();
    for (place, limit) in list(object, &["spec", "limits"]).iter().enumerate() {
        let path = format!("spec.limits[{place}]");
        let kind = text(limit, &["type"]);
        if seen.contains(&kind) {
            causes.add(Cause::duplicate(format!("{path}.type"), &limit["type"]));
        }
        seen.push(kind);
        if !kind.is_empty()
            && !kind.contains('/')
            && !["Pod", "Container", "PersistentVolumeClaim"].contains(&kind)
        {
            let why = "must be a standard limit type or fully qualified";
            causes.invalid(format!("{path}.type"), &limit["type"], why);
        }
        for (key, least) in at(limit, &["min"]).and_then(Value::as_object).into_iter().flatten() {
            let most = at(limit, &["max", key]);
            let above = most
                .and_then(quantity::nanos)
                .zip(quantity::nanos(least))
                .is_some_and(|(max, min)| min > max);
            if let Some(most) = most.filter(|_| above) {
                let (min, max) = (least.as_str().unwrap_or_default(), most.as_str().unwrap_or_default());
                let why = format!("min value {min} is greater than max value {max}");
                causes.invalid(format!("{path}.min[{key}]"), least, &why);
            }
        }
    }
}

/// A Lease.
pub(super) fn lease(causes: &mut Causes, object: &Value) {
    let number = |name: &str| at(object, &["spec", name]).filter(|value| value.is_i64());
    if let Some(value) = number("leaseDurationSeconds").filter(|value| value.as_i64() <= Some(0)) {
        causes.invalid("spec.leaseDurationSeconds", value, "must be greater than 0");
    }
    if let Some(value) = number("leaseTransitions").filter(|value| value.as_i64() < Some(0)) {
        causes.invalid("spec.leaseTransitions", value, NEGATIVE);
    }
    if !text(object, &["spec", "preferredHolder"]).is_empty()
        && text(object, &["spec", "strategy"]).is_empty()
    {
        let why = "may only be specified if `strategy` is defined";
        causes.add(Cause::forbidden("spec.preferredHolder", why));
    }
}

/// A PriorityClass.
pub(super) fn priority_class(causes: &mut Causes, object: &Value, old: Option<&Value>) {
    let system = text(object, &["metadata", "name"]).starts_with("system-");
    if !system && object["value"].as_i64().is_some_and(|value| value > MAX_PRIORITY) {
        let why = format!("maximum allowed value of a user defined priority is {MAX_PRIORITY}");
        causes.add(Cause::forbidden("value", &why));
    }
    causes.one_of("preemptionPolicy", at(object, &["preemptionPolicy"]), &["Never", "PreemptLowerPriority"]);
    if old.is_some_and(|old| old["value"] != object["value"]) {
        causes.add(Cause::forbidden("value", "may not be changed in an update."));
    }
    causes.immutable(object, old, &["preemptionPolicy"]);
}

/// A StorageClass.
pub(super) fn storage_class(causes: &mut Causes, object: &Value, old: Option<&Value>) {
    causes.require("provisioner", at(object, &["provisioner"]), "");
    for field in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
        causes.immutable(object, old, &[field]);
    }
}

/// An Event in either shape. One without an event time is old and is asked little.
pub(super) fn event(causes: &mut Causes, object: &Value) {
    let core = text(object, &["apiVersion"]) == "v1";
    let about = if core { "involvedObject" } else { "regarding" };
    let (own, theirs) = (text(object, &["metadata", "namespace"]), text(object, &[about, "namespace"]));
    let timed = at(object, &["eventTime"]).is_some();
    let matches = match (theirs, timed) {
        ("", false) => matches!(own, "" | "default"),
        ("", true) => matches!(own, "default" | "kube-system"),
        (_, false) => own == theirs,
        (_, true) => true,
    };
    if !matches {
        causes.invalid("involvedObject.namespace", &json!(theirs), "does not match event.namespace");
    }
    if timed {
        let reporter = if core { "reportingComponent" } else { "reportingController" };
        for field in [reporter, "reportingInstance", "action", "reason"] {
            causes.require(field, at(object, &[field]), "");
        }
    } else if !core {
        causes.add(Cause::required("eventTime", ""));
    }
    if !core && !matches!(text(object, &["type"]), "Normal" | "Warning") {
        let why = format!("has invalid value: {}", text(object, &["type"]));
        causes.invalid("type", &json!(""), &why);
    }
}
