//! JSON patch: RFC 6902, with the leniencies of the library behind the original server.
//!
//! They are: an index may be negative and counts from the end; `replace` of an absent member adds it;
//! `test` takes an absent member for null; `copy` of an absent member writes null; the text before a
//! path's first slash is passed over. It is stricter in one: the root can be replaced, but not added,
//! moved or copied.

use serde_json::{Map, Value};

use super::{DEPTH_MAX, PatchError, depth_within, shallow};

/// Operations that one patch may have, as in the original server.
const OPERATIONS_MAX: usize = 10_000;
/// Bytes that all copies of one patch may add together, as in the original server.
const COPIED_BYTES_MAX: usize = 3 * 1024 * 1024;

/// Carries out an RFC 6902 patch. `doc` is untouched on error.
pub fn json_patch(doc: &mut Value, patch: &Value) -> Result<(), PatchError> {
    let Value::Array(operations) = patch else {
        return Err(PatchError::Malformed("a JSON patch must be a list of operations".into()));
    };
    if operations.len() > OPERATIONS_MAX {
        return Err(PatchError::TooMany { limit: OPERATIONS_MAX, got: operations.len() });
    }
    if !depth_within(patch, DEPTH_MAX + 2) {
        return Err(PatchError::Malformed("exceeded max depth".into()));
    }
    let operations = operations
        .iter()
        .map(|one| one.as_object().ok_or(PatchError::Malformed("an operation must be an object".into())))
        .collect::<Result<Vec<_>, _>>()?;
    shallow(doc)?;
    let mut work = doc.clone();
    let mut copied = 0;
    for operation in operations {
        carry_out(&mut work, operation, &mut copied)?;
    }
    *doc = work;
    Ok(())
}

fn carry_out(doc: &mut Value, operation: &Map<String, Value>, copied: &mut usize) -> Result<(), PatchError> {
    let text = |name: &str| {
        let found = operation.get(name).and_then(Value::as_str);
        found.ok_or_else(|| PatchError::Rejected(format!("operation is missing its {name}")))
    };
    let value = operation.get("value");
    match operation.get("op").and_then(Value::as_str).unwrap_or("unknown") {
        "add" => add(doc, text("path")?, value.cloned().unwrap_or_default()),
        "remove" => remove(doc, text("path")?).map(|_| ()),
        "replace" => replace(doc, text("path")?, value.cloned().unwrap_or_default()),
        "move" => {
            let moved = remove(doc, text("from")?)?;
            add(doc, text("path")?, moved)
        }
        "copy" => {
            let found = get(doc, text("from")?)?.unwrap_or_default();
            *copied += found.to_string().len();
            if *copied > COPIED_BYTES_MAX {
                let why =
                    format!("copies would add {copied} bytes, more than the {COPIED_BYTES_MAX} allowed");
                return Err(PatchError::Rejected(why));
            }
            add(doc, text("path")?, found)
        }
        "test" => test(doc, text("path")?, value),
        other => Err(PatchError::Rejected(format!("Unexpected kind: {other}"))),
    }
}

/// The container that holds the last step of a path, and that step.
fn parent<'a>(doc: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), PatchError> {
    let missing = || PatchError::Rejected(format!("doc is missing path: {path:?}"));
    let mut steps: Vec<String> = path.split('/').skip(1).map(unescape).collect();
    let last = steps.pop().ok_or_else(missing)?;
    let mut here = doc;
    for step in &steps {
        here = match here {
            Value::Object(map) => map.get_mut(step).ok_or_else(missing)?,
            Value::Array(list) => {
                let at = index(step, list.len())?;
                list.get_mut(at).ok_or_else(missing)?
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return Err(missing()),
        };
    }
    match here.is_object() || here.is_array() {
        true => Ok((here, last)),
        false => Err(missing()),
    }
}

fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// An index below `length`, counted from the end where it is negative.
fn index(step: &str, length: usize) -> Result<usize, PatchError> {
    let wrong = || PatchError::Rejected(format!("Unable to access invalid index: {step}"));
    let given: i64 = step.parse().map_err(|_| wrong())?;
    let at = if given < 0 { given.checked_add_unsigned(length as u64) } else { Some(given) };
    let at = at.and_then(|at| usize::try_from(at).ok()).ok_or_else(wrong)?;
    if at < length { Ok(at) } else { Err(wrong()) }
}

fn get(doc: &mut Value, path: &str) -> Result<Option<Value>, PatchError> {
    let (holder, step) = parent(doc, path)?;
    match holder {
        Value::Array(list) => Ok(Some(list[index(&step, list.len())?].clone())),
        other => Ok(other.get(&step).cloned()),
    }
}

fn add(doc: &mut Value, path: &str, value: Value) -> Result<(), PatchError> {
    let levels = path.split('/').count();
    if levels > DEPTH_MAX || !depth_within(&value, DEPTH_MAX - levels) {
        return Err(PatchError::Rejected("exceeded max depth".into()));
    }
    match parent(doc, path)? {
        (Value::Array(list), step) => {
            let at = if step == "-" { list.len() } else { index(&step, list.len() + 1)? };
            list.insert(at, value);
        }
        (other, step) => other[step] = value,
    }
    Ok(())
}

fn remove(doc: &mut Value, path: &str) -> Result<Value, PatchError> {
    match parent(doc, path)? {
        (Value::Array(list), step) => Ok(list.remove(index(&step, list.len())?)),
        (other, step) => {
            let gone = other.as_object_mut().and_then(|map| map.shift_remove(&step));
            gone.ok_or_else(|| PatchError::Rejected(format!("Unable to remove nonexistent key: {step}")))
        }
    }
}

fn replace(doc: &mut Value, path: &str, value: Value) -> Result<(), PatchError> {
    if path.is_empty() {
        if !value.is_object() && !value.is_array() {
            return Err(PatchError::Rejected("replace operation value must be object or array".into()));
        }
        *doc = value;
        return Ok(());
    }
    if let (Value::Array(list), step) = parent(doc, path)? {
        let at = index(&step, list.len())?;
        list.remove(at);
    }
    add(doc, path, value)
}

fn test(doc: &mut Value, path: &str, wanted: Option<&Value>) -> Result<(), PatchError> {
    let found = if path.is_empty() { Some(doc.clone()) } else { get(doc, path)? };
    match found.unwrap_or_default() == *wanted.unwrap_or(&Value::Null) {
        true => Ok(()),
        false => Err(PatchError::Rejected(format!("testing value {path} failed"))),
    }
}
