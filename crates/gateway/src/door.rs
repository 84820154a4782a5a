//! A listening socket and what is spoken at it: HTTP/1.1, or HTTP/2 from the first byte or by TLS.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::HeaderValue;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::body::Body;
use crate::connection::{self, Busy, Connections, Patience, Seat, Watched};

/// The head of a request, at most: what the largest cookies need, eight times over.
const HEAD_MAX: usize = 64 * 1024;
/// Requests at a time on one HTTP/2 connection.
const MAX_STREAMS: u32 = 256;
/// What may be under way on one HTTP/2 stream, and on one connection, before anybody has read it.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// Said to a client that is one too many.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 43\r\n\
    Retry-After: 1\r\nConnection: close\r\n\r\nTerrace: too many connections are open now\n";

/// Who is asking.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) address: HeaderValue,
    pub(crate) secure: bool,
    pub(crate) seat: Arc<Seat>,
}

/// Answers requests.
pub(crate) trait Answer: Clone + Send + Sync + 'static {
    /// One request, one answer.
    fn answer(
        &self,
        request: Request<Incoming>,
        client: &Arc<Client>,
    ) -> impl Future<Output = Response<Body>> + Send;
    /// Called about once a second.
    fn tick(&self) {}
}

/// One door: its bounds, and whether it speaks TLS.
pub(crate) struct Door {
    pub(crate) max_connections: usize,
    pub(crate) patience: Patience,
    pub(crate) drain: Duration,
    pub(crate) tls: Option<TlsAcceptor>,
}

impl Door {
    /// Serves until `stop`; then lets requests in flight end.
    pub(crate) async fn serve(self, listener: TcpListener, answer: impl Answer, stop: CancellationToken) {
        let connections = Connections::new(self.max_connections);
        let pace = (self.patience.header.min(self.patience.idle) / 8).min(Duration::from_secs(1));
        let mut sweep = tokio::time::interval(pace.max(Duration::from_millis(10)));
        sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                accepted = listener.accept() => accepted,
                _ = sweep.tick() => {
                    connections.sweep(self.patience);
                    answer.tick();
                    continue;
                }
            };
            match accepted {
                Ok((socket, peer)) => self.admit(&connections, socket, peer, &answer),
                Err(error) => {
                    // Out of descriptors: what is open must end before more can be taken.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(listener);
        connections.drain(self.drain).await;
    }

    fn admit(
        &self,
        connections: &Arc<Connections>,
        socket: TcpStream,
        peer: SocketAddr,
        answer: &impl Answer,
    ) {
        let Some(seat) = connections.enter() else {
            // As much as fits without waiting; a client that cannot take it sees a closed connection.
            if self.tls.is_none() {
                let _ = socket.try_write(FULL);
            }
            return;
        };
        let (tls, answer) = (self.tls.clone(), answer.clone());
        tokio::spawn(async move {
            if let Err(error) = greet(socket, peer, seat, tls, answer).await {
                tracing::debug!(%peer, %error, "connection ended");
            }
        });
    }
}

async fn greet(
    socket: TcpStream,
    peer: SocketAddr,
    seat: Arc<Seat>,
    tls: Option<TlsAcceptor>,
    answer: impl Answer,
) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let address = HeaderValue::try_from(peer.ip().to_canonical().to_string()).map_err(io::Error::other)?;
    let client = Arc::new(Client { address, secure: tls.is_some(), seat });
    let pulse = Arc::clone(&client.seat.pulse);
    let Some(acceptor) = tls else {
        let looked = connection::greeting(&pulse, begins_http2(&socket)).await;
        if let Some(http2) = looked.transpose()? {
            talk(socket, http2, client, answer).await;
        }
        return Ok(());
    };
    let shaken = connection::greeting(&pulse, acceptor.accept(socket)).await;
    if let Some(stream) = shaken.transpose()? {
        let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        talk(stream, http2, client, answer).await;
    }
    Ok(())
}

/// Looks at the first bytes without taking them: no request but the preface of HTTP/2 begins with `PRI`.
async fn begins_http2(socket: &TcpStream) -> io::Result<bool> {
    const PREFACE: &[u8; 3] = b"PRI";
    let mut first = [0; PREFACE.len()];
    loop {
        let seen = socket.peek(&mut first).await?;
        if seen == PREFACE.len() || seen == 0 || first[..seen] != PREFACE[..seen] {
            return Ok(first == *PREFACE);
        }
        // Less than three bytes came, and looking again would return at once.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn talk<T>(stream: T, http2: bool, client: Arc<Client>, answer: impl Answer)
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let seat = Arc::clone(&client.seat);
    let stream = Watched::new(TokioIo::new(stream), Arc::clone(&seat));
    let service = service_fn(move |request: Request<Incoming>| {
        let (client, answer) = (Arc::clone(&client), answer.clone());
        async move {
            let busy = Busy::new(&client.seat);
            let response = answer.answer(request, &client).await;
            Ok::<_, Infallible>(response.map(|body| body.while_busy(busy)))
        }
    });
    let ended = if http2 {
        seat.pulse.chatty();
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .max_header_list_size(HEAD_MAX as u32);
        builder.initial_stream_window_size(STREAM_WINDOW).initial_connection_window_size(CONNECTION_WINDOW);
        let connection = builder.serve_connection(stream, service);
        connection::run(&seat.pulse, connection, |connection| connection.graceful_shutdown()).await
    } else {
        let mut builder = http1::Builder::new();
        builder.max_buf_size(HEAD_MAX).max_header_size(HEAD_MAX);
        let connection = builder.serve_connection(stream, service).with_upgrades();
        connection::run(&seat.pulse, connection, |connection| connection.graceful_shutdown()).await
    };
    if let Some(Err(error)) = ended {
        tracing::debug!(%error, "connection broke off");
    }
}
