//! The parent of one process group: it sets its limits, keeps its log, and writes down how it ended.
//!
//! A shim reads one [`Order`] from its standard input, starts the program that the order names, and stays until
//! that program and everything it started are gone. What happens stands in a [`Record`], a small file that is
//! always whole. The shim outlives the platform that started it, so the platform can be killed and find every
//! program again.

mod bounds;
mod cgroup;
mod expose;
pub mod grace;
mod last_line;
mod launch;
mod log;
mod order;
pub mod process;
mod record;
mod run;
#[cfg(test)]
mod tests;
pub mod tree;

pub use log::kept;
pub use order::{Limits, Order, STARTED};
pub use record::{Cause, End, Record, now_ms};
pub use run::run;
