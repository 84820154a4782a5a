//! The gateway as controllers see it: a table that it follows, and how busy a backend is.

use std::net::SocketAddr;
use std::sync::Arc;

mod fake;
mod live;
#[cfg(test)]
mod tests;

pub use fake::Fake;
pub use gateway::{Certificate, Doors, Route, Table};
pub use live::Live;

/// The gateway.
pub trait Traffic: Send + Sync + 'static {
    /// Follows another table from now on. A backend that is not in it gets no new request once this returns.
    fn follow(&self, table: Arc<Table>);

    /// The table that is followed now.
    fn followed(&self) -> Arc<Table>;

    /// Requests that a backend is serving, also after it left the table.
    fn in_flight(&self, address: SocketAddr) -> usize;
}

impl<T: Traffic> Traffic for Arc<T> {
    fn follow(&self, table: Arc<Table>) {
        (**self).follow(table);
    }

    fn followed(&self) -> Arc<Table> {
        (**self).followed()
    }

    fn in_flight(&self, address: SocketAddr) -> usize {
        (**self).in_flight(address)
    }
}
