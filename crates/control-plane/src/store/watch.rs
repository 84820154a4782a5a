//! Watchers: cursors into the history, with no buffer of their own.

use std::sync::Arc;

use parking_lot::RwLock;
use tokio::sync::watch;

use super::state::State;
use super::{Compacted, Event};

/// Follows the writes to one storage, or to all.
pub struct Watcher {
    state: Arc<RwLock<State>>,
    storage: Option<Arc<str>>,
    position: u64,
    bell: watch::Receiver<u64>,
}

impl Watcher {
    pub(super) fn new(
        state: &Arc<RwLock<State>>,
        storage: Option<&str>,
        after: u64,
    ) -> Result<Self, Compacted> {
        let bell = state.write().watch(storage, after)?;
        Ok(Self { state: state.clone(), storage: storage.map(Into::into), position: after, bell })
    }

    /// The next event, once there is one. Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Result<Arc<Event>, Compacted> {
        loop {
            // Seen before the look, so that a write behind the look rings again.
            self.bell.borrow_and_update();
            if let Some(event) = self.try_next()? {
                return Ok(event);
            }
            if self.bell.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// The next event, if there is one already.
    pub fn try_next(&mut self) -> Result<Option<Arc<Event>>, Compacted> {
        let state = self.state.read();
        let found = state.next(self.storage.as_deref(), self.position)?;
        self.position = match &found {
            Some(event) => event.revision,
            None => self.position.max(state.revision()),
        };
        Ok(found)
    }

    /// Every event up to this revision has been returned.
    pub fn position(&self) -> u64 {
        self.position
    }
}
