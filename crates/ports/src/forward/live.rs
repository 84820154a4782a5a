//! Forwarding through sockets.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use gateway::forward::Forwarder;
use parking_lot::Mutex;

use super::{Forward, Forwarding};

/// Forwarding through sockets of this machine.
#[derive(Debug, Default)]
pub struct Live {
    forwarder: Forwarder,
    held: Mutex<BTreeMap<SocketAddr, Forwarding>>,
}

impl Forward for Live {
    async fn set(&self, listen: SocketAddr, backends: Vec<SocketAddr>) {
        let trouble = self.forwarder.set(listen, backends.clone()).err().map(|error| match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                format!("{listen} cannot be listened on without root; choose a port from 1024 up")
            }
            _ => format!("{listen} cannot be listened on: {error}"),
        });
        self.held.lock().insert(listen, Forwarding { backends, trouble });
    }

    async fn remove(&self, listen: SocketAddr) {
        self.forwarder.remove(listen);
        self.held.lock().remove(&listen);
    }

    fn held(&self) -> BTreeMap<SocketAddr, Forwarding> {
        self.held.lock().clone()
    }
}
