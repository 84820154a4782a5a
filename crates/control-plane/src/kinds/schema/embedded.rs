//! Resources inside resources: they name their kind like any other.

use serde_json::{Map, Value};

use super::lists::joined;
use super::validate::invalid;
use super::{Additional, MAX_DEPTH, Schema};
use crate::kinds::custom::names;
use crate::status::Cause;

/// What is wrong with the embedded resources of an object; the object itself is checked elsewhere.
pub(super) fn check(schema: &Schema, value: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    walk(schema, value, "", 0, &mut causes);
    causes
}

fn walk(schema: &Schema, value: &Value, path: &str, depth: usize, causes: &mut Vec<Cause>) {
    if depth >= MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(map) => {
            if schema.embedded && depth > 0 {
                resource(map, path, causes);
            }
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            for (name, field) in fields {
                match (schema.properties.get(name), &schema.additional) {
                    (Some(child), _) => walk(child, field, &joined(path, name), depth + 1, causes),
                    (None, Additional::Map(child)) => {
                        walk(child, field, &format!("{path}[{name}]"), depth + 1, causes);
                    }
                    (None, Additional::Any | Additional::Closed) => {}
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = &schema.items else { return };
            for (index, element) in list.iter().enumerate() {
                walk(items, element, &format!("{path}[{index}]"), depth + 1, causes);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn resource(map: &Map<String, Value>, path: &str, causes: &mut Vec<Cause>) {
    for name in ["apiVersion", "kind"] {
        let field = joined(path, name);
        match map.get(name) {
            None => causes.push(Cause::required(field, "")),
            Some(Value::String(text)) if text.is_empty() => {
                causes.push(invalid(&field, &text.as_str().into(), "must not be empty"));
            }
            Some(Value::String(text)) if name == "apiVersion" => {
                if text.matches('/').count() > 1 {
                    let why = format!("unexpected GroupVersion string: {text}");
                    causes.push(invalid(&field, &text.as_str().into(), &why));
                }
            }
            Some(Value::String(text)) => causes.extend(names::kind(text, &field)),
            Some(other) => causes.push(invalid(&field, other, "must be a string")),
        }
    }
    let field = joined(path, "metadata");
    match map.get("metadata") {
        None | Some(Value::Null) => {}
        Some(Value::Object(metadata)) => {
            let name = metadata.get("name").and_then(Value::as_str).unwrap_or_default();
            for why in names::path_segment(name) {
                causes.push(invalid(&format!("{field}.name"), &name.into(), &why));
            }
        }
        Some(other) => causes.push(invalid(&field, other, "must be an object")),
    }
}
