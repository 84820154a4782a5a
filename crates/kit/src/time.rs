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
pub struct Bell(broadcast::Sender<Option<Name>>);

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
        let _ = self.0.send(Some(name));
    }

    /// Wakes every object of the room.
    pub fn ring_all(&self) {
        let _ = self.0.send(None);
    }

    /// Hears every ring from now on; one without a name is for all.
    pub fn listen(&self) -> broadcast::Receiver<Option<Name>> {
        self.0.subscribe()
    }
}
