//! Merge patch: RFC 7386, as the API server understands it.

use serde_json::{Map, Value};

use super::{PatchError, shallow};

/// Carries out an RFC 7386 patch, which must be an object.
pub fn merge_patch(doc: &mut Value, patch: &Value) -> Result<(), PatchError> {
    let Value::Object(changes) = patch else {
        return Err(PatchError::Malformed("Invalid JSON Patch".into()));
    };
    shallow(doc)?;
    shallow(patch)?;
    merge_into(doc, changes);
    Ok(())
}

fn merge_into(target: &mut Value, changes: &Map<String, Value>) {
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(fields) = target else { return };
    for (name, change) in changes {
        match (fields.get_mut(name), change) {
            (_, Value::Null) => {
                fields.shift_remove(name);
            }
            (Some(field @ Value::Object(_)), Value::Object(inner)) => merge_into(field, inner),
            (_, other) => {
                fields.insert(name.clone(), without_nulls(other));
            }
        }
    }
}

/// A copy whose objects have no null members; null elements of lists stay.
pub(super) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, child)| !child.is_null());
            Value::Object(kept.map(|(name, child)| (name.clone(), without_nulls(child))).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(without_nulls).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
