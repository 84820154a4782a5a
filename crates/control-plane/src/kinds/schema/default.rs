//! Filling in what was left out.

use serde_json::{Map, Value};

use super::{Additional, MAX_DEPTH, Schema};

/// Gives absent fields their defaults, also inside list elements and map values. A `null` that the schema
/// does not allow counts as absent: it becomes the default, or goes where there is none.
pub fn default(schema: &Schema, value: &mut Value) {
    fill(schema, value, 0);
}

fn fill(schema: &Schema, value: &mut Value, depth: usize) {
    if depth >= MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(map) => fill_object(schema, map, depth),
        Value::Array(list) => {
            let Some(items) = &schema.items else { return };
            for element in list {
                if let (true, Some(default)) = (stray_null(items, element), given(items)) {
                    *element = default.clone();
                }
                fill(items, element, depth + 1);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fill_object(schema: &Schema, map: &mut Map<String, Value>, depth: usize) {
    for (name, field) in &schema.properties {
        let Some(default) = given(field) else { continue };
        if map.get(name).is_none_or(|value| stray_null(field, value)) {
            map.insert(name.clone(), default.clone());
        }
    }
    map.retain(|name, value| {
        let field = match (schema.properties.get(name), &schema.additional) {
            (Some(field), _) | (None, Additional::Map(field)) => field,
            (None, Additional::Any | Additional::Closed) => return true,
        };
        if stray_null(field, value) {
            match given(field) {
                Some(default) => *value = default.clone(),
                None => return false,
            }
        }
        fill(field, value, depth + 1);
        true
    });
}

fn stray_null(schema: &Schema, value: &Value) -> bool {
    value.is_null() && !schema.nullable
}

/// `default: null` says nothing.
fn given(schema: &Schema) -> Option<&Value> {
    schema.default.as_ref().filter(|default| !default.is_null())
}
