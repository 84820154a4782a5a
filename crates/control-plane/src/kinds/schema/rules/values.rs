//! JSON as CEL sees it through a schema.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube_cel::cel::Value;
use kube_cel::cel::objects::{Key, Map};
use serde_json::Value as Json;

use super::library;
use crate::kinds::schema::{Additional, MAX_DEPTH, Schema, Type};

/// The value of a node. Fields that the schema does not declare are not visible; at the root of a resource
/// its type and its name are.
pub(super) fn convert(json: &Json, schema: &Schema, resource: bool) -> Value {
    at(json, schema, resource, 0)
}

fn at(json: &Json, schema: &Schema, resource: bool, depth: usize) -> Value {
    if depth >= MAX_DEPTH {
        return Value::Null;
    }
    match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => match (number.as_i64(), schema.kind) {
            (Some(whole), kind) if kind != Some(Type::Number) => Value::Int(whole),
            (None, Some(Type::Integer)) => Value::Int(number.as_f64().unwrap_or_default() as i64),
            _ => Value::Float(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => string(text, schema),
        Json::Array(list) => {
            let none = Schema::default();
            let items = schema.items.as_deref().unwrap_or(&none);
            let embedded = items.embedded;
            Value::List(Arc::new(
                list.iter().map(|element| at(element, items, embedded, depth + 1)).collect(),
            ))
        }
        Json::Object(map) => {
            let mut fields: HashMap<Key, Value> = HashMap::new();
            for (name, field) in map {
                let (key, value) = match (schema.properties.get(name), &schema.additional) {
                    _ if resource && name == "metadata" => (name.clone(), metadata(field)),
                    _ if resource && matches!(name.as_str(), "apiVersion" | "kind") => {
                        (name.clone(), plain(field))
                    }
                    (Some(child), _) => match escaped(name) {
                        Some(key) => (key, at(field, child, child.embedded, depth + 1)),
                        None => continue,
                    },
                    (None, Additional::Map(child)) => {
                        (name.clone(), at(field, child, child.embedded, depth + 1))
                    }
                    (None, Additional::Any | Additional::Closed) => continue,
                };
                fields.insert(Key::String(Arc::new(key)), value);
            }
            Value::Map(Map { map: Arc::new(fields) })
        }
    }
}

fn plain(json: &Json) -> Value {
    json.as_str().map_or(Value::Null, text)
}

pub(super) fn text(text: &str) -> Value {
    Value::String(Arc::new(text.to_owned()))
}

/// Of the metadata rules see the name alone: the rest belongs to the server.
fn metadata(json: &Json) -> Value {
    let visible =
        ["name", "generateName"].into_iter().filter_map(|name| Some((name, json.get(name)?.as_str()?)));
    let fields = visible.map(|(name, value)| (Key::String(Arc::new(name.to_owned())), text(value)));
    Value::Map(Map { map: Arc::new(fields.collect()) })
}

fn string(value: &str, schema: &Schema) -> Value {
    let format =
        schema.checks.as_ref().and_then(|checks| checks.format.as_deref()).filter(|_| !schema.int_or_string);
    let special = match format {
        Some("date-time" | "datetime") => library::call("timestamp", None, vec![text(value)]).ok(),
        Some("date") => library::call("timestamp", None, vec![text(&format!("{value}T00:00:00Z"))]).ok(),
        Some("duration") => library::call("duration", None, vec![text(value)]).ok(),
        Some("byte") => STANDARD.decode(value).ok().map(|bytes| Value::Bytes(Arc::new(bytes))),
        _ => None,
    };
    special.unwrap_or_else(|| text(value))
}

/// A field's name as rules write it; `None` for a name no rule can write.
pub(super) fn escaped(name: &str) -> Option<String> {
    const RESERVED: [&str; 21] = [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ];
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(letter) = rest.chars().next() {
        let (piece, length) = match letter {
            '_' if rest.starts_with("__") => ("__underscores__", 2),
            '.' => ("__dot__", 1),
            '-' => ("__dash__", 1),
            '/' => ("__slash__", 1),
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => (&rest[..1], 1),
            _ => return None,
        };
        out.push_str(piece);
        rest = &rest[length..];
    }
    Some(out)
}
