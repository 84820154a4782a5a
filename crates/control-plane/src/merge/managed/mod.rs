//! Who owns which field: `metadata.managedFields` and server-side apply.

use serde_json::Value;

use crate::kinds::schema::Schema;
use crate::status::Status;

/// Who writes, through which version and subresource, and when.
#[derive(Clone, Copy, Debug)]
pub struct Manager<'a> {
    /// The `fieldManager` of the request; empty is printed as `unknown`.
    pub name: &'a str,
    /// The version the request was made in: `v1`, `apps/v1`.
    pub api_version: &'a str,
    /// `status`, `scale`, …; empty for the object itself.
    pub subresource: &'a str,
    /// The moment of the write.
    pub now: jiff::Timestamp,
}

/// Why an apply was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyError {
    /// Others own fields that the configuration would change.
    Conflicts(Vec<Conflict>),
    /// The configuration does not fit the schema; the text follows
    /// `failed to create typed patch object (<namespace>/<name>; <group>/<version>, Kind=<kind>): `.
    Typed(String),
    /// The request cannot be an apply at all: 400.
    Malformed(String),
}

/// One field that another manager owns with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Name of the owner.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// Subresource the owner wrote through; empty for the object itself.
    pub subresource: String,
    /// Version the owner wrote in.
    pub api_version: String,
    /// When the owner last wrote.
    pub time: Option<String>,
    /// `.spec.size` or `.spec.items[name="a"].value`.
    pub field: String,
}

/// Records a write that is not an apply in `new["metadata"]["managedFields"]`.
pub fn track(_old: Option<&Value>, _new: &mut Value, _schema: Option<&Schema>, _by: &Manager) {}

/// Server-side apply. `live` None creates. Returns the merged object with its managedFields.
pub fn apply(
    live: Option<&Value>,
    config: &Value,
    _schema: Option<&Schema>,
    _by: &Manager,
    _force: bool,
) -> Result<Value, ApplyError> {
    Ok(live.unwrap_or(config).clone())
}

/// The 409 that the real server answers to an apply with conflicts.
pub fn conflict_status(group: &str, plural: &str, name: &str, _conflicts: &[Conflict]) -> Status {
    Status::conflict(group, plural, name, "Apply failed")
}
