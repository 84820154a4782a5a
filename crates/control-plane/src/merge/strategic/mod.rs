//! Strategic merge patch: a merge patch that knows, from the schema, which lists are merged and by what.
//!
//! Directives in the patch: `$patch: replace|delete|merge`, `$retainKeys`, `$setElementOrder/<list>` and
//! `$deleteFromPrimitiveList/<list>`.

mod lists;

use serde_json::{Map, Value};

use super::{PatchError, merge_patch, shallow};
use crate::kinds::schema::Schema;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_SCALARS: &str = "$deleteFromPrimitiveList";

/// Carries out a strategic merge patch. Without a schema it behaves like [`merge_patch`].
pub fn strategic(doc: &mut Value, patch: &Value, schema: Option<&Schema>) -> Result<(), PatchError> {
    let Some(schema) = schema else { return merge_patch(doc, patch) };
    let Value::Object(changes) = patch else {
        let got = match patch {
            Value::Array(_) => "array",
            Value::String(_) => "string",
            Value::Number(_) => "number",
            Value::Bool(_) => "bool",
            Value::Null | Value::Object(_) => "null",
        };
        let why = format!("json: cannot unmarshal {got} into Go value of type map[string]interface {{}}");
        return Err(PatchError::Malformed(why));
    };
    shallow(doc)?;
    shallow(patch)?;
    let mut work = doc.as_object().cloned().unwrap_or_default();
    merge_map(&mut work, changes.clone(), Some(schema))?;
    *doc = Value::Object(work);
    Ok(())
}

fn malformed(why: impl Into<String>) -> PatchError {
    PatchError::Malformed(why.into())
}

fn merge_map(
    target: &mut Map<String, Value>,
    mut patch: Map<String, Value>,
    schema: Option<&Schema>,
) -> Result<(), PatchError> {
    if let Some(directive) = patch.shift_remove(DIRECTIVE) {
        match directive.as_str() {
            Some("replace") => {
                *target = patch;
                return Ok(());
            }
            Some("delete") => {
                target.clear();
                return Ok(());
            }
            Some("merge") => {}
            _ => return Err(unknown_directive(&directive, &patch)),
        }
    }
    retain_keys(target, &mut patch)?;
    let ordered: Vec<String> = patch.keys().filter(|key| key.starts_with(ELEMENT_ORDER)).cloned().collect();
    for key in ordered {
        order_elements(target, &mut patch, &key, schema)?;
    }
    for (key, change) in patch {
        match key.starts_with(DELETE_SCALARS) {
            true => delete_scalars(target, &key, &change)?,
            false => merge_field(target, key, change, schema)?,
        }
    }
    Ok(())
}

fn unknown_directive(directive: &Value, patch: &Map<String, Value>) -> PatchError {
    let word = directive.as_str().map_or_else(|| directive.to_string(), str::to_owned);
    malformed(format!("unknown patch type: {word} in map: {}", Value::Object(patch.clone())))
}

/// `$retainKeys` names all members that stay; the patch may not set another.
fn retain_keys(target: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), PatchError> {
    let Some(retained) = patch.shift_remove(RETAIN_KEYS) else { return Ok(()) };
    let wrong = || malformed("invalid patch format of retainKeys");
    let retained = retained.as_array().ok_or_else(wrong)?;
    let stays = |key: &str| retained.iter().any(|one| one == key);
    let directive = |key: &str| key.starts_with(DELETE_SCALARS) || key.starts_with(ELEMENT_ORDER);
    if patch.iter().any(|(key, change)| !change.is_null() && !directive(key) && !stays(key)) {
        return Err(wrong());
    }
    target.retain(|key, _| stays(key));
    Ok(())
}

/// The list that a directive such as `$setElementOrder/containers` speaks of.
fn named_list<'a>(key: &'a str, prefix: &str, wrong: &str) -> Result<&'a str, PatchError> {
    let name = key.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('/'));
    name.ok_or_else(|| malformed(wrong))
}

fn order_elements(
    target: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    key: &str,
    schema: Option<&Schema>,
) -> Result<(), PatchError> {
    let wrong = "invalid patch format of setElementOrder list";
    let name = named_list(key, ELEMENT_ORDER, wrong)?;
    let order = patch.shift_remove(key);
    let order = order.as_ref().and_then(Value::as_array).ok_or_else(|| malformed(wrong))?;
    let list = field(schema, name);
    let rule = lists::Rule::of(list);
    let change = patch.shift_remove(name);
    let changes = match &change {
        Some(Value::Array(changes)) => Some(changes),
        Some(other) => return Err(wrong_kind("list", other)),
        None => None,
    };
    let before = match target.get(name) {
        Some(Value::Array(before)) => Some(before),
        Some(other) => return Err(wrong_kind("list", other)),
        None => None,
    };
    lists::check_order(changes.map_or(&[], Vec::as_slice), order, &rule)?;
    let merged = match (before, changes) {
        (None, None) => return Ok(()),
        (Some(before), None) => before.clone(),
        (None, Some(changes)) => changes.iter().filter_map(undirected).collect(),
        (Some(before), Some(changes)) => lists::merge_or_replace(before, changes, list)?,
    };
    let sorted = lists::in_order(merged, order, before.map_or(&[], Vec::as_slice), &rule)?;
    target.insert(name.to_owned(), Value::Array(sorted));
    Ok(())
}

fn wrong_kind(expected: &str, got: &Value) -> PatchError {
    let got = match got {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    };
    malformed(format!("expected a {expected}, but received a {got}"))
}

fn delete_scalars(target: &mut Map<String, Value>, key: &str, gone: &Value) -> Result<(), PatchError> {
    let wrong = "invalid patch format of primitive list";
    let name = named_list(key, DELETE_SCALARS, wrong)?;
    if gone.is_null() {
        target.shift_remove(name);
        return Ok(());
    }
    let gone = gone.as_array().ok_or_else(|| malformed(wrong))?;
    if let Some(Value::Array(list)) = target.get_mut(name) {
        list.retain(|one| !gone.contains(one));
    }
    Ok(())
}

fn merge_field(
    target: &mut Map<String, Value>,
    key: String,
    change: Value,
    schema: Option<&Schema>,
) -> Result<(), PatchError> {
    match (target.get_mut(&key), change) {
        (_, Value::Null) => {
            target.shift_remove(&key);
        }
        (Some(Value::Object(old)), Value::Object(new)) => merge_map(old, new, field(schema, &key))?,
        (Some(Value::Array(old)), Value::Array(new)) => {
            *old = lists::merge_or_replace(old, &new, field(schema, &key))?;
        }
        (_, change) => match undirected(&change) {
            Some(value) => {
                target.insert(key, value);
            }
            None => {
                target.shift_remove(&key);
            }
        },
    }
    Ok(())
}

fn field<'a>(schema: Option<&'a Schema>, name: &str) -> Option<&'a Schema> {
    schema.and_then(|schema| schema.field(name)).map(AsRef::as_ref)
}

/// A patch value that meets nothing to merge with: without nulls and directives. `None` where a
/// directive speaks of the value itself, because there is nothing it could act on.
fn undirected(value: &Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(DIRECTIVE) => None,
        Value::Object(map) => {
            let directive = |key: &str| {
                key == RETAIN_KEYS || key.starts_with(ELEMENT_ORDER) || key.starts_with(DELETE_SCALARS)
            };
            let kept = map.iter().filter(|(key, child)| !child.is_null() && !directive(key));
            let kept = kept.filter_map(|(key, child)| Some((key.clone(), undirected(child)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(list) => Some(Value::Array(list.iter().filter_map(undirected).collect())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.clone()),
    }
}
