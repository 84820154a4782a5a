//! How two objects become one: the four kinds of patch, and who owns which field afterwards.
//!
//! Everything here is pure: values and a schema go in, a value or a refusal comes out. A refused patch
//! leaves its document untouched.

mod json;
pub mod managed;
mod operations;
mod strategic;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use json::merge_patch;
pub use managed::{ApplyError, Conflict, Manager, apply, conflict_status, track, track_new};
pub use operations::json_patch;
pub use strategic::strategic;

/// Why a patch could not be carried out. The document is as it was before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch itself is not well-formed: 400.
    #[error("{0}")]
    Malformed(String),
    /// The patch is well-formed but does not fit this document: 422.
    #[error("{0}")]
    Rejected(String),
    /// The patch has more operations than one request may carry: 413.
    #[error("The allowed maximum operations in a JSON patch is {limit}, got {got}")]
    TooMany {
        /// How many are allowed.
        limit: usize,
        /// How many there were.
        got: usize,
    },
}

/// The deepest document that is merged. serde_json reads 127 levels, and `managedFields` repeats the
/// object's paths six levels down, so nothing deeper could be read back from the store.
const DEPTH_MAX: usize = 120;

/// Refuses what is nested too deep for the recursion below, whose every step is one level.
fn shallow(value: &Value) -> Result<(), PatchError> {
    match depth_within(value, DEPTH_MAX) {
        true => Ok(()),
        false => Err(PatchError::Malformed("exceeded max depth".into())),
    }
}

/// Whether a value has at most so many levels. Looks no deeper than that itself.
fn depth_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Object(map) => levels > 0 && map.values().all(|child| depth_within(child, levels - 1)),
        Value::Array(list) => levels > 0 && list.iter().all(|child| depth_within(child, levels - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}
