//! One write, as watchers see it.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::Stored;

/// What an event costs beside its object: itself, its places in two queues and the head of its line.
const EVENT_OVERHEAD: usize = 256;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Happening {
    Added,
    Modified,
    Deleted,
}

impl Happening {
    /// The word in a watch event.
    pub fn word(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// One write, as watchers see it.
#[derive(Debug)]
pub struct Event {
    /// The write's place in the order of all writes.
    pub revision: u64,
    /// What happened.
    pub happening: Happening,
    /// The object after the write; of a deletion, its last state at the deletion's revision.
    pub object: Arc<Stored>,
    /// The object before the write.
    pub previous: Option<Arc<Stored>>,
    line: OnceLock<Bytes>,
}

impl Event {
    pub(super) fn new(happening: Happening, object: Arc<Stored>, previous: Option<Arc<Stored>>) -> Self {
        Self { revision: object.revision, happening, object, previous, line: OnceLock::new() }
    }

    /// `{"type":"MODIFIED","object":…}` and a line feed, built once for all watchers.
    pub fn line(&self) -> Bytes {
        let word = self.happening.word().as_bytes();
        let build = || [b"{\"type\":\"", word, b"\",\"object\":", &self.object.json, b"}\n"].concat().into();
        self.line.get_or_init(build).clone()
    }

    /// Bytes of memory it may come to hold.
    pub(super) fn cost(&self) -> usize {
        // The line is a second copy of the object.
        2 * self.object.json.len() + EVENT_OVERHEAD
    }
}
