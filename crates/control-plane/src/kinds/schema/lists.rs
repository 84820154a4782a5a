//! Lists that are sets or maps: no element, and no key, stands twice.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::show::{canonical, show};
use super::{Additional, ListType, MAX_DEPTH, Schema};
use crate::status::Cause;

/// What stands twice where it may stand once.
pub(super) fn duplicates(schema: &Schema, value: &Value) -> Vec<Cause> {
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
            match &schema.list {
                ListType::Atomic => {}
                ListType::Set => set(list, path, causes),
                ListType::Map(keys) => map(list, keys, path, causes),
            }
            let Some(items) = &schema.items else { return };
            for (index, element) in list.iter().enumerate() {
                walk(items, element, &format!("{path}[{index}]"), depth + 1, causes);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

pub(super) fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn set(list: &[Value], path: &str, causes: &mut Vec<Cause>) {
    for index in repeated(list.iter().map(canonical)) {
        causes.push(duplicate(path, index, &list[index]));
    }
}

fn map(list: &[Value], keys: &[String], path: &str, causes: &mut Vec<Cause>) {
    if let Some(index) = list.iter().position(|element| !element.is_object() && !element.is_null()) {
        let why = "must be an object for an array of list-type map";
        let message = format!("Invalid value: {}: {why}", show(&list[index]));
        return causes.push(Cause::of("FieldValueInvalid", format!("{path}[{index}]"), message));
    }
    let identities: Vec<Value> = list.iter().map(|element| identity(element, keys)).collect();
    for index in repeated(identities.iter().map(canonical)) {
        causes.push(duplicate(path, index, &identities[index]));
    }
}

/// The keys of one element of a map list, as far as it has them.
pub(super) fn identity(element: &Value, keys: &[String]) -> Value {
    let field = |key: &String| element.get(key).map(|value| (key.clone(), value.clone()));
    Value::Object(keys.iter().filter_map(field).collect::<Map<_, _>>())
}

/// Places where something stands for the second time; the third time is not told again.
fn repeated(texts: impl Iterator<Item = String>) -> Vec<usize> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut places = Vec::new();
    for (index, text) in texts.enumerate() {
        let times = seen.entry(text).or_insert(0);
        *times += 1;
        if *times == 2 {
            places.push(index);
        }
    }
    places
}

fn duplicate(path: &str, index: usize, value: &Value) -> Cause {
    Cause::of("FieldValueDuplicate", format!("{path}[{index}]"), format!("Duplicate value: {}", show(value)))
}
