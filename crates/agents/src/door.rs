//! The door: HTTP, who knocks, and where they are led. A client may be slow, large, many, or sent by a page of another
//! site; none of that keeps others from being answered.

mod body;
mod gate;
mod seats;
#[cfg(test)]
pub(crate) mod stage;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, RETRY_AFTER, UPGRADE, WWW_AUTHENTICATE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use jiff::Timestamp;
use rmcp::ServiceExt as _;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Map;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

pub(crate) use body::{Body, Incoming, Unread};

use crate::audit::{self, Outcome, Record};
use crate::git::page;
use crate::identity::Presented;
use crate::mcp::{Handler, Holder, Visits, origins};
use crate::server::Agents;
use crate::{Error, rest};
use body::Held;
use gate::Own;
use seats::{Seat, Seats};

type Protocol = StreamableHttpService<Handler, LocalSessionManager>;

/// Where a connection becomes a line of messages, one on each line of text: what `terrace mcp` speaks.
pub const LINE: &str = "/mcp/line";
/// What a client asks to upgrade to there.
pub const LINE_PROTOCOL: &str = "mcp-line";
/// Largest request: a push of 10 MiB as base64, and what stands around it.
pub(crate) const REQUEST_MAX: usize = 16 * 1024 * 1024;
/// Largest head of a request. A token has 70 bytes, and paths are short.
const HEAD_MAX: usize = 32 * 1024;
/// Requests that one HTTP/2 connection may have under way.
const STREAMS: u32 = 64;
/// How often a quiet HTTP/2 connection is asked whether it is still there, and how long it may take to say so.
const PING: Duration = Duration::from_secs(20);
/// How long the door waits when the machine has no descriptor left for a connection.
const BREATH: Duration = Duration::from_millis(50);

/// How long clients may take, and how many there may be.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For the head of the first request.
    pub head: Duration,
    /// For the head of the next request, from the end of the answer before it.
    pub idle: Duration,
    /// For the body of a request.
    pub body: Duration,
    /// For the end of what is under way when the server stops.
    pub farewell: Duration,
    /// Connections that may be open.
    pub connections: usize,
    /// Requests that may be under way.
    pub requests: usize,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            body: Duration::from_secs(60),
            // `terrace up` promises to stop within five seconds.
            farewell: Duration::from_secs(2),
            connections: 1024,
            requests: 256,
        }
    }
}

/// Answers until the server is stopped, and what was asked before that.
pub(crate) async fn serve(agents: Agents, listener: TcpListener, patience: Patience) {
    let door = Arc::new(Door::new(agents.clone(), patience));
    let seats = Seats::new(patience.connections);
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = agents.stop().cancelled() => break,
        };
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(BREATH).await;
            continue;
        };
        // Who finds everybody busy is not let in: there is no telling them before they have asked.
        let Some(seat) = seats.take() else { continue };
        connections.spawn(door.clone().converse(stream, peer.ip().to_canonical(), seat));
    }
    drop(listener);
    connections.close();
    let _ = tokio::time::timeout(patience.farewell, connections.wait()).await;
}

struct Door {
    agents: Agents,
    visits: Visits,
    own: Own,
    patience: Patience,
    /// Room for requests.
    room: Semaphore,
    protocol: Protocol,
}

impl Door {
    fn new(agents: Agents, patience: Patience) -> Self {
        let address = agents.settings().address.clone();
        // Hosts are checked for every page, before anything else.
        let config = StreamableHttpServerConfig::default()
            .with_max_request_body_bytes(REQUEST_MAX)
            .with_cancellation_token(agents.stop().child_token())
            .disable_allowed_hosts()
            .with_allowed_origins(origins(&agents.settings().address))
            .enforce_origin_validation();
        let (handler, visits) = (agents.clone(), Visits::new());
        let protocol = StreamableHttpService::new(
            move || Ok(Handler::new(handler.clone(), Holder::Request)),
            visits.sessions(),
            config,
        );
        Self {
            own: Own::of(&address),
            patience,
            room: Semaphore::new(patience.requests),
            agents,
            visits,
            protocol,
        }
    }

    /// Serves one connection to its end.
    async fn converse(self: Arc<Self>, stream: TcpStream, peer: IpAddr, seat: Arc<Seat>) {
        let Patience { head, idle, farewell, .. } = self.patience;
        let mut builder = auto::Builder::new(TokioExecutor::new());
        // The seat keeps the time: hyper would begin to count for HTTP/1 only when it has seen that it is HTTP/1.
        builder.http1().timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(HEAD_MAX);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(HEAD_MAX as u32)
            .keep_alive_interval(PING)
            .keep_alive_timeout(PING);
        let (door, own) = (self.clone(), seat.clone());
        let service = service_fn(move |request| {
            let (door, seat) = (door.clone(), own.clone());
            async move { Ok::<_, Infallible>(door.receive(request, peer, seat).await) }
        });
        // A small answer is not to wait for more to send.
        let _ = stream.set_nodelay(true);
        let serving = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
        let mut serving = std::pin::pin!(serving);
        let ended = tokio::select! {
            _ = serving.as_mut() => true,
            () = seat.spent(head, idle) => true,
            () = self.agents.stop().cancelled() => false,
        };
        if !ended {
            serving.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(farewell, serving).await;
        }
    }

    /// Looks at a request from the outside, and lets it in or not.
    async fn receive(
        &self,
        request: Request<hyper::body::Incoming>,
        peer: IpAddr,
        seat: Arc<Seat>,
    ) -> Response<Body> {
        let busy = seat.begin();
        let mut response = match self.own.check(request.uri(), request.headers(), REQUEST_MAX) {
            Err((code, why)) => {
                self.turned_away(&request, peer).await;
                text(code, why)
            }
            Ok(()) => {
                let mut request = request.map(|body| Incoming::new(body, self.patience.body, REQUEST_MAX));
                request.extensions_mut().insert(peer);
                request.extensions_mut().insert(seat);
                match self.room.try_acquire() {
                    Ok(_room) => self.answer(request).await,
                    Err(_) => full(),
                }
            }
        };
        gate::guard(response.headers_mut());
        response.map(|body| Held { body, _busy: busy }.boxed_unsync())
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        match request.uri().path() {
            "/health" => text(StatusCode::OK, "ok\n"),
            "/ready" => self.ready(),
            "/mcp" => self.protocol(request).await,
            LINE => self.line(request).await,
            rest::DOCUMENT => rest::document(self.agents.tools()),
            path if rest::is_own(path) => self.rest(request).await,
            path if path.starts_with(page::PATH) => {
                page::answer(&self.agents, request).await.map(BodyExt::boxed_unsync)
            }
            _ => text(StatusCode::NOT_FOUND, "there is no such page\n"),
        }
    }

    fn ready(&self) -> Response<Body> {
        match self.agents.ready() {
            Ok(()) => text(StatusCode::OK, "ready\n"),
            Err(why) => text(StatusCode::SERVICE_UNAVAILABLE, why),
        }
    }

    async fn protocol(&self, request: Request<Incoming>) -> Response<Body> {
        let presented = match self.admitted(&request).await {
            Ok(presented) => presented,
            Err(refusal) => return refusal,
        };
        let fingerprint = presented.fingerprint();
        if !self.visits.admit(request.headers(), &fingerprint) {
            self.refused(&request, fingerprint, String::new(), "NoSession").await;
            return text(StatusCode::NOT_FOUND, "Not Found: Session not found");
        }
        let (parts, body) = request.into_parts();
        let body = match body.collect().await {
            Ok(body) => body.to_bytes(),
            Err(unread) => return unreadable(&unread),
        };
        let mut request = Request::from_parts(parts, Full::new(body));
        request.extensions_mut().insert(presented);
        let response = self.protocol.clone().oneshot(request).await.unwrap_or_else(|never| match never {});
        self.visits.note(response.headers(), &fingerprint).await;
        response.map(|body| body.boxed_unsync())
    }

    async fn rest(&self, request: Request<Incoming>) -> Response<Body> {
        let caller = match self.admitted(&request).await {
            Ok(presented) => self.agents.caller(&presented),
            Err(refusal) => return rest::refused(refusal),
        };
        match caller {
            Some(caller) => rest::answer(&self.agents, &caller, request).await,
            None => rest::refused(unauthorized()),
        }
    }

    /// Hands a connection over: from then on it carries messages, each on a line of its own.
    async fn line(&self, mut request: Request<Incoming>) -> Response<Body> {
        let presented = match self.admitted(&request).await {
            Ok(presented) => presented,
            Err(refusal) => return refusal,
        };
        let wanted = request.headers().get(UPGRADE).and_then(|value| value.to_str().ok());
        if wanted != Some(LINE_PROTOCOL) {
            return text(StatusCode::UPGRADE_REQUIRED, "this is where `terrace mcp` connects to\n");
        }
        let upgrade = hyper::upgrade::on(&mut request);
        let (agents, stop) = (self.agents.clone(), self.agents.stop().child_token());
        let busy = request.extensions().get::<Arc<Seat>>().map(Seat::begin);
        tokio::spawn(async move {
            let _busy = busy;
            let Ok(upgraded) = upgrade.await else { return };
            let handler = Handler::new(agents, Holder::Line(presented));
            let (reader, writer) = tokio::io::split(TokioIo::new(upgraded));
            let line = AsyncRwTransport::new_server(reader, writer).with_max_line_length(REQUEST_MAX);
            if let Ok(running) = handler.serve_with_ct(line, stop).await {
                let _ = running.waiting().await;
            }
        });
        let mut response = text(StatusCode::SWITCHING_PROTOCOLS, "");
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static(LINE_PROTOCOL));
        response
    }

    /// The token that a request brings, if it is good. One that is not leaves a record; whoever brings too many of them is
    /// told to wait.
    async fn admitted(&self, request: &Request<Incoming>) -> Result<Presented, Response<Body>> {
        let presented = bearer(request).map(Presented::new);
        if let Some(good) = presented.clone().filter(|presented| self.agents.caller(presented).is_some()) {
            return Ok(good);
        }
        let peer = request.extensions().get().map(network).unwrap_or_default();
        let (reason, refusal) = match self.agents.admit_as(&peer) {
            Err(error @ Error::TooOften { seconds }) => (error.word(), too_often(seconds)),
            _ => ("Unauthorized", unauthorized()),
        };
        let token = presented.map(|presented| presented.fingerprint()).unwrap_or_default();
        self.refused(request, token, peer, reason).await;
        Err(refusal)
    }

    /// Writes down a request that was meant for somebody else, or came from a page of another site.
    async fn turned_away<B>(&self, request: &Request<B>, peer: IpAddr) {
        let peer = network(&peer);
        let reason = self.agents.admit_as(&peer).map_or_else(|error| error.word(), |()| "Misdirected");
        self.refused(request, String::new(), peer, reason).await;
    }

    /// Writes down that a request was turned away.
    async fn refused<B>(&self, request: &Request<B>, token: String, subject: String, reason: &str) {
        let record = Record {
            time: Timestamp::now(),
            token,
            name: String::new(),
            agent: String::new(),
            action: format!("{} {}", request.method(), named(request.uri().path())),
            subject,
            arguments: audit::digest(&Map::new()),
            plan: None,
            outcome: Outcome::Refused,
            reason: Some(reason.into()),
        };
        if let Err(error) = self.agents.note(record).await {
            tracing::error!(%error, "a refusal could not be written down");
        }
    }
}

/// A path as it is written down. The name of a page where a secret is entered stays out: who reads it could use the page.
fn named(path: &str) -> &str {
    if path.starts_with(page::PATH) { page::PATH } else { path }
}

/// What an address is counted under: itself, or the network that one subscriber has of IPv6.
fn network(peer: &IpAddr) -> String {
    match peer {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

fn bearer<B>(request: &Request<B>) -> Option<&str> {
    let (scheme, token) = request.headers().get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

pub(crate) fn text(code: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed_unsync());
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

fn unauthorized() -> Response<Body> {
    let mut response = text(
        StatusCode::UNAUTHORIZED,
        "a token is needed: `terrace token create NAME --session` makes one; send it as `Authorization: Bearer TOKEN`\n",
    );
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"terrace\""));
    response
}

fn too_often(seconds: u64) -> Response<Body> {
    let mut response =
        text(StatusCode::TOO_MANY_REQUESTS, "too many requests without a good token; try again later\n");
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}

fn full() -> Response<Body> {
    let mut response = text(StatusCode::SERVICE_UNAVAILABLE, "too many requests are under way; try again\n");
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(1));
    response
}

/// What is said of a body that did not come.
fn unreadable(unread: &Unread) -> Response<Body> {
    let (code, why) = match unread {
        Unread::Late => (StatusCode::REQUEST_TIMEOUT, "the request's body did not come in time\n"),
        Unread::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "the request is too large\n"),
        Unread::Broken(_) => (StatusCode::BAD_REQUEST, "the request's body ended early\n"),
    };
    let mut response = text(code, why);
    // What is left of it is not waited for.
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
