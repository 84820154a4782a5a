//! What a store can answer instead.

use std::path::PathBuf;

/// Why a write was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// The object was expected to be absent.
    #[error("the object exists already")]
    Exists,
    /// The object was expected to be there.
    #[error("the object does not exist")]
    Missing,
    /// The object was expected at another revision.
    #[error("the object was changed: it is at revision {now}")]
    Changed {
        /// Where it is now.
        now: u64,
    },
    /// The disk failed or the store is closed; the write is not visible.
    #[error("the store takes no writes: {0}")]
    Stopped(String),
}

/// The revision asked for is not, or no longer, covered by the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the history covers revisions {oldest} to {current}")]
pub struct Compacted {
    /// The oldest revision that can still be listed or watched from.
    pub oldest: u64,
    /// The newest visible revision.
    pub current: u64,
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The disk refused something.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// What was tried: `read`, `create`, …
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Somebody else has it open.
    #[error("{} is in use by {holder}; stop that process or choose another directory", dir.display())]
    Locked {
        /// The store's directory.
        dir: PathBuf,
        /// `process 42, started 2026-01-01T12:00:00Z`.
        holder: String,
    },
    /// A newer release wrote it.
    #[error(
        "{} has format version {found}, newer than version {known}, the newest known here; \
         open it with the release that wrote it", path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
    /// A release wrote it whose format is not read any more.
    #[error(
        "{} has format version {found}, older than version {oldest}, the oldest read here; \
         open it once with a release in between", path.display()
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The oldest version read here.
        oldest: u32,
    },
    /// Acknowledged writes are missing or unreadable.
    #[error("{} is damaged at byte {offset} (revision {expected} expected): {what}; {advice}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// The revision that should stand there.
        expected: u64,
        /// What is wrong.
        what: String,
        /// What to do.
        advice: String,
    },
}

impl OpenError {
    /// For `map_err`: names what was tried with which file.
    pub(super) fn io(what: &'static str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { what, path, source }
    }
}
