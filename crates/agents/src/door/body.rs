//! Bodies: what comes in has an end in time and in size, and what goes out keeps its connection busy.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep};

use super::seats::Busy;

/// What is answered.
pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// What a client sends.
pub(crate) struct Incoming {
    inner: hyper::body::Incoming,
    until: Pin<Box<Sleep>>,
    left: usize,
}

/// Why a body was not read to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unread {
    /// It took too long.
    #[error("the request's body did not come in time")]
    Late,
    /// It is too large.
    #[error("the request's body is too large")]
    TooLarge,
    /// The connection is gone.
    #[error("the request's body ended early")]
    Broken(#[source] hyper::Error),
}

impl Incoming {
    /// A body that has to be there within a time, and no larger than a size.
    pub(super) fn new(inner: hyper::body::Incoming, patience: Duration, most: usize) -> Self {
        Self { inner, until: Box::pin(tokio::time::sleep_until(Instant::now() + patience)), left: most }
    }
}

impl hyper::body::Body for Incoming {
    type Data = Bytes;
    type Error = Unread;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Unread>>> {
        // Before the next piece: a client that sends a byte now and then has always one ready.
        if self.until.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(Unread::Late)));
        }
        let frame = match ready!(Pin::new(&mut self.inner).poll_frame(context)) {
            None => return Poll::Ready(None),
            Some(Err(error)) => return Poll::Ready(Some(Err(Unread::Broken(error)))),
            Some(Ok(frame)) => frame,
        };
        let size = frame.data_ref().map_or(0, Bytes::len);
        match self.left.checked_sub(size) {
            Some(left) => {
                self.left = left;
                Poll::Ready(Some(Ok(frame)))
            }
            None => Poll::Ready(Some(Err(Unread::TooLarge))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// An answer whose connection is busy until it is sent.
pub(super) struct Held {
    pub(super) body: Body,
    pub(super) _busy: Busy,
}

impl hyper::body::Body for Held {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
