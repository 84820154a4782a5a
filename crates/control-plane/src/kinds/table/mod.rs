//! Tables: what `kubectl get` prints, cut on the server.
//!
//! A built-in kind's cells are code (`builtin` names it); a custom resource's cells are JSON paths from
//! its definition. Everything here is pure: the clock comes in as a parameter.

mod builtin;
mod cluster;
mod custom;
mod fields;
mod jsonpath;
mod metrics;
mod network;
pub(crate) mod number;
mod pods;
mod policy;
pub(crate) mod selector;
mod storage;
mod time;
mod workloads;

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{Column, Kind};
use builtin::Cells;

/// What a row carries beside its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Include {
    /// Nothing.
    None,
    /// The object's metadata.
    Metadata,
    /// The whole object.
    Object,
}

impl Include {
    /// Reads the query parameter `includeObject`; `None` when the word is unknown.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "None" => Some(Self::None),
            "" | "Metadata" => Some(Self::Metadata),
            "Object" => Some(Self::Object),
            _ => None,
        }
    }
}

/// The columns of a kind's table, the name first.
pub fn columns(kind: &Kind) -> Vec<Column> {
    if kind.builtin { builtin::columns(kind) } else { custom::columns(kind) }
}

/// The cells of one object, in the order of `columns`.
pub fn row(kind: &Kind, object: &Value, now: Timestamp) -> Vec<Value> {
    Cells::of(kind).row(object, now)
}

/// `columnDefinitions`, as they go over the wire.
pub fn header_json(columns: &[Column]) -> Value {
    let header = |column: &Column| {
        json!({
            "name": column.name,
            "type": column.kind,
            "format": column.format,
            "description": column.description,
            "priority": column.priority,
        })
    };
    columns.iter().map(header).collect()
}

/// A `meta.k8s.io/v1` Table of these objects. `list_metadata` is the metadata of the list it stands for.
pub fn table(
    kind: &Kind,
    objects: impl Iterator<Item = Value>,
    include: Include,
    list_metadata: Value,
    now: Timestamp,
) -> Value {
    let cells = Cells::of(kind);
    let rows: Vec<Value> = objects.map(|object| row_json(kind, &cells, object, include, now)).collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": list_metadata,
        "columnDefinitions": header_json(&columns(kind)),
        "rows": rows,
    })
}

/// The object's metadata alone, as a `PartialObjectMetadata`.
pub fn partial_metadata(object: &Value) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata })
}

/// The metadata of many objects, as a `PartialObjectMetadataList`.
pub fn partial_list<'a>(objects: impl Iterator<Item = &'a Value>, list_metadata: Value) -> Value {
    let items: Vec<Value> = objects.map(partial_metadata).collect();
    json!({
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": list_metadata,
        "items": items,
    })
}

fn row_json(kind: &Kind, cells: &Cells, object: Value, include: Include, now: Timestamp) -> Value {
    let mut row = Map::new();
    row.insert("cells".into(), cells.row(&object, now).into());
    if let Some(condition) = pods::completed(kind, &object) {
        row.insert("conditions".into(), json!([condition]));
    }
    let shown = match include {
        Include::None => Value::Null,
        Include::Metadata => partial_metadata(&object),
        Include::Object => typed(kind, object),
    };
    row.insert("object".into(), shown);
    row.into()
}

/// The object with its kind and version in front: items of a list do not carry them, rows do.
fn typed(kind: &Kind, object: Value) -> Value {
    let mut whole = Map::new();
    whole.insert("kind".into(), kind.kind.clone().into());
    whole.insert("apiVersion".into(), kind.api_version().into());
    if let Value::Object(fields) = object {
        whole.extend(fields);
    }
    whole.into()
}
