//! One connection to a backend, driven by the request that uses it instead of by a task of its own.
//!
//! While idle nobody polls it; that it was closed meanwhile is found out at the next use, and costs one retry.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::body::Upload;

/// A connection that can carry one request at a time.
pub(crate) struct Line {
    send: SendRequest<Upload>,
    /// None once the connection has ended: a request that still waits in it is let go only when it is dropped.
    /// Apart, because it is large and a line moves from hand to hand.
    wire: Option<Box<Connection<TokioIo<Wire>, Upload>>>,
    heard: Arc<AtomicBool>,
    /// Whether it has carried a request before this one.
    pub(crate) reused: bool,
    /// When it was given back.
    pub(crate) idle_since: Instant,
}

impl Line {
    /// Connects.
    pub(crate) async fn open(address: SocketAddr, patience: Duration) -> io::Result<Self> {
        let (send, wire, heard) = dial(address, patience).await?;
        Ok(Self { send, wire: Some(Box::new(wire)), heard, reused: false, idle_since: Instant::now() })
    }

    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn ask(
        &mut self,
        request: Request<Upload>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Upload>>> {
        self.heard.store(false, Ordering::Relaxed);
        let mut answer = pin!(self.send.try_send_request(request));
        std::future::poll_fn(|cx| {
            drive(&mut self.wire, cx);
            answer.as_mut().poll(cx)
        })
        .await
    }

    /// Whether a byte came back since the request was sent.
    pub(crate) fn heard(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }

    /// Moves bytes; to be called whenever the body of the answer has none.
    pub(crate) fn drive(&mut self, cx: &mut Context<'_>) {
        drive(&mut self.wire, cx);
    }

    /// Whether another request can be sent.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        self.wire.is_some() && self.send.is_ready()
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("open", &self.wire.is_some()).finish_non_exhaustive()
    }
}

/// Outside of tokio's budget: a poll that the budget turned away would make a living connection look busy.
fn drive(wire: &mut Option<Box<Connection<TokioIo<Wire>, Upload>>>, cx: &mut Context<'_>) {
    if let Some(open) = wire
        && pin!(tokio::task::coop::unconstrained(open)).poll(cx).is_ready()
    {
        *wire = None;
    }
}

/// The two halves of a new connection, and the flag that tells whether a byte came back.
pub(crate) type Dialled = (SendRequest<Upload>, Connection<TokioIo<Wire>, Upload>, Arc<AtomicBool>);

/// Connects within `patience`.
pub(crate) async fn dial(address: SocketAddr, patience: Duration) -> io::Result<Dialled> {
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "no connection in time");
    let socket = tokio::time::timeout(patience, TcpStream::connect(address)).await.map_err(late)??;
    socket.set_nodelay(true)?;
    let heard = Arc::new(AtomicBool::new(false));
    let wire = Wire { socket, heard: Arc::clone(&heard) };
    let (send, wire) = http1::handshake(TokioIo::new(wire)).await.map_err(io::Error::other)?;
    Ok((send, wire, heard))
}

/// A socket that remembers whether anything came from it.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: TcpStream,
    heard: Arc<AtomicBool>,
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.heard.store(true, Ordering::Relaxed);
        }
        read
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }
}
