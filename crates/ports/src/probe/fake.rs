//! Answers that a test gives.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{Check, Prober};

/// Gives the same answer to every question, until a test gives another.
#[derive(Clone, Debug)]
pub struct Fake(Arc<Mutex<Result<(), String>>>);

impl Default for Fake {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Ok(()))))
    }
}

impl Fake {
    /// Gives this answer from now on.
    pub fn answer(&self, answer: Result<(), &str>) {
        *self.0.lock() = answer.map_err(str::to_owned);
    }
}

impl Prober for Fake {
    async fn ask(&self, _: &Check, _: Duration) -> Result<(), String> {
        self.0.lock().clone()
    }
}
