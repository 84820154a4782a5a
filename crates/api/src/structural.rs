//! From Rust types to the structural schemas that a Kubernetes API server accepts.
//!
//! The rules are those of <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>.
//! An optional field is one that may be left out; it is never `nullable`, because a field that may also be
//! `null` has three states, and rules would have to tell them apart.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceValidation,
};
use kube::CustomResourceExt;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

#[cfg(test)]
mod tests;

/// Marks an object whose unknown fields are kept.
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
/// Admission rules.
const RULES: &str = "x-kubernetes-validations";
/// Formats that Kubernetes knows among those that the types produce.
const FORMATS: [&str; 5] = ["int32", "int64", "double", "date-time", "byte"];

/// The definition of a kind of ours.
pub(crate) fn crd<K: CustomResourceExt + JsonSchema>() -> CustomResourceDefinition {
    with_schema(K::crd(), structural::<K>())
}

/// The definition of someone else's kind: only the fields we use are typed, all others are kept as they are.
pub(crate) fn foreign_crd<K: CustomResourceExt + JsonSchema>() -> CustomResourceDefinition {
    let mut schema = structural::<K>();
    for part in ["spec", "status"] {
        if let Some(part) = schema.pointer_mut(&format!("/properties/{part}")) {
            keep_unknown(part);
        }
    }
    with_schema(K::crd(), schema)
}

fn with_schema(mut crd: CustomResourceDefinition, schema: Value) -> CustomResourceDefinition {
    let props = serde_json::from_value(schema).expect("a structural schema fits JSONSchemaProps");
    if let Some(version) = crd.spec.versions.first_mut() {
        version.schema = Some(CustomResourceValidation { open_api_v3_schema: Some(props) });
    }
    crd
}

fn structural<K: JsonSchema>() -> Value {
    let generator =
        SchemaSettings::openapi3().with(|settings| settings.inline_subschemas = true).into_generator();
    let mut schema = generator.into_root_schema_for::<K>().to_value();
    settle(&mut schema);
    if let Some(properties) = schema.pointer_mut("/properties").and_then(Value::as_object_mut) {
        properties.insert("metadata".into(), json!({ "type": "object" }));
    }
    schema
}

/// Brings one node, and all below it, into structural form.
fn settle(node: &mut Value) {
    let Some(schema) = node.as_object_mut() else {
        // `true` stands for anything.
        *node = json!({ PRESERVE: true });
        return;
    };
    unwrap_option(schema);
    gather_enum(schema);
    for key in ["title", "$schema", "nullable", "components", "uniqueItems", "examples", "example"] {
        schema.shift_remove(key);
    }
    if let Some(Value::Array(types)) = schema.get("type") {
        let mut types = types.iter().filter(|name| *name != "null").cloned();
        if let (Some(only), None) = (types.next(), types.next()) {
            schema.insert("type".into(), only);
        }
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.shift_remove("default");
    }
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| !FORMATS.contains(&format)) {
        schema.shift_remove("format");
    }
    close_additional(schema);
    descend(schema);
}

/// `anyOf: [T, null]` is how an optional `T` comes out; the field's own words win over those of its type.
fn unwrap_option(schema: &mut Map<String, Value>) {
    let Some(branches) = schema.get("anyOf").and_then(Value::as_array) else { return };
    let is_null = |branch: &&Value| {
        branch.get("type") == Some(&json!("null"))
            || branch.get("enum") == Some(&json!([null]))
            || branch.get("const") == Some(&Value::Null)
    };
    let some: Vec<Value> = branches.iter().filter(|branch| !is_null(branch)).cloned().collect();
    let (true, [Value::Object(inner)]) = (some.len() < branches.len(), some.as_slice()) else { return };
    schema.shift_remove("anyOf");
    for (key, value) in inner {
        match (schema.get_mut(key), value) {
            (Some(Value::Array(outer)), Value::Array(rules)) if key == RULES => {
                outer.splice(0..0, rules.iter().cloned());
            }
            (Some(_), _) => {}
            (None, value) => {
                schema.insert(key.clone(), value.clone());
            }
        }
    }
    // An optional enum with described variants was nested one level deeper.
    unwrap_option(schema);
}

/// `oneOf` with one described value per branch is how an enum comes out; the descriptions move into the node's.
fn gather_enum(schema: &mut Map<String, Value>) {
    let Some(branches) = schema.get("oneOf").and_then(Value::as_array) else { return };
    let mut values = Vec::new();
    let mut words = Vec::new();
    for branch in branches {
        let only = branch.get("const").cloned().map(|value| vec![value]);
        let Some(of) = only.or_else(|| branch.get("enum")?.as_array().cloned()) else { return };
        if let (Some(said), [Value::String(value)]) =
            (branch.get("description").and_then(Value::as_str), of.as_slice())
        {
            words.push(format!("`{value}`: {said}"));
        }
        values.extend(of);
    }
    schema.shift_remove("oneOf");
    schema.insert("type".into(), json!("string"));
    schema.insert("enum".into(), Value::Array(values));
    let said = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let said = format!("{said}\n\n{}", words.join("\n"));
    schema.insert("description".into(), json!(said.trim()));
}

/// Properties and additional properties exclude each other.
fn close_additional(schema: &mut Map<String, Value>) {
    let open = match schema.get("additionalProperties") {
        Some(Value::Bool(open)) => *open,
        Some(_) if schema.contains_key("properties") => true,
        _ => return,
    };
    schema.shift_remove("additionalProperties");
    if open {
        schema.insert(PRESERVE.into(), json!(true));
    }
}

fn descend(schema: &mut Map<String, Value>) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(settle);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(node) = schema.get_mut(key) {
            settle(node);
        }
    }
}

/// Keeps unknown fields at every level: a typed object below a keeping one would lose them otherwise.
fn keep_unknown(node: &mut Value) {
    let Some(schema) = node.as_object_mut() else { return };
    if schema.get("type") == Some(&json!("object")) && !schema.contains_key("additionalProperties") {
        schema.insert(PRESERVE.into(), json!(true));
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(keep_unknown);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(node) = schema.get_mut(key) {
            keep_unknown(node);
        }
    }
}
