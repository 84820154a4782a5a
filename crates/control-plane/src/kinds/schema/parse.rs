//! From `openAPIV3Schema` JSON to [`Schema`].

use std::sync::Arc;

use serde_json::Value;

use super::{Additional, Checks, ListType, MAX_DEPTH, PatchStrategy, Pattern, Schema, Type};

pub(super) fn schema(node: &Value) -> Schema {
    node_at(node, 0)
}

/// Below [`MAX_DEPTH`] nothing is known; a definition that goes there is refused before it is used.
fn node_at(node: &Value, depth: usize) -> Schema {
    if depth >= MAX_DEPTH {
        return Schema::default();
    }
    let schema = |child: &Value| node_at(child, depth + 1);
    let text = |key: &str| node.get(key).and_then(Value::as_str);
    let flag = |key: &str| node.get(key).and_then(Value::as_bool).unwrap_or(false);
    let children = node.get("properties").and_then(Value::as_object);
    Schema {
        kind: text("type").and_then(json_type),
        nullable: flag("nullable"),
        properties: children
            .map(|map| map.iter().map(|(name, child)| (name.clone(), Arc::new(schema(child)))).collect())
            .unwrap_or_default(),
        additional: additional(node, schema),
        items: node.get("items").filter(|items| items.is_object()).map(|items| Arc::new(schema(items))),
        required: strings(node.get("required")),
        default: node.get("default").cloned(),
        list: match text("x-kubernetes-list-type") {
            Some("set") => ListType::Set,
            Some("map") => ListType::Map(strings(node.get("x-kubernetes-list-map-keys"))),
            _ => ListType::Atomic,
        },
        atomic_map: text("x-kubernetes-map-type") == Some("atomic"),
        patch: patch(text("x-kubernetes-patch-strategy"), text("x-kubernetes-patch-merge-key")),
        preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
        embedded: flag("x-kubernetes-embedded-resource"),
        int_or_string: flag("x-kubernetes-int-or-string") || text("format") == Some("int-or-string"),
        checks: checks(node, schema),
        rules: node.get("x-kubernetes-validations").and_then(Value::as_array).cloned().unwrap_or_default(),
    }
}

fn json_type(name: &str) -> Option<Type> {
    Some(match name {
        "object" => Type::Object,
        "array" => Type::Array,
        "string" => Type::String,
        "integer" => Type::Integer,
        "number" => Type::Number,
        "boolean" => Type::Boolean,
        _ => return None,
    })
}

fn additional(node: &Value, schema: impl Fn(&Value) -> Schema) -> Additional {
    match node.get("additionalProperties") {
        Some(Value::Bool(true)) => Additional::Any,
        Some(values @ Value::Object(_)) => Additional::Map(Arc::new(schema(values))),
        _ => Additional::Closed,
    }
}

fn patch(strategy: Option<&str>, key: Option<&str>) -> PatchStrategy {
    let words = strategy.unwrap_or_default();
    PatchStrategy {
        merge: words.split(',').any(|word| word == "merge"),
        retain_keys: words.split(',').any(|word| word == "retainKeys"),
        merge_key: key.map(str::to_owned),
    }
}

fn strings(node: Option<&Value>) -> Vec<String> {
    let list = node.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn checks(node: &Value, schema: impl Fn(&Value) -> Schema) -> Option<Box<Checks>> {
    const WORDS: [&str; 19] = [
        "format",
        "pattern",
        "enum",
        "minimum",
        "maximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "exclusiveMinimum",
        "exclusiveMaximum",
    ];
    let map = node.as_object()?;
    if !WORDS.iter().any(|word| map.contains_key(*word)) {
        return None;
    }
    let count = |key: &str| node.get(key).and_then(Value::as_u64);
    let number = |key: &str| node.get(key).and_then(Value::as_f64);
    let strict = |key: &str| node.get(key).and_then(Value::as_bool).unwrap_or(false);
    let many = |key: &str| {
        let list = node.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        list.iter().map(&schema).collect::<Vec<_>>()
    };
    Some(Box::new(Checks {
        format: node.get("format").and_then(Value::as_str).map(str::to_owned),
        pattern: text_pattern(node),
        one_of_values: node.get("enum").and_then(Value::as_array).cloned(),
        minimum: number("minimum").map(|bound| (bound, strict("exclusiveMinimum"))),
        maximum: number("maximum").map(|bound| (bound, strict("exclusiveMaximum"))),
        multiple_of: number("multipleOf"),
        min_length: count("minLength"),
        max_length: count("maxLength"),
        min_items: count("minItems"),
        max_items: count("maxItems"),
        unique_items: strict("uniqueItems"),
        min_properties: count("minProperties"),
        max_properties: count("maxProperties"),
        all_of: many("allOf"),
        any_of: many("anyOf"),
        one_of: many("oneOf"),
        not: node.get("not").filter(|not| not.is_object()).map(|not| Box::new(schema(not))),
    }))
}

fn text_pattern(node: &Value) -> Option<Pattern> {
    let text = node.get("pattern").and_then(Value::as_str).filter(|text| !text.is_empty())?;
    Some(Pattern::new(text))
}
