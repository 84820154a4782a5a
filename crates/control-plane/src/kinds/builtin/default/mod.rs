//! Defaults.
use serde_json::Value;
use crate::kinds::Kind;
/// Fills what a client left out.
pub fn default(kind: &Kind, object: &mut Value) {
    let _ = (kind, object);
}
