//! The bridge from client-side apply: kubectl may take over what its own annotation says it applied.

use serde_json::{Map, Value};

use super::check::check;
use super::fields::FieldSet;
use super::shape::Shape;
use super::walk::{Changes, fields};

/// The manager that kubectl uses for server-side apply; only it crosses the bridge.
pub(super) const KUBECTL: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Bytes that all annotations of an object may have together.
const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

/// What the annotation says was applied, as far as the live object still has it so.
pub(super) fn owned(live: &Value, api_version: &str, shape: Shape) -> FieldSet {
    let applied = annotation(live).and_then(|text| serde_json::from_str::<Value>(text).ok());
    let Some(applied) = applied.filter(|applied| applied["apiVersion"] == api_version) else {
        return FieldSet::default();
    };
    if check(&applied, shape).is_err() || check(live, shape).is_err() {
        return FieldSet::default();
    }
    let changes = Changes::between(&applied, live, shape);
    let kept = fields(&applied, shape).difference(&changes.modified);
    kept.difference(&changes.added).difference(&changes.removed)
}

/// Writes what was applied into the annotation, where the object has one.
pub(super) fn refresh(object: &mut Value, config: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = config.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.shift_remove(ANNOTATION);
    }
    let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) else {
        return;
    };
    annotations.insert(ANNOTATION.into(), Value::String(encoded(&config)));
    let size = |(name, value): (&String, &Value)| name.len() + value.as_str().map_or(0, str::len);
    if annotations.iter().map(size).sum::<usize>() > ANNOTATIONS_BYTES_MAX {
        annotations.shift_remove(ANNOTATION);
    }
}

fn annotation(object: &Value) -> Option<&str> {
    let annotations = object.get("metadata")?.get("annotations")?;
    annotations.get(ANNOTATION)?.as_str().filter(|text| !text.is_empty())
}

/// One line of JSON as the original writes it: sorted, and safe inside a web page.
fn encoded(value: &Value) -> String {
    let text = sorted(value).to_string();
    let text = text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    format!("{text}\n")
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            let each = members.into_iter().map(|(name, child)| (name.clone(), sorted(child)));
            Value::Object(each.collect::<Map<_, _>>())
        }
        Value::Array(list) => list.iter().map(sorted).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
