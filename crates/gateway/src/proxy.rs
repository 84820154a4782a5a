//! One request through the gateway: who is asked, what is sent, and what is done when that fails.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::header::{self, HeaderValue};
use http::request::Parts;
use http::uri::{PathAndQuery, Uri};
use http::{Method, Request, Response, Version};
use hyper::body::Incoming;
use tokio::time::{Duration, Instant};

use crate::backend::Ticket;
use crate::body::{Body, Upload};
use crate::door::Client;
use crate::gateway::Gateway;
use crate::headers::{self, Sender};
use crate::line::Line;
use crate::retry::{Failure, Verdict, idempotent, judge};
use crate::settings::PlatformAnswer;
use crate::table::{Found, Lane};
use crate::{host, pages, upgrade};

/// How long the gateway waits before it asks backends again that all refused, unless the table changes first.
const PAUSE: Duration = Duration::from_millis(50);

impl Gateway {
    pub(crate) async fn proxy(&self, mut request: Request<Incoming>, client: &Arc<Client>) -> Response<Body> {
        if request.method() == Method::CONNECT {
            return pages::connect_refused();
        }
        let named = match named_host(&mut request) {
            Ok(named) => named,
            Err(what) => return pages::bad_request(what),
        };
        let Some(host) = named.to_str().ok().and_then(host::normal) else {
            return pages::bad_request("the Host header names no host");
        };
        let snapshot = self.snapshot();
        let mut found = snapshot.routes.find(&host, request.uri().path(), client.secure);
        let for_platform =
            matches!(found, Found::Nobody) || host::is_address(&host) && !snapshot.routes.names(&host);
        if for_platform && let Some(platform) = &self.0.settings.platform {
            match platform(request).await {
                PlatformAnswer::Mine(response) => return response,
                PlatformAnswer::NotMine(back) => request = back,
            }
            found = self.snapshot().routes.find(&host, request.uri().path(), client.secure);
        }
        match found {
            Found::Lane(lane) => self.forward(request, client, &named, lane).await,
            Found::HttpsOnly => {
                let path = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
                pages::to_https(&host, self.0.settings.https_port, path)
            }
            Found::Nobody => pages::nobody(&host),
        }
    }

    async fn forward(
        &self,
        mut request: Request<Incoming>,
        client: &Arc<Client>,
        host: &HeaderValue,
        lane: Arc<Lane>,
    ) -> Response<Body> {
        let protocol = if request.version() == Version::HTTP_11 {
            headers::wanted_upgrade(request.headers())
        } else {
            None
        };
        let switch = protocol.map(|protocol| (protocol, hyper::upgrade::on(&mut request)));
        let (mut head, incoming) = request.into_parts();
        head.extensions.clear();
        head.version = Version::HTTP_11;
        if head.uri.scheme().is_some() || head.uri.authority().is_some() {
            let path = head.uri.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
            head.uri = Uri::from(path);
        }
        let sender = Sender { address: client.address.clone(), host: host.clone(), secure: client.secure };
        headers::toward_backend(&mut head.headers, sender);
        let journey = Journey::new(self, head, Upload::new(incoming), client, lane);
        match switch {
            Some((protocol, client_side)) => upgrade::carry(journey, protocol, client_side).await,
            None => journey.finish().await,
        }
    }
}

/// The one host a request names: in its target, or else in its Host header.
fn named_host(request: &mut Request<Incoming>) -> Result<HeaderValue, &'static str> {
    let given = headers::only(request.headers_mut(), header::HOST);
    if let Err("given more than once") = given {
        return Err("the Host header is given more than once");
    }
    let Some(authority) = request.uri().authority() else {
        return given.map_err(|_| "the Host header is missing");
    };
    HeaderValue::try_from(authority.as_str()).map_err(|_| "the target names no host")
}

/// What happened to one attempt.
pub(crate) struct Attempt {
    pub(crate) failure: Failure,
    /// The head, when it was not written.
    head: Option<Box<Parts>>,
}

/// A request that looks for a backend, from its first attempt to its last.
pub(crate) struct Journey<'a> {
    pub(crate) gateway: &'a Gateway,
    /// There between attempts, and during one if it can be repeated.
    pub(crate) head: Option<Parts>,
    pub(crate) upload: Upload,
    pub(crate) client: &'a Arc<Client>,
    lane: Arc<Lane>,
    idempotent: bool,
    tried: Vec<SocketAddr>,
    resends: u32,
    fresh: bool,
    /// When the first backend refused a connection.
    refused_since: Option<Instant>,
}

impl<'a> Journey<'a> {
    fn new(
        gateway: &'a Gateway,
        head: Parts,
        upload: Upload,
        client: &'a Arc<Client>,
        lane: Arc<Lane>,
    ) -> Self {
        let idempotent = idempotent(&head.method);
        let (tried, head) = (Vec::new(), Some(head));
        Self {
            gateway,
            head,
            upload,
            client,
            lane,
            idempotent,
            tried,
            resends: 0,
            fresh: false,
            refused_since: None,
        }
    }

    /// Asks one backend after the other until there is an answer.
    async fn finish(mut self) -> Response<Body> {
        loop {
            let ticket = match self.next_backend().await {
                Ok(ticket) => ticket,
                Err(response) => return *response,
            };
            match self.attempt(ticket).await {
                Ok(response) => return response,
                Err(attempt) => {
                    if let Some(response) = self.consider(attempt) {
                        return response;
                    }
                }
            }
        }
    }

    /// The next backend to ask, or what the client is told instead.
    pub(crate) async fn next_backend(&mut self) -> Result<Ticket, Box<Response<Body>>> {
        loop {
            if let Some(ticket) = self.lane.ticket(&self.tried) {
                return Ok(ticket);
            }
            let mut changes = self.gateway.0.changed.subscribe();
            self.look_up()?;
            if let Some(ticket) = self.lane.ticket(&self.tried) {
                return Ok(ticket);
            }
            if self.lane.is_empty() {
                self.hold(&mut changes).await?;
            } else {
                self.pause(&mut changes).await?;
            }
        }
    }

    /// Finds the route again: the table may have changed.
    fn look_up(&mut self) -> Result<(), Box<Response<Body>>> {
        let Some(head) = &self.head else { return Ok(()) };
        let named = head.headers.get(header::HOST).and_then(|value| value.to_str().ok());
        let host = named.and_then(host::normal).unwrap_or_default();
        match self.gateway.snapshot().routes.find(&host, head.uri.path(), self.client.secure) {
            Found::Lane(lane) => self.lane = lane,
            Found::HttpsOnly | Found::Nobody => return Err(Box::new(pages::nobody(&host))),
        }
        Ok(())
    }

    /// Waits for a backend to appear, if not too many wait already.
    async fn hold(
        &mut self,
        changes: &mut tokio::sync::watch::Receiver<()>,
    ) -> Result<(), Box<Response<Body>>> {
        let state = &self.gateway.0;
        let deadline = Instant::now() + state.settings.hold_timeout;
        let held = Held::new(self.gateway);
        while self.lane.is_empty() {
            let full = held.count() > state.settings.held_max;
            if full || tokio::time::timeout_at(deadline, changes.changed()).await.is_err() {
                return Err(Box::new(pages::unavailable(&self.lane.name)));
            }
            self.look_up()?;
        }
        self.tried.clear();
        Ok(())
    }

    /// Waits a moment before the backends that all refused are asked again.
    async fn pause(
        &mut self,
        changes: &mut tokio::sync::watch::Receiver<()>,
    ) -> Result<(), Box<Response<Body>>> {
        let since = *self.refused_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.gateway.0.settings.retry_window {
            return Err(Box::new(pages::unreachable(&self.lane.name)));
        }
        let _ = tokio::time::timeout(PAUSE, changes.changed()).await;
        self.tried.clear();
        self.look_up()
    }

    async fn attempt(&mut self, ticket: Ticket) -> Result<Response<Body>, Attempt> {
        let mut line = self.line(&ticket).await?;
        let Some(head) = self.head.take() else {
            return Err(Attempt { failure: Failure::Client, head: None });
        };
        // Kept for another attempt where one could follow; a body that is being sent decides that later.
        if self.idempotent || line.reused {
            self.head = Some(head.clone());
        }
        let request = Request::from_parts(head, self.upload.clone());
        let outcome = in_time(line.ask(request), &self.upload, self.gateway.0.settings.answer_timeout).await;
        match outcome {
            Some(Ok(response)) => Ok(self.answered(response, Some(line), ticket)),
            Some(Err(mut error)) => {
                let head = error.take_message().map(|request| Box::new(request.into_parts().0));
                let failure = self.diagnose(&error.into_error(), head.is_some(), line.reused, line.heard());
                Err(self.failed(&ticket, Attempt { failure, head }))
            }
            None => Err(self.failed(&ticket, Attempt { failure: Failure::Late, head: None })),
        }
    }

    /// A connection to the backend: an idle one, or a new one.
    async fn line(&mut self, ticket: &Ticket) -> Result<Line, Attempt> {
        if !self.fresh {
            if !self.idempotent {
                // Lets the runtime see which idle connections were closed: this request should not go out on one.
                tokio::task::yield_now().await;
            }
            while let Some(mut line) = ticket.0.idle_line() {
                if self.idempotent || line.is_alive() {
                    return Ok(line);
                }
            }
        }
        match Line::open(ticket.0.address, self.gateway.0.settings.connect_timeout).await {
            Ok(line) => Ok(line),
            Err(error) => {
                tracing::debug!(backend = %ticket.0.address, %error, "a backend refused a connection");
                Err(self.failed(ticket, Attempt { failure: Failure::Unreachable, head: None }))
            }
        }
    }

    pub(crate) fn diagnose(&self, error: &hyper::Error, unsent: bool, reused: bool, heard: bool) -> Failure {
        if self.upload.failed() {
            Failure::Client
        } else if unsent {
            Failure::Unsent
        } else if heard {
            Failure::Garbled
        } else {
            tracing::debug!(%error, application = self.lane.name, "a backend went away instead of answering");
            Failure::Silent { reused }
        }
    }

    /// Remembers who failed.
    pub(crate) fn failed(&mut self, ticket: &Ticket, attempt: Attempt) -> Attempt {
        if attempt.failure == Failure::Unreachable {
            ticket.0.soured();
            self.refused_since.get_or_insert_with(Instant::now);
        }
        let stale = matches!(attempt.failure, Failure::Unsent | Failure::Silent { reused: true });
        if !stale {
            self.tried.push(ticket.0.address);
        }
        attempt
    }

    /// Prepares the next attempt, or says what the client is told.
    pub(crate) fn consider(&mut self, attempt: Attempt) -> Option<Response<Body>> {
        let Attempt { failure, head } = attempt;
        if let Some(head) = head {
            self.head = Some(*head);
        }
        let verdict = judge(failure, self.idempotent, self.upload.sent(), self.resends);
        if verdict == Verdict::GiveUp || self.head.is_none() {
            return Some(self.apology(failure));
        }
        self.fresh = verdict == Verdict::Fresh;
        if !matches!(failure, Failure::Unreachable | Failure::Unsent) {
            self.resends += 1;
        }
        self.gateway.0.metrics.retried();
        None
    }

    fn apology(&self, failure: Failure) -> Response<Body> {
        let name = &self.lane.name;
        match failure {
            Failure::Unreachable => pages::unreachable(name),
            Failure::Unsent | Failure::Silent { .. } => pages::broken_off(name),
            Failure::Garbled => pages::garbled(name),
            Failure::Late => pages::late(name, self.gateway.0.settings.answer_timeout.as_secs()),
            Failure::Client => pages::client_broke_off(),
        }
    }

    pub(crate) fn answered(
        &self,
        response: Response<Incoming>,
        line: Option<Line>,
        ticket: Ticket,
    ) -> Response<Body> {
        let (mut head, incoming) = response.into_parts();
        headers::drop_hop_by_hop(&mut head.headers);
        head.version = Version::HTTP_11;
        head.extensions.clear();
        Response::from_parts(head, Body::download(incoming, line, ticket))
    }
}

impl Attempt {
    pub(crate) fn new(failure: Failure) -> Self {
        Self { failure, head: None }
    }
}

/// Waits for `answer` as long as the upload goes on, and then for `patience`. None when that is over.
pub(crate) async fn in_time<T>(
    answer: impl Future<Output = T>,
    upload: &Upload,
    patience: Duration,
) -> Option<T> {
    let mut answer = pin!(answer);
    loop {
        let before = upload.progress();
        if let Ok(answer) = tokio::time::timeout(patience, answer.as_mut()).await {
            return Some(answer);
        }
        if upload.progress() == before {
            return None;
        }
    }
}

/// A request that waits for a backend, counted as long as it waits.
struct Held<'a>(&'a Gateway);

impl<'a> Held<'a> {
    fn new(gateway: &'a Gateway) -> Self {
        gateway.0.held.fetch_add(1, Ordering::Relaxed);
        Self(gateway)
    }

    fn count(&self) -> usize {
        self.0.0.held.load(Ordering::Relaxed)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.0.held.fetch_sub(1, Ordering::Relaxed);
    }
}
