//! Reading and filling JSON fields the way Go's zero values read: absent, null and empty are one.

use serde_json::{Map, Value};

/// A JSON object.
pub(super) type Fields = Map<String, Value>;

/// The object under `key`, made if it is not there.
pub(super) fn ensure<'a>(map: &'a mut Fields, key: &str) -> &'a mut Fields {
    let slot = map.entry(key).or_insert_with(|| Value::Object(Map::new()));
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut().expect("made an object above")
}

/// The object under `key`, if there is one.
pub(super) fn object<'a>(map: &'a mut Fields, key: &str) -> Option<&'a mut Fields> {
    map.get_mut(key).and_then(Value::as_object_mut)
}

/// The objects of the list under `key`.
pub(super) fn each<'a>(map: &'a mut Fields, key: &str) -> impl Iterator<Item = &'a mut Fields> {
    let list = map.get_mut(key).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Gives a field its value if it is absent, null or an empty string.
pub(super) fn fill(map: &mut Fields, key: &str, value: impl Into<Value>) {
    if map.get(key).is_none_or(|found| found.is_null() || found == "") {
        map.insert(key.to_owned(), value.into());
    }
}

/// As [`fill`], for numbers whose zero means "not given".
pub(super) fn fill_zero(map: &mut Fields, key: &str, value: i64) {
    if map.get(key).and_then(Value::as_i64).unwrap_or(0) == 0 {
        map.insert(key.to_owned(), value.into());
    }
}

/// The string at a path of keys; empty where there is none.
pub(super) fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    at(value, path).and_then(Value::as_str).unwrap_or_default()
}

/// The value at a path of keys; null is no value.
pub(super) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |node, key| node.get(*key)).filter(|found| !found.is_null())
}

/// The list at a path of keys; empty where there is none.
pub(super) fn list<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    at(value, path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// True where Go would see a zero value.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
