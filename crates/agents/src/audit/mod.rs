//! The audit trail: one record for every call, in one file that only grows, each record carrying the hash of the one
//! before it.

mod record;
mod trail;

pub use record::{Outcome, Record, digest};
pub use trail::Trail;

/// Bytes as lower-case digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
