//! Clock, dice and bells: what a test must hold in its hand.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::broadcast;

use crate::address::Name;

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    /// The time.
    fn now(&self) -> Timestamp;
}

/// The clock on the wall.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wall;

impl Clock for Wall {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// Random numbers.
#[derive(Clone)]
pub struct Dice(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Dice {
    /// Fair ones.
    pub fn fair() -> Self {
        Self(Arc::new(rand::random))
    }

    /// Those that a test brings.
    pub fn loaded(roll: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(roll))
    }

    /// A number; any is as likely as any other.
    pub fn roll(&self) -> u64 {
        (self.0)()
    }
}

/// Wakes objects when something outside the cluster changes.
#[derive(Clone, Debug)]
pub struct Bell(broadcast::Sender<Name>);

/// How many wake-ups may wait. A listener that falls behind further looks at everything once.
const WAITING: usize = 4096;

impl Default for Bell {
    fn default() -> Self {
        Self(broadcast::channel(WAITING).0)
    }
}

impl Bell {
    /// Wakes one object. Nobody listening is fine.
    pub fn ring(&self, name: Name) {
        let _ = self.0.send(name);
    }

    /// Hears every ring from now on.
    pub fn listen(&self) -> broadcast::Receiver<Name> {
        self.0.subscribe()
    }
}
