//! One file per verb. Each takes a [`Call`] that is already allowed, and gives an [`Answer`] or a refusal.

pub(crate) mod admit;
pub(crate) mod body;
pub(crate) mod create;
pub(crate) mod delete;
mod get;
mod list;
mod log;
pub(crate) mod options;
mod patch;
mod pod;
mod review;
pub(crate) mod rules;
mod scale;
mod service;
mod token;
pub(crate) mod update;
mod watch;

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures::Stream;
use http::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::Value;

use crate::gates::rbac::User;
use crate::kinds::catalog::Entry;
use crate::server::{Server, key};
use crate::status::{Reason, Status};
use crate::store::{Key, Stored};
use crate::wire::path::ResourcePath;
use crate::wire::query::Query;

/// One request about objects, understood and allowed.
#[derive(Clone)]
pub(crate) struct Call {
    pub user: User,
    pub entry: Arc<Entry>,
    pub path: ResourcePath,
    pub query: Query,
    pub accept: Option<String>,
    pub content_type: String,
    /// First word of the user agent: the field manager of clients that name none.
    pub agent: String,
    pub body: Bytes,
    pub now: Timestamp,
}

impl Call {
    pub(crate) fn key(&self) -> Key {
        key(&self.entry.kind.storage, &self.path.namespace, &self.path.name)
    }

    pub(crate) fn not_found(&self) -> Status {
        Status::not_found(&self.entry.kind.group, &self.entry.kind.plural, &self.path.name)
    }

    pub(crate) fn conflict(&self, why: &str) -> Status {
        Status::conflict(&self.entry.kind.group, &self.entry.kind.plural, &self.path.name, why)
    }

    /// Who the managed fields of this write belong to.
    pub(crate) fn manager(&self) -> &str {
        match (self.query.field_manager.as_str(), self.agent.as_str()) {
            ("", "") => "unknown",
            ("", agent) => agent,
            (named, _) => named,
        }
    }
}

/// Chunks of a body that is not known to its end.
pub(crate) type Chunks = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// What a verb gives back.
pub(crate) struct Answer {
    pub code: StatusCode,
    pub content: Content,
    pub warnings: Vec<String>,
}

/// The body of an answer, not yet in the form the client asked for.
pub(crate) enum Content {
    /// An object of the kind that was asked about, as it lies in the store.
    Stored(Arc<Stored>),
    /// An object of the kind that was asked about, made for this answer.
    Object(Value),
    /// Another object (a Scale, a review, a Status), always whole.
    Other(Value),
    /// A collection.
    List(list::Listing),
    /// A body that goes on.
    Stream(&'static str, Chunks),
}

impl Answer {
    pub(crate) fn ok(content: Content) -> Self {
        Self { code: StatusCode::OK, content, warnings: Vec::new() }
    }

    pub(crate) fn created(content: Content) -> Self {
        Self { code: StatusCode::CREATED, content, warnings: Vec::new() }
    }

    pub(crate) fn warned(mut self, warnings: Vec<String>) -> Self {
        self.warnings.extend(warnings);
        self
    }
}

/// The verb of a request, as rights are written for it.
pub(crate) fn verb_of(method: &Method, path: &ResourcePath, query: &Query) -> &'static str {
    let one = !path.name.is_empty();
    match *method {
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if one => "delete",
        Method::DELETE => "deletecollection",
        _ if path.watch => "watch",
        _ if one => "get",
        _ if query.watch => "watch",
        _ => "list",
    }
}

/// Carries a call out.
pub(crate) async fn run(server: &Arc<Server>, verb: &str, call: Call) -> Result<Answer, Status> {
    if !call.path.subresource.is_empty() {
        return subresource(server, verb, call).await;
    }
    if matches!(verb, "update" | "patch") && call.path.name.is_empty() {
        return Err(method_not_allowed());
    }
    match verb {
        _ if !call.entry.kind.verbs.contains(&verb) => Err(method_not_allowed()),
        "get" => get::run(server, &call),
        "list" => list::run(server, &call),
        "watch" => watch::run(server, call),
        "create" if call.path.name.is_empty() => match review::is_review(&call.entry.kind) {
            true => review::run(server, &call),
            false => create::run(server, &call).await,
        },
        "update" => update::run(server, &call, update::Part::Main).await,
        "patch" => patch::run(server, &call, update::Part::Main).await,
        "delete" => delete::one(server, &call).await,
        "deletecollection" => delete::many(server, &call).await,
        _ => Err(method_not_allowed()),
    }
}

async fn subresource(server: &Arc<Server>, verb: &str, call: Call) -> Result<Answer, Status> {
    use update::Part;
    let kind = &call.entry.kind;
    let core = kind.group.is_empty() && kind.builtin;
    match (kind.plural.as_str(), call.path.subresource.as_str(), verb) {
        (_, "status", "get") if kind.status => get::run(server, &call),
        (_, "status", "update") if kind.status => update::run(server, &call, Part::Status).await,
        (_, "status", "patch") if kind.status => patch::run(server, &call, Part::Status).await,
        (_, "scale", _) if kind.scale.is_some() => scale::run(server, verb, &call).await,
        ("namespaces", "finalize", "update") if core => update::run(server, &call, Part::Finalize).await,
        ("serviceaccounts", "token", "create") if core => token::run(server, &call),
        ("pods", "log", "get") if core => log::run(server, &call).await,
        ("pods", "binding", "create") if core => pod::bind(server, &call).await,
        ("pods", "eviction", "create") if core => pod::evict(server, &call).await,
        ("pods", "exec" | "attach" | "portforward" | "proxy", _) if core => Err(Status::new(
            StatusCode::NOT_IMPLEMENTED,
            Reason::MethodNotAllowed,
            format!("pods/{} is not served by this control plane", call.path.subresource),
        )),
        _ if known(&call) => Err(method_not_allowed()),
        _ => Err(no_such_resource()),
    }
}

fn known(call: &Call) -> bool {
    let kind = &call.entry.kind;
    match call.path.subresource.as_str() {
        "status" => kind.status,
        "scale" => kind.scale.is_some(),
        "token" => kind.plural == "serviceaccounts",
        "log" | "binding" | "eviction" => kind.plural == "pods",
        "finalize" => kind.plural == "namespaces",
        _ => false,
    }
}

/// 405, as the original answers.
pub(crate) fn method_not_allowed() -> Status {
    let message = "the server does not allow this method on the requested resource";
    let mut status = Status::new(StatusCode::METHOD_NOT_ALLOWED, Reason::MethodNotAllowed, message);
    status.details = Some(serde_json::Map::new());
    status
}

/// 404 for a word that no kind goes by.
pub(crate) fn no_such_resource() -> Status {
    let message = "the server could not find the requested resource";
    let mut status = Status::new(StatusCode::NOT_FOUND, Reason::NotFound, message);
    status.details = Some(serde_json::Map::new());
    status
}
