//! Forwarding that only remembers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Forward, Forwarding};

/// Forwarding in memory. Cheap to clone; clones share what they hold.
#[derive(Clone, Debug, Default)]
pub struct Fake {
    held: Arc<Mutex<BTreeMap<SocketAddr, Forwarding>>>,
    trouble: Arc<Mutex<BTreeMap<SocketAddr, String>>>,
}

impl Fake {
    /// Makes an address one that cannot be listened on.
    pub fn refuse(&self, listen: SocketAddr, why: &str) {
        self.trouble.lock().insert(listen, why.to_owned());
    }
}

impl Forward for Fake {
    async fn set(&self, listen: SocketAddr, backends: Vec<SocketAddr>) {
        let trouble = self.trouble.lock().get(&listen).cloned();
        self.held.lock().insert(listen, Forwarding { backends, trouble });
    }

    async fn remove(&self, listen: SocketAddr) {
        self.held.lock().remove(&listen);
    }

    fn held(&self) -> BTreeMap<SocketAddr, Forwarding> {
        self.held.lock().clone()
    }
}
