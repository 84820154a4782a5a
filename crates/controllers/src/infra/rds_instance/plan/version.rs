//! Versions of database systems: numbers and words between dots, as precise as whoever wrote them wanted.

use std::cmp::Ordering;

/// Engines whose major version has one number; all others have two.
const ONE_NUMBER: [&str; 2] = ["postgres", "aurora-postgresql"];
/// The first version of PostgreSQL whose major version has one number.
const POSTGRES_TEN: u32 = 10;

/// Whether a version is what was asked for: `15` is met by `15.4`, and `15.4` is not met by `15.40`.
pub(super) fn meets(wanted: &str, live: &str) -> bool {
    let mut live = live.split('.');
    wanted.split('.').all(|part| live.next() == Some(part))
}

/// Whether a version is older than another. Where they differ in words nobody can know.
pub(super) fn older(wanted: &str, live: &str) -> bool {
    for (wanted, live) in wanted.split('.').zip(live.split('.')) {
        if wanted == live {
            continue;
        }
        let (Ok(wanted), Ok(live)) = (wanted.parse::<u64>(), live.parse::<u64>()) else { return false };
        return wanted.cmp(&live) == Ordering::Less;
    }
    false
}

/// Whether two versions of an engine have another major version.
pub(super) fn other_major(engine: &str, one: &str, other: &str) -> bool {
    let first = |version: &str| version.split('.').next().and_then(|part| part.parse::<u32>().ok());
    let new = |version: &str| first(version).is_some_and(|first| first >= POSTGRES_TEN);
    let numbers = if ONE_NUMBER.contains(&engine) && (new(one) || new(other)) { 1 } else { 2 };
    // What one of them leaves out is not otherwise.
    one.split('.').zip(other.split('.')).take(numbers).any(|(one, other)| one != other)
}
