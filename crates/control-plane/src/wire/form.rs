//! The form a client wants objects in: whole, as a table, or as metadata alone; JSON or YAML.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{Bytes, BytesMut};
use futures::stream;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::decode::{self, Accepts, Answer as Media, Shape};
use super::yaml;
use crate::kinds::builtin;
use crate::kinds::catalog::Entry;
use crate::kinds::table::{self, Include};
use crate::status::Status;
use crate::store::Stored;
use crate::verbs::{Call, Chunks};

/// How the objects of one answer are written.
#[derive(Clone)]
pub(crate) struct Form {
    accepts: Accepts,
    include: Include,
    entry: Arc<Entry>,
    version: String,
    /// Whether a watch has told the columns of its table: it tells them once.
    headed: Arc<AtomicBool>,
}

/// Size of the pieces a long list is written in: large enough to be cheap, small enough not to be held twice.
const PIECE: usize = 256 * 1024;

impl Form {
    /// What the request asked for. Streams and lists have their own shapes.
    pub(crate) fn of(call: &Call, collection: bool) -> Result<Self, Status> {
        let accepts = decode::negotiate(call.accept.as_deref(), collection)?;
        let include = match call.query.include_object.as_str() {
            "" | "Metadata" => Include::Metadata,
            "None" => Include::None,
            "Object" => Include::Object,
            other => return Err(Status::bad_request(format!("unrecognized includeObject value: {other:?}"))),
        };
        let version = call.entry.kind.api_version();
        Ok(Self { accepts, include, entry: call.entry.clone(), version, headed: Arc::default() })
    }

    /// The `Content-Type` of the answer.
    pub(crate) fn content_type(&self) -> &str {
        &self.accepts.content_type
    }

    /// Whether an object goes out as the bytes that lie in the store.
    pub(crate) fn is_plain(&self, stored: &Stored) -> bool {
        self.is_whole_json() && stored.lies_in(&self.version)
    }

    fn is_whole_json(&self) -> bool {
        matches!(self.accepts.shape, Shape::Object) && matches!(self.accepts.media, Media::Json)
    }

    fn value_of(&self, stored: &Stored) -> Value {
        let mut value = stored.value();
        self.convert(&mut value);
        value
    }

    /// From the stored version to the one asked for.
    pub(crate) fn convert(&self, value: &mut Value) {
        convert(&self.entry, value, &self.version);
    }

    /// One object.
    pub(crate) fn object(&self, stored: &Stored, now: Timestamp) -> Bytes {
        if self.is_plain(stored) {
            return stored.json.clone();
        }
        self.object_value(self.value_of(stored), now)
    }

    /// One object that is at hand as a value, in the version asked for.
    pub(crate) fn object_value(&self, value: Value, now: Timestamp) -> Bytes {
        self.encode(&self.shaped(value, now))
    }

    fn shaped(&self, value: Value, now: Timestamp) -> Value {
        match self.accepts.shape {
            Shape::Table => {
                let version = value["metadata"]["resourceVersion"].clone();
                let metadata = json!({ "resourceVersion": version });
                table::table(&self.entry.kind, std::iter::once(value), self.include, metadata, now)
            }
            Shape::PartialObjectMetadata | Shape::PartialObjectMetadataList => {
                table::partial_metadata(&value)
            }
            _ => value,
        }
    }

    /// A value in the media type asked for.
    pub(crate) fn encode(&self, value: &Value) -> Bytes {
        match self.accepts.media {
            Media::Yaml => yaml::to_yaml(value).into(),
            Media::Json => value.to_string().into(),
        }
    }

    /// One watch event.
    pub(crate) fn event(&self, word: &str, stored: &Stored, now: Timestamp) -> Bytes {
        if self.is_plain(stored) {
            let mut line = BytesMut::with_capacity(stored.json.len() + 40);
            line.extend_from_slice(format!("{{\"type\":\"{word}\",\"object\":").as_bytes());
            line.extend_from_slice(&stored.json);
            line.extend_from_slice(b"}\n");
            return line.freeze();
        }
        self.event_value(word, stored.value(), now)
    }

    /// One watch event of an object in its stored version.
    pub(crate) fn event_value(&self, word: &str, mut value: Value, now: Timestamp) -> Bytes {
        self.convert(&mut value);
        let mut object = self.shaped(value, now);
        if matches!(self.accepts.shape, Shape::Table) && self.headed.swap(true, Ordering::Relaxed) {
            object["columnDefinitions"] = Value::Null;
        }
        format!("{}\n", json!({ "type": word, "object": object })).into()
    }

    /// The object of a bookmark: nothing but a place in time, of the kind that the events are of.
    pub(crate) fn bookmark(&self, metadata: Value) -> Value {
        match self.accepts.shape {
            Shape::PartialObjectMetadata | Shape::PartialObjectMetadataList => {
                table::partial_metadata(&json!({ "metadata": metadata }))
            }
            _ => json!({ "kind": self.entry.kind.kind, "apiVersion": self.version, "metadata": metadata }),
        }
    }

    /// A list: short ones at once, long ones piece by piece.
    pub(crate) fn list(&self, items: Vec<Arc<Stored>>, metadata: Value, now: Timestamp) -> ListBody {
        let kind = &self.entry.kind;
        // Events differ between their two APIs by more than the name of the version.
        if self.is_whole_json() && self.entry.kind.storage.as_ref() != "events" {
            let head = format!(
                "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{metadata},\"items\":[",
                json!(kind.list_kind),
                json!(self.version)
            );
            return pieces(head, items, self.version.clone());
        }
        let mut values = items.iter().map(|stored| self.value_of(stored));
        let whole = match self.accepts.shape {
            Shape::Table => table::table(kind, values, self.include, metadata, now),
            Shape::PartialObjectMetadata | Shape::PartialObjectMetadataList => {
                let values: Vec<Value> = values.collect();
                table::partial_list(values.iter(), metadata)
            }
            _ => json!({
                "kind": kind.list_kind, "apiVersion": self.version, "metadata": metadata,
                "items": values.by_ref().collect::<Vec<_>>(),
            }),
        };
        ListBody::Whole(self.encode(&whole))
    }
}

/// The body of a list.
pub(crate) enum ListBody {
    /// All of it.
    Whole(Bytes),
    /// Piece by piece.
    Pieces(Chunks),
}

fn pieces(head: String, items: Vec<Arc<Stored>>, version: String) -> ListBody {
    let size: usize = items.iter().map(|stored| stored.json.len() + 1).sum();
    let mut writer = Pieces { rest: items.into_iter(), version, first: true, done: false };
    let mut start = BytesMut::with_capacity(head.len() + size.min(PIECE + PIECE / 2) + 2);
    start.extend_from_slice(head.as_bytes());
    if size <= PIECE {
        writer.fill(&mut start);
        return ListBody::Whole(start.freeze());
    }
    writer.fill(&mut start);
    let rest = stream::iter(std::iter::from_fn(move || {
        if writer.done {
            return None;
        }
        let mut piece = BytesMut::with_capacity(PIECE + PIECE / 8);
        writer.fill(&mut piece);
        Some(piece.freeze())
    }));
    let first = stream::once(std::future::ready(start.freeze()));
    ListBody::Pieces(Box::pin(futures::StreamExt::chain(first, rest)))
}

struct Pieces {
    rest: std::vec::IntoIter<Arc<Stored>>,
    version: String,
    first: bool,
    done: bool,
}

impl Pieces {
    /// Copies objects until the piece is full, and closes the list behind the last one.
    fn fill(&mut self, piece: &mut BytesMut) {
        while piece.len() < PIECE {
            let Some(stored) = self.rest.next() else {
                piece.extend_from_slice(b"]}");
                self.done = true;
                return;
            };
            if !self.first {
                piece.extend_from_slice(b",");
            }
            self.first = false;
            piece.extend_from_slice(&stored.json_as(&self.version));
        }
    }
}

/// Turns an object into another version of its kind. Custom resources only change their name of it.
pub(crate) fn convert(entry: &Entry, value: &mut Value, version: &str) {
    if entry.kind.storage.as_ref() == "events" && entry.kind.builtin {
        return builtin::convert_event(value, version);
    }
    if value["apiVersion"] != version {
        value["apiVersion"] = json!(version);
    }
}
