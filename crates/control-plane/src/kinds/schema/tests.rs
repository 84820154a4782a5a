mod defaulting;
mod laws;
mod pruning;
mod rules;
mod validation;

use serde_json::{Value, json};

use super::*;
use crate::status::Cause;

/// The causes of an object against a schema, as `field: message`.
fn faults(schema: &Value, value: &Value, old: Option<&Value>) -> Vec<String> {
    told(&validate(&Schema::parse(schema), value, old))
}

fn told(causes: &[Cause]) -> Vec<String> {
    causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

fn object(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties })
}
