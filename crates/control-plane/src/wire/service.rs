//! The API as a tower service: authenticate, authorize, carry out, write the answer.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::header::{ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::Frame;
use serde_json::Value;

use super::form::{Form, ListBody};
use super::path::{self, ResourcePath, Target};
use super::query::Query;
use super::{mounted, pages};
use crate::gates::impersonation;
use crate::gates::rbac::{self, Attributes, User};
use crate::gates::selector::FieldSelector;
use crate::server::Server;
use crate::status::{Reason, Status};
use crate::verbs::{self, Answer, Call, Content};

/// Body of every answer.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Largest body of a request. Kubernetes takes 3 MiB; clients split what is larger.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// How long a client may take for its body.
const BODY_PATIENCE: Duration = Duration::from_secs(30);

/// Methods that mean something to objects; the original knows no `HEAD` of them.
const METHODS: [Method; 5] = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

/// Who a request comes from, when the transport already knows: a client certificate, or a caller in this process.
#[derive(Clone, Debug)]
pub struct Identified(pub User);

/// The API server as a service; cheap to clone. Requests without an [`Identified`] extension must bring a token.
#[derive(Clone)]
pub struct ApiService {
    pub(crate) server: Arc<Server>,
    /// Whom requests without any identity act as; `None` makes them anonymous.
    pub(crate) trusted: Option<User>,
}

impl<B> tower::Service<Request<B>> for ApiService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}

impl ApiService {
    async fn answer<B>(self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let started = std::time::Instant::now();
        let (parts, body) = request.into_parts();
        let audit = uuid::Uuid::new_v4().to_string();
        let mut seen = "page";
        let outcome = self.outcome(&parts, body, &mut seen).await;
        let mut response = outcome.unwrap_or_else(|status| refusal(&status));
        let headers = response.headers_mut();
        if let Ok(id) = HeaderValue::from_str(&audit) {
            headers.insert("audit-id", id);
        }
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache, private"));
        self.server.metrics.answered(seen, response.status(), started.elapsed());
        response
    }

    async fn outcome<B>(
        &self,
        parts: &http::request::Parts,
        body: B,
        seen: &mut &'static str,
    ) -> Result<Response<Body>, Status>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let target = path::parse(parts.uri.path()).map_err(Status::bad_request)?;
        let query = Query::parse(parts.uri.query().unwrap_or_default())?;
        let user = self.user(parts)?;
        match target {
            Target::Page(page) => {
                let verb = parts.method.as_str().to_ascii_lowercase();
                let user = self.impersonated(parts, user, &page_attributes(&verb, &page))?;
                if let Some(mounted) = self.server.mounted(&page) {
                    return Ok(mounted::answer(mounted, parts, user, body).await);
                }
                self.allowed(&user, &page_attributes(&verb, &page))?;
                pages::answer(&self.server, parts, &page, &query)
            }
            Target::Resource(path) => {
                let verb = verbs::verb_of(&parts.method, &path, &query);
                *seen = verb;
                let single = single(verb, &query);
                let asked =
                    Attributes { name: single.as_deref().unwrap_or(&path.name), ..attributes(verb, &path) };
                let user = self.impersonated(parts, user, &asked)?;
                self.allowed(&user, &asked)?;
                self.resource(parts, body, Asked { user, verb, path, query }).await
            }
        }
    }

    /// The caller, from the transport or from a token.
    fn user(&self, parts: &http::request::Parts) -> Result<User, Status> {
        if let Some(Identified(user)) = parts.extensions.get::<Identified>() {
            return Ok(user.clone());
        }
        let Some(header) = parts.headers.get(AUTHORIZATION) else {
            return Ok(self.trusted.clone().unwrap_or_else(User::anonymous));
        };
        let token = header.to_str().ok().and_then(|text| {
            let (scheme, token) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        // What is not a token says nothing about who asks.
        let Some(token) = token else { return Ok(User::anonymous()) };
        self.server.authenticate(token, &[]).map(|(user, _)| user).map_err(|_| Status::unauthorized())
    }

    fn impersonated(
        &self,
        parts: &http::request::Parts,
        user: User,
        asked: &Attributes<'_>,
    ) -> Result<User, Status> {
        let Some(wanted) = impersonation::wanted(&parts.headers)? else { return Ok(user) };
        let policy = self.server.policy();
        impersonation::impersonate(&user, &wanted, asked, &|user, asked| policy.allows(user, asked).is_ok())
    }

    fn allowed(&self, user: &User, asked: &Attributes<'_>) -> Result<(), Status> {
        let allowed = self.server.policy().allows(user, asked);
        allowed.map(|_| ()).map_err(|()| rbac::forbidden(user, asked))
    }

    async fn resource<B>(
        &self,
        parts: &http::request::Parts,
        body: B,
        asked: Asked,
    ) -> Result<Response<Body>, Status>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Asked { user, verb, path, query } = asked;
        let catalog = self.server.catalog();
        // A definition may be gone for a moment before the catalog has heard of it.
        let entry = catalog
            .find(&path.group, &path.version, &path.plural)
            .filter(|entry| entry.kind.builtin || self.server.defines(&entry.kind.storage));
        let Some(entry) = entry else {
            if catalog.serves(&path.group, &path.version) {
                return Err(verbs::no_such_resource());
            }
            return Ok(pages::not_found());
        };
        scope(entry.kind.namespaced, &path)?;
        if !METHODS.contains(&parts.method) {
            return Err(verbs::method_not_allowed());
        }
        let body = whole(body).await?;
        let text = |name| {
            parts.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default()
        };
        let call = Call {
            user,
            entry: entry.clone(),
            path,
            query,
            accept: accept(&parts.headers),
            content_type: Some(text(CONTENT_TYPE))
                .filter(|t| !t.is_empty())
                .unwrap_or("application/json")
                .to_owned(),
            agent: agent(text(USER_AGENT)),
            body,
            now: self.server.now(),
        };
        let collection = matches!(verb, "list" | "watch" | "deletecollection");
        let form = Form::of(&call, collection)?;
        let deprecation = entry.deprecation.clone();
        let mut answer = verbs::run(&self.server, verb, call).await?;
        answer.warnings.extend(deprecation);
        Ok(written(&self.server, &form, answer))
    }
}

/// A request about objects, before its body is read.
struct Asked {
    user: User,
    verb: &'static str,
    path: ResourcePath,
    query: Query,
}

fn attributes<'a>(verb: &'a str, path: &'a ResourcePath) -> Attributes<'a> {
    // A namespace is asked about as if from inside itself, so that its own admins may see it.
    let own = path.plural == "namespaces" && path.group.is_empty() && path.namespace.is_empty();
    Attributes {
        verb,
        group: &path.group,
        version: &path.version,
        resource: &path.plural,
        subresource: &path.subresource,
        namespace: if own { &path.name } else { &path.namespace },
        name: &path.name,
        path: None,
    }
}

/// The one object that a list or a watch can only be about: rights to it by name are enough.
fn single(verb: &str, query: &Query) -> Option<String> {
    if !matches!(verb, "list" | "watch") {
        return None;
    }
    let selector = FieldSelector::parse(&query.field_selector).ok()?;
    let term = selector.terms().iter().find(|term| term.equal && term.field == "metadata.name")?;
    Some(term.value.clone()).filter(|name| !name.is_empty())
}

fn page_attributes<'a>(verb: &'a str, page: &'a str) -> Attributes<'a> {
    Attributes { verb, path: Some(page), ..Attributes::default() }
}

/// A namespaced object is only found in a namespace, a cluster-scoped one never.
fn scope(namespaced: bool, path: &ResourcePath) -> Result<(), Status> {
    let needs = !path.name.is_empty() && namespaced && path.namespace.is_empty();
    let refuses = !namespaced && !path.namespace.is_empty();
    if needs || refuses { Err(verbs::no_such_resource()) } else { Ok(()) }
}

async fn whole<B>(body: B) -> Result<Bytes, Status>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let collecting = Limited::new(body, BODY_LIMIT).collect();
    let Ok(collected) = tokio::time::timeout(BODY_PATIENCE, collecting).await else {
        let message = "the body of the request did not come in time";
        return Err(Status::new(StatusCode::REQUEST_TIMEOUT, Reason::Timeout, message));
    };
    collected.map(http_body_util::Collected::to_bytes).map_err(|error| {
        if error.is::<http_body_util::LengthLimitError>() {
            let message = format!("Request entity too large: limit is {BODY_LIMIT}");
            return Status::new(StatusCode::PAYLOAD_TOO_LARGE, Reason::RequestEntityTooLarge, message);
        }
        Status::bad_request("the body of the request could not be read")
    })
}

fn accept(headers: &HeaderMap) -> Option<String> {
    let all: Vec<&str> = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    if all.is_empty() { None } else { Some(all.join(",")) }
}

/// `kubectl/v1.32 (linux)` is `kubectl`.
fn agent(text: &str) -> String {
    let word = text.split('/').next().unwrap_or_default();
    word.chars().filter(|c| !c.is_control()).take(128).collect()
}

fn written(server: &Server, form: &Form, answer: Answer) -> Response<Body> {
    let now = server.now();
    let (kind, body) = match answer.content {
        Content::Stored(stored) => (form.content_type().to_owned(), full(form.object(&stored, now))),
        Content::Object(value) => (form.content_type().to_owned(), full(form.object_value(value, now))),
        Content::Other(value) => ("application/json".to_owned(), full(form.encode(&value))),
        Content::List(listing) => {
            let body = match form.list(listing.items, listing.metadata, now) {
                ListBody::Whole(bytes) => full(bytes),
                ListBody::Pieces(chunks) => streamed(chunks),
            };
            (form.content_type().to_owned(), body)
        }
        Content::Stream(kind, chunks) => (kind.to_owned(), streamed(chunks)),
    };
    let mut response = Response::new(body);
    *response.status_mut() = answer.code;
    if let Ok(value) = HeaderValue::from_str(&kind) {
        response.headers_mut().insert(CONTENT_TYPE, value);
    }
    warn(&mut response, &answer.warnings);
    response
}

fn warn(response: &mut Response<Body>, warnings: &[String]) {
    for warning in warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            response.headers_mut().append("warning", value);
        }
    }
}

/// A body that is known to its end.
pub fn full(bytes: Bytes) -> Body {
    Full::new(bytes).boxed_unsync()
}

fn streamed(chunks: verbs::Chunks) -> Body {
    StreamBody::new(chunks.map(|chunk| Ok(Frame::data(chunk)))).boxed_unsync()
}

/// A refusal as a response.
pub fn refusal(status: &Status) -> Response<Body> {
    let body: Value = status.to_json();
    let mut response = Response::new(full(body.to_string().into()));
    *response.status_mut() = status.code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(seconds) = body["details"]["retryAfterSeconds"].as_u64() {
        headers.insert("retry-after", HeaderValue::from(seconds));
    }
    warn(&mut response, &status.warnings);
    response
}
