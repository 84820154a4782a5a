//! `update`: a whole object in place of another. Patches end here too.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Answer, Call, Content, admit, body, patch, rules};
use crate::kinds::builtin;
use crate::merge::{self, Manager};
use crate::server::{MODIFIED, Server, refused};
use crate::status::{Cause, Status};
use crate::store::{Change, CommitError, Draft, Expect, Stored, Write};
use crate::wire::form;

/// Which part of the object a write may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Everything but the status, where the kind keeps it apart.
    Main,
    /// The status alone.
    Status,
    /// A namespace's finalizers alone.
    Finalize,
    /// The replica count alone.
    Scale,
    /// The node of a pod, given once.
    Binding,
}

impl Part {
    /// The name of the subresource in managed fields.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Main => "",
            Self::Status => "status",
            Self::Finalize => "finalize",
            Self::Scale => "scale",
            Self::Binding => "binding",
        }
    }
}

/// Built-in kinds that, like custom ones, are not replaced blindly.
const BOUND: [&str; 3] = ["leases", "poddisruptionbudgets", "customresourcedefinitions"];

/// How often a write that named no version is tried again when somebody was faster.
const TRIES: usize = 64;

pub(super) async fn run(server: &Arc<Server>, call: &Call, part: Part) -> Result<Answer, Status> {
    call.query.check_write("UpdateOptions", false)?;
    let read = body::object(call)?;
    check_place(call, &read.value)?;
    let make = |_old: &Value| {
        versioned(call, &read.value)?;
        Ok(Next { object: read.value.clone(), duplicates: read.duplicates.clone(), tracked: false })
    };
    change(server, call, part, &make).await
}

/// A custom resource is only replaced by who says which version they saw.
fn versioned(call: &Call, object: &Value) -> Result<(), Status> {
    let kind = &call.entry.kind;
    let seen = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let free = kind.builtin && !BOUND.contains(&kind.plural.as_str());
    if free || !seen.is_empty() {
        return Ok(());
    }
    let why = "must be specified for an update";
    let cause = Cause::invalid("metadata.resourceVersion", &json!(0), why);
    Err(Status::invalid(&kind.group, &kind.plural, &call.path.name, vec![cause]))
}

fn check_place(call: &Call, object: &Value) -> Result<(), Status> {
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    if name != call.path.name {
        return Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            call.path.name
        )));
    }
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    if call.entry.kind.namespaced && !namespace.is_empty() && namespace != call.path.namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// What a write makes of the object that is there.
pub(crate) struct Next {
    pub object: Value,
    pub duplicates: Vec<String>,
    /// Whether the managed fields are already those of this write (an apply).
    pub tracked: bool,
}

/// Reads, changes and writes until nobody was in between. `make` gets the object in the call's version.
pub(crate) async fn change(
    server: &Arc<Server>,
    call: &Call,
    part: Part,
    make: &(dyn Fn(&Value) -> Result<Next, Status> + Send + Sync),
) -> Result<Answer, Status> {
    let kind = &call.entry.kind;
    for _ in 0..TRIES {
        let stored = server.store.get(&call.key()).ok_or_else(|| call.not_found())?;
        let mut old = stored.value();
        form::convert(&call.entry, &mut old, &kind.api_version());
        let next = make(&old)?;
        let bound = same_object(call, &next.object, &stored)?;
        let (new, warnings) = settled(server, call, part, &old, next)?;
        if new == old {
            return Ok(Answer::ok(Content::Stored(stored)).warned(warnings));
        }
        if call.query.is_dry_run() {
            return Ok(Answer::ok(Content::Object(new)).warned(warnings));
        }
        match write(server, call, &stored, &new).await {
            Ok(stored) => return Ok(Answer::ok(Content::Stored(stored)).warned(warnings)),
            Err(CommitError::Changed { .. }) if !bound => {}
            Err(CommitError::Missing) => return Err(call.not_found()),
            Err(error) => return Err(refused(error, &kind.group, &kind.plural, &call.path.name)),
        }
    }
    Err(call.conflict(MODIFIED))
}

/// Checks the version and uid that the client names. True where it names a version.
fn same_object(call: &Call, object: &Value, stored: &Stored) -> Result<bool, Status> {
    let metadata = &object["metadata"];
    let version = metadata["resourceVersion"].as_str().unwrap_or_default();
    let bound = !matches!(version, "" | "0");
    if bound && version != stored.revision.to_string() {
        return Err(call.conflict(MODIFIED));
    }
    let uid = metadata["uid"].as_str().unwrap_or_default();
    if !uid.is_empty() && uid != stored.facts().uid.as_ref() {
        let place = [call.entry.kind.plural.as_str(), &call.path.namespace, &call.path.name]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("/");
        return Err(call.conflict(&format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{place}, ResourceVersion: 0, AdditionalErrorMsg: \
             Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            stored.facts().uid
        )));
    }
    Ok(bound)
}

/// Everything between what the client wants and what may be stored.
fn settled(
    server: &Server,
    call: &Call,
    part: Part,
    old: &Value,
    next: Next,
) -> Result<(Value, Vec<String>), Status> {
    let kind = &call.entry.kind;
    let mut new = next.object;
    let mut fields = new["metadata"].get("managedFields").cloned();
    if let Some(fields) = &mut fields {
        builtin::canonical_fields(fields);
    }
    let given = patch::is_merged(call).then(|| new.clone());
    let warnings = admit::shape(call, &mut new, &next.duplicates).map_err(|status| match &given {
        Some(given) => patch::unreadable(call, given, status),
        None => status,
    })?;
    keep_metadata(&mut new, old);
    if part == Part::Main {
        // Before the generation is counted: what is filled in again has not changed.
        rules::ask(server, call, &mut new, Some(old)).map_err(|status| status.warned(&warnings))?;
    }
    confine(call, part, &mut new, old);
    if kind.storage.as_ref() == crate::server::DEFINITIONS && part == Part::Main {
        let wanted = new["metadata"]["finalizers"].clone();
        let deleting = !old["metadata"]["deletionTimestamp"].is_null();
        admit::established(server, call, &mut new);
        // While it is being deleted the clean-up takes its finalizer away, and it must stay away.
        if deleting {
            new["metadata"]["finalizers"] = wanted;
            new["status"] = old["status"].clone();
        }
    }
    drop_empty(&mut new);
    if next.tracked {
        set_or_remove(&mut new["metadata"], "managedFields", fields);
    } else {
        set_or_remove(
            &mut new["metadata"],
            "managedFields",
            fields.or(old["metadata"].get("managedFields").cloned()),
        );
        let version = kind.api_version();
        let by =
            Manager { name: call.manager(), api_version: &version, subresource: part.word(), now: call.now };
        merge::track(Some(old), &mut new, call.entry.typed().as_deref(), &by);
    }
    if kind.storage.as_ref() == "services" && part == Part::Main {
        super::service::allocate(server, &mut new).map_err(|status| status.warned(&warnings))?;
    }
    // What changes nothing breaks no rule that was not broken before.
    if new != *old {
        judge(server, call, part, &new, old).map_err(|status| status.warned(&warnings))?;
    }
    Ok((new, warnings))
}

/// A main write keeps every rule; the other parts change too little to break more than the schema's.
fn judge(server: &Server, call: &Call, part: Part, new: &Value, old: &Value) -> Result<(), Status> {
    if call.entry.kind.builtin && matches!(part, Part::Status | Part::Finalize | Part::Binding) {
        return Ok(());
    }
    admit::judge(server, call, new, Some(old))
}

/// What a client may not change, it keeps.
fn keep_metadata(new: &mut Value, old: &Value) {
    const KEPT: [&str; 8] = [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "selfLink",
        "resourceVersion",
        "namespace",
    ];
    for field in KEPT {
        let value = old["metadata"].get(field).cloned();
        set_or_remove(&mut new["metadata"], field, value);
    }
}

/// Sets a field, or removes it where there is no value.
pub(crate) fn set_or_remove(object: &mut Value, field: &str, value: Option<Value>) {
    let Some(map) = object.as_object_mut() else { return };
    match value {
        Some(value) => {
            map.insert(field.to_owned(), value);
        }
        None => {
            map.shift_remove(field);
        }
    }
}

/// Takes back what this part of the API may not change, and counts the generation.
fn confine(call: &Call, part: Part, new: &mut Value, old: &Value) {
    let kind = &call.entry.kind;
    match part {
        Part::Main | Part::Scale | Part::Binding => builtin::prepare_update(kind, new, old),
        Part::Status => builtin::prepare_status(kind, new, old),
        Part::Finalize => {
            let wanted = new["spec"]["finalizers"].clone();
            *new = old.clone();
            new["spec"]["finalizers"] = wanted;
        }
    }
}

/// Empty maps and lists of metadata are not kept: `labels: {}` is no labels.
fn drop_empty(object: &mut Value) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    metadata.retain(|_, value| match value {
        Value::Null => false,
        Value::Object(map) => !Map::is_empty(map),
        Value::Array(list) => !list.is_empty(),
        _ => true,
    });
}

/// Writes the new state; an object that was only waiting for its last finalizer goes with it.
pub(crate) async fn write(
    server: &Server,
    call: &Call,
    stored: &Stored,
    new: &Value,
) -> Result<Arc<Stored>, CommitError> {
    let mut lying = new.clone();
    form::convert(&call.entry, &mut lying, &call.entry.stored_as);
    let draft = Draft::of(&lying);
    let change = if finished(new) { Change::Delete(draft) } else { Change::Put(draft) };
    let expect = Expect::Revision(stored.revision);
    server.commit(Write { key: stored.key.clone(), expect, change }).await
}

/// Whether nothing holds an object that is being deleted.
pub(crate) fn finished(object: &Value) -> bool {
    let metadata = &object["metadata"];
    let free = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
    let namespace = object["kind"] == "Namespace" && object["apiVersion"] == "v1";
    let graceful = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) > 0;
    let released = free(&metadata["finalizers"]) && (!namespace || free(&object["spec"]["finalizers"]));
    !metadata["deletionTimestamp"].is_null() && released && !graceful
}
