//! Removing what a schema does not know.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::{Additional, MAX_DEPTH, Schema};

const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Removes fields that the schema does not know and returns their paths, sorted.
/// The root, and every embedded resource, keeps `apiVersion`, `kind` and `metadata` untouched.
/// What lies deeper than [`MAX_DEPTH`] stays: validation refuses such an object.
pub fn prune(schema: &Schema, value: &mut Value) -> Vec<String> {
    let mut walk = Walk { path: String::new(), unknown: Vec::new(), depth: 0 };
    walk.node(schema, value, true, false);
    walk.unknown.sort();
    walk.unknown
}

struct Walk {
    path: String,
    unknown: Vec<String>,
    depth: usize,
}

impl Walk {
    /// `kept` is true for the elements of a list that preserves unknown fields: they inherit that.
    fn node(&mut self, schema: &Schema, value: &mut Value, root: bool, kept: bool) {
        if self.depth >= MAX_DEPTH {
            return;
        }
        self.depth += 1;
        let kept = kept || schema.preserve_unknown;
        match value {
            Value::Object(map) => self.object(schema, map, root || schema.embedded, kept),
            Value::Array(list) => self.array(schema, list, kept),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        self.depth -= 1;
    }

    fn object(&mut self, schema: &Schema, map: &mut Map<String, Value>, resource: bool, kept: bool) {
        map.retain(|key, value| {
            if resource && META.contains(&key.as_str()) {
                return true;
            }
            let length = self.path.len();
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(key);
            let known = match (schema.properties.get(key), &schema.additional) {
                (Some(field), _) | (None, Additional::Map(field)) => {
                    self.node(field, value, false, false);
                    true
                }
                (None, Additional::Any) => true,
                (None, Additional::Closed) => kept,
            };
            if !known {
                self.unknown.push(self.path.clone());
            }
            self.path.truncate(length);
            known
        });
    }

    fn array(&mut self, schema: &Schema, list: &mut [Value], kept: bool) {
        let none = Schema::default();
        let items = match &schema.items {
            Some(items) => items,
            None if kept => return,
            None => &none,
        };
        for (index, value) in list.iter_mut().enumerate() {
            let length = self.path.len();
            let _ = write!(self.path, "[{index}]");
            self.node(items, value, false, kept);
            self.path.truncate(length);
        }
    }
}
