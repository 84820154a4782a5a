//! Versions, their age, and what is said of those that will go.

use std::cmp::Ordering;

use serde_json::Value;

use super::{flag, list, text};

/// The warning for a deprecated version: the author's, or one that names the best version to use instead.
pub(super) fn deprecation(crd: &Value, version: &Value) -> Option<String> {
    if !flag(version, "/deprecated") {
        return None;
    }
    if let Some(given) = version.get("deprecationWarning").and_then(Value::as_str) {
        return Some(given.to_owned());
    }
    let (group, kind, name) =
        (text(crd, "/spec/group"), text(crd, "/spec/names/kind"), text(version, "/name"));
    let better = list(crd, "/spec/versions")
        .iter()
        .filter(|other| flag(other, "/served") && !flag(other, "/deprecated"))
        .map(|other| text(other, "/name"))
        .filter(|other| compare(other, name) == Ordering::Greater)
        .max_by(|one, other| compare(one, other));
    let warning = format!("{group}/{name} {kind} is deprecated");
    Some(match better {
        Some(better) => format!("{warning}; use {group}/{better} {kind}"),
        None => warning,
    })
}

/// `v2` is newer than `v1`, that than `v1beta2`, that than `v1alpha9`; anything else is older and compares
/// by its letters, the first being the newest.
pub(super) fn compare(one: &str, other: &str) -> Ordering {
    match (parsed(one), parsed(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => other.cmp(one),
    }
}

fn parsed(name: &str) -> Option<(u8, u64, u64)> {
    let rest = name.strip_prefix('v')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let major: u64 = rest[..digits].parse().ok()?;
    let rest = &rest[digits..];
    let (stage, minor) = match (rest.strip_prefix("alpha"), rest.strip_prefix("beta")) {
        (Some(minor), _) => (0, minor.parse().ok()?),
        (None, Some(minor)) => (1, minor.parse().ok()?),
        (None, None) => (2, rest.is_empty().then_some(0)?),
    };
    Some((stage, major, minor))
}
