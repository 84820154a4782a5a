//! The only IO on disk: one totally ordered log of writes, the current state in memory, and watchers.
//!
//! A request reads, computes, and sends a [`Write`] that names the revision it saw. One committer thread
//! drains the queue, checks what each write expects, gives out consecutive revisions, appends the whole
//! batch to the log with one write and one sync, and only then makes it visible, wakes the watchers and
//! answers. So nobody ever sees what a crash could take back.

mod committer;
mod directory;
mod error;
mod event;
mod format;
mod list;
mod log;
mod object;
mod recover;
mod state;
mod watch;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Mutex, RwLock};
use tokio::sync::{Semaphore, oneshot};

use committer::{Job, Queue};
use log::Wrap;
use state::State;

pub use error::{CommitError, Compacted, OpenError};
pub use event::{Event, Happening};
pub use list::{Page, Query};
pub use object::{Draft, Facts, Key, Owner, Stored};
pub use watch::Watcher;

/// Writes that may wait at once: enough to fill batches, few enough to bound memory.
const QUEUE: usize = 1024;

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it lies; `None` keeps it in memory only.
    pub dir: Option<PathBuf>,
    /// Events kept for watches and exact lists; their bytes are bounded too.
    pub history: usize,
    /// Bytes of log that trigger a snapshot.
    pub log_limit: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { dir: None, history: 20_000, log_limit: 32 << 20 }
    }
}

/// What a write does.
#[derive(Clone, Debug)]
pub enum Change {
    /// Creates or replaces the object.
    Put(Draft),
    /// Removes it; the draft is its last state, which watchers are shown.
    Delete(Draft),
}

/// What must hold for a write to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// There is no such object.
    Absent,
    /// The object is at this revision.
    Revision(u64),
}

/// One change of one object.
#[derive(Clone, Debug)]
pub struct Write {
    /// The object.
    pub key: Key,
    /// What must hold.
    pub expect: Expect,
    /// What is done.
    pub change: Change,
}

/// All objects, their recent past, and the way to change them. Clones share one store.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    state: Arc<RwLock<State>>,
    queue: Arc<Queue>,
    places: Semaphore,
    committer: Mutex<Option<JoinHandle<()>>>,
}

impl Store {
    /// Opens or creates a store. Refuses one that is in use, damaged, or written by a newer release.
    pub fn open(options: Options) -> Result<Self, OpenError> {
        Self::open_on(options, Arc::new(|file| Box::new(file)))
    }

    /// The same on a medium of the caller's choice.
    fn open_on(options: Options, wrap: Wrap) -> Result<Self, OpenError> {
        let Options { dir, history, log_limit } = options;
        let mut state = State::new(history);
        let log = dir.as_ref().map(|dir| recover::open(dir, log_limit, wrap, &mut state)).transpose()?;
        let state = Arc::new(RwLock::new(state));
        let queue = Arc::new(Queue::default());
        let run = {
            let (state, queue) = (state.clone(), queue.clone());
            move || committer::run(&queue, &state, log)
        };
        let committer = std::thread::Builder::new()
            .name("store".into())
            .spawn(run)
            .map_err(OpenError::io("start the committer of", &dir.unwrap_or_default()))?;
        let committer = Mutex::new(Some(committer));
        Ok(Self { inner: Arc::new(Inner { state, queue, places: Semaphore::new(QUEUE), committer }) })
    }

    /// Carries out one write. Resolves when it is durable and visible; a write whose future is dropped
    /// may still happen.
    pub async fn commit(&self, write: Write) -> Result<Arc<Stored>, CommitError> {
        let closed = || CommitError::Stopped("it is closed".into());
        let _place = self.inner.places.acquire().await.map_err(|_| closed())?;
        let (answer, outcome) = oneshot::channel();
        self.inner.queue.push(Job { write, answer }).map_err(|_| closed())?;
        outcome.await.unwrap_or_else(|_| Err(CommitError::Stopped("its committer has ended".into())))
    }

    /// One object.
    pub fn get(&self, key: &Key) -> Option<Arc<Stored>> {
        self.inner.state.read().get(key).cloned()
    }

    /// The newest visible revision.
    pub fn revision(&self) -> u64 {
        self.inner.state.read().revision()
    }

    /// The objects of a query that `keep` wants, in the order of namespace and name. Refuses an exact
    /// revision that the history does not cover, be it too old or yet to come.
    pub fn list(&self, query: &Query<'_>, keep: &mut dyn FnMut(&Stored) -> bool) -> Result<Page, Compacted> {
        let selection = self.inner.state.read().select(query)?;
        Ok(selection.page(query, keep))
    }

    /// How many objects lie in a storage, or in one namespace of it.
    pub fn count(&self, storage: &str, namespace: Option<&str>) -> usize {
        self.inner.state.read().count(storage, namespace)
    }

    /// Every storage that holds objects, with their number.
    pub fn storages(&self) -> Vec<(Arc<str>, usize)> {
        self.inner.state.read().storages()
    }

    /// Follows the writes behind a revision: of one storage, or of all. The revision may lie in the future.
    pub fn watch(&self, storage: Option<&str>, after: u64) -> Result<Watcher, Compacted> {
        Watcher::new(&self.inner.state, storage, after)
    }

    /// Forgets the history up to a revision. The store does so by itself when its bounds are reached.
    pub fn compact(&self, upto: u64) {
        self.inner.state.write().compact(upto);
    }

    /// Carries out what is queued, then takes no more writes and lets go of the directory. Reading goes on.
    pub fn close(&self) {
        self.inner.close();
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("revision", &self.revision()).finish_non_exhaustive()
    }
}

impl Inner {
    fn close(&self) {
        self.places.close();
        self.queue.close();
        // Held while waiting, so that whoever closes second also finds it closed.
        let mut committer = self.committer.lock();
        if let Some(Err(_)) = committer.take().map(JoinHandle::join) {
            tracing::error!("the committer of the store ended in a panic");
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}
