//! Rules of pods and of everything that makes them.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::Causes;
use crate::kinds::builtin::fields::{at, list, text};
use crate::status::Cause;

const POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];
const PULLS: [&str; 3] = ["Always", "IfNotPresent", "Never"];
const NAME_POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const BAD_VARIABLE: &str =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";
const CHANGEABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
     `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
     tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// A pod of its own.
pub(super) fn pod(causes: &mut Causes, object: &Value, old: Option<&Value>) {
    pod_spec(causes, at(object, &["spec"]).unwrap_or(&Value::Null), "spec", &[]);
    if let Some(old) = old
        && frozen(&object["spec"], &old["spec"]) != frozen(&old["spec"], &old["spec"])
    {
        causes.add(Cause::forbidden("spec", CHANGEABLE));
    }
}

/// The part of a pod's spec that never changes; container images are read from `old` by place.
fn frozen(spec: &Value, old: &Value) -> Value {
    let mut spec = spec.clone();
    for lists in ["containers", "initContainers"] {
        let images: Vec<Value> =
            list(old, &[lists]).iter().map(|container| container["image"].clone()).collect();
        let containers = spec.get_mut(lists).and_then(Value::as_array_mut);
        for (container, image) in containers.into_iter().flatten().zip(images) {
            container["image"] = image;
        }
    }
    if let Some(map) = spec.as_object_mut() {
        for key in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
            map.shift_remove(key);
        }
        let negative = old["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds < 0);
        if negative && map.get("terminationGracePeriodSeconds") == Some(&json!(1)) {
            map.insert("terminationGracePeriodSeconds".into(), old["terminationGracePeriodSeconds"].clone());
        }
    }
    spec
}

/// A pod's spec at `path`. `more` names volumes that come from elsewhere, as a StatefulSet's claims do.
pub(super) fn pod_spec(causes: &mut Causes, spec: &Value, path: &str, more: &[String]) {
    let mut volumes: HashSet<&str> = more.iter().map(String::as_str).collect();
    for (place, volume) in list(spec, &["volumes"]).iter().enumerate() {
        let name = format!("{path}.volumes[{place}].name");
        causes.label(name.clone(), volume.get("name"));
        if !text(volume, &["name"]).is_empty() && !volumes.insert(text(volume, &["name"])) {
            causes.add(Cause::duplicate(name, &volume["name"]));
        }
    }
    if list(spec, &["containers"]).is_empty() {
        causes.add(Cause::required(format!("{path}.containers"), ""));
    }
    let mut names = HashSet::new();
    for lists in ["containers", "initContainers", "ephemeralContainers"] {
        for (place, container) in list(spec, &[lists]).iter().enumerate() {
            let path = format!("{path}.{lists}[{place}]");
            causes.label(format!("{path}.name"), container.get("name"));
            causes.require(format!("{path}.image"), container.get("image"), "");
            ports(causes, container, &path);
            variables(causes, container, &path);
            mounts(causes, container, &path, &volumes);
            causes.one_of(format!("{path}.imagePullPolicy"), at(container, &["imagePullPolicy"]), &PULLS);
            probes(causes, container, &path);
            resources(causes, container, &path);
            if !text(container, &["name"]).is_empty() && !names.insert(text(container, &["name"])) {
                causes.add(Cause::duplicate(format!("{path}.name"), &container["name"]));
            }
        }
    }
    causes.one_of(format!("{path}.restartPolicy"), at(spec, &["restartPolicy"]), &POLICIES);
    causes.one_of(format!("{path}.dnsPolicy"), at(spec, &["dnsPolicy"]), &NAME_POLICIES);
}

fn ports(causes: &mut Causes, container: &Value, path: &str) {
    let mut names = HashSet::new();
    for (place, port) in list(container, &["ports"]).iter().enumerate() {
        let path = format!("{path}.ports[{place}]");
        let name = text(port, &["name"]);
        if !name.is_empty() && !names.insert(name) {
            causes.add(Cause::duplicate(format!("{path}.name"), &port["name"]));
        }
        match port.get("containerPort") {
            Some(number) if number == 0 => causes.add(Cause::required(format!("{path}.containerPort"), "")),
            Some(number) => causes.port(format!("{path}.containerPort"), number),
            None => {}
        }
        causes.one_of(format!("{path}.protocol"), port.get("protocol"), &PROTOCOLS);
    }
}

fn variables(causes: &mut Causes, container: &Value, path: &str) {
    for (place, variable) in list(container, &["env"]).iter().enumerate() {
        let path = format!("{path}.env[{place}]");
        let name = text(variable, &["name"]);
        if name.is_empty() {
            causes.add(Cause::required(format!("{path}.name"), ""));
        } else if !name.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=') {
            causes.invalid(format!("{path}.name"), &variable["name"], BAD_VARIABLE);
        }
        let source = at(variable, &["valueFrom"]);
        if source.is_some() && !text(variable, &["value"]).is_empty() {
            let why = "may not be specified when `value` is not empty";
            causes.invalid(format!("{path}.valueFrom"), &json!(""), why);
        }
    }
}

fn probes(causes: &mut Causes, container: &Value, path: &str) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = at(container, &[name]) else { continue };
        let path = format!("{path}.{name}");
        if HANDLERS.iter().all(|handler| at(probe, &[handler]).is_none()) {
            causes.add(Cause::required(path.clone(), "must specify a handler type"));
        }
        for handler in ["httpGet", "tcpSocket"] {
            match at(probe, &[handler, "port"]) {
                Some(port) if port.is_i64() => causes.port(format!("{path}.{handler}.port"), port),
                Some(port) => causes.port_name(format!("{path}.{handler}.port"), port),
                None => {}
            }
        }
        let numbers = [
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ];
        causes.not_negative(probe, &numbers, &path);
    }
}

fn mounts(causes: &mut Causes, container: &Value, path: &str, volumes: &HashSet<&str>) {
    let mut places = HashSet::new();
    for (place, mount) in list(container, &["volumeMounts"]).iter().enumerate() {
        let path = format!("{path}.volumeMounts[{place}]");
        let name = text(mount, &["name"]);
        if !volumes.contains(name) {
            causes.add(Cause::of(
                "FieldValueNotFound",
                format!("{path}.name"),
                format!("Not found: {name:?}"),
            ));
        }
        let target = text(mount, &["mountPath"]);
        if !target.is_empty() && !places.insert(target) {
            causes.invalid(format!("{path}.mountPath"), &mount["mountPath"], "must be unique");
        }
    }
}

/// Nobody may ask for more than the limit.
fn resources(causes: &mut Causes, container: &Value, path: &str) {
    let requests = at(container, &["resources", "requests"]).and_then(Value::as_object);
    for (name, request) in requests.into_iter().flatten() {
        let limit = at(container, &["resources", "limits", name]);
        let amount = crate::kinds::builtin::quantity::nanos;
        if let (Some(asked), Some(limit)) = (amount(request), limit)
            && amount(limit).is_some_and(|most| asked > most)
        {
            let limit = limit.as_str().map_or_else(|| limit.to_string(), str::to_owned);
            let why = format!("must be less than or equal to {name} limit of {limit}");
            causes.invalid(format!("{path}.resources.requests"), request, &why);
        }
    }
}
