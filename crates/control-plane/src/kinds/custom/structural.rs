//! Whether a schema is structural: every field has one place that says its type.

use serde_json::{Value, json};

use crate::kinds::schema::{MAX_DEPTH, pattern};
use crate::status::Cause;

/// What keeps a schema from being structural, sorted as the API sorts it.
pub(super) fn check(schema: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    invariants(schema, Level::Root, path, &mut causes);
    complete(schema, Some(schema), path, path, &mut causes);
    causes.sort_by_key(|cause| format!("{}: {}", cause.field, cause.message));
    causes
}

/// Whether a schema nests deeper than anything here follows.
pub(super) fn too_deep(schema: &Value) -> bool {
    let mut open = vec![(schema, 0)];
    while let Some((node, depth)) = open.pop() {
        if depth > MAX_DEPTH {
            return true;
        }
        match node {
            Value::Object(map) => open.extend(map.values().map(|child| (child, depth + 1))),
            Value::Array(list) => open.extend(list.iter().map(|child| (child, depth + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    false
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

fn on(node: &Value, name: &str) -> bool {
    node.get(name).and_then(Value::as_bool).unwrap_or(false)
}

fn kind(node: &Value) -> &str {
    node.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// The properties of a node in the order of their names.
pub(super) fn properties(node: &Value) -> Vec<(&String, &Value)> {
    let mut fields: Vec<_> =
        node.get("properties").and_then(Value::as_object).into_iter().flatten().collect();
    fields.sort_by_key(|(name, _)| *name);
    fields
}

fn branches<'a>(node: &'a Value, name: &str) -> &'a [Value] {
    node.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn invariants(node: &Value, level: Level, path: &str, causes: &mut Vec<Cause>) {
    let items = node.get("items").filter(|items| items.is_object());
    if kind(node) == "array" && node.get("items").is_none() {
        causes.push(Cause::required(format!("{path}.items"), "must be specified"));
    }
    if let Some(items) = items {
        invariants(items, Level::Item, &format!("{path}.items"), causes);
    }
    for (name, child) in properties(node) {
        invariants(child, Level::Field, &format!("{path}.properties[{name}]"), causes);
    }
    let additional = node.get("additionalProperties").filter(|additional| !additional.is_null());
    if let Some(additional) = additional {
        let path = format!("{path}.additionalProperties");
        if level == Level::Root {
            causes.push(Cause::forbidden(&*path, "must not be used at the root"));
        }
        if additional.is_object() {
            invariants(additional, Level::Field, &path, causes);
        }
    }
    extensions(node, path, causes);
    let any = is_int_or_string(branches(node, "anyOf"));
    let first =
        branches(node, "allOf").first().is_some_and(|first| is_int_or_string(branches(first, "anyOf")));
    values(node, (any, first), path, causes);
    types(node, level, path, causes);
    if on(node, "x-kubernetes-embedded-resource") && additional.is_some() {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        causes.push(Cause::forbidden(format!("{path}.additionalProperties"), why));
    }
    resource(node, level, path, causes);
}

fn extensions(node: &Value, path: &str, causes: &mut Vec<Cause>) {
    if !on(node, "x-kubernetes-int-or-string") {
        return;
    }
    for name in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
        if on(node, name) {
            let why = "must be false if x-kubernetes-int-or-string is true";
            causes.push(Cause::invalid(format!("{path}.{name}"), &true.into(), why));
        }
    }
}

fn types(node: &Value, level: Level, path: &str, causes: &mut Vec<Cause>) {
    let field = format!("{path}.type");
    let kind = kind(node);
    let free = on(node, "x-kubernetes-int-or-string") || on(node, "x-kubernetes-preserve-unknown-fields");
    if on(node, "x-kubernetes-embedded-resource") && kind != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        causes.push(match kind {
            "" => Cause::required(&*field, why),
            kind => Cause::invalid(&*field, &kind.into(), why),
        });
    } else if kind.is_empty() && !free {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        causes.push(Cause::required(&*field, why));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        causes.push(Cause::invalid(field, &kind.into(), "must be object at the root"));
    }
}

/// What the schema says of `apiVersion`, `kind` and `metadata`, at the root and in embedded resources.
fn resource(node: &Value, level: Level, path: &str, causes: &mut Vec<Cause>) {
    let embedded = on(node, "x-kubernetes-embedded-resource");
    let checked = level == Level::Root || embedded;
    let field = |name: &str| node.get("properties").and_then(|fields| fields.get(name));
    for name in ["kind", "apiVersion"] {
        if let Some(child) = field(name).filter(|child| checked && kind(child) != "string") {
            let path = format!("{path}.properties[{name}].type");
            causes.push(Cause::invalid(path, &kind(child).into(), "must be string"));
        }
    }
    if let Some(metadata) = field("metadata") {
        let path = format!("{path}.properties[metadata]");
        if checked && kind(metadata) != "object" {
            causes.push(Cause::invalid(format!("{path}.type"), &kind(metadata).into(), "must be object"));
        }
        if level == Level::Root && !names_only(metadata) {
            let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
            causes.push(Cause::forbidden(path, why));
        }
    }
    let bare = properties(node).is_empty() && !on(node, "x-kubernetes-preserve-unknown-fields");
    if embedded && bare {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without \
                   x-kubernetes-preserve-unknown-fields";
        causes.push(Cause::required(format!("{path}.properties"), why));
    }
}

fn names_only(metadata: &Value) -> bool {
    let plain = |key: &String| matches!(key.as_str(), "type" | "default" | "properties" | "format");
    let names = properties(metadata).iter().all(|(name, _)| matches!(name.as_str(), "name" | "generateName"));
    names && metadata.as_object().is_some_and(|map| map.keys().all(plain))
}

fn is_int_or_string(branches: &[Value]) -> bool {
    branches == [json!({ "type": "integer" }), json!({ "type": "string" })]
}

/// Junctors and the pattern of one node. `skip`: the node's `anyOf`, and the `anyOf` of its first `allOf`,
/// spell out int-or-string.
fn values(node: &Value, skip: (bool, bool), path: &str, causes: &mut Vec<Cause>) {
    if !skip.0 {
        for (index, branch) in branches(node, "anyOf").iter().enumerate() {
            nested(branch, false, &format!("{path}.anyOf[{index}]"), causes);
        }
    }
    for (index, branch) in branches(node, "allOf").iter().enumerate() {
        nested(branch, skip.1 && index == 0, &format!("{path}.allOf[{index}]"), causes);
    }
    for (index, branch) in branches(node, "oneOf").iter().enumerate() {
        nested(branch, false, &format!("{path}.oneOf[{index}]"), causes);
    }
    if let Some(not) = node.get("not").filter(|not| not.is_object()) {
        nested(not, false, &format!("{path}.not"), causes);
    }
    if let Some(text) = node.get("pattern").and_then(Value::as_str)
        && let Err(error) = pattern(text)
    {
        let why = format!("must be a valid regular expression, but isn't: {}", last_line(&error.to_string()));
        causes.push(Cause::invalid(format!("{path}.pattern"), &text.into(), &why));
    }
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or_default().trim_start_matches("error: ")
}

/// A node under a junctor may check values, but may not say what fields there are.
fn nested(node: &Value, skip_any: bool, path: &str, causes: &mut Vec<Cause>) {
    values(node, (skip_any, false), path, causes);
    if let Some(items) = node.get("items").filter(|items| items.is_object()) {
        nested(items, false, &format!("{path}.items"), causes);
    }
    for (name, child) in properties(node) {
        nested(child, false, &format!("{path}.properties[{name}]"), causes);
    }
    let given = |name: &str| node.get(name).is_some_and(|value| !value.is_null());
    let mut forbid = |name: &str, why: &str| causes.push(Cause::forbidden(format!("{path}.{name}"), why));
    for name in ["type", "title", "description"] {
        if node.get(name).and_then(Value::as_str).is_some_and(|text| !text.is_empty()) {
            forbid(name, "must be empty to be structural");
        }
    }
    for name in ["additionalProperties", "default", "x-kubernetes-list-type", "x-kubernetes-map-type"] {
        if given(name) {
            forbid(name, "must be undefined to be structural");
        }
    }
    for name in [
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ] {
        if on(node, name) {
            forbid(name, "must be false to be structural");
        }
    }
    for name in ["x-kubernetes-list-map-keys", "x-kubernetes-validations"] {
        if !branches(node, name).is_empty() {
            forbid(name, "must be empty to be structural");
        }
    }
    if node.get("properties").is_some_and(|fields| fields.get("metadata").is_some()) {
        forbid("properties[metadata]", "must not be specified in a nested context");
    }
}

/// Every field that a junctor checks must be declared outside of it.
fn complete(node: &Value, place: Option<&Value>, path: &str, from: &str, causes: &mut Vec<Cause>) {
    let mut below = |branch: &Value, step: String| {
        let from = format!("{from}.{step}");
        declared(branch, place, path, &from, causes);
    };
    if let Some(not) = node.get("not").filter(|not| not.is_object()) {
        below(not, "not".into());
    }
    for junctor in ["allOf", "anyOf", "oneOf"] {
        for (index, branch) in branches(node, junctor).iter().enumerate() {
            below(branch, format!("{junctor}[{index}]"));
        }
    }
}

fn declared(branch: &Value, place: Option<&Value>, path: &str, from: &str, causes: &mut Vec<Cause>) {
    let Some(place) = place else {
        return causes.push(Cause::required(path, &format!("because it is defined in {from}")));
    };
    complete(branch, Some(place), path, from, causes);
    if let Some(items) = branch.get("items").filter(|items| items.is_object()) {
        declared(items, place.get("items"), &format!("{path}.items"), &format!("{from}.items"), causes);
    }
    for (name, child) in properties(branch) {
        let step = format!("properties[{name}]");
        let found = place.get("properties").and_then(|fields| fields.get(name));
        declared(child, found, &format!("{path}.{step}"), &format!("{from}.{step}"), causes);
    }
}
