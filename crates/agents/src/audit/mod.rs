//! The audit trail: one record for every call, in one file that only grows, each record carrying the hash of the one
//! before it. A second, small file says how far it had come: without it nobody could tell a trail whose end is missing
//! from a shorter one.

mod chain;
mod record;
#[cfg(test)]
mod tests;
mod trail;
mod verify;

pub use chain::{FIRST, Head, LINE_MAX, Link, head_beside};
pub use record::{Outcome, Record, digest, plain};
pub use trail::Trail;
pub use verify::{Finding, Found, Verified, verify};

/// Bytes as lower-case digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
