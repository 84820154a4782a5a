//! The shapes in a document: built-in definitions as published, custom ones from their definitions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::Served;
use super::paths::Style;
use crate::kinds::builtin::{Definitions, definition_name};
use crate::kinds::{Kind, Subresource};

/// Where apimachinery's own definitions live.
pub(super) const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// The prefix of a reference as definitions are stored; v3 writes another.
const REFERENCE: &str = "#/definitions/";

/// Words of a custom schema that old clients refuse or misread in v2.
const NOT_IN_V2: [&str; 9] = [
    "oneOf",
    "anyOf",
    "allOf",
    "not",
    "nullable",
    "default",
    "x-kubernetes-validations",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
];

/// Shapes of one document, collected with everything they refer to.
pub(super) struct Schemas {
    style: Style,
    known: Definitions,
    wanted: BTreeSet<String>,
    custom: BTreeMap<String, Value>,
}

impl Schemas {
    pub(super) fn new(style: Style) -> Self {
        let meta = ["APIResourceList", "APIGroup", "DeleteOptions", "Status", "Patch", "WatchEvent"];
        let wanted = meta.map(|name| format!("{META}.{name}")).into();
        Self { style, known: Definitions::described(), wanted, custom: BTreeMap::new() }
    }

    /// Adds a kind, its list and the kinds of its subresources.
    pub(super) fn add(&mut self, served: &Served) {
        let kind = served.kind;
        let name = definition_of(kind);
        if kind.builtin {
            if kind.verbs.contains(&"list") {
                self.wanted.insert(format!("{name}List"));
            }
            self.wanted.insert(name);
        } else {
            self.wanted.extend([format!("{META}.ObjectMeta"), format!("{META}.ListMeta")]);
            self.custom.insert(format!("{name}List"), custom_list(kind, &name));
            self.custom.insert(name, custom(kind, served.raw_schema, self.style));
        }
        for sub in kind.all_subresources() {
            self.wanted.extend(foreign_definition(&sub));
        }
    }

    /// Every shape by name, with its references followed.
    pub(super) fn finish(self) -> Value {
        let mut todo: Vec<String> = self.wanted.into_iter().collect();
        let mut found: BTreeMap<String, Value> = BTreeMap::new();
        while let Some(name) = todo.pop() {
            if found.contains_key(&name) {
                continue;
            }
            let Some(definition) = self.known.get(&name) else { continue };
            references(&definition, &mut todo);
            found.insert(name, definition);
        }
        found.extend(self.custom);
        let styled = |(name, shape): (String, Value)| {
            let shape = if self.style == Style::V3 { to_v3(&name, shape) } else { shape };
            (name, shape)
        };
        Value::Object(found.into_iter().map(styled).collect())
    }
}

/// Name of a kind's shape: `io.k8s.api.core.v1.Pod`; custom groups are written backwards, `io.demo.v1.Widget`.
pub(super) fn definition_of(kind: &Kind) -> String {
    if kind.builtin {
        return definition_name(&kind.group, &kind.version, &kind.kind);
    }
    let group: Vec<&str> = kind.group.rsplit('.').collect();
    format!("{}.{}.{}", group.join("."), kind.version, kind.kind)
}

/// Name of the shape a subresource answers with, where it is not its parent's.
pub(super) fn foreign_definition(sub: &Subresource) -> Option<String> {
    match (sub.version.as_str(), sub.kind.as_str()) {
        ("", "Binding") => Some(definition_name("", "v1", "Binding")),
        ("", _) => None,
        (version, kind) => Some(definition_name(&sub.group, version, kind)),
    }
}

fn custom(kind: &Kind, raw: Option<&Value>, style: Style) -> Value {
    let mut shape = raw.cloned().unwrap_or_else(|| json!({ "type": "object" }));
    if style == Style::V2 {
        to_v2(&mut shape);
    }
    let Some(map) = shape.as_object_mut() else { return json!({ "type": "object" }) };
    // A schema that keeps unknown fields has lost its fields on the way to v2: only the envelope is known.
    let open = raw.is_some_and(|raw| raw.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(true)));
    if !(open && style == Style::V2) && raw.is_some() {
        let properties = map.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            let own = [
                ("apiVersion", text("Version of the schema this object is written in, with its group.")),
                ("kind", text("Name of the kind of this object, in CamelCase.")),
                ("metadata", reference("ObjectMeta", "What every object carries: name, labels, owners.")),
            ];
            for (name, value) in own {
                properties.insert(name.into(), value);
            }
        }
    }
    map.insert("x-kubernetes-group-version-kind".into(), json!([gvk(kind, &kind.kind)]));
    shape
}

fn custom_list(kind: &Kind, name: &str) -> Value {
    json!({
        "description": format!("{} is a list of {}", kind.list_kind, kind.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": text("Version of the schema this list is written in, with its group."),
            "items": {
                "description": format!("The objects: {}.", kind.plural),
                "type": "array",
                "items": { "$ref": format!("{REFERENCE}{name}") },
            },
            "kind": text("Name of the kind of this list, in CamelCase."),
            "metadata": reference("ListMeta", "What every list carries: its version, and where it goes on."),
        },
        "x-kubernetes-group-version-kind": [gvk(kind, &kind.list_kind)],
    })
}

fn text(description: &str) -> Value {
    json!({ "description": description, "type": "string" })
}

fn reference(name: &str, description: &str) -> Value {
    json!({ "description": description, "$ref": format!("{REFERENCE}{META}.{name}") })
}

fn gvk(kind: &Kind, name: &str) -> Value {
    json!({ "group": kind.group, "kind": name, "version": kind.version })
}

fn references(node: &Value, found: &mut Vec<String>) {
    match node {
        Value::Object(map) => {
            let target = map.get("$ref").and_then(Value::as_str);
            found.extend(target.and_then(|target| target.strip_prefix(REFERENCE)).map(str::to_owned));
            map.values().for_each(|child| references(child, found));
        }
        Value::Array(list) => list.iter().for_each(|child| references(child, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// v3 points elsewhere, allows nothing beside a reference, and can say that a value has one of two types.
fn to_v3(name: &str, mut shape: Value) -> Value {
    let two = |first: &str, second: &str| json!([{ "type": first }, { "type": second }]);
    if let Some(map) = shape.as_object_mut() {
        if name.ends_with(".resource.Quantity") {
            map.shift_remove("type");
            map.insert("oneOf".into(), two("string", "number"));
        }
        if name.ends_with(".intstr.IntOrString") {
            map.shift_remove("type");
            map.insert("oneOf".into(), two("integer", "string"));
        }
    }
    redirect(&mut shape);
    shape
}

fn redirect(node: &mut Value) {
    match node {
        Value::Object(map) => {
            let target =
                map.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix(REFERENCE));
            if let Some(target) = target {
                let pointer = json!({ "$ref": format!("#/components/schemas/{target}") });
                map.shift_remove("$ref");
                if map.is_empty() {
                    *node = pointer;
                } else {
                    map.insert("allOf".into(), json!([pointer]));
                }
            } else {
                map.values_mut().for_each(redirect);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(redirect),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Makes a custom schema one that clients of v2 can read: what they cannot say becomes "anything".
fn to_v2(node: &mut Value) {
    let Some(map) = node.as_object_mut() else { return };
    let flag = |map: &Map<String, Value>, word: &str| map.get(word) == Some(&json!(true));
    let open = flag(map, "x-kubernetes-preserve-unknown-fields")
        || flag(map, "x-kubernetes-int-or-string")
        || flag(map, "nullable");
    NOT_IN_V2.iter().for_each(|word| drop(map.shift_remove(*word)));
    if open {
        map.retain(|word, _| word == "description" || word.starts_with("x-kubernetes"));
        return;
    }
    if let Some(properties) = map.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(to_v2);
    }
    for word in ["items", "additionalProperties"] {
        if let Some(child) = map.get_mut(word) {
            to_v2(child);
        }
    }
    // Old clients stop at a list that does not say of what.
    if map.get("type") == Some(&json!("array")) && !map.get("items").is_some_and(Value::is_object) {
        map.shift_remove("type");
        map.shift_remove("items");
    }
}
