//! CEL rules (`x-kubernetes-validations`).
//!
//! The `cel` crate parses, `kube-cel` brings the library functions; what walks the object and evaluates is
//! ours, because it has to count: a rule costs at most [`CALL_LIMIT`] steps, all rules of one object
//! together at most [`OBJECT_LIMIT`]. That limit at run time takes the place of an estimate in advance.

mod calls;
mod compile;
mod eval;
mod library;
mod macros;
mod path;
mod run;
mod shapes;
mod values;

use std::sync::Arc;

use kube_cel::cel::parser::Expression;
use serde_json::Value;

use super::Schema;
use crate::status::Cause;

pub(crate) use path::field_path;

/// Steps one rule may take; the original's limit for one call.
pub const CALL_LIMIT: u64 = 1_000_000;
/// Steps all rules of one object may take together; the original's limit for one request.
pub const OBJECT_LIMIT: u64 = 10_000_000;

/// The compiled rules of one schema.
#[derive(Debug)]
pub struct Rules {
    root: Node,
}

/// A schema node that has rules, or has nodes below it that do.
#[derive(Debug)]
struct Node {
    schema: Arc<Schema>,
    /// Whether `apiVersion`, `kind` and `metadata` are visible though nobody declared them.
    resource: bool,
    rules: Vec<Rule>,
    properties: Vec<(String, Node)>,
    additional: Option<Box<Node>>,
    items: Option<Box<Node>>,
}

#[derive(Debug)]
struct Rule {
    text: String,
    message: String,
    message_expression: Option<Expression>,
    reason: String,
    field_path: String,
    expression: Expression,
    uses_old: bool,
    optional_old: bool,
}

impl Rules {
    /// Compiles the rules of a schema: `None` where it has none. Causes name their field from the schema's
    /// root: `properties[spec].x-kubernetes-validations[0].rule`.
    pub fn compile(openapi_schema: &Value) -> Result<Option<Self>, Vec<Cause>> {
        Self::compile_at(openapi_schema, "")
    }

    /// [`Rules::compile`] for a schema that lies at a path, which causes then begin with.
    pub fn compile_at(openapi_schema: &Value, path: &str) -> Result<Option<Self>, Vec<Cause>> {
        let schema = Arc::new(Schema::parse(openapi_schema));
        let root = compile::tree(schema, path, true)?;
        Ok(root.map(|root| Self { root }))
    }

    /// [`Rules::compile`] for a part of an object, which has no `apiVersion`, `kind` and `metadata` of its own.
    pub fn compile_part(openapi_schema: &Value) -> Result<Option<Self>, Vec<Cause>> {
        let schema = Arc::new(Schema::parse(openapi_schema));
        let resource = schema.embedded;
        let root = compile::tree(schema, "", resource)?;
        Ok(root.map(|root| Self { root }))
    }

    /// Asks every rule. Rules about a change are asked only when there is an old value to compare with;
    /// a rule that fails on a part that did not change is not held against the new object.
    pub fn check(&self, object: &Value, old: Option<&Value>) -> Vec<Cause> {
        run::check(&self.root, object, old)
    }
}
