//! Checks.
use serde_json::Value;
use crate::kinds::Kind;
use crate::status::Cause;
/// What is wrong.
pub fn check(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let _ = (kind, object, old);
    Vec::new()
}
