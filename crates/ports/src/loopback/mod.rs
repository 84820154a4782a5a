//! Ports of this machine that nobody uses.

mod fake;
mod live;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

pub use fake::Fake;
pub use live::Live;

/// The ports that pods are given: below those that the kernel lends to outgoing connections (from 32768) and those of
/// Services of type `NodePort` (from 30000), so that a pod that starts again finds its port free.
pub const RANGE: std::ops::Range<u16> = 20_000..30_000;

/// Finds free ports.
pub trait Loopback: Send + Sync + 'static {
    /// A port on 127.0.0.1 that nobody listens on, that is not in `taken`, and that was not given to anybody else just
    /// now. The search begins where `place` says.
    fn free(&self, taken: &BTreeSet<u16>, place: u64) -> Option<u16>;
}

/// All ports, each once, beginning where `place` says.
fn candidates(place: u64) -> impl Iterator<Item = u16> {
    let count = u64::from(RANGE.end - RANGE.start);
    let first = u16::try_from(place % count).unwrap_or_default();
    (RANGE.start + first..RANGE.end).chain(RANGE.start..RANGE.start + first)
}
