//! CustomResourceDefinitions as data: what they default to, whether they are allowed, which kinds they bring.

mod defaults;
mod kinds;
pub(crate) mod names;
mod openapi;
mod parts;
mod status;
mod structural;
mod validate;
mod versions;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use super::Kind;

pub use kinds::kinds;
pub use status::accepted_status;
pub use validate::validate;

/// One served version of a custom resource.
#[derive(Clone, Debug)]
pub struct Custom {
    /// What discovery and the verbs need to know.
    pub kind: Kind,
    /// Whether objects are stored in this version.
    pub storage_version: bool,
    /// Whether requests may name this version.
    pub served: bool,
    /// The warning a client gets when it uses a deprecated version.
    pub deprecation: Option<String>,
}

/// Fills in what a definition may leave out: the singular, the list's kind, no conversion.
pub fn defaulted(crd: &mut Value) {
    let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        name_the_rest(names);
    }
    if spec.get("conversion").is_none_or(Value::is_null) {
        spec.insert("conversion".into(), json!({ "strategy": "None" }));
    }
}

fn name_the_rest(names: &mut Map<String, Value>) {
    let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let empty = |name: &str| names.get(name).and_then(Value::as_str).is_none_or(str::is_empty);
    let (singular, list) = (empty("singular"), empty("listKind"));
    if singular {
        names.insert("singular".into(), kind.to_lowercase().into());
    }
    if list && !kind.is_empty() {
        names.insert("listKind".into(), format!("{kind}List").into());
    }
    let ordered = status::in_order(names);
    *names = ordered;
}

/// A text at a path of a definition; empty where there is none.
fn text<'a>(node: &'a Value, path: &str) -> &'a str {
    node.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// A list at a path of a definition; empty where there is none.
fn list<'a>(node: &'a Value, path: &str) -> &'a [Value] {
    node.pointer(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A flag at a path of a definition.
fn flag(node: &Value, path: &str) -> bool {
    node.pointer(path).and_then(Value::as_bool).unwrap_or(false)
}
