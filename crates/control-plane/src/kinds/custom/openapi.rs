//! Keywords a schema may use, and how they may stand together.

use serde_json::Value;

use super::structural::properties;
use crate::status::Cause;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// What is wrong with a schema's keywords.
pub(super) fn check(schema: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    node(schema, &Place { path: path.to_owned(), root: true, meta: false, no_default: None }, &mut causes);
    causes
}

struct Place {
    path: String,
    root: bool,
    /// Inside `apiVersion`, `kind` or `metadata` of a resource.
    meta: bool,
    /// Why defaults may not stand here.
    no_default: Option<String>,
}

impl Place {
    fn below(&self, step: &str) -> Self {
        Self {
            path: format!("{}.{step}", self.path),
            root: false,
            meta: self.meta,
            no_default: self.no_default.clone(),
        }
    }

    fn field(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }
}

fn given<'a>(node: &'a Value, name: &str) -> Option<&'a Value> {
    node.get(name).filter(|value| !value.is_null())
}

fn word<'a>(node: &'a Value, name: &str) -> Option<&'a str> {
    node.get(name).and_then(Value::as_str)
}

fn on(node: &Value, name: &str) -> bool {
    node.get(name).and_then(Value::as_bool).unwrap_or(false)
}

fn node(schema: &Value, place: &Place, causes: &mut Vec<Cause>) {
    keywords(schema, place, causes);
    if on(schema, "uniqueItems") {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        causes.push(Cause::forbidden(place.field("uniqueItems"), why));
    }
    if let Some(additional) = given(schema, "additionalProperties") {
        if !properties(schema).is_empty() && additional != &Value::Bool(true) {
            let why = "additionalProperties and properties are mutual exclusive";
            causes.push(Cause::forbidden(place.field("additionalProperties"), why));
        }
        let mut below = place.below("additionalProperties");
        if place.meta {
            below.no_default = Some(" inside additionalProperties applying to object metadata".into());
        }
        if additional.is_object() {
            node(additional, &below, causes);
        }
    }
    for (name, child) in properties(schema) {
        let mut below = place.below(&format!("properties[{name}]"));
        let resource = place.root || on(schema, "x-kubernetes-embedded-resource");
        if resource && META.contains(&name.as_str()) {
            below.meta = true;
            if place.root {
                below.no_default = Some(format!(" in top-level {name}"));
            }
        }
        node(child, &below, causes);
    }
    if let Some(not) = given(schema, "not") {
        node(not, &place.below("not"), causes);
    }
    for junctor in ["allOf", "oneOf", "anyOf"] {
        let branches = schema.get(junctor).and_then(Value::as_array);
        for (index, branch) in branches.into_iter().flatten().enumerate() {
            node(branch, &place.below(&format!("{junctor}[{index}]")), causes);
        }
    }
    if let Some(items) = given(schema, "items").filter(|items| items.is_object()) {
        node(items, &place.below("items"), causes);
    }
    extensions(schema, place, causes);
    rules(schema, place, causes);
}

fn keywords(schema: &Value, place: &Place, causes: &mut Vec<Cause>) {
    if let Some(kind) = word(schema, "type").filter(|kind| !kind.is_empty() && !TYPES.contains(kind)) {
        causes.push(Cause::not_supported(place.field("type"), &kind.into(), &TYPES));
    }
    if let (Some(_), Some(why)) = (given(schema, "default"), &place.no_default) {
        causes.push(Cause::forbidden(place.field("default"), &format!("must not be set{why}")));
    }
    for name in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
        if given(schema, name).is_some_and(|value| value.as_object().is_none_or(|map| !map.is_empty())) {
            causes.push(Cause::forbidden(place.field(name), &format!("{name} is not supported")));
        }
    }
    if word(schema, "type") == Some("null") {
        let why = "type cannot be set to null, use nullable as an alternative";
        causes.push(Cause::forbidden(place.field("type"), why));
    }
    if given(schema, "items").is_some_and(Value::is_array) {
        causes.push(Cause::forbidden(place.field("items"), "items must be a schema object and not an array"));
    }
    if place.meta && on(schema, "x-kubernetes-embedded-resource") {
        let why = "must not be used inside of resource meta";
        causes.push(Cause::forbidden(place.field("x-kubernetes-embedded-resource"), why));
    }
}

fn extensions(schema: &Value, place: &Place, causes: &mut Vec<Cause>) {
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let field = place.field("x-kubernetes-preserve-unknown-fields");
        causes.push(Cause::invalid(field, &false.into(), "must be true or undefined"));
    }
    for (name, wanted, known) in [
        ("x-kubernetes-map-type", "object", ["atomic", "granular"].as_slice()),
        ("x-kubernetes-list-type", "array", ["atomic", "set", "map"].as_slice()),
    ] {
        let Some(value) = word(schema, name) else { continue };
        let kind = word(schema, "type").unwrap_or_default();
        let why = format!("must be {wanted} if {name} is specified");
        if kind.is_empty() {
            causes.push(Cause::required(place.field("type"), &why));
        } else if kind != wanted {
            causes.push(Cause::invalid(place.field("type"), &kind.into(), &why));
        }
        if name == "x-kubernetes-list-type" && kind == wanted && value == "set" {
            set(schema, place, causes);
        }
        if !known.contains(&value) {
            causes.push(Cause::not_supported(place.field(name), &value.into(), known));
        }
    }
    let keys: Vec<_> =
        super::list(schema, "/x-kubernetes-list-map-keys").iter().filter_map(Value::as_str).collect();
    let list_type = word(schema, "x-kubernetes-list-type");
    if !keys.is_empty() && list_type != Some("map") {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        let field = place.field("x-kubernetes-list-type");
        causes.push(match list_type {
            None => Cause::required(field, why),
            Some(other) => Cause::invalid(field, &other.into(), why),
        });
    }
    if list_type == Some("map") {
        map(schema, &keys, place, causes);
    }
    if let Some(kind) = list_type.filter(|kind| matches!(*kind, "set" | "map")) {
        identities(schema, kind, &keys, place, causes);
    }
}

/// Elements of a set are compared whole, so they must be whole.
fn set(schema: &Value, place: &Place, causes: &mut Vec<Cause>) {
    let Some(items) = given(schema, "items").filter(|items| items.is_object()) else { return };
    let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let list_type = word(items, "x-kubernetes-list-type");
    let told = list_type.map_or(Value::Null, Value::from);
    match word(items, "type") {
        Some("array") if list_type.is_some_and(|kind| kind != "atomic") => {
            causes.push(Cause::invalid(place.field("items.x-kubernetes-list-type"), &told, why));
        }
        Some("object") if word(items, "x-kubernetes-map-type") != Some("atomic") => {
            causes.push(Cause::invalid(place.field("items.x-kubernetes-map-type"), &told, why));
        }
        _ => {}
    }
}

fn map(schema: &Value, keys: &[&str], place: &Place, causes: &mut Vec<Cause>) {
    let field = place.field("x-kubernetes-list-map-keys");
    if keys.is_empty() {
        causes.push(Cause::required(&*field, "must not be empty if x-kubernetes-list-type is map"));
    }
    let Some(items) = given(schema, "items") else {
        let why = "must have a schema if x-kubernetes-list-type is map";
        return causes.push(Cause::required(place.field("items"), why));
    };
    let kind = word(items, "type").unwrap_or_default();
    if kind != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        return causes.push(Cause::invalid(place.field("items.type"), &kind.into(), why));
    }
    for (index, key) in keys.iter().enumerate() {
        match items.get("properties").and_then(|fields| fields.get(*key)) {
            None => {
                let why = "entries must all be names of item properties";
                causes.push(Cause::invalid(&*field, &keys.into(), why));
            }
            Some(child) if matches!(word(child, "type"), Some("array" | "object")) => {
                let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                causes.push(Cause::invalid(
                    place.field(&format!("items.properties[{key}].type")),
                    &kind.into(),
                    why,
                ));
            }
            Some(_) => {}
        }
        if keys[..index].contains(key) {
            causes.push(Cause::invalid(&*field, &keys.into(), "must not contain duplicate entries"));
        }
    }
}

/// What tells elements apart must be there.
fn identities(schema: &Value, kind: &str, keys: &[&str], place: &Place, causes: &mut Vec<Cause>) {
    let Some(items) = given(schema, "items").filter(|items| items.is_object()) else { return };
    if on(items, "nullable") {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {kind}");
        causes.push(Cause::forbidden(place.field("items.nullable"), &why));
    }
    if kind != "map" {
        return;
    }
    let required = super::list(items, "/required");
    for key in keys {
        let Some(child) = items.get("properties").and_then(|fields| fields.get(*key)) else { continue };
        let field = place.field(&format!("items.properties[{key}]"));
        if !required.iter().any(|name| name == key) && given(child, "default").is_none() {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                       property";
            causes.push(Cause::required(format!("{field}.default"), why));
        }
        if on(child, "nullable") {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            causes.push(Cause::forbidden(format!("{field}.nullable"), why));
        }
    }
}

fn rules(schema: &Value, place: &Place, causes: &mut Vec<Cause>) {
    const REASONS: [&str; 4] =
        ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    let broken = |text: &str| text.contains(['\n', '\r']);
    for (index, rule) in super::list(schema, "/x-kubernetes-validations").iter().enumerate() {
        let field = |name: &str| place.field(&format!("x-kubernetes-validations[{index}].{name}"));
        let raw = |name: &str| word(rule, name).unwrap_or_default();
        let (text, message) = (raw("rule").trim(), raw("message").trim());
        if text.is_empty() {
            causes.push(Cause::required(field("rule"), "rule is not specified"));
        } else if !raw("message").is_empty() && message.is_empty() {
            causes.push(Cause::invalid(
                field("message"),
                &raw("message").into(),
                "must be non-empty if specified",
            ));
        } else if broken(message) {
            causes.push(Cause::invalid(
                field("message"),
                &raw("message").into(),
                "must not contain line breaks",
            ));
        } else if broken(text) && message.is_empty() {
            let why = "message must be specified if rule contains line breaks";
            causes.push(Cause::required(field("message"), why));
        }
        if !raw("messageExpression").is_empty() && raw("messageExpression").trim().is_empty() {
            let why = "messageExpression must be non-empty if specified";
            causes.push(Cause::required(field("messageExpression"), why));
        }
        if let Some(reason) = word(rule, "reason").filter(|reason| !REASONS.contains(reason)) {
            causes.push(Cause::not_supported(field("reason"), &reason.into(), &REASONS));
        }
        let path = raw("fieldPath");
        if !path.is_empty() && path.trim().is_empty() {
            causes.push(Cause::invalid(field("fieldPath"), &path.into(), "must be non-empty if specified"));
        }
        if broken(path) {
            causes.push(Cause::invalid(field("fieldPath"), &path.into(), "must not contain line breaks"));
        }
    }
}
