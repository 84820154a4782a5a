//! Bodies on their way: `Upload` from a client to a backend, `Body` from anybody to a client. None is ever whole in
//! memory unless it was made here.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use parking_lot::Mutex;

use crate::backend::Ticket;
use crate::connection::Busy;
use crate::files::FileBody;
use crate::line::Line;
use crate::retry::Sent;

/// Why a body broke off.
pub type Fault = Box<dyn Error + Send + Sync>;

/// The body of a request, lent to one attempt after the other until a byte of it is taken.
#[derive(Clone, Debug)]
pub(crate) enum Upload {
    /// Nothing.
    Empty,
    /// What the client sends.
    Stream(Arc<Mutex<Source>>),
}

#[derive(Debug)]
pub(crate) struct Source {
    incoming: Incoming,
    /// Frames taken so far.
    frames: u64,
    failed: bool,
}

impl Upload {
    pub(crate) fn new(incoming: Incoming) -> Self {
        if incoming.is_end_stream() {
            return Self::Empty;
        }
        Self::Stream(Arc::new(Mutex::new(Source { incoming, frames: 0, failed: false })))
    }

    pub(crate) fn sent(&self) -> Sent {
        match self {
            Self::Empty => Sent::Empty,
            Self::Stream(source) if source.lock().frames == 0 => Sent::Untouched,
            Self::Stream(_) => Sent::Consumed,
        }
    }

    /// How far the upload is: as long as this changes, the backend is not late.
    pub(crate) fn progress(&self) -> u64 {
        match self {
            Self::Empty => 0,
            Self::Stream(source) => source.lock().frames,
        }
    }

    /// Whether the client broke off.
    pub(crate) fn failed(&self) -> bool {
        matches!(self, Self::Stream(source) if source.lock().failed)
    }
}

impl HttpBody for Upload {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Self::Stream(source) = self.get_mut() else { return Poll::Ready(None) };
        let mut source = source.lock();
        let frame = Pin::new(&mut source.incoming).poll_frame(cx);
        match &frame {
            Poll::Ready(Some(Ok(_))) => source.frames += 1,
            Poll::Ready(Some(Err(_))) => source.failed = true,
            Poll::Ready(None) | Poll::Pending => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Stream(source) => source.lock().incoming.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Stream(source) => source.lock().incoming.size_hint(),
        }
    }
}

/// The body of an answer to a client.
pub struct Body {
    kind: Kind,
    busy: Option<Busy>,
}

enum Kind {
    Empty,
    Full(Bytes),
    Download(Download),
    File(FileBody),
    Other(UnsyncBoxBody<Bytes, Fault>),
}

impl Body {
    /// No bytes.
    pub fn empty() -> Self {
        Self { kind: Kind::Empty, busy: None }
    }

    /// Bytes that are there already.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        Self { kind: Kind::Full(bytes.into()), busy: None }
    }

    /// Any other body.
    pub fn other(body: impl HttpBody<Data = Bytes, Error = Fault> + Send + 'static) -> Self {
        Self { kind: Kind::Other(UnsyncBoxBody::new(body)), busy: None }
    }

    pub(crate) fn file(file: FileBody) -> Self {
        Self { kind: Kind::File(file), busy: None }
    }

    pub(crate) fn download(incoming: Incoming, line: Option<Line>, ticket: Ticket) -> Self {
        let mut download = Download { incoming, line, ticket, fault: None };
        if download.incoming.is_end_stream() {
            download.settle();
            return Self::empty();
        }
        Self { kind: Kind::Download(download), busy: None }
    }

    /// Keeps the client's connection from counting as idle until this body is gone.
    pub(crate) fn while_busy(mut self, busy: Busy) -> Self {
        self.busy = Some(busy);
        self
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").finish_non_exhaustive()
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        let kind = &mut self.get_mut().kind;
        match kind {
            Kind::Empty => Poll::Ready(None),
            Kind::Full(bytes) => {
                let bytes = std::mem::take(bytes);
                *kind = Kind::Empty;
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            Kind::Download(download) => download.poll_frame(cx).map_err(Into::into),
            Kind::File(file) => {
                Poll::Ready(file.next_frame().map(|read| read.map(Frame::data).map_err(Into::into)))
            }
            Kind::Other(other) => Pin::new(other).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Empty => true,
            Kind::Full(bytes) => bytes.is_empty(),
            Kind::Download(download) => download.incoming.is_end_stream(),
            Kind::File(file) => file.left() == 0,
            Kind::Other(other) => other.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Empty => SizeHint::with_exact(0),
            Kind::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Download(download) => download.incoming.size_hint(),
            Kind::File(file) => SizeHint::with_exact(file.left()),
            Kind::Other(other) => other.size_hint(),
        }
    }
}

/// What a backend sends. Drives the connection it comes from, and gives it back at the end.
struct Download {
    incoming: Incoming,
    /// Absent when a task drives the connection, or when it was given back.
    line: Option<Line>,
    ticket: Ticket,
    fault: Option<hyper::Error>,
}

impl Download {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if let Some(fault) = self.fault.take() {
            return Poll::Ready(Some(Err(fault)));
        }
        let mut frame = Pin::new(&mut self.incoming).poll_frame(cx);
        if frame.is_pending()
            && let Some(line) = &mut self.line
        {
            line.drive(cx);
            frame = Pin::new(&mut self.incoming).poll_frame(cx);
        }
        match frame {
            Poll::Ready(Some(Err(fault))) => {
                // Told at the next call: until then what came before has gone out.
                (self.line, self.fault) = (None, Some(fault));
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(None) => self.settle(),
            Poll::Ready(Some(Ok(_))) | Poll::Pending => {}
        }
        frame
    }

    fn settle(&mut self) {
        if let Some(mut line) = self.line.take()
            && line.is_alive()
        {
            line.reused = true;
            line.idle_since = Instant::now();
            self.ticket.0.keep(line);
        }
    }
}

/// A server that knows the length does not ask for the end: it drops.
impl Drop for Download {
    fn drop(&mut self) {
        if self.incoming.is_end_stream() {
            self.settle();
        }
    }
}
