//! The ports of this machine.

use std::collections::{BTreeSet, VecDeque};
use std::net::{Ipv4Addr, TcpListener};

use parking_lot::Mutex;

use super::{Loopback, candidates};

/// How many ports that were given are remembered: whoever got one may not listen on it yet.
const REMEMBERED: usize = 1024;

/// Ports that nobody listens on right now.
#[derive(Debug, Default)]
pub struct Live {
    given: Mutex<VecDeque<u16>>,
}

impl Loopback for Live {
    fn free(&self, taken: &BTreeSet<u16>, place: u64) -> Option<u16> {
        let mut given = self.given.lock();
        let unused = |port: &u16| {
            !taken.contains(port)
                && !given.contains(port)
                && TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok()
        };
        let port = candidates(place).find(unused)?;
        given.push_back(port);
        if given.len() > REMEMBERED {
            given.pop_front();
        }
        Some(port)
    }
}
