//! The gateway itself.

use std::net::SocketAddr;
use std::sync::Arc;

use gateway::Gateway;
use parking_lot::Mutex;

use super::{Table, Traffic};

/// The gateway of this process, with the table that it was last given.
#[derive(Debug)]
pub struct Live {
    gateway: Gateway,
    followed: Mutex<Arc<Table>>,
}

impl Live {
    /// A gateway whose table is empty, and that nobody else gives tables to.
    pub fn new(gateway: Gateway) -> Self {
        Self { gateway, followed: Mutex::default() }
    }
}

impl Traffic for Live {
    fn follow(&self, table: Arc<Table>) {
        let mut followed = self.followed.lock();
        self.gateway.follow((*table).clone());
        *followed = table;
    }

    fn followed(&self) -> Arc<Table> {
        self.followed.lock().clone()
    }

    fn in_flight(&self, address: SocketAddr) -> usize {
        self.gateway.in_flight(address)
    }
}
