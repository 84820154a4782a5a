//! Rules of Services, Ingresses and EndpointSlices.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::Causes;
use crate::kinds::builtin::fields::{at, list, text};
use crate::status::Cause;

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// A Service.
pub(super) fn service(causes: &mut Causes, object: &Value, old: Option<&Value>) {
    let spec = at(object, &["spec"]).unwrap_or(&Value::Null);
    let kind = text(spec, &["type"]);
    let ports = list(spec, &["ports"]);
    let headless = text(spec, &["clusterIP"]) == "None";
    causes.label("metadata.name", at(object, &["metadata", "name"]));
    if ports.is_empty() && !headless && kind != "ExternalName" {
        causes.add(Cause::required("spec.ports", ""));
    }
    if headless && matches!(kind, "LoadBalancer" | "NodePort") {
        let why = format!("may not be set to 'None' for {kind} services");
        causes.invalid("spec.clusterIPs[0]", &json!("None"), &why);
    }
    if kind == "ExternalName" {
        causes.require("spec.externalName", at(spec, &["externalName"]), "");
    }
    let mut names = HashSet::new();
    for (place, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{place}]");
        let name = text(port, &["name"]);
        if ports.len() > 1 {
            causes.require(format!("{path}.name"), port.get("name"), "");
        }
        causes.label(format!("{path}.name"), port.get("name"));
        if !name.is_empty() && !names.insert(name) {
            causes.add(Cause::duplicate(format!("{path}.name"), &port["name"]));
        }
        causes.port(format!("{path}.port"), port.get("port").unwrap_or(&json!(0)));
        causes.one_of(format!("{path}.protocol"), port.get("protocol"), &PROTOCOLS);
        match port.get("targetPort") {
            Some(target) if target.is_i64() => causes.port(format!("{path}.targetPort"), target),
            Some(target) => causes.port_name(format!("{path}.targetPort"), target),
            None => {}
        }
        if kind == "ClusterIP" && port["nodePort"].as_i64().unwrap_or(0) != 0 {
            let why = "may not be used when `type` is 'ClusterIP'";
            causes.add(Cause::forbidden(format!("{path}.nodePort"), why));
        }
    }
    causes.one_of("spec.type", at(spec, &["type"]), &TYPES);
    causes.one_of("spec.sessionAffinity", at(spec, &["sessionAffinity"]), &["ClientIP", "None"]);
    primary_address(causes, spec, old);
}

/// The first address of a Service is given once.
fn primary_address(causes: &mut Causes, spec: &Value, old: Option<&Value>) {
    let Some(old) = old else { return };
    let (before, now) = (text(old, &["spec", "clusterIP"]), text(spec, &["clusterIP"]));
    let named = |spec: &Value| text(spec, &["type"]) == "ExternalName";
    if !before.is_empty() && before != now && !named(spec) && !named(&old["spec"]) {
        causes.invalid("spec.clusterIPs[0]", &json!([now]), "may not change once set");
    }
}

/// An Ingress.
pub(super) fn ingress(causes: &mut Causes, object: &Value) {
    let spec = at(object, &["spec"]).unwrap_or(&Value::Null);
    let rules = list(spec, &["rules"]);
    match at(spec, &["defaultBackend"]) {
        Some(target) => backend(causes, target, "spec.defaultBackend"),
        None if rules.is_empty() => {
            causes.invalid("spec", &Value::Null, "either `defaultBackend` or `rules` must be specified");
        }
        None => {}
    }
    for (place, rule) in rules.iter().enumerate() {
        for (step, path) in list(rule, &["http", "paths"]).iter().enumerate() {
            http_path(causes, path, &format!("spec.rules[{place}].http.paths[{step}]"));
        }
    }
}

fn http_path(causes: &mut Causes, path: &Value, field: &str) {
    let absolute = text(path, &["path"]).starts_with('/');
    let given = text(path, &["path"]);
    match text(path, &["pathType"]) {
        "" => {
            causes.add(Cause::required(format!("{field}.pathType"), "pathType must be specified"));
            return;
        }
        "Exact" | "Prefix" if !absolute => {
            causes.invalid(format!("{field}.path"), &json!(given), "must be an absolute path");
        }
        "ImplementationSpecific" if !given.is_empty() && !absolute => {
            causes.invalid(format!("{field}.path"), &json!(given), "must be an absolute path");
        }
        _ => {
            let kinds = ["Exact", "ImplementationSpecific", "Prefix"];
            causes.one_of(format!("{field}.pathType"), at(path, &["pathType"]), &kinds);
        }
    }
    backend(causes, &path["backend"], &format!("{field}.backend"));
}

fn backend(causes: &mut Causes, backend: &Value, field: &str) {
    let (service, resource) = (at(backend, &["service"]), at(backend, &["resource"]));
    match (service, resource) {
        (Some(_), Some(_)) => {
            causes.invalid(field, &json!(""), "cannot set both resource and service backends")
        }
        (None, None) => causes.invalid(field, &json!(""), "resource or service backend is required"),
        (None, Some(_)) => {}
        (Some(service), None) => {
            causes.label(format!("{field}.service.name"), service.get("name"));
            let number = service["port"]["number"].as_i64().unwrap_or(0);
            match (text(service, &["port", "name"]), number) {
                ("", 0) => causes.add(Cause::required(field, "port name or number is required")),
                ("", _) => causes.port(format!("{field}.service.port.number"), &service["port"]["number"]),
                (_, 0) => {}
                (_, _) => causes.invalid(field, &json!(""), "cannot set both port name & port number"),
            }
        }
    }
}

/// An EndpointSlice.
pub(super) fn endpoint_slice(causes: &mut Causes, object: &Value, old: Option<&Value>) {
    causes.require("addressType", at(object, &["addressType"]), "");
    if let Some(kind) = at(object, &["addressType"]).filter(|kind| *kind != "") {
        causes.one_of("addressType", Some(kind), &["FQDN", "IPv4", "IPv6"]);
    }
    for (place, endpoint) in list(object, &["endpoints"]).iter().enumerate() {
        let addresses = at(endpoint, &["addresses"]);
        causes.require(format!("endpoints[{place}].addresses"), addresses, "must contain at least 1 address");
    }
    causes.immutable(object, old, &["addressType"]);
}
