//! The refusal of an apply that would change what others own.

use http::StatusCode;

use super::entries::{Entry, Owner};
use super::fields::FieldSet;
use crate::status::{Cause, Reason, Status};

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

impl Conflict {
    /// The owner's part of the sentence: `"kubectl" using v1`.
    fn owner(&self) -> String {
        let mut words = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            words.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if self.operation == "Update" {
            words.push_str(&format!(" using {}", self.api_version));
        }
        words
    }
}

/// The conflicts with one owner.
pub(super) fn conflicts(entry: &Entry, fields: &FieldSet) -> Vec<Conflict> {
    let Owner { manager, operation, api_version, subresource } = entry.owner.clone();
    let paths = fields.paths().into_iter();
    let each = paths.map(|path| Conflict {
        manager: manager.clone(),
        operation: operation.word().to_owned(),
        subresource: subresource.clone(),
        api_version: api_version.clone(),
        time: entry.time.clone(),
        field: path.iter().map(ToString::to_string).collect(),
    });
    each.collect()
}

/// The 409 that the original answers. It says nothing of the object in its details, so the first three
/// are only there for callers that treat all refusals alike.
pub fn conflict_status(_group: &str, _plural: &str, _name: &str, conflicts: &[Conflict]) -> Status {
    let message = match conflicts {
        [one] => format!("Apply failed with 1 conflict: conflict with {}: {}", one.owner(), one.field),
        many => {
            let mut lines: Vec<String> = Vec::new();
            let mut last = String::new();
            for one in many {
                if one.owner() != last {
                    last = one.owner();
                    lines.push(format!("conflicts with {last}:"));
                }
                lines.push(format!("- {}", one.field));
            }
            format!("Apply failed with {} conflicts: {}", many.len(), lines.join("\n"))
        }
    };
    let cause = |one: &Conflict| {
        Cause::of("FieldManagerConflict", &one.field, format!("conflict with {}", one.owner()))
    };
    Status::new(StatusCode::CONFLICT, Reason::Conflict, message)
        .because(conflicts.iter().map(cause).collect())
}
