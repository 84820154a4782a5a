//! One address that answers requests: how busy it is, and the idle connections to it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::line::Line;

/// Idle connections kept per backend: as many as a busy application uses at a time on one machine.
const MAX_IDLE: usize = 256;
/// How long an idle connection is kept. Longer than the pause between two clicks, shorter than most backends' patience.
const IDLE_LIFETIME: Duration = Duration::from_secs(30);
/// How long a backend that refused a connection is asked last.
const SOUR_FOR_MS: u64 = 1_000;

/// A backend of one or more routes.
#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) address: SocketAddr,
    born: Instant,
    in_flight: AtomicUsize,
    /// Left the table: gets no new request.
    retired: AtomicBool,
    /// Until when, in milliseconds since `born`, others are preferred.
    sour_until: AtomicU64,
    idle: Mutex<Vec<Line>>,
}

impl Backend {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            born: Instant::now(),
            in_flight: AtomicUsize::new(0),
            retired: AtomicBool::new(false),
            sour_until: AtomicU64::new(0),
            idle: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::SeqCst)
    }

    /// Back in the table.
    pub(crate) fn welcome(&self) {
        self.retired.store(false, Ordering::SeqCst);
    }

    /// Out of the table: the flag first, so that a connection given back later is dropped too.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::SeqCst);
        self.idle.lock().clear();
    }

    /// Out of the table, and nothing left to count.
    pub(crate) fn is_forgotten(&self) -> bool {
        self.retired.load(Ordering::SeqCst) && self.in_flight() == 0
    }

    pub(crate) fn soured(&self) {
        let now = u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.sour_until.store(now.saturating_add(SOUR_FOR_MS), Ordering::Relaxed);
    }

    fn is_sour(&self) -> bool {
        let until = self.sour_until.load(Ordering::Relaxed);
        until != 0 && self.born.elapsed().as_millis() < u128::from(until)
    }

    /// The connection used last, which is the most likely to live.
    pub(crate) fn idle_line(&self) -> Option<Line> {
        self.idle.lock().pop()
    }

    /// Takes a connection back that can serve another request.
    pub(crate) fn keep(&self, line: Line) {
        let mut idle = self.idle.lock();
        if !self.retired.load(Ordering::SeqCst) && idle.len() < MAX_IDLE {
            idle.push(line);
        }
    }

    /// Drops connections that are old or that the backend has closed.
    pub(crate) fn sweep(&self, now: Instant) {
        let mut idle = self.idle.lock();
        idle.retain_mut(|line| now.duration_since(line.idle_since) < IDLE_LIFETIME && line.is_alive());
    }
}

/// The right to send one request to a backend, counted as long as it is held.
#[derive(Debug)]
pub(crate) struct Ticket(pub(crate) Arc<Backend>);

impl Ticket {
    /// None when the backend has left the table. Counted first, looked second: whoever retires a backend and then sees
    /// no request in flight can be sure that none will come.
    pub(crate) fn take(backend: &Arc<Backend>) -> Option<Self> {
        backend.in_flight.fetch_add(1, Ordering::SeqCst);
        let ticket = Self(Arc::clone(backend));
        (!backend.retired.load(Ordering::SeqCst)).then_some(ticket)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The backend to ask: not tried yet, not sour if that can be helped, with the fewest requests, and of equals the next
/// in turn.
pub(crate) fn choose<'a>(
    backends: &'a [Arc<Backend>],
    turn: usize,
    tried: &[SocketAddr],
) -> Option<&'a Arc<Backend>> {
    let count = backends.len();
    let in_turn = (0..count).map(|step| &backends[turn.wrapping_add(step) % count]);
    in_turn
        .filter(|backend| !tried.contains(&backend.address))
        .min_by_key(|backend| (backend.is_sour(), backend.in_flight()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend(port: u16) -> Arc<Backend> {
        Arc::new(Backend::new(SocketAddr::from(([127, 0, 0, 1], port))))
    }

    fn chosen(backends: &[Arc<Backend>], turn: usize, tried: &[SocketAddr]) -> Option<u16> {
        choose(backends, turn, tried).map(|backend| backend.address.port())
    }

    #[test]
    fn the_least_busy_is_asked_and_equals_in_turn() {
        let all = [backend(1), backend(2), backend(3)];
        assert_eq!((0..4).filter_map(|turn| chosen(&all, turn, &[])).collect::<Vec<_>>(), [1, 2, 3, 1]);
        let busy = Ticket::take(&all[0]).expect("in the table");
        assert_eq!(chosen(&all, 0, &[]), Some(2));
        assert_eq!(chosen(&all, 0, &[all[1].address]), Some(3));
        assert_eq!(chosen(&all, 0, &[all[1].address, all[2].address]), Some(1));
        drop(busy);
        assert_eq!(chosen(&all, 0, &[]), Some(1));
        all[0].soured();
        assert_eq!(chosen(&all, 0, &[]), Some(2));
        assert_eq!(chosen(&all[..1], 0, &[]), Some(1));
        assert_eq!(chosen(&[], 0, &[]), None);
    }

    #[test]
    fn a_backend_that_left_gives_no_ticket() {
        let backend = backend(1);
        let held = Ticket::take(&backend).expect("in the table");
        backend.retire();
        assert!(Ticket::take(&backend).is_none());
        assert_eq!(backend.in_flight(), 1);
        drop(held);
        assert_eq!(backend.in_flight(), 0);
        backend.welcome();
        assert!(Ticket::take(&backend).is_some());
    }
}
