//! What the room of pods remembers because nobody can observe it. A restart of the platform may forget all of it.

use std::collections::{BTreeSet, HashMap};

use jiff::{SignedDuration, Timestamp};
use kit::Name;
use parking_lot::Mutex;
use ports::process::End;

/// A run that lasted so long was no failure: the count begins again (kubelet: twice the longest back-off).
const LONG_ENOUGH: SignedDuration = SignedDuration::from_mins(10);
/// Length of a uid, with which the name of every run begins.
pub(super) const UID: usize = 36;

/// How often it is looked for pods that went without a word, as one that is deleted by force does.
const ROUND: SignedDuration = SignedDuration::from_secs(60);

/// What the room remembers.
#[derive(Debug, Default)]
pub(super) struct Memory {
    held: Mutex<HashMap<String, Held>>,
    looked: Mutex<Option<Timestamp>>,
}

#[derive(Debug, Default)]
struct Held {
    name: Name,
    /// The last attempt of each container that ended, and how many ended in a row.
    ends: HashMap<String, (i32, u32)>,
    /// Since when no slice sends anybody to the pod.
    quiet: Option<Timestamp>,
}

impl Memory {
    /// Learns the name of a pod, by which it is woken.
    pub(super) fn meet(&self, uid: &str, name: Name) {
        self.held.lock().entry(uid.to_owned()).or_default().name = name;
    }

    /// Forgets a pod.
    pub(super) fn forget(&self, uid: &str) {
        self.held.lock().remove(uid);
    }

    /// Whether it is time to look for pods that went without a word.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        let mut looked = self.looked.lock();
        let since = now.duration_since(*looked.get_or_insert(now));
        if since >= ROUND {
            *looked = Some(now);
        }
        since >= ROUND
    }

    /// Forgets all pods but these.
    pub(super) fn keep(&self, uids: &BTreeSet<String>) {
        self.held.lock().retain(|uid, _| uids.contains(uid));
    }

    /// The pod that a run belongs to.
    pub(super) fn pod_of(&self, run: &str) -> Option<Name> {
        let uid = run.get(..UID)?;
        self.held.lock().get(uid).map(|held| held.name.clone())
    }

    /// All pods.
    pub(super) fn pods(&self) -> Vec<Name> {
        self.held.lock().values().map(|held| held.name.clone()).collect()
    }

    /// Counts the end of an attempt, once, and says how many came in a row.
    pub(super) fn ended(&self, uid: &str, container: &str, attempt: i32, end: &End) -> u32 {
        let mut held = self.held.lock();
        let ends = &mut held.entry(uid.to_owned()).or_default().ends;
        let (last, count) = ends.get(container).copied().unwrap_or((-1, 0));
        if last == attempt {
            return count;
        }
        let count = if end.at.duration_since(end.since) >= LONG_ENOUGH { 1 } else { count + 1 };
        ends.insert(container.to_owned(), (attempt, count));
        count
    }

    /// Since when no slice sends anybody to a pod: from now on, unless it was known before.
    pub(super) fn quiet_since(&self, uid: &str, now: Timestamp) -> Timestamp {
        *self.held.lock().entry(uid.to_owned()).or_default().quiet.get_or_insert(now)
    }
}
