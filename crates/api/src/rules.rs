//! Admission rules that several kinds share, as CEL.

use kube::core::Rule;

/// A rule on one field: once set, its value stays.
pub(crate) fn unchanging(message: &str) -> Rule {
    Rule::new("self == oldSelf").message(message)
}

/// A rule on the struct around an optional field: it can be neither set, changed nor removed later.
///
/// A rule on the field itself would not see the field come or go.
pub(crate) fn frozen(field: &str) -> Rule {
    Rule::new(format!(
        "has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"
    ))
    .message(format!("{field} is immutable: make a new object to change it").as_str())
    .field_path(format!(".{field}"))
}

/// A rule on the struct around two optional fields that exclude each other.
pub(crate) fn exclusive(one: &str, other: &str) -> Rule {
    Rule::new(format!("!(has(self.{one}) && has(self.{other}))"))
        .message(format!("{one} and {other} exclude each other: set only one of them").as_str())
}
