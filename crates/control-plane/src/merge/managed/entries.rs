//! `metadata.managedFields`: its entries, read and written in the original's form and order.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Manager;
use super::fields::FieldSet;
use super::walk::Changes;

/// Entries of `Update` that one object may have, as in the original.
const UPDATERS_MAX: usize = 10;
/// Who owns what the oldest of too many updaters owned.
const ANCIENT: &str = "ancient-changes";

/// Whether fields are owned by having been applied or by having been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

impl Operation {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Who owns fields. Two entries with one identity are one entry.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) manager: String,
    pub(super) operation: Operation,
    pub(super) api_version: String,
    pub(super) subresource: String,
}

impl Owner {
    pub(super) fn of(by: &Manager, operation: Operation) -> Self {
        let manager = if by.name.is_empty() { "unknown" } else { by.name };
        Self {
            manager: manager.to_owned(),
            operation,
            api_version: by.api_version.to_owned(),
            subresource: by.subresource.to_owned(),
        }
    }

    /// The text the original tells owners apart by, and sorts them by. An applier is the same in every
    /// version.
    pub(super) fn identity(&self) -> String {
        let mut identity = json!({ "manager": self.manager, "operation": self.operation.word() });
        if self.operation == Operation::Update {
            identity["apiVersion"] = json!(self.api_version);
        }
        if !self.subresource.is_empty() {
            identity["subresource"] = json!(self.subresource);
        }
        identity.to_string()
    }
}

/// One owner, its fields, and when it last changed something.
///
/// The paths are taken to mean the same in every version of a kind: versions of one kind share their
/// schema's paths here, so an entry is compared in whatever version it was written.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) owner: Owner,
    pub(super) time: Option<String>,
    pub(super) fields: FieldSet,
}

impl Entry {
    fn decode(at: usize, entry: &Value) -> Result<Self, String> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err("operation must be `Apply` or `Update`".into()),
        };
        if text("apiVersion").is_empty() {
            return Err("apiVersion must not be empty".into());
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {at}")),
            other => return Err(format!("invalid fieldsType {other:?} in managed fields entry {at}")),
        }
        let fields = entry.get("fieldsV1").filter(|fields| !fields.is_null());
        let fields = fields.map_or(Ok(FieldSet::default()), FieldSet::parse);
        let owner = Owner {
            manager: text("manager").to_owned(),
            operation,
            api_version: text("apiVersion").to_owned(),
            subresource: text("subresource").to_owned(),
        };
        Ok(Self {
            owner,
            time: entry.get("time").and_then(Value::as_str).map(str::to_owned),
            fields: fields.map_err(|why| format!("error decoding versioned set from {entry}: {why}"))?,
        })
    }

    fn encode(&self) -> Value {
        let Owner { manager, operation, api_version, subresource } = &self.owner;
        let mut entry = Map::new();
        if !manager.is_empty() {
            entry.insert("manager".into(), json!(manager));
        }
        entry.insert("operation".into(), json!(operation.word()));
        entry.insert("apiVersion".into(), json!(api_version));
        if let Some(time) = &self.time {
            entry.insert("time".into(), json!(time));
        }
        entry.insert("fieldsType".into(), json!("FieldsV1"));
        entry.insert("fieldsV1".into(), self.fields.print());
        if !subresource.is_empty() {
            entry.insert("subresource".into(), json!(subresource));
        }
        Value::Object(entry)
    }

    fn seconds(&self) -> i64 {
        let time = self.time.as_ref().and_then(|time| time.parse::<Timestamp>().ok());
        time.map_or(0, |time| time.as_second())
    }
}

/// All owners of one object.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    pub(super) all: Vec<Entry>,
}

impl Entries {
    /// Reads `managedFields`; absent and null are no entries.
    pub(super) fn decode(managed: Option<&Value>) -> Result<Self, String> {
        let mut entries = Self::default();
        let list = match managed {
            None | Some(Value::Null) => return Ok(entries),
            Some(Value::Array(list)) => list,
            Some(other) => return Err(format!("expected a list of entries, got {other}")),
        };
        for (at, entry) in list.iter().enumerate() {
            entries.put(Entry::decode(at, entry)?);
        }
        Ok(entries)
    }

    /// As `managedFields` has it; `None` where nobody owns anything.
    pub(super) fn encode(mut self) -> Option<Value> {
        self.all.sort_by_key(|entry| {
            let Owner { manager, operation, api_version, subresource } = entry.owner.clone();
            (operation, entry.seconds(), manager, api_version, subresource)
        });
        match self.all.is_empty() {
            true => None,
            false => Some(self.all.iter().map(Entry::encode).collect()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn position(&self, owner: &Owner) -> Option<usize> {
        let identity = owner.identity();
        self.all.iter().position(|entry| entry.owner.identity() == identity)
    }

    /// Takes an owner's entry out.
    pub(super) fn take(&mut self, owner: &Owner) -> Option<Entry> {
        self.position(owner).map(|at| self.all.remove(at))
    }

    /// Puts an entry in the place of its owner's.
    pub(super) fn put(&mut self, entry: Entry) {
        self.take(&entry.owner);
        self.all.push(entry);
    }

    /// Takes from everybody but one what was changed or removed; who owns nothing any more goes.
    pub(super) fn lose(&mut self, changes: &Changes, but: Option<&Owner>) {
        let but = but.map(Owner::identity);
        for entry in &mut self.all {
            if but.as_ref() != Some(&entry.owner.identity()) {
                let left = entry.fields.difference(&changes.modified).difference(&changes.added);
                entry.fields = left.difference(&changes.removed);
            }
        }
        self.all.retain(|entry| !entry.fields.is_empty());
    }

    /// Gives fields to an owner, beside those it has.
    pub(super) fn claim(&mut self, owner: Owner, fields: FieldSet, time: Option<String>) {
        let before = self.take(&owner).map(|entry| entry.fields).unwrap_or_default();
        self.put(Entry { owner, time, fields: before.union(&fields) });
    }

    /// Merges the oldest updaters, version by version, until there are few enough.
    pub(super) fn cap(&mut self) {
        let mut updaters: Vec<Entry> =
            self.all.iter().filter(|entry| entry.owner.operation == Operation::Update).cloned().collect();
        updaters.sort_by_key(|entry| (entry.seconds(), entry.owner.identity()));
        let mut count = updaters.len();
        let mut buckets: Vec<Owner> = Vec::new();
        for Entry { owner, time, .. } in updaters {
            if count <= UPDATERS_MAX {
                return;
            }
            let Some(first) = buckets.iter().find(|one| one.api_version == owner.api_version).cloned() else {
                buckets.push(owner);
                continue;
            };
            let gone = [self.take(&first), self.take(&owner)];
            let fields = gone.iter().flatten().fold(FieldSet::default(), |all, one| all.union(&one.fields));
            let bucket = Owner { manager: ANCIENT.to_owned(), subresource: String::new(), ..first.clone() };
            self.claim(bucket.clone(), fields, time);
            buckets.retain(|one| one.api_version != bucket.api_version);
            buckets.push(bucket);
            count -= 1;
        }
    }
}
