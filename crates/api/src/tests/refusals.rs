use std::collections::BTreeMap;

use kube_cel::Validator;
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::{all, example, schema};

/// One row of `refusals.yaml`.
#[derive(Deserialize)]
struct Row {
    kind: String,
    rule: String,
    on: Option<String>,
    change: Value,
    refused: Option<String>,
}

#[test]
fn admission_answers_every_change_as_told() {
    let rows: Vec<Row> = serde_saphyr::from_str(include_str!("refusals.yaml")).expect("the table is YAML");
    let schemas: BTreeMap<String, Value> =
        all().iter().map(|crd| (crd.spec.names.kind.clone(), schema(crd))).collect();
    for Row { kind, rule, on, change, refused } in rows {
        let old = example(&kind);
        let mut new = old.clone();
        merge(&mut new, &change);
        let answers = answers(&schemas[&kind], &new, on.is_some().then_some(&old));
        match refused {
            None => assert_eq!(answers, Vec::<String>::new(), "{kind}: {rule}"),
            Some(want) => {
                assert!(answers.iter().any(|answer| answer.contains(&want)), "{kind}: {rule}: {answers:?}");
            }
        }
    }
}

#[test]
fn every_example_is_admitted() {
    for crd in all() {
        let example = example(&crd.spec.names.kind);
        assert_eq!(answers(&schema(&crd), &example, None), Vec::<String>::new(), "{}", crd.spec.names.kind);
        assert_eq!(answers(&schema(&crd), &example, Some(&example)), Vec::<String>::new());
    }
}

/// Everything that schema and rules say against an object.
fn answers(schema: &Value, new: &Value, old: Option<&Value>) -> Vec<String> {
    let mut found = Vec::new();
    against(schema, new, "", &mut found);
    if let Err(errors) = Validator::new().validate(schema, new, old) {
        found
            .extend(errors.as_slice().iter().map(|error| format!("{}: {}", error.field_path, error.message)));
    }
    found
}

/// The part of schema validation that our definitions use.
fn against(schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    if broken(schema, value) {
        found.push(format!("{path}: {value} is not as its schema asks"));
    }
    match value {
        Value::Object(fields) => {
            for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                if !fields.contains_key(name) {
                    found.push(format!("{path}.{name}: required"));
                }
            }
            for (name, value) in fields {
                let field = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
                match field {
                    Some(field) => {
                        against(field, value, format!("{path}.{name}").trim_start_matches('.'), found)
                    }
                    None if open(schema, path) => {}
                    None => found.push(format!("{path}.{name}: unknown")),
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                against(&schema["items"], item, &format!("{path}[{index}]"), found);
                if items[..index].iter().any(|earlier| same_key(schema, earlier, item)) {
                    found.push(format!("{path}[{index}]: duplicate"));
                }
            }
        }
        _ => {}
    }
}

fn open(schema: &Value, path: &str) -> bool {
    path.is_empty() || path == "metadata" || schema["x-kubernetes-preserve-unknown-fields"] == true
}

fn broken(schema: &Value, value: &Value) -> bool {
    let number = |key: &str| schema[key].as_f64();
    let matches_type = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64(),
        Some("boolean") => value.is_boolean(),
        _ => true,
    };
    let size = match value {
        Value::String(text) => Some(("minLength", "maxLength", text.chars().count() as f64)),
        Value::Array(items) => Some(("minItems", "maxItems", items.len() as f64)),
        Value::Object(fields) => Some(("minProperties", "maxProperties", fields.len() as f64)),
        Value::Number(number) => number.as_f64().map(|number| ("minimum", "maximum", number)),
        Value::Null | Value::Bool(_) => None,
    };
    let outside = size.is_some_and(|(min, max, size)| {
        number(min).is_some_and(|min| size < min) || number(max).is_some_and(|max| size > max)
    });
    let mismatch = match (schema["pattern"].as_str(), value.as_str()) {
        (Some(pattern), Some(text)) => !Regex::new(pattern).expect("patterns are regular").is_match(text),
        _ => false,
    };
    let stranger = schema["enum"].as_array().is_some_and(|values| !values.contains(value));
    !matches_type || outside || mismatch || stranger
}

fn same_key(schema: &Value, one: &Value, other: &Value) -> bool {
    match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => one == other,
        Some("map") => schema["x-kubernetes-list-map-keys"]
            .as_array()
            .is_some_and(|keys| keys.iter().filter_map(Value::as_str).all(|key| one[key] == other[key])),
        _ => false,
    }
}

/// JSON merge patch (RFC 7386).
fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Some(target) = target.as_object_mut() else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.shift_remove(key);
        } else {
            merge(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}
