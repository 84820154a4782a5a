//! Whether the defaults of a schema obey it.

use serde_json::Value;

use super::structural::properties;
use crate::kinds::schema::{Rules, Schema, prune, show, validate};
use crate::status::Cause;

/// What is wrong with the defaults in a structural schema.
pub(super) fn check(schema: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    node(schema, path, &mut causes);
    causes
}

fn node(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        one(schema, default, &format!("{path}.default"), causes);
    }
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        node(items, &format!("{path}.items"), causes);
    }
    for (name, child) in properties(schema) {
        node(child, &format!("{path}.properties[{name}]"), causes);
    }
}

fn one(node: &Value, default: &Value, path: &str, causes: &mut Vec<Cause>) {
    let schema = Schema::parse(node);
    let inside = |cause: Cause| {
        let field = match cause.field.as_str() {
            "<nil>" => path.to_owned(),
            below if below.starts_with('[') => format!("{path}{below}"),
            below => format!("{path}.{below}"),
        };
        Cause { field, ..cause }
    };
    if pruned(&schema, default) != *default {
        let message = format!("Invalid value: {}: must not have unknown fields", show(default));
        causes.push(Cause::of("FieldValueInvalid", path, message));
    }
    let faults = validate(&schema, default, None);
    if !faults.is_empty() {
        return causes.extend(faults.into_iter().map(inside));
    }
    // Rules that do not compile are told where rules are told.
    let Ok(Some(rules)) = Rules::compile_part(node) else { return };
    let mut faults = rules.check(default, Some(default));
    faults.extend(rules.check(default, None));
    faults.dedup();
    causes.extend(faults.into_iter().map(inside));
}

/// A default is a part of an object, so nothing in it is known that the schema does not declare.
fn pruned(schema: &Schema, default: &Value) -> Value {
    let wrapper = Schema {
        properties: [("default".to_owned(), std::sync::Arc::new(schema.clone()))].into_iter().collect(),
        ..Schema::default()
    };
    let mut wrapped = serde_json::json!({ "default": default });
    prune(&wrapper, &mut wrapped);
    wrapped["default"].take()
}
