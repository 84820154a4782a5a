//! A gateway without sockets.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::{Table, Traffic};

/// A gateway that serves nobody: it remembers its table, and is as busy as a test says.
#[derive(Debug, Default)]
pub struct Fake {
    followed: watch::Sender<(usize, Arc<Table>)>,
    in_flight: Mutex<HashMap<SocketAddr, usize>>,
}

impl Fake {
    /// Says how many requests a backend is serving.
    pub fn serve(&self, address: SocketAddr, requests: usize) {
        self.in_flight.lock().insert(address, requests);
    }

    /// How many tables it was told to follow.
    pub fn told(&self) -> usize {
        self.followed.borrow().0
    }

    /// Waits until it follows a table such as this.
    pub async fn until(&self, mut wanted: impl FnMut(&Table) -> bool) -> Arc<Table> {
        let mut tables = self.followed.subscribe();
        // The sender lives as long as we do, so waiting cannot fail.
        let found = tables.wait_for(|(_, table)| wanted(table)).await.map(|found| found.1.clone());
        found.unwrap_or_default()
    }
}

impl Traffic for Fake {
    fn follow(&self, table: Arc<Table>) {
        self.followed.send_modify(|(told, followed)| {
            *told += 1;
            *followed = table;
        });
    }

    fn followed(&self) -> Arc<Table> {
        self.followed.borrow().1.clone()
    }

    fn in_flight(&self, address: SocketAddr) -> usize {
        self.in_flight.lock().get(&address).copied().unwrap_or_default()
    }
}
