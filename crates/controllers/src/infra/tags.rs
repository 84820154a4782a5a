//! The tags of a resource: what its spec and its provider ask for, and the mark that says whose it is. Tags that others set
//! are left alone. Pure.

use api::drift::{Drift, Severity};
use api::infra::Tags;
use kit::Name;

/// The mark: the object that a resource belongs to, as `namespace/name`.
pub(super) const OWNER: &str = "terrace.dev/owner";
/// AWS's own tags begin so; nobody else can set them.
const RESERVED: &str = "aws:";

/// What a mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// It is this object's.
    Ours,
    /// It is nobody's.
    None,
    /// It is another object's.
    Others,
}

/// Whose a resource with these tags is.
pub(super) fn mark(tags: &Tags, owner: &Name) -> Mark {
    match tags.get(OWNER) {
        Some(held) if *held == owner.to_string() => Mark::Ours,
        Some(_) => Mark::Others,
        None => Mark::None,
    }
}

/// All tags that a resource is to have. Its own win over its provider's.
pub(super) fn wanted(default: &Tags, own: &Tags, owner: &Name) -> Tags {
    let mut all = default.clone();
    all.extend(own.clone());
    all.retain(|key, _| !key.starts_with(RESERVED));
    all.insert(OWNER.to_owned(), owner.to_string());
    all
}

/// How tags differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Retag {
    /// What is to be set.
    pub(super) set: Tags,
    /// What is to be taken off.
    pub(super) remove: Vec<String>,
    /// The same, field by field.
    pub(super) fields: Vec<Drift>,
}

impl Retag {
    /// The fields of what is to be set, and of what is to be taken off. A tag may be set to nothing.
    pub(super) fn split(&self) -> (Vec<Drift>, Vec<Drift>) {
        let removed = |drift: &Drift| self.remove.iter().any(|key| drift.field == field(key));
        let (removed, set) = self.fields.iter().cloned().partition(removed);
        (set, removed)
    }
}

/// The name of a tag among the fields that differ.
pub(super) fn field(key: &str) -> String {
    format!("tags[{key}]")
}

/// How the tags of a resource differ from those it is to have; `held` are the keys that were set before.
pub(super) fn compare(live: &Tags, wanted: &Tags, held: &[String]) -> Retag {
    let mut retag = Retag::default();
    let drift = |key: &str, expected: &str, actual: &str| Drift {
        field: field(key),
        expected: expected.to_owned(),
        actual: actual.to_owned(),
        severity: Some(Severity::Low),
    };
    for (key, value) in wanted {
        let actual = live.get(key);
        if actual != Some(value) {
            retag.set.insert(key.clone(), value.clone());
            retag.fields.push(drift(key, value, actual.map_or("", String::as_str)));
        }
    }
    for key in held.iter().filter(|key| !wanted.contains_key(*key)) {
        if let Some(actual) = live.get(key) {
            retag.remove.push(key.clone());
            retag.fields.push(drift(key, "", actual));
        }
    }
    retag
}
