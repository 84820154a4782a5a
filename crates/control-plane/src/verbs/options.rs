//! Options that several verbs share: versions, selectors.

use http::StatusCode;
use serde_json::Value;

use super::Call;
use crate::gates::selector::{FieldSelector, LabelSelector};
use crate::kinds::Kind;
use crate::server::Server;
use crate::status::{Cause, Reason, Status};
use crate::store::Stored;

/// Reads a resource version; absent and empty are `None`.
pub(crate) fn version(text: Option<&str>) -> Result<Option<u64>, Status> {
    text.map(|text| {
        text.parse().map_err(|_| {
            let why = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
            Status::unclassified(format!("resourceVersion: Invalid value: {text:?}: {why}"))
        })
    })
    .transpose()
}

/// Refuses a version that has not happened yet.
pub(crate) fn not_from_the_future(server: &Server, text: Option<&str>) -> Result<Option<u64>, Status> {
    let asked = version(text)
        .map_err(|status| Status::bad_request(format!("invalid resource version: {}", status.message)))?;
    let current = server.store.revision();
    match asked {
        Some(asked) if asked > current => Err(too_large(asked, current)),
        _ => Ok(asked),
    }
}

fn too_large(asked: u64, current: u64) -> Status {
    let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
    let mut status = Status::new(StatusCode::GATEWAY_TIMEOUT, Reason::Timeout, message);
    let causes = [Cause::of("ResourceVersionTooLarge", "", "Too large resource version")];
    let bare = |cause: &Cause| serde_json::json!({ "reason": cause.reason, "message": cause.message });
    let details = status.details.get_or_insert_default();
    details.insert("causes".into(), causes.iter().map(bare).collect());
    status.retry_after(1)
}

/// Which objects of a collection are meant.
#[derive(Clone)]
pub(crate) struct Selection {
    labels: Option<LabelSelector>,
    fields: Vec<FieldTerm>,
    namespace: Option<String>,
}

#[derive(Clone)]
struct FieldTerm {
    place: Place,
    value: String,
    equal: bool,
}

#[derive(Clone)]
enum Place {
    Name,
    Namespace,
    /// A JSON pointer into the object.
    At(String),
}

impl Selection {
    /// The selection of a list, a watch or a deletion of many.
    pub(crate) fn of(call: &Call) -> Result<Self, Status> {
        let labels = LabelSelector::parse(&call.query.label_selector).map_err(Status::bad_request)?;
        let parsed = FieldSelector::parse(&call.query.field_selector).map_err(Status::bad_request)?;
        let term = |term: &crate::gates::selector::Term| -> Result<FieldTerm, Status> {
            Ok(FieldTerm {
                place: place(&call.entry.kind, &term.field)?,
                value: term.value.clone(),
                equal: term.equal,
            })
        };
        let mut fields = parsed.terms().iter().map(term).collect::<Result<Vec<_>, _>>()?;
        // A path may name one object of a collection: the old form of watching a single one.
        if !call.path.name.is_empty() {
            fields.push(FieldTerm { place: Place::Name, value: call.path.name.clone(), equal: true });
        }
        let namespace = Some(call.path.namespace.clone()).filter(|namespace| !namespace.is_empty());
        Ok(Self { labels: Some(labels).filter(|labels| !labels.is_empty()), fields, namespace })
    }

    /// Whether every object is meant: then nothing needs to be looked into.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_none() && self.fields.is_empty()
    }

    /// The namespace, where one is named.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Whether one object is meant.
    pub(crate) fn takes(&self, stored: &Stored) -> bool {
        if self.namespace.as_deref().is_some_and(|namespace| namespace != stored.key.namespace.as_ref()) {
            return false;
        }
        if self.is_everything() {
            return true;
        }
        let label = |key: &str| stored.facts().label(key);
        if self.labels.as_ref().is_some_and(|labels| !labels.matches(&label)) {
            return false;
        }
        let mut parsed: Option<Value> = None;
        self.fields.iter().all(|term| {
            let same = match &term.place {
                Place::Name => stored.key.name.as_ref() == term.value,
                Place::Namespace => stored.key.namespace.as_ref() == term.value,
                Place::At(pointer) => {
                    let value = parsed.get_or_insert_with(|| stored.value());
                    text_at(value, pointer) == term.value
                }
            };
            same == term.equal
        })
    }
}

/// A scalar as field selectors compare it; what is absent is the empty string.
fn text_at(object: &Value, pointer: &str) -> String {
    match object.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) if pointer == "/spec/unschedulable" => "false".to_owned(),
        None | Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
    }
}

fn place(kind: &Kind, field: &str) -> Result<Place, Status> {
    match field {
        "metadata.name" => return Ok(Place::Name),
        "metadata.namespace" if kind.namespaced => return Ok(Place::Namespace),
        _ => {}
    }
    let dotted = field.trim_start_matches('.');
    if kind.selectable.iter().any(|known| known.trim_start_matches('.') == dotted) {
        // Events in their newer API are stored in the older shape.
        let path = match (kind.storage.as_ref(), dotted) {
            ("events", path) if kind.group == "events.k8s.io" => {
                path.replacen("regarding.", "involvedObject.", 1)
            }
            (_, path) => path.to_owned(),
        };
        return Ok(Place::At(format!("/{}", path.replace('.', "/"))));
    }
    let what = if kind.builtin && kind.selectable.is_empty() {
        format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
    } else {
        format!("field label not supported: {field}")
    };
    Err(Status::bad_request(what))
}
