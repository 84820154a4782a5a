//! Connections that are passed on: the addresses of Services.

mod fake;
mod live;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;

pub use fake::Fake;
pub use live::Live;

/// One address that is listened on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forwarding {
    /// Where its connections go, in turn.
    pub backends: Vec<SocketAddr>,
    /// Why it is not listened on, if it cannot be.
    pub trouble: Option<String>,
}

/// Passes TCP connections on.
pub trait Forward: Send + Sync + 'static {
    /// Listens on an address and passes each connection on to one of the backends. An address that cannot be listened
    /// on is held with its trouble, because nobody is helped by trying it again at once.
    fn set(&self, listen: SocketAddr, backends: Vec<SocketAddr>) -> impl Future<Output = ()> + Send;

    /// Listens no longer. Connections that are open stay so.
    fn remove(&self, listen: SocketAddr) -> impl Future<Output = ()> + Send;

    /// All addresses that were set, and how they stand.
    fn held(&self) -> BTreeMap<SocketAddr, Forwarding>;
}
