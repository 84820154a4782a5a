//! Objects as they lie in memory: bytes, a revision, and the few facts the server itself needs.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

const VERSION_HEAD: &[u8] = b"{\"apiVersion\":\"";
const METADATA_HEAD: &[u8] = b"\"metadata\":";

/// Where an object lies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// `plural.group`, or `plural` in the core group.
    pub storage: Arc<str>,
    /// Empty for a cluster-scoped object.
    pub namespace: Box<str>,
    /// Name of the object.
    pub name: Box<str>,
}

impl Key {
    /// The key of one object.
    pub fn new(storage: impl Into<Arc<str>>, namespace: &str, name: &str) -> Self {
        Self { storage: storage.into(), namespace: namespace.into(), name: name.into() }
    }
}

/// One object: complete JSON bytes that begin with `apiVersion`, `kind` and `metadata.resourceVersion`.
#[derive(Debug)]
pub struct Stored {
    /// Where it lies.
    pub key: Key,
    /// The write that made it.
    pub revision: u64,
    /// The object, as it goes over the wire.
    pub json: Bytes,
    facts: OnceLock<Box<Facts>>,
}

impl Stored {
    /// An object read back or just written; `json` came out of a [`Draft`].
    pub(super) fn new(key: Key, revision: u64, json: Bytes) -> Self {
        Self { key, revision, json, facts: OnceLock::new() }
    }
    /// What the server needs to know of the metadata, read on first need.
    pub fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| Box::new(Facts::read(&self.json)))
    }
    /// The object as a value.
    pub fn value(&self) -> Value {
        // Only a Draft makes these bytes, and the disk gives them back under a checksum.
        serde_json::from_slice(&self.json).unwrap_or_default()
    }

    /// Whether the bytes lie in this version. An object keeps the one it was last written in.
    pub fn lies_in(&self, api_version: &str) -> bool {
        let rest =
            self.json.get(VERSION_HEAD.len()..).and_then(|rest| rest.strip_prefix(api_version.as_bytes()));
        rest.is_some_and(|rest| rest.first() == Some(&b'"'))
    }

    /// The same bytes under another version of the group; the schema of all versions is the same.
    pub fn json_as(&self, api_version: &str) -> Bytes {
        if self.lies_in(api_version) {
            return self.json.clone();
        }
        let old = self.json.get(VERSION_HEAD.len()..).unwrap_or_default();
        let end = old.iter().position(|byte| *byte == b'"').unwrap_or(old.len());
        let mut swapped = Vec::with_capacity(VERSION_HEAD.len() + api_version.len() + old.len() - end);
        swapped.extend_from_slice(VERSION_HEAD);
        swapped.extend_from_slice(api_version.as_bytes());
        swapped.extend_from_slice(&old[end..]);
        swapped.into()
    }
}

/// One entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Owner {
    pub uid: Box<str>,
    pub kind: Box<str>,
    pub api_version: Box<str>,
    pub name: Box<str>,
    /// Whether this owner is the managing one.
    #[serde(deserialize_with = "null_is_default")]
    pub controller: bool,
    /// Whether foreground deletion of the owner waits for this object.
    #[serde(rename = "blockOwnerDeletion", deserialize_with = "null_is_default")]
    pub block: bool,
}

/// What the server needs to know of an object's metadata.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// `metadata.uid`.
    pub uid: Box<str>,
    /// `metadata.labels`, sorted by key.
    pub labels: Vec<(String, String)>,
    /// `metadata.ownerReferences`.
    pub owners: Vec<Owner>,
    /// `metadata.finalizers`.
    pub finalizers: Vec<String>,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// `metadata.creationTimestamp`.
    pub creation: Option<jiff::Timestamp>,
}

impl Facts {
    /// The value of one label.
    pub fn label(&self, key: &str) -> Option<&str> {
        let found = self.labels.binary_search_by(|(name, _)| name.as_str().cmp(key)).ok()?;
        self.labels.get(found).map(|(_, value)| value.as_str())
    }

    /// Reads the metadata alone: it stands at the front, so the rest of the object is not even scanned.
    fn read(json: &[u8]) -> Self {
        let at = json.windows(METADATA_HEAD.len()).position(|window| window == METADATA_HEAD);
        let rest = at.and_then(|at| json.get(at + METADATA_HEAD.len()..)).unwrap_or_default();
        let mut parser = serde_json::Deserializer::from_slice(rest);
        let metadata = Metadata::deserialize(&mut parser).unwrap_or_default();
        let mut labels = metadata.labels.into_iter().collect::<Vec<_>>();
        labels.sort();
        Self {
            uid: metadata.uid,
            labels,
            owners: metadata.owner_references,
            finalizers: metadata.finalizers,
            deleting: metadata.deletion_timestamp.is_some(),
            creation: metadata.creation_timestamp.and_then(|text| text.parse().ok()),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    #[serde(deserialize_with = "null_is_default")]
    uid: Box<str>,
    #[serde(deserialize_with = "null_is_default")]
    labels: std::collections::BTreeMap<String, String>,
    #[serde(deserialize_with = "null_is_default")]
    owner_references: Vec<Owner>,
    #[serde(deserialize_with = "null_is_default")]
    finalizers: Vec<String>,
    deletion_timestamp: Option<String>,
    creation_timestamp: Option<String>,
}

fn null_is_default<'a, D: serde::Deserializer<'a>, T: Deserialize<'a> + Default>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// An object ready to be written; its revision is spliced in when it is known.
#[derive(Clone, Debug)]
pub struct Draft {
    bytes: Vec<u8>,
    split: usize,
}

impl Draft {
    /// Serializes an object with `apiVersion`, `kind` and `metadata.resourceVersion` in front. A
    /// `resourceVersion` that the object carries is dropped: the store alone gives them.
    pub fn of(object: &Value) -> Self {
        let nothing = Map::new();
        let fields = object.as_object().unwrap_or(&nothing);
        let metadata = fields.get("metadata").and_then(Value::as_object).unwrap_or(&nothing);
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let mut bytes = Vec::with_capacity(1024);
        bytes.extend_from_slice(b"{\"apiVersion\":");
        append(&mut bytes, text("apiVersion"));
        bytes.extend_from_slice(b",\"kind\":");
        append(&mut bytes, text("kind"));
        bytes.extend_from_slice(b",\"metadata\":{\"resourceVersion\":\"");
        let split = bytes.len();
        bytes.push(b'"');
        append_fields(&mut bytes, metadata, &["resourceVersion"]);
        bytes.push(b'}');
        append_fields(&mut bytes, fields, &["apiVersion", "kind", "metadata"]);
        bytes.push(b'}');
        Self { bytes, split }
    }

    /// Bytes of the object, not counting the revision's digits.
    pub(super) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The object's bytes at a revision.
    pub(super) fn at(&self, revision: u64) -> Bytes {
        let digits = revision.to_string();
        let mut json = Vec::with_capacity(self.bytes.len() + digits.len());
        json.extend_from_slice(&self.bytes[..self.split]);
        json.extend_from_slice(digits.as_bytes());
        json.extend_from_slice(&self.bytes[self.split..]);
        json.into()
    }
}

fn append_fields(bytes: &mut Vec<u8>, fields: &Map<String, Value>, skip: &[&str]) {
    for (name, value) in fields.iter().filter(|(name, _)| !skip.contains(&name.as_str())) {
        bytes.push(b',');
        append(bytes, name);
        bytes.push(b':');
        append(bytes, value);
    }
}

/// Memory takes every byte and a JSON value has only string keys, so this cannot fail.
fn append<T: Serialize + ?Sized>(bytes: &mut Vec<u8>, value: &T) {
    let written = serde_json::to_writer(bytes, value);
    debug_assert!(written.is_ok(), "a JSON value serializes into memory");
}
