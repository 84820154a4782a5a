//! Who owns which field: `metadata.managedFields` and server-side apply.
//!
//! Callers give objects as they will be stored: through the object itself, `status` is reset to the
//! stored one before [`track`] where the kind has a status subresource, and left out of the applied
//! configuration before [`apply`]; through `status`, everything else is. So nobody comes to own what
//! the request could not write, and no rule about subresources is needed here.
//!
//! A null in an applied configuration is owned and written, as in the original; what decodes the object
//! afterwards drops it.

mod check;
mod conflict;
mod element;
mod entries;
mod fields;
mod join;
mod last_applied;
mod shape;
#[cfg(test)]
mod tests;
mod walk;

use jiff::Timestamp;
use serde_json::{Map, Value};

pub use conflict::{Conflict, conflict_status};
use entries::{Entries, Entry, Operation, Owner};
use fields::FieldSet;
use join::Hollow;
use shape::Shape;
use walk::Changes;

use super::{DEPTH_MAX, depth_within};
use crate::kinds::schema::Schema;

/// Who comes to own the fields of an object that was never tracked, when it is first applied.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Who writes, through which version and subresource, and when.
#[derive(Clone, Copy, Debug)]
pub struct Manager<'a> {
    /// The `fieldManager` of the request; empty is printed as `unknown`.
    pub name: &'a str,
    /// The version the request was made in: `v1`, `apps/v1`.
    pub api_version: &'a str,
    /// `status`, `scale`, …; empty for the object itself.
    pub subresource: &'a str,
    /// The moment of the write.
    pub now: Timestamp,
}

impl Manager<'_> {
    fn time(&self) -> Option<String> {
        Timestamp::from_second(self.now.as_second()).ok().map(|now| now.to_string())
    }
}

/// Why an apply was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyError {
    /// Others own fields that the configuration would change: see [`conflict_status`].
    Conflicts(Vec<Conflict>),
    /// The configuration does not fit the schema: 500. The text follows
    /// `failed to create typed patch object (<namespace>/<name>; <group>/<version>, Kind=<kind>): `.
    Typed(String),
    /// The request cannot be an apply at all: 400.
    Malformed(String),
}

/// Whether a list of `managedFields` can be read, and if not, why.
pub fn readable(managed: &Value) -> Result<(), String> {
    Entries::decode(Some(managed)).map(|_| ())
}

/// Records a write that is not an apply in `new["metadata"]["managedFields"]`: what it added or changed
/// is its manager's, what it removed is nobody's. `old` None is a create.
///
/// `managedFields` in `new` count if they can be read, else those of `old` do; an empty list, or one of
/// one empty entry, ends the tracking of the object until it is applied.
pub fn track(old: Option<&Value>, new: &mut Value, schema: Option<&Schema>, by: &Manager) {
    let empty = Value::Object(Map::new());
    record(old.unwrap_or(&empty), new, schema, by, old.is_some());
}

/// As [`track`], for the create of a kind whose objects are never quite empty: nobody owns the parts that
/// `blank` has before anything is written.
pub fn track_new(blank: &Value, new: &mut Value, schema: Option<&Schema>, by: &Manager) {
    record(blank, new, schema, by, false);
}

fn record(before: &Value, new: &mut Value, schema: Option<&Schema>, by: &Manager, there: bool) {
    let given = take_managed(new);
    if !depth_within(before, DEPTH_MAX + DEPTH_OWN) || !depth_within(new, DEPTH_MAX) {
        return;
    }
    let mut entries = starting_entries(given.as_ref(), managed_of(before), by);
    if there && entries.is_empty() {
        return;
    }
    let shape = Shape::root(schema);
    reconcile(&mut entries, shape);
    let changes = Changes::between(before, new, shape);
    entries.lose(&changes, None);
    write_down(&mut entries, &changes, Owner::of(by, Operation::Update), by);
    entries.cap();
    set_managed(new, entries);
}

/// Server-side apply. `live` None creates. Returns the merged object with its managedFields.
///
/// Fields the manager applied before and applies no more go, unless somebody else owns them. A field
/// that another owns with another value is a conflict, or taken over with `force`; with the same value
/// it is owned by both.
pub fn apply(
    live: Option<&Value>,
    config: &Value,
    schema: Option<&Schema>,
    by: &Manager,
    force: bool,
) -> Result<Value, ApplyError> {
    let shape = Shape::root(schema);
    refuse_malformed(live, config, by)?;
    check::check(config, shape).map_err(ApplyError::Typed)?;
    let mut base = live.cloned().unwrap_or_else(|| Value::Object(Map::new()));
    let managed = take_managed(&mut base);
    let mut entries = Entries::decode(managed.as_ref()).unwrap_or_default();
    reconcile(&mut entries, shape);
    if entries.is_empty() {
        let nothing = Value::Object(Map::new());
        let owner = Owner::of(&Manager { name: BEFORE_FIRST_APPLY, ..*by }, Operation::Update);
        write_down(&mut entries, &Changes::between(&nothing, &base, shape), owner, by);
    }
    let attempt = Attempt { base, config, shape, by };
    let mut merged = match attempt.run(entries.clone(), force) {
        Err(found) if by.name == last_applied::KUBECTL => {
            let allowed = last_applied::owned(&attempt.base, by.api_version, shape).paths();
            let allowed: Vec<String> = allowed.iter().map(|path| printed(path)).collect();
            let left: Vec<_> = found.into_iter().filter(|one| !allowed.contains(&one.field)).collect();
            if !left.is_empty() {
                return Err(ApplyError::Conflicts(left));
            }
            attempt.run(entries, true)
        }
        other => other,
    }
    .map_err(ApplyError::Conflicts)?;
    if by.name == last_applied::KUBECTL {
        last_applied::refresh(&mut merged, config);
    }
    Ok(merged)
}

/// Levels that `metadata.managedFields[].fieldsV1` adds to the paths below it.
const DEPTH_OWN: usize = 6;

fn refuse_malformed(live: Option<&Value>, config: &Value, by: &Manager) -> Result<(), ApplyError> {
    let text = |key: &str| config.get(key).and_then(Value::as_str).unwrap_or_default();
    if !config.is_object() {
        return Err(ApplyError::Malformed("an applied configuration must be an object".into()));
    }
    let deep = live.is_some_and(|live| !depth_within(live, DEPTH_MAX + DEPTH_OWN));
    if deep || !depth_within(config, DEPTH_MAX) {
        return Err(ApplyError::Malformed("exceeded max depth".into()));
    }
    let version = text("apiVersion");
    if by.subresource.is_empty() && version != by.api_version {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let what = format!("invalid object type: {group}/{version}, Kind={}", text("kind"));
        return Err(ApplyError::Malformed(what));
    }
    match managed_of(config) {
        None | Some(Value::Null) => Ok(()),
        Some(_) => Err(ApplyError::Malformed("metadata.managedFields must be nil".into())),
    }
}

/// One try to lay a configuration over a live object, whose managedFields are taken out.
struct Attempt<'a> {
    base: Value,
    config: &'a Value,
    shape: Shape<'a>,
    by: &'a Manager<'a>,
}

impl Attempt<'_> {
    fn run(&self, mut entries: Entries, force: bool) -> Result<Value, Vec<Conflict>> {
        let owner = Owner::of(self.by, Operation::Apply);
        let last = entries.take(&owner);
        let time = last.as_ref().and_then(|entry| entry.time.clone());
        let fields = walk::fields(self.config, self.shape);
        entries.put(Entry { owner: owner.clone(), time, fields });

        let joined = join::join(&self.base, self.config, self.shape);
        let gone = last.map(|last| self.abandoned(&joined, &last.fields, &entries)).unwrap_or_default();
        let [seen, mut merged] = [Hollow::Null, Hollow::Absent].map(|hollow| match gone.is_empty() {
            true => joined.clone(),
            false => join::without(&joined, &gone, self.shape, hollow),
        });
        let changes = Changes::between(&self.base, &seen, self.shape);
        let conflicts = found_conflicts(&entries, &changes, &owner);
        if !force && !conflicts.is_empty() {
            return Err(conflicts);
        }
        entries.lose(&changes, Some(&owner));
        if let Some(mut entry) = entries.take(&owner) {
            entry.fields = entry.fields.difference(&untracked());
            // As in the original, a manager that changes nothing keeps its time, or stays without one.
            // The original keeps the owners of a scale apart from their times.
            if !walk::same(&self.base, &seen) && self.by.subresource != "scale" {
                entry.time = self.by.time();
            }
            if !entry.fields.is_empty() {
                entries.put(entry);
            }
        }
        set_managed(&mut merged, entries);
        Ok(merged)
    }

    /// The fields that the manager applied last time and that nobody owns now.
    fn abandoned(&self, joined: &Value, last: &FieldSet, entries: &Entries) -> FieldSet {
        let parents = |set: &FieldSet| join::with_parents(set, Some(self.shape));
        let all = parents(&walk::fields(joined, self.shape));
        let last = parents(last);
        let mut owned = FieldSet::of(&[&["metadata"]]);
        for entry in &entries.all {
            owned = owned.union(&parents(&entry.fields));
        }
        // Taking the old fields out may hollow what others own; what they own comes back first.
        let rest = join::without(joined, &last, self.shape, Hollow::Null);
        let rest = parents(&walk::fields(&rest, self.shape)).union(&owned);
        let rest = join::without(joined, &all.difference(&rest), self.shape, Hollow::Null);
        all.difference(&parents(&walk::fields(&rest, self.shape))).intersection(&last)
    }
}

fn found_conflicts(entries: &Entries, changes: &Changes, owner: &Owner) -> Vec<Conflict> {
    let touched = changes.modified.clone().union(&changes.added);
    let mut others: Vec<_> =
        entries.all.iter().filter(|entry| entry.owner.identity() != owner.identity()).collect();
    others.sort_by_key(|entry| entry.owner.identity());
    let each = others.into_iter();
    each.flat_map(|entry| conflict::conflicts(entry, &entry.fields.intersection(&touched))).collect()
}

fn printed(path: &[element::Element]) -> String {
    path.iter().map(ToString::to_string).collect()
}

/// Gives what was added or changed to its owner.
fn write_down(entries: &mut Entries, changes: &Changes, owner: Owner, by: &Manager) {
    let fields = changes.modified.clone().union(&changes.added).difference(&untracked());
    if fields.is_empty() {
        return;
    }
    let time = match by.subresource {
        // The original keeps the owners of a scale apart from their times.
        "scale" => entries.take(&owner).and_then(|entry| {
            let time = entry.time.clone();
            entries.put(entry);
            time
        }),
        _ => by.time(),
    };
    entries.claim(owner, fields, time);
}

/// Fields that the server sets or the request's path names: nobody owns them.
fn untracked() -> FieldSet {
    FieldSet::of(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
}

fn reconcile(entries: &mut Entries, shape: Shape) {
    for entry in &mut entries.all {
        entry.fields = join::reconciled(&entry.fields, shape);
    }
}

/// The entries a write starts from. Through a subresource nobody sets managedFields by hand.
fn starting_entries(given: Option<&Value>, before: Option<&Value>, by: &Manager) -> Entries {
    let stored = || Entries::decode(before).unwrap_or_default();
    if !by.subresource.is_empty() {
        return stored();
    }
    let reset = given.and_then(Value::as_array).is_some_and(|list| match list.as_slice() {
        [] => true,
        [one] => one.as_object().is_some_and(|entry| entry.values().all(blank)),
        _ => false,
    });
    match Entries::decode(given) {
        _ if reset => Entries::default(),
        Ok(entries) if !entries.is_empty() => entries,
        _ => stored(),
    }
}

fn blank(value: &Value) -> bool {
    value.is_null() || value == ""
}

fn managed_of(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

fn take_managed(object: &mut Value) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.shift_remove("managedFields")
}

fn set_managed(object: &mut Value, entries: Entries) {
    let Some(managed) = entries.encode() else { return };
    let Value::Object(object) = object else { return };
    let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(metadata) = metadata {
        metadata.insert("managedFields".into(), managed);
    }
}
