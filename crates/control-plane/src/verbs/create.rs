//! `create`: a new object, under its own name or one made up.

use std::collections::BTreeSet;
use std::sync::Arc;

use rand::RngExt;
use serde_json::{Value, json};

use super::{Answer, Call, Content, admit, body, rules};
use crate::gates::quota;
use crate::kinds::builtin;
use crate::merge::{self, Manager};
use crate::server::{Server, key, refused};
use crate::status::{Reason, Status};
use crate::store::{Change, CommitError, Draft, Expect, Stored, Write};
use crate::wire::form;

/// How often a made-up name is tried again when it is taken.
const TRIES: usize = 8;
/// Letters of made-up names: none that reads like another, no vowels that could make words.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

pub(super) async fn run(server: &Arc<Server>, call: &Call) -> Result<Answer, Status> {
    call.query.check_write("CreateOptions", false)?;
    let read = body::object(call)?;
    let stem = stem(&read.value);
    let mut tries = if stem.is_some() { TRIES } else { 1 };
    loop {
        let mut object = read.value.clone();
        if let Some(stem) = &stem {
            object["metadata"]["name"] = json!(made_up(stem));
        }
        tries -= 1;
        let (object, warnings) = admitted(server, call, object, &read.duplicates)?;
        match store(server, call, object).await {
            Err(status) if status.reason == Reason::AlreadyExists && tries > 0 => {}
            answer => return answer.map(|answer| answer.warned(warnings)),
        }
    }
}

/// What a name must be made up from, where the client gives none.
fn stem(object: &Value) -> Option<String> {
    let text = |field: &str| object["metadata"][field].as_str().filter(|text| !text.is_empty());
    if text("name").is_some() { None } else { text("generateName").map(str::to_owned) }
}

/// Everything before the write. Also the way of an apply that finds nothing to apply to.
pub(super) fn admitted(
    server: &Server,
    call: &Call,
    mut object: Value,
    duplicates: &[String],
) -> Result<(Value, Vec<String>), Status> {
    let kind = &call.entry.kind;
    place(call, &mut object)?;
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let applied = object["metadata"].get("managedFields").cloned();
    admit::namespace_open(server, call, &name)?;
    let warnings = admit::shape(call, &mut object, duplicates)?;
    clean_metadata(call, &mut object);
    // What the server adds from here on belongs to nobody.
    let fields = match applied.filter(|_| call.content_type.starts_with("application/apply-patch")) {
        Some(fields) => Some(fields),
        None => tracked(call, &object),
    };
    builtin::prepare_create(kind, &mut object);
    rules::ask(server, call, &mut object, None)
        .and_then(|()| admit::admit_new(server, call, &mut object))
        .and_then(|()| admit::judge(server, call, &object, None))
        .map_err(|status| status.warned(&warnings))?;
    if let Some(fields) = fields {
        object["metadata"]["managedFields"] = fields;
    }
    Ok((object, warnings))
}

/// The namespace of the path is the namespace of the object; a name there is the name here.
fn place(call: &Call, object: &mut Value) -> Result<(), Status> {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    let metadata = &mut object["metadata"];
    if call.entry.kind.namespaced {
        match metadata["namespace"].as_str() {
            None | Some("") => metadata["namespace"] = json!(call.path.namespace),
            Some(given) if given != call.path.namespace => {
                return Err(Status::bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request",
                ));
            }
            Some(_) => {}
        }
    } else if let Some(map) = metadata.as_object_mut() {
        map.shift_remove("namespace");
    }
    if metadata
        .get("resourceVersion")
        .is_some_and(|version| !matches!(version.as_str(), Some("") | Some("0")))
    {
        return Err(Status::unclassified("resourceVersion should not be set on objects to be created"));
    }
    Ok(())
}

/// What the server says of a new object, whatever the client said.
fn clean_metadata(call: &Call, object: &mut Value) {
    let metadata = &mut object["metadata"];
    if let Some(map) = metadata.as_object_mut() {
        for field in
            ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields", "generation"]
        {
            map.shift_remove(field);
        }
        map.retain(|_, value| !value.is_null());
    }
    metadata["uid"] = json!(uuid::Uuid::new_v4().to_string());
    metadata["creationTimestamp"] = json!(seconds(call.now));
}

/// A moment as objects carry it: whole seconds.
pub(crate) fn seconds(now: jiff::Timestamp) -> String {
    let whole = jiff::Timestamp::from_second(now.as_second()).unwrap_or(now);
    whole.to_string()
}

/// The managed fields of a new object: all that the client gave, but for a status it may not write here.
fn tracked(call: &Call, object: &Value) -> Option<Value> {
    let mut given = object.clone();
    let apart = call.entry.kind.status;
    if let Some(map) = given.as_object_mut() {
        map.retain(|key, value| {
            !(apart && key == "status") && value.as_object().is_none_or(|map| !map.is_empty())
        });
    }
    let version = call.entry.kind.api_version();
    let by = Manager { name: call.manager(), api_version: &version, subresource: "", now: call.now };
    merge::track_new(&builtin::blank(&call.entry.kind), &mut given, call.entry.typed().as_deref(), &by);
    given["metadata"].get("managedFields").cloned()
}

/// Writes a new object.
pub(super) async fn store(server: &Arc<Server>, call: &Call, object: Value) -> Result<Answer, Status> {
    let kind = &call.entry.kind;
    match attempt(server, call, &object).await {
        Ok(Some(stored)) => Ok(Answer::created(Content::Stored(stored))),
        Ok(None) => Ok(Answer::created(Content::Object(object))),
        Err(failed) => {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            Err(match failed {
                Failed::Quota(why) => Status::forbidden(&kind.group, &kind.plural, name, &why),
                Failed::Commit(error) => refused(error, &kind.group, &kind.plural, name),
            })
        }
    }
}

/// Why an object could not be created.
enum Failed {
    Commit(CommitError),
    Quota(String),
}

/// One try at one name. `None` after a dry run.
async fn attempt(server: &Server, call: &Call, object: &Value) -> Result<Option<Arc<Stored>>, Failed> {
    let kind = &call.entry.kind;
    let namespace = if kind.namespaced { call.path.namespace.as_str() } else { "" };
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let place = key(&kind.storage, namespace, name);
    let quotas = if kind.namespaced { server.objects("resourcequotas", Some(namespace)) } else { Vec::new() };
    let _turn = if quotas.is_empty() { None } else { Some(server.quota.lock().await) };
    if call.query.is_dry_run() {
        let taken = server.store.get(&place).is_some();
        return if taken { Err(Failed::Commit(CommitError::Exists)) } else { Ok(None) };
    }
    if let Some(why) = over_quota(server, call, &quotas, object) {
        return Err(Failed::Quota(why));
    }
    let mut lying = object.clone();
    form::convert(&call.entry, &mut lying, &call.entry.stored_as);
    let change = Change::Put(Draft::of(&lying));
    let write = Write { key: place, expect: Expect::Absent, change };
    server.commit(write).await.map(Some).map_err(Failed::Commit)
}

fn over_quota(server: &Server, call: &Call, quotas: &[Value], object: &Value) -> Option<String> {
    let kind = &call.entry.kind;
    quotas.iter().find_map(|found| {
        let mut quota = found.clone();
        quota["status"]["used"] = used(server, found, &call.path.namespace);
        quota::admit(&quota, &kind.group, &kind.plural, object, None).err()
    })
}

/// `status.used` of a quota as of now, counted from what is there.
pub(crate) fn used(server: &Server, quota: &Value, namespace: &str) -> Value {
    let catalog = server.catalog();
    let hard = quota["spec"]["hard"].as_object();
    let storages: BTreeSet<&str> =
        hard.into_iter().flat_map(|map| map.keys()).map(|name| counted_in(name)).collect();
    let mut counted: Vec<(String, String, Value)> = Vec::new();
    for storage in storages {
        let Some(entry) = catalog.stored_in(storage) else { continue };
        let (group, plural) = (&entry.kind.group, &entry.kind.plural);
        let objects = server.objects(storage, Some(namespace));
        counted.extend(objects.into_iter().map(|object| (group.clone(), plural.clone(), object)));
    }
    quota::used(
        quota,
        counted.iter().map(|(group, plural, object)| (group.as_str(), plural.as_str(), object)),
    )
}

/// Where the objects lie that an amount of a quota is counted from.
fn counted_in(name: &str) -> &str {
    match name {
        _ if name.starts_with("count/") => &name["count/".len()..],
        "secrets" | "configmaps" | "resourcequotas" | "persistentvolumeclaims" => name,
        _ if name.starts_with("services") => "services",
        _ if name.ends_with("storage") || name.ends_with("persistentvolumeclaims") => {
            "persistentvolumeclaims"
        }
        _ => "pods",
    }
}

fn made_up(stem: &str) -> String {
    let mut rng = rand::rng();
    // 63 letters at most, five of them ours.
    let stem: String = stem.chars().take(58).collect();
    let tail: String = (0..5).map(|_| char::from(LETTERS[rng.random_range(0..LETTERS.len())])).collect();
    format!("{stem}{tail}")
}
