//! The door: HTTP, who knocks, and where they are led.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, UPGRADE, WWW_AUTHENTICATE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use jiff::Timestamp;
use rmcp::ServiceExt as _;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Map;
use tokio::net::TcpListener;
use tower::ServiceExt;

use crate::audit::{self, Outcome, Record};
use crate::git::page;
use crate::identity::Presented;
use crate::mcp::{Handler, Holder, Visits, origins};
use crate::server::Agents;

type Body = UnsyncBoxBody<Bytes, Infallible>;
type Protocol = StreamableHttpService<Handler, LocalSessionManager>;

/// Where a connection becomes a line of messages, one on each line of text: what `terrace mcp` speaks.
pub const LINE: &str = "/mcp/line";
/// What a client asks to upgrade to there.
pub const LINE_PROTOCOL: &str = "mcp-line";
/// How long a client may take for the head of a request.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);
/// Largest request: a push of 10 MiB as base64, and what stands around it.
const REQUEST_MAX: usize = 16 * 1024 * 1024;

/// Answers until the server is stopped.
pub(crate) async fn serve(agents: Agents, listener: TcpListener) {
    let door = Arc::new(Door::new(agents.clone()));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = agents.stop().cancelled() => return,
        };
        let Ok((stream, _)) = accepted else { continue };
        let (door, stop) = (door.clone(), agents.stop().clone());
        tokio::spawn(async move {
            let mut builder = auto::Builder::new(TokioExecutor::new());
            builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
            let service = service_fn(move |request| {
                let door = door.clone();
                async move { Ok::<_, Infallible>(door.answer(request).await) }
            });
            let serving = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
            tokio::select! { _ = serving => {}, () = stop.cancelled() => {} }
        });
    }
}

struct Door {
    agents: Agents,
    visits: Visits,
    protocol: Protocol,
}

impl Door {
    fn new(agents: Agents) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_max_request_body_bytes(REQUEST_MAX)
            .with_cancellation_token(agents.stop().child_token())
            .with_allowed_origins(origins(&agents.settings().address))
            .enforce_origin_validation();
        let (handler, visits) = (agents.clone(), Visits::new());
        let protocol = StreamableHttpService::new(
            move || Ok(Handler::new(handler.clone(), Holder::Request)),
            visits.sessions(),
            config,
        );
        Self { agents, visits, protocol }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        match request.uri().path() {
            "/health" => text(StatusCode::OK, "ok\n"),
            "/mcp" => self.protocol(request).await,
            LINE => self.line(request).await,
            path if path.starts_with(page::PATH) => {
                page::answer(&self.agents, request).await.map(BodyExt::boxed_unsync)
            }
            _ => text(StatusCode::NOT_FOUND, "there is no such page\n"),
        }
    }

    async fn protocol(&self, mut request: Request<Incoming>) -> Response<Body> {
        let Some(presented) = self.admitted(&request).await else { return unauthorized() };
        let fingerprint = presented.fingerprint();
        if !self.visits.admit(request.headers(), &fingerprint) {
            return text(StatusCode::NOT_FOUND, "Not Found: Session not found");
        }
        request.extensions_mut().insert(presented);
        let response = self.protocol.clone().oneshot(request).await.unwrap_or_else(|never| match never {});
        self.visits.note(response.headers(), &fingerprint).await;
        response.map(|body| body.boxed_unsync())
    }

    /// Hands a connection over: from then on it carries messages, each on a line of its own.
    async fn line(&self, mut request: Request<Incoming>) -> Response<Body> {
        let Some(presented) = self.admitted(&request).await else { return unauthorized() };
        let wanted = request.headers().get(UPGRADE).and_then(|value| value.to_str().ok());
        if wanted != Some(LINE_PROTOCOL) {
            return text(StatusCode::UPGRADE_REQUIRED, "this is where `terrace mcp` connects to\n");
        }
        let upgrade = hyper::upgrade::on(&mut request);
        let (agents, stop) = (self.agents.clone(), self.agents.stop().child_token());
        tokio::spawn(async move {
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

    /// The token that a request brings, if it is good. One that is not leaves a record.
    async fn admitted(&self, request: &Request<Incoming>) -> Option<Presented> {
        let presented = bearer(request).map(Presented::new);
        if let Some(good) = presented.clone().filter(|presented| self.agents.caller(presented).is_some()) {
            return Some(good);
        }
        let record = Record {
            time: Timestamp::now(),
            token: presented.map(|presented| presented.fingerprint()).unwrap_or_default(),
            name: String::new(),
            agent: String::new(),
            action: format!("{} {}", request.method(), request.uri().path()),
            subject: String::new(),
            arguments: audit::digest(&Map::new()),
            plan: None,
            outcome: Outcome::Refused,
            reason: Some("Unauthorized".into()),
        };
        if let Err(error) = self.agents.note(record).await {
            tracing::error!(%error, "a refusal could not be written down");
        }
        None
    }
}

fn bearer<B>(request: &Request<B>) -> Option<&str> {
    let (scheme, token) = request.headers().get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn text(code: StatusCode, text: &'static str) -> Response<Body> {
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
