//! The loop that every kind shares: observe, plan, act, report.
//!
//! A kind brings a [`Room`]: how to observe its world, a pure plan, and how to act outside. The kit brings everything
//! else: finalizers, owners, writing only what differs, pruning, status, events, retries, order, caches and metrics.

mod address;
mod caches;
mod census;
mod change;
mod draft;
mod events;
mod fault;
mod house;
mod lanes;
mod metrics;
mod plan;
mod queue;
mod reader;
mod room;
mod run;
mod shelf;
#[cfg(feature = "testing")]
pub mod testing;
mod time;
mod tools;

pub use address::{Address, Name, Object};
pub use caches::Caches;
pub use change::{Change, Changes, says};
pub use draft::{Draft, Drafted, Verb};
pub use fault::{Fault, Retry};
pub use house::{AnyRoom, Floor, House, entered};
pub use lanes::{ALL_PASSES, Lanes, Place};
pub use metrics::{Metrics, RoomMetrics};
pub use plan::{Child, Do, Next, Plan, Receipt, Refusal};
pub use reader::Reader;
pub use room::{Index, Relation, Room};
pub use run::{Outcome, reconcile};
pub use time::{Bell, Clock, Dice, Wall};
pub use tools::{MANAGER, Tools};
