//! Open connections of clients: how many there are, which of them idle or stall, and how they are told to end.
//!
//! No connection has a timer. Each keeps a few numbers that one sweep per second looks at, so that a request costs
//! nothing but writing them.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::task::AtomicWaker;
use hyper::rt::{Read, ReadBufCursor, Write};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Go on.
const STAY: u8 = 0;
/// Take no new request, finish those in flight.
const LEAVE: u8 = 1;
/// End at once.
const CUT: u8 = 2;

/// How long clients may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) header: Duration,
    pub(crate) idle: Duration,
    pub(crate) stall: Duration,
}

/// All open connections of one door.
#[derive(Debug)]
pub(crate) struct Connections {
    open: Mutex<HashMap<u64, Arc<Pulse>>>,
    next: AtomicU64,
    born: Instant,
    /// Milliseconds since `born` at the last sweep: a clock that costs nothing to read.
    now: Arc<AtomicU64>,
    max: usize,
    left: Notify,
}

impl Connections {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            open: Mutex::default(),
            next: AtomicU64::new(0),
            born: Instant::now(),
            now: Arc::default(),
            max,
            left: Notify::new(),
        })
    }

    /// A place for one more connection, unless the door is full.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Arc<Seat>> {
        let pulse = Arc::new(Pulse::new(Arc::clone(&self.now)));
        let mut open = self.open.lock();
        if open.len() >= self.max {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        open.insert(number, Arc::clone(&pulse));
        Some(Arc::new(Seat { connections: Arc::clone(self), number, pulse }))
    }

    /// Ends the connections that are out of patience.
    pub(crate) fn sweep(&self, patience: Patience) {
        let now = u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.now.store(now, Ordering::Relaxed);
        for pulse in self.open.lock().values().filter(|pulse| pulse.is_spent(now, patience)) {
            pulse.order(CUT);
        }
    }

    /// Lets requests in flight end, at most for `patience`; then ends what is left.
    pub(crate) async fn drain(&self, patience: Duration) {
        let order = |order| self.open.lock().values().for_each(|pulse| pulse.order(order));
        order(LEAVE);
        // An upgraded connection has no end of its own that could be waited for.
        self.empty(patience, |pulse| pulse.upgraded.load(Ordering::Relaxed)).await;
        order(CUT);
        self.empty(Duration::from_secs(1), |_| false).await;
    }

    async fn empty(&self, patience: Duration, ignored: impl Fn(&Pulse) -> bool) {
        let waiting = async {
            loop {
                let left = self.left.notified();
                if self.open.lock().values().all(|pulse| ignored(pulse)) {
                    return;
                }
                left.await;
            }
        };
        let _ = tokio::time::timeout(patience, waiting).await;
    }
}

/// The place of one connection; it is free again when the last holder is gone.
#[derive(Debug)]
pub(crate) struct Seat {
    connections: Arc<Connections>,
    number: u64,
    pub(crate) pulse: Arc<Pulse>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.connections.open.lock().remove(&self.number);
        self.connections.left.notify_waiters();
    }
}

/// What one connection is doing.
#[derive(Debug)]
pub(crate) struct Pulse {
    now: Arc<AtomicU64>,
    /// Requests in progress.
    busy: AtomicU32,
    /// Bytes of a next request have come.
    reading: AtomicBool,
    /// HTTP/2 talks also while it idles, so its bytes are no beginning of a request.
    chatty: AtomicBool,
    /// When it began to idle or to read.
    since: AtomicU64,
    /// When the client stopped taking bytes, plus one; zero while it takes them.
    stalled: AtomicU64,
    upgraded: AtomicBool,
    order: AtomicU8,
    waker: AtomicWaker,
}

impl Pulse {
    fn new(now: Arc<AtomicU64>) -> Self {
        let since = AtomicU64::new(now.load(Ordering::Relaxed));
        Self {
            now,
            busy: AtomicU32::new(0),
            reading: AtomicBool::new(true),
            chatty: AtomicBool::new(false),
            since,
            stalled: AtomicU64::new(0),
            upgraded: AtomicBool::new(false),
            order: AtomicU8::new(STAY),
            waker: AtomicWaker::new(),
        }
    }

    /// From now on this is HTTP/2.
    pub(crate) fn chatty(&self) {
        self.chatty.store(true, Ordering::Relaxed);
        self.reading.store(false, Ordering::Relaxed);
    }

    /// From now on this is no HTTP any more.
    pub(crate) fn upgraded(&self) {
        self.upgraded.store(true, Ordering::Relaxed);
    }

    fn order(&self, order: u8) {
        self.order.fetch_max(order, Ordering::Release);
        self.waker.wake();
    }

    fn is_spent(&self, now: u64, patience: Patience) -> bool {
        let over = |since: u64, limit: Duration| u128::from(now.saturating_sub(since)) > limit.as_millis();
        let stalled = self.stalled.load(Ordering::Relaxed);
        if stalled != 0 && over(stalled - 1, patience.stall) {
            return true;
        }
        let limit = if self.reading.load(Ordering::Relaxed) { patience.header } else { patience.idle };
        self.busy.load(Ordering::Relaxed) == 0 && over(self.since.load(Ordering::Relaxed), limit)
    }

    fn mark(&self) {
        self.since.store(self.now.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    fn heard(&self) {
        let quiet = self.busy.load(Ordering::Relaxed) == 0 && !self.chatty.load(Ordering::Relaxed);
        if quiet && !self.reading.load(Ordering::Relaxed) {
            self.reading.store(true, Ordering::Relaxed);
            self.mark();
        }
    }

    fn wrote(&self, pending: bool) {
        let stalled = self.stalled.load(Ordering::Relaxed) != 0;
        if pending && !stalled {
            self.stalled.store(self.now.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        } else if !pending && stalled {
            self.stalled.store(0, Ordering::Relaxed);
        }
    }
}

/// A request in progress: its connection does not idle.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Seat>);

impl Busy {
    pub(crate) fn new(seat: &Arc<Seat>) -> Self {
        seat.pulse.busy.fetch_add(1, Ordering::Relaxed);
        seat.pulse.reading.store(false, Ordering::Relaxed);
        Self(Arc::clone(seat))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let pulse = &self.0.pulse;
        pulse.mark();
        pulse.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs a connection until it ends or is told to; `leave` asks it to take no new request.
pub(crate) async fn run<C: Future>(
    pulse: &Pulse,
    connection: C,
    leave: impl Fn(Pin<&mut C>),
) -> Option<C::Output> {
    let mut connection = std::pin::pin!(connection);
    let mut leaving = false;
    std::future::poll_fn(|cx| {
        pulse.waker.register(cx.waker());
        match pulse.order.load(Ordering::Acquire) {
            CUT => return Poll::Ready(None),
            LEAVE if !leaving => {
                leaving = true;
                leave(connection.as_mut());
            }
            _ => {}
        }
        connection.as_mut().poll(cx).map(Some)
    })
    .await
}

/// Waits for what comes before the first request, unless the connection is told to end.
pub(crate) async fn greeting<T>(pulse: &Pulse, greeting: impl Future<Output = T>) -> Option<T> {
    let mut greeting = std::pin::pin!(greeting);
    std::future::poll_fn(|cx| {
        pulse.waker.register(cx.waker());
        if pulse.order.load(Ordering::Acquire) != STAY {
            return Poll::Ready(None);
        }
        greeting.as_mut().poll(cx).map(Some)
    })
    .await
}

/// A socket that tells the pulse what goes through it.
#[derive(Debug)]
pub(crate) struct Watched<T> {
    inner: T,
    seat: Arc<Seat>,
}

impl<T> Watched<T> {
    pub(crate) fn new(inner: T, seat: Arc<Seat>) -> Self {
        Self { inner, seat }
    }
}

impl<T: Read + Unpin> Read for Watched<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        let read = Pin::new(&mut self.inner).poll_read(cx, buf);
        if read.is_ready() {
            self.seat.pulse.heard();
        }
        read
    }
}

impl<T: Write + Unpin> Write for Watched<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.seat.pulse.wrote(written.is_pending());
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.seat.pulse.wrote(written.is_pending());
        written
    }
}
