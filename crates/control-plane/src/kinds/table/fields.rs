//! Reading an object's fields: a missing field reads as the empty value, as a Go struct would.

use jiff::Timestamp;
use serde_json::Value;

use super::time;

/// A row's cells, each anything that turns into a JSON value.
macro_rules! cells {
    ($($cell:expr),* $(,)?) => { vec![$(serde_json::Value::from($cell)),*] };
}
pub(super) use cells;

/// Shown where nothing is set.
pub(super) const NONE: &str = "<none>";
/// Shown where an optional value is not set.
pub(super) const UNSET: &str = "<unset>";
/// Shown where a value should be there and is not.
pub(super) const UNKNOWN: &str = "<unknown>";

/// The value at a dotted path; null when any part of it is missing.
pub(super) fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |value, key| value.get(key).unwrap_or(&Value::Null))
}

/// Whether there is a value at the path.
pub(super) fn has(value: &Value, path: &str) -> bool {
    !at(value, path).is_null()
}

/// The string at the path, or the empty one.
pub(super) fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    at(value, path).as_str().unwrap_or_default()
}

/// The string at the path, or `other` when it is missing or empty.
pub(super) fn text_or<'a>(value: &'a Value, path: &str, other: &'a str) -> &'a str {
    Some(text(value, path)).filter(|text| !text.is_empty()).unwrap_or(other)
}

/// The string at the path, or `other` when it is missing; an empty string stays empty.
pub(super) fn set_or<'a>(value: &'a Value, path: &str, other: &'a str) -> &'a str {
    at(value, path).as_str().unwrap_or(other)
}

/// The whole number at the path, or zero.
pub(super) fn int(value: &Value, path: &str) -> i64 {
    at(value, path).as_i64().unwrap_or_default()
}

/// The boolean at the path, or `other`.
pub(super) fn flag(value: &Value, path: &str, other: bool) -> bool {
    at(value, path).as_bool().unwrap_or(other)
}

/// The items at the path, or none.
pub(super) fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    at(value, path).as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The strings in the list at the path.
pub(super) fn texts<'a>(value: &'a Value, path: &str) -> Vec<&'a str> {
    list(value, path).iter().filter_map(Value::as_str).collect()
}

/// The number of entries of the list or map at the path.
pub(super) fn count(value: &Value, path: &str) -> i64 {
    let found = at(value, path);
    let length = found.as_array().map(Vec::len).or_else(|| found.as_object().map(serde_json::Map::len));
    length.and_then(|length| i64::try_from(length).ok()).unwrap_or_default()
}

/// A quantity or an int-or-string: a number prints as one, a string as it stands.
pub(super) fn amount(value: &Value) -> String {
    match value {
        Value::Null => "0".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The annotation of that name, or the empty string.
pub(super) fn annotation<'a>(object: &'a Value, name: &str) -> &'a str {
    at(object, "metadata.annotations").get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The object's name.
pub(super) fn name(object: &Value) -> &str {
    text(object, "metadata.name")
}

/// Time since the object was created.
pub(super) fn age(object: &Value, now: Timestamp) -> String {
    since(object, "metadata.creationTimestamp", now)
}

/// Time since the moment at the path.
pub(super) fn since(value: &Value, path: &str, now: Timestamp) -> String {
    time::since(time::moment(at(value, path)), now)
}

/// Whether the object is on its way out.
pub(super) fn deleted(object: &Value) -> bool {
    has(object, "metadata.deletionTimestamp")
}

/// The first condition of that type among the list at the path.
pub(super) fn condition<'a>(object: &'a Value, path: &str, kind: &str) -> Option<&'a Value> {
    list(object, path).iter().find(|condition| text(condition, "type") == kind)
}

/// Whether the first condition of that type under `status.conditions` is true.
pub(super) fn holds(object: &Value, kind: &str) -> bool {
    condition(object, "status.conditions", kind).is_some_and(|found| text(found, "status") == "True")
}

/// The first three of a list, and how many more there are.
pub(super) fn first_three(items: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = items.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(",");
    match items.len().checked_sub(SHOWN) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} + {more} more..."),
    }
}
