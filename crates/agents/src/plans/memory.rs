//! The plans that were made, for whoever made them: few, for a while, and in memory only.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{Planned, Wish, hash};

/// How long a plan is kept. Older ones would hardly fit what there is.
pub(super) const LIFETIME: Duration = Duration::from_secs(30 * 60);
/// Most plans of one token.
pub(super) const OWN_MAX: usize = 64;
/// Most plans of all tokens.
pub(super) const ALL_MAX: usize = 1024;
/// Most bytes that the manifests of one token's plans have.
pub(super) const OWN_BYTES: usize = 8 * 1024 * 1024;
/// Most bytes that the manifests of all plans have.
const ALL_BYTES: usize = 64 * 1024 * 1024;

/// Whose plan it is, where, and which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The fingerprint of the token that made it.
    pub owner: String,
    /// The session's namespace.
    pub namespace: String,
    /// Its hash.
    pub hash: String,
}

/// A plan that was made.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    /// What was wished.
    pub wish: Wish,
    /// The objects, each with the hash of what would have become of it.
    pub facts: Vec<(String, String)>,
    /// Whether it was carried out.
    pub done: bool,
}

impl Remembered {
    /// A plan that was just made.
    pub(super) fn new(wish: Wish, planned: &[Planned]) -> Self {
        let facts = planned.iter().map(|planned| (planned.object.clone(), hash::object(planned))).collect();
        Self { wish, facts, done: false }
    }
}

struct Entry {
    key: Key,
    plan: Remembered,
    bytes: usize,
    made: Instant,
}

/// All plans that are kept, the oldest first.
#[derive(Default)]
pub(crate) struct Memory(Mutex<VecDeque<Entry>>);

impl Memory {
    /// Keeps a plan. The oldest of the same token make room for it, then the oldest of all.
    pub(super) fn keep(&self, key: Key, plan: Remembered, now: Instant) {
        let bytes = plan.wish.manifests.iter().map(|manifest| manifest.to_string().len()).sum();
        let mut entries = self.0.lock();
        entries.retain(|entry| entry.key != key && now.duration_since(entry.made) < LIFETIME);
        let owner = key.owner.clone();
        entries.push_back(Entry { key, plan, bytes, made: now });
        shrink(&mut entries, |entry| entry.key.owner == owner, OWN_MAX, OWN_BYTES);
        shrink(&mut entries, |_| true, ALL_MAX, ALL_BYTES);
    }

    /// A plan that was made, unless it is too old.
    pub(super) fn find(&self, key: &Key, now: Instant) -> Option<Remembered> {
        let entries = self.0.lock();
        let found = entries.iter().find(|entry| entry.key == *key)?;
        (now.duration_since(found.made) < LIFETIME).then(|| found.plan.clone())
    }

    /// Notes that a plan was carried out.
    pub(super) fn done(&self, key: &Key) {
        if let Some(found) = self.0.lock().iter_mut().find(|entry| entry.key == *key) {
            found.plan.done = true;
        }
    }
}

/// Drops the oldest of some entries until the others are few and small enough.
fn shrink(entries: &mut VecDeque<Entry>, which: impl Fn(&Entry) -> bool, count: usize, bytes: usize) {
    let mut sum: usize = entries.iter().filter(|entry| which(entry)).map(|entry| entry.bytes).sum();
    let mut left = entries.iter().filter(|entry| which(entry)).count();
    while left > count || (sum > bytes && left > 1) {
        let Some(oldest) = entries.iter().position(&which) else { return };
        if let Some(dropped) = entries.remove(oldest) {
            sum -= dropped.bytes;
            left -= 1;
        }
    }
}
