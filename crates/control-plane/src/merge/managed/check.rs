//! Whether a value fits a shape, and the words of the original where it does not.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::shape::{Atom, Keys, Scalar, Shape};

/// Checks an applied configuration. The text names every fault with its path.
pub(super) fn check(value: &Value, shape: Shape) -> Result<(), String> {
    let mut faults = Vec::new();
    visit(value, shape, "", &mut faults);
    match faults.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("errors:\n  {}", many.join("\n  "))),
    }
}

fn visit(value: &Value, shape: Shape, path: &str, faults: &mut Vec<String>) {
    let mut fault = |what: String| match path {
        "" => faults.push(what),
        path => faults.push(format!("{path}: {what}")),
    };
    match (shape.atom(Some(value)), value) {
        (_, Value::Null) => {}
        (Atom::Object { .. }, Value::Object(map)) => members(map, shape, path, faults),
        (Atom::List(keys), Value::Array(list)) => elements(list, keys, shape, path, faults),
        (Atom::Object { .. }, other) => fault(format!("expected map, got &{{{}}}", plain(other))),
        (Atom::List(_), other) => fault(format!("expected list, got &{{{}}}", plain(other))),
        (Atom::Scalar(kind), other) => {
            if let Some(what) = scalar(kind, other) {
                fault(what);
            }
        }
    }
}

fn members(map: &Map<String, Value>, shape: Shape, path: &str, faults: &mut Vec<String>) {
    for (name, child) in map {
        let here = format!("{path}.{name}");
        let Some(inner) = shape.member(name) else {
            faults.push(format!("{here}: field not declared in schema"));
            return;
        };
        visit(child, inner, &here, faults);
    }
}

fn elements(list: &[Value], keys: Option<Keys>, shape: Shape, path: &str, faults: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (at, child) in list.iter().enumerate() {
        let name = match keys.map(|keys| shape.identify(keys, child)) {
            None => format!("[{at}]"),
            Some(Err(why)) => {
                faults.push(format!("{path}: element {at}: {why}"));
                return;
            }
            Some(Ok(element)) => {
                let name = element.to_string();
                if !seen.insert(element) {
                    faults.push(format!("{path}: duplicate entries for key {name}"));
                }
                name
            }
        };
        visit(child, shape.element(), &format!("{path}{name}"), faults);
    }
}

fn scalar(kind: Scalar, value: &Value) -> Option<String> {
    match (kind, value) {
        (Scalar::Numeric, Value::Number(_))
        | (Scalar::String, Value::String(_))
        | (Scalar::Boolean, Value::Bool(_))
        | (Scalar::Any, Value::Number(_) | Value::String(_) | Value::Bool(_)) => None,
        (Scalar::Numeric, other) => {
            Some(format!("expected numeric (int or float), got {}", type_name(other)))
        }
        (Scalar::String, other) => {
            Some(format!("expected string, got &value.valueUnstructured{{Value:{}}}", source(other)))
        }
        (Scalar::Boolean, other) => Some(format!("expected boolean, got &{{{}}}", plain(other))),
        (Scalar::Any, other) => Some(format!("expected any scalar, got &{{{}}}", plain(other))),
    }
}

/// The name of a value's type in the original's language.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as the original prints it for people: `map[a:b]`.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(list) => format!("[{}]", list.iter().map(plain).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let each = sorted(map).map(|(name, child)| format!("{name}:{}", plain(child)));
            format!("map[{}]", each.collect::<Vec<_>>().join(" "))
        }
    }
}

/// A value as the original prints it for programmers: `map[string]interface {}{"a":"b"}`.
fn source(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::String(text) => format!("{text:?}"),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(list) => {
            format!("[]interface {{}}{{{}}}", list.iter().map(source).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let each = sorted(map).map(|(name, child)| format!("{name:?}:{}", source(child)));
            format!("map[string]interface {{}}{{{}}}", each.collect::<Vec<_>>().join(", "))
        }
    }
}

fn sorted(map: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let mut members: Vec<_> = map.iter().collect();
    members.sort_by_key(|(name, _)| *name);
    members.into_iter()
}
