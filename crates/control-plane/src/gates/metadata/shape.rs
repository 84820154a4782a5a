//! Whether the fields of metadata have the types they must have, told in the original's words.

use serde_json::Value;

use crate::status::Status;

/// The type a field of metadata has in the original.
enum Shape {
    Text,
    Number,
    Flag,
    Time,
    Texts,
    TextMap,
    /// A list of structs: the struct's name and the shapes of its fields.
    Structs(&'static str, &'static [(&'static str, Shape)]),
    Anything,
}

const OWNER: &[(&str, Shape)] = &[
    ("apiVersion", Shape::Text),
    ("kind", Shape::Text),
    ("name", Shape::Text),
    ("uid", Shape::Text),
    ("controller", Shape::Flag),
    ("blockOwnerDeletion", Shape::Flag),
];

const MANAGED: &[(&str, Shape)] = &[
    ("manager", Shape::Text),
    ("operation", Shape::Text),
    ("apiVersion", Shape::Text),
    ("time", Shape::Time),
    ("fieldsType", Shape::Text),
    ("fieldsV1", Shape::Anything),
    ("subresource", Shape::Text),
];

const META: &[(&str, Shape)] = &[
    ("name", Shape::Text),
    ("generateName", Shape::Text),
    ("namespace", Shape::Text),
    ("selfLink", Shape::Text),
    ("uid", Shape::Text),
    ("resourceVersion", Shape::Text),
    ("generation", Shape::Number),
    ("creationTimestamp", Shape::Time),
    ("deletionTimestamp", Shape::Time),
    ("deletionGracePeriodSeconds", Shape::Number),
    ("labels", Shape::TextMap),
    ("annotations", Shape::TextMap),
    ("ownerReferences", Shape::Structs("OwnerReference", OWNER)),
    ("finalizers", Shape::Texts),
    ("managedFields", Shape::Structs("ManagedFieldsEntry", MANAGED)),
];

/// Refuses metadata whose fields have the wrong types, as a decoder would.
pub fn check_shape(object: &Value, kind: &str, version: &str) -> Result<(), Status> {
    let told = |why: String| {
        let text = format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}");
        Status::bad_request(text)
    };
    match &object["metadata"] {
        Value::Null => Ok(()),
        Value::Object(meta) => fields(meta, "ObjectMeta", "metadata", META).map_err(told),
        other => Err(told(mismatch(other, kind, "metadata", "v1.ObjectMeta"))),
    }
}

type Fields = serde_json::Map<String, Value>;

fn fields(given: &Fields, owner: &str, path: &str, shapes: &[(&str, Shape)]) -> Result<(), String> {
    for (name, shape) in shapes {
        match given.get(*name) {
            None | Some(Value::Null) => {}
            Some(value) => one(value, owner, &format!("{path}.{name}"), shape)?,
        }
    }
    Ok(())
}

fn one(value: &Value, owner: &str, path: &str, shape: &Shape) -> Result<(), String> {
    match (shape, value) {
        (Shape::Anything, _) | (Shape::Text, Value::String(_)) | (Shape::Flag, Value::Bool(_)) => Ok(()),
        (Shape::Number, Value::Number(number)) => match number.as_i64() {
            Some(_) => Ok(()),
            None => Err(unmarshal(&format!("number {number}"), owner, path, "int64")),
        },
        (Shape::Time, Value::String(text)) => time(text),
        (Shape::Texts, Value::Array(items)) => items.iter().try_for_each(|item| one_text(item, owner, path)),
        (Shape::TextMap, Value::Object(map)) => map.values().try_for_each(|item| one_text(item, owner, path)),
        (Shape::Structs(name, shapes), Value::Array(items)) => items.iter().try_for_each(|item| match item {
            Value::Null => Ok(()),
            Value::Object(given) => fields(given, name, path, shapes),
            other => Err(mismatch(other, owner, path, &format!("v1.{name}"))),
        }),
        (Shape::Text, other) => Err(mismatch(other, owner, path, "string")),
        (Shape::Number, other) => Err(mismatch(other, owner, path, "int64")),
        (Shape::Flag, other) => Err(mismatch(other, owner, path, "bool")),
        (Shape::Time, other) => {
            Err(format!("json: cannot unmarshal {} into Go value of type string", word(other)))
        }
        (Shape::Texts, other) => Err(mismatch(other, owner, path, "[]string")),
        (Shape::TextMap, other) => Err(mismatch(other, owner, path, "map[string]string")),
        (Shape::Structs(name, _), other) => Err(mismatch(other, owner, path, &format!("[]v1.{name}"))),
    }
}

fn one_text(value: &Value, owner: &str, path: &str) -> Result<(), String> {
    match value {
        Value::Null | Value::String(_) => Ok(()),
        other => Err(mismatch(other, owner, path, "string")),
    }
}

fn time(text: &str) -> Result<(), String> {
    match text.parse::<jiff::Timestamp>() {
        Ok(_) => Ok(()),
        Err(_) => {
            let form = "2006-01-02T15:04:05Z07:00";
            Err(format!("parsing time {text:?} as {form:?}: cannot parse {text:?} as \"2006\""))
        }
    }
}

fn mismatch(value: &Value, owner: &str, path: &str, wanted: &str) -> String {
    unmarshal(word(value), owner, path, wanted)
}

fn unmarshal(what: &str, owner: &str, path: &str, wanted: &str) -> String {
    format!("json: cannot unmarshal {what} into Go struct field {owner}.{path} of type {wanted}")
}

fn word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
