//! What the server says it serves: the legacy lists, the aggregated documents and the root index.
//!
//! Pure functions of the served kinds. Kinds come in any order; the answers are ordered as the original
//! orders them: built-in groups by its priorities, then custom groups by name, versions newest first.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha512};

use super::{Kind, Subresource};

/// Built-in groups in the order of the original's priorities.
const GROUPS: [&str; 16] = [
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
];

/// Paths that are there whatever is served.
const FIXED_PATHS: [&str; 16] = [
    "/.well-known/openid-configuration",
    "/api",
    "/api/v1",
    "/apis",
    "/apis/",
    "/healthz",
    "/healthz/ping",
    "/livez",
    "/livez/ping",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/openid/v1/jwks",
    "/readyz",
    "/readyz/ping",
    "/version",
];

/// `GET /api`, the legacy answer. `address` is host and port as clients reach them.
pub fn core_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": address }],
    })
}

/// `GET /apis`, the legacy answer.
pub fn group_list(kinds: &[Arc<Kind>]) -> Value {
    let groups: Vec<Value> = groups(kinds).iter().map(|group| group_body(kinds, group)).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

/// `GET /apis/<group>`; `None` if nothing of the group is served.
pub fn group(kinds: &[Arc<Kind>], name: &str) -> Option<Value> {
    if name.is_empty() || !kinds.iter().any(|kind| kind.group == name) {
        return None;
    }
    let mut body = json!({ "kind": "APIGroup", "apiVersion": "v1" });
    if let (Value::Object(body), Value::Object(rest)) = (&mut body, group_body(kinds, name)) {
        body.extend(rest);
    }
    Some(body)
}

/// `GET /api/v1` (an empty group) and `GET /apis/<group>/<version>`; `None` if nothing of it is served.
pub fn resource_list(kinds: &[Arc<Kind>], group: &str, version: &str) -> Option<Value> {
    let served = of_version(kinds, group, version);
    if served.is_empty() {
        return None;
    }
    let mut resources = Vec::new();
    for kind in served {
        resources.push(legacy_resource(kind));
        resources.extend(kind.all_subresources().iter().map(|sub| legacy_subresource(kind, sub)));
    }
    Some(match group {
        "" => json!({ "kind": "APIResourceList", "groupVersion": version, "resources": resources }),
        _ => json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{group}/{version}"),
            "resources": resources,
        }),
    })
}

/// The aggregated answer of `GET /api` (`core`) or `GET /apis`, in `v2` or `v2beta1`.
pub fn aggregated(kinds: &[Arc<Kind>], core: bool, version: &str) -> Value {
    let names = if core { vec![String::new()] } else { groups(kinds) };
    let items: Vec<Value> = names.iter().map(|group| aggregated_group(kinds, group)).collect();
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {}, "items": items,
    })
}

/// `GET /`: every path worth knowing.
pub fn root(kinds: &[Arc<Kind>]) -> Value {
    let mut paths: Vec<String> = FIXED_PATHS.map(str::to_owned).to_vec();
    for group in groups(kinds) {
        paths.extend(versions(kinds, &group).iter().map(|version| format!("/apis/{group}/{version}")));
        paths.push(format!("/apis/{group}"));
    }
    paths.sort();
    json!({ "paths": paths })
}

/// The entity tag of a body, without quotes: SHA-512 in capital hexadecimal digits.
pub fn etag(body: &[u8]) -> String {
    Sha512::digest(body).iter().map(|byte| format!("{byte:02X}")).collect()
}

/// Versions of a group, the preferred one first.
pub fn versions(kinds: &[Arc<Kind>], group: &str) -> Vec<String> {
    let mut versions: Vec<String> =
        kinds.iter().filter(|kind| kind.group == group).map(|kind| kind.version.clone()).collect();
    versions.sort_by(|left, right| by_priority(left, right));
    versions.dedup();
    versions
}

/// Stable before beta before alpha, newer before older, anything else last and by name.
pub fn by_priority(left: &str, right: &str) -> Ordering {
    match (rank(left), rank(right)) {
        (Some(left), Some(right)) => right.cmp(&left),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => left.cmp(right),
    }
}

/// `v2beta1` is (1, 2, 1); `v2` is (2, 2, 0).
fn rank(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let number = |digits: &str| digits.parse::<u64>().ok().filter(|_| !digits.starts_with('0'));
    for (word, stage) in [("beta", 1), ("alpha", 0)] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((stage, number(major)?, number(minor)?));
        }
    }
    Some((2, number(rest)?, 0))
}

/// Named groups in order.
fn groups(kinds: &[Arc<Kind>]) -> Vec<String> {
    let mut names: Vec<String> =
        kinds.iter().map(|kind| kind.group.clone()).filter(|group| !group.is_empty()).collect();
    let place = |name: &String| GROUPS.iter().position(|known| known == name).unwrap_or(GROUPS.len());
    names.sort_by(|left, right| place(left).cmp(&place(right)).then_with(|| left.cmp(right)));
    names.dedup();
    names
}

/// Kinds of one version, by resource.
fn of_version<'a>(kinds: &'a [Arc<Kind>], group: &str, version: &str) -> Vec<&'a Kind> {
    let mut found: Vec<&Kind> = kinds
        .iter()
        .filter(|kind| kind.group == group && kind.version == version)
        .map(AsRef::as_ref)
        .collect();
    found.sort_by(|left, right| left.plural.cmp(&right.plural));
    found
}

fn group_body(kinds: &[Arc<Kind>], group: &str) -> Value {
    let named =
        |version: &String| json!({ "groupVersion": format!("{group}/{version}"), "version": version });
    let versions: Vec<Value> = versions(kinds, group).iter().map(named).collect();
    let preferred = versions.first().cloned();
    json!({ "name": group, "versions": versions, "preferredVersion": preferred })
}

fn legacy_resource(kind: &Kind) -> Value {
    let mut body = json!({
        "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.kind,
        "verbs": kind.verbs,
    });
    add_names(&mut body, kind);
    body
}

fn legacy_subresource(kind: &Kind, sub: &Subresource) -> Value {
    let mut body = Map::new();
    body.insert("name".into(), json!(format!("{}/{}", kind.plural, sub.name)));
    body.insert("singularName".into(), json!(""));
    body.insert("namespaced".into(), json!(kind.namespaced));
    if !sub.version.is_empty() {
        body.insert("group".into(), json!(sub.group));
        body.insert("version".into(), json!(sub.version));
    }
    body.insert("kind".into(), json!(sub.kind));
    body.insert("verbs".into(), json!(sub.verbs));
    Value::Object(body)
}

fn aggregated_group(kinds: &[Arc<Kind>], group: &str) -> Value {
    let metadata = if group.is_empty() { json!({}) } else { json!({ "name": group }) };
    let version = |version: &String| {
        let served = of_version(kinds, group, version);
        let resources: Vec<Value> = served.into_iter().map(aggregated_resource).collect();
        json!({ "version": version, "resources": resources, "freshness": "Current" })
    };
    let versions: Vec<Value> = versions(kinds, group).iter().map(version).collect();
    json!({ "metadata": metadata, "versions": versions })
}

fn aggregated_resource(kind: &Kind) -> Value {
    let mut body = json!({
        "resource": kind.plural,
        "responseKind": response_kind(kind, "", "", &kind.kind),
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": kind.singular,
        "verbs": kind.verbs,
    });
    add_names(&mut body, kind);
    let subresource = |sub: &Subresource| {
        json!({
            "subresource": sub.name,
            "responseKind": response_kind(kind, &sub.group, &sub.version, &sub.kind),
            "verbs": sub.verbs,
        })
    };
    let subresources: Vec<Value> = kind.all_subresources().iter().map(subresource).collect();
    if !subresources.is_empty() {
        body["subresources"] = json!(subresources);
    }
    body
}

/// Built-in kinds leave their own group and version empty, custom ones write them out.
fn response_kind(kind: &Kind, group: &str, version: &str, name: &str) -> Value {
    if version.is_empty() && !kind.builtin {
        return json!({ "group": kind.group, "version": kind.version, "kind": name });
    }
    json!({ "group": group, "version": version, "kind": name })
}

fn add_names(body: &mut Value, kind: &Kind) {
    if !kind.short_names.is_empty() {
        body["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        body["categories"] = json!(kind.categories);
    }
}
