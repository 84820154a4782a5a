//! What a body is, and what an answer shall be.

use http::StatusCode;
use serde_json::Map;

use crate::status::{Reason, Status};

/// What a body is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// `application/json`, and a body of no stated type.
    Json,
    /// `application/yaml`.
    Yaml,
    /// `application/json-patch+json`.
    JsonPatch,
    /// `application/merge-patch+json`.
    MergePatch,
    /// `application/strategic-merge-patch+json`.
    StrategicPatch,
    /// `application/apply-patch+yaml`.
    ApplyPatch,
    /// `application/vnd.kubernetes.protobuf`.
    Protobuf,
    /// `application/cbor`, as an object or as an apply patch.
    Cbor,
    /// Anything else.
    Other,
}

/// What an answer is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `application/json`.
    Json,
    /// `application/yaml`.
    Yaml,
}

/// What an answer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The object or list itself.
    Object,
    /// A table of it.
    Table,
    /// Its metadata alone.
    PartialObjectMetadata,
    /// The metadata of a list's items.
    PartialObjectMetadataList,
    /// All groups and resources in one document.
    Discovery {
        /// Version of that document: `v2`.
        version: String,
    },
}

/// What the client takes and the server gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepts {
    /// How the answer is written.
    pub media: Answer,
    /// What it holds.
    pub shape: Shape,
    /// The `Content-Type` to answer with.
    pub content_type: String,
}

/// Reads a `Content-Type`.
pub fn media(content_type: &str) -> Media {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "" | "application/json" => Media::Json,
        "application/yaml" => Media::Yaml,
        "application/json-patch+json" => Media::JsonPatch,
        "application/merge-patch+json" => Media::MergePatch,
        "application/strategic-merge-patch+json" => Media::StrategicPatch,
        "application/apply-patch+yaml" => Media::ApplyPatch,
        "application/vnd.kubernetes.protobuf" => Media::Protobuf,
        "application/cbor" | "application/apply-patch+cbor" => Media::Cbor,
        _ => Media::Other,
    }
}

/// Chooses the answer for a resource. `collection` tells whether many objects are asked for.
///
/// Clauses the server cannot give are passed over, protobuf among them: clients that ask for it list JSON behind.
pub fn negotiate(accept: Option<&str>, collection: bool) -> Result<Accepts, Status> {
    let chosen = choose(accept, |clause| {
        let Some(target) = &clause.target else {
            return Some(Shape::Object);
        };
        match (target.group, target.version, target.kind) {
            ("meta.k8s.io", "v1", "Table") => Some(Shape::Table),
            ("meta.k8s.io", "v1", "PartialObjectMetadata") => Some(Shape::PartialObjectMetadata),
            ("meta.k8s.io", "v1", "PartialObjectMetadataList") => Some(Shape::PartialObjectMetadataList),
            _ => None,
        }
    })?;
    if chosen.shape == Shape::PartialObjectMetadataList && !collection {
        let message = "you requested PartialObjectMetadataList, but the requested object is not a list";
        return Err(Status::new(StatusCode::NOT_ACCEPTABLE, Reason::NotAcceptable, message));
    }
    Ok(chosen)
}

/// Chooses the answer for `/api` and `/apis`: the one document if the client can read it, else the old ones.
pub fn negotiate_discovery(accept: Option<&str>) -> Result<Accepts, Status> {
    let whole = choose(accept, |clause| {
        let target = clause.target.as_ref()?;
        let known = ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList");
        let version = target.version.to_owned();
        ((target.group, target.version, target.kind) == known).then_some(Shape::Discovery { version })
    });
    whole.or_else(|_| choose(accept, |clause| clause.target.is_none().then_some(Shape::Object)))
}

/// One entry of an `Accept` header.
#[derive(Clone, Debug, Default)]
struct Clause<'a> {
    kind: &'a str,
    subkind: &'a str,
    quality: f32,
    /// What the object shall be turned into, if the clause names anything of it.
    target: Option<Target<'a>>,
    stream: &'a str,
}

#[derive(Clone, Debug, Default)]
struct Target<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

fn choose(accept: Option<&str>, shape: impl Fn(&Clause) -> Option<Shape>) -> Result<Accepts, Status> {
    let header = accept.filter(|header| !header.is_empty()).unwrap_or("application/json");
    let clauses = clauses(header);
    let mut readable = false;
    for clause in &clauses {
        let Some(media) = answer(clause) else { continue };
        readable = true;
        if let Some(shape) = shape(clause).filter(|_| matches!(clause.stream, "" | "watch")) {
            return Ok(Accepts { media, content_type: content_type(media, &shape), shape });
        }
    }
    Err(not_acceptable(readable))
}

fn answer(clause: &Clause) -> Option<Answer> {
    match (clause.kind, clause.subkind) {
        ("application", "json" | "*") | ("*", "*") => Some(Answer::Json),
        ("application", "yaml") => Some(Answer::Yaml),
        _ => None,
    }
}

fn content_type(media: Answer, shape: &Shape) -> String {
    let media = match media {
        Answer::Json => "application/json",
        Answer::Yaml => "application/yaml",
    };
    match shape {
        Shape::Discovery { version } => {
            format!("{media};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList")
        }
        _ => media.to_owned(),
    }
}

/// The refusal differs by who refuses: the router knows no such type, or the endpoint no such shape.
fn not_acceptable(readable: bool) -> Status {
    const LIST: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
    let message = if readable {
        format!("only the following media types are accepted: {LIST}")
    } else {
        format!("406: Not Acceptable\n\nAvailable representations: {LIST}")
    };
    let mut status = Status::new(StatusCode::NOT_ACCEPTABLE, Reason::NotAcceptable, message);
    status.details = (!readable).then(Map::new);
    status
}

/// The clauses of a header, best first: by quality, then the more exact one, then as they stand.
fn clauses(header: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause> = header.split(',').filter_map(clause).collect();
    let vague = |clause: &Clause| (clause.kind == "*", clause.subkind == "*");
    clauses.sort_by(|left, right| {
        right.quality.total_cmp(&left.quality).then_with(|| vague(left).cmp(&vague(right)))
    });
    clauses
}

fn clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';');
    let essence = parts.next()?.trim();
    let (kind, subkind) = if essence == "*" { ("*", "*") } else { essence.split_once('/')? };
    let mut clause = Clause { kind: kind.trim(), subkind: subkind.trim(), quality: 1.0, ..Clause::default() };
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        let value = value.trim();
        match name.trim() {
            "q" => clause.quality = value.parse().unwrap_or(0.0),
            "as" => clause.target.get_or_insert_default().kind = value,
            "g" => clause.target.get_or_insert_default().group = value,
            "v" => clause.target.get_or_insert_default().version = value,
            "stream" => clause.stream = value,
            _ => {}
        }
    }
    Some(clause)
}
