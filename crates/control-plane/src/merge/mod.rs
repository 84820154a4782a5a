//! How two objects become one: the four kinds of patch, and who owns which field afterwards.
//!
//! Everything here is pure: values and a schema go in, a value or a refusal comes out.

mod json;
pub mod managed;
mod strategic;

pub use json::{json_patch, merge_patch};
pub use managed::{ApplyError, Conflict, Manager, apply, conflict_status, track};
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
