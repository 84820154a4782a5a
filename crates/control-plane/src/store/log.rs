//! The log on disk.

use std::sync::Arc;

use parking_lot::RwLock;

use super::Event;
use super::state::State;

pub(super) struct Log;

impl Log {
    pub(super) fn append(&mut self, _events: &[Arc<Event>]) -> Result<(), String> {
        Ok(())
    }
    pub(super) fn tidy(&mut self, _state: &RwLock<State>) {}
}
