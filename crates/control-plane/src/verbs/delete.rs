//! `delete`: one object or many; at once, or when its finalizers let go.

use std::sync::Arc;

use serde_json::{Value, json};

use super::list::{self, Listing};
use super::{Answer, Call, Content, body, create, update};
use crate::server::{NAMESPACES, Server, refused};
use crate::status::{Cause, Status};
use crate::store::{CommitError, Stored};

/// What becomes of the objects that this one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dependents {
    /// They go after it.
    Background,
    /// They go before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// The options of a deletion.
struct Options {
    dependents: Option<Dependents>,
    uid: Option<String>,
    version: Option<String>,
    grace: Option<i64>,
    dry_run: bool,
}

/// Holds an owner until its dependents are gone.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// Holds an owner until its dependents have been let go.
pub(crate) const ORPHAN: &str = "orphan";

pub(crate) async fn one(server: &Arc<Server>, call: &Call) -> Result<Answer, Status> {
    let options = Options::of(call)?;
    protected(call)?;
    let stored = server.store.get(&call.key()).ok_or_else(|| call.not_found())?;
    remove(server, call, stored, &options).await
}

pub(super) async fn many(server: &Arc<Server>, call: &Call) -> Result<Answer, Status> {
    let options = Options::of(call)?;
    let mut listed = list::listing(server, call)?;
    let mut left = Vec::new();
    for stored in listed.items.drain(..) {
        let mut each = call.clone();
        each.path.name = stored.key.name.to_string();
        each.path.namespace = stored.key.namespace.to_string();
        match remove(server, &each, stored.clone(), &options).await {
            Ok(answer) => left.push(match answer.content {
                Content::Stored(stored) => stored,
                _ => stored,
            }),
            Err(status) if status.code == http::StatusCode::NOT_FOUND => {}
            Err(status) => return Err(status),
        }
    }
    Ok(Answer::ok(Content::List(Listing { items: left, metadata: listed.metadata })))
}

impl Options {
    fn of(call: &Call) -> Result<Self, Status> {
        let mut given = json!({});
        if !call.body.is_empty() {
            given = body::document(call)?.value;
        }
        for (word, number) in
            [("propagationPolicy", false), ("orphanDependents", false), ("gracePeriodSeconds", true)]
        {
            if let Some(value) = call.query.word(word) {
                given[word] = if number {
                    value.parse::<i64>().map_or(json!(value), |n| json!(n))
                } else {
                    json!(value)
                };
            }
        }
        let mut dry: Vec<Value> = given["dryRun"].as_array().cloned().unwrap_or_default();
        dry.extend(call.query.dry_run.iter().map(|word| json!(word)));
        if dry.iter().any(|word| word != "All") {
            return Err(invalid(Cause::not_supported("dryRun", &json!(dry), &["All"])));
        }
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        Ok(Self {
            dependents: dependents(&given)?,
            uid: text(&given["preconditions"]["uid"]),
            version: text(&given["preconditions"]["resourceVersion"]),
            grace: given["gracePeriodSeconds"].as_i64(),
            dry_run: !dry.is_empty(),
        })
    }
}

fn dependents(given: &Value) -> Result<Option<Dependents>, Status> {
    let policy = given["propagationPolicy"].as_str();
    let orphan = match &given["orphanDependents"] {
        Value::Bool(flag) => Some(*flag),
        Value::String(word) => Some(word == "true"),
        _ => None,
    };
    if let (Some(word), Some(_)) = (policy, orphan) {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        return Err(invalid(Cause::invalid("propagationPolicy", &json!(word), why)));
    }
    Ok(match policy {
        Some("Foreground") => Some(Dependents::Foreground),
        Some("Background") => Some(Dependents::Background),
        Some("Orphan") => Some(Dependents::Orphan),
        Some(word) => {
            let known = ["Foreground", "Background", "Orphan", "nil"];
            return Err(invalid(Cause::not_supported("propagationPolicy", &json!(word), &known)));
        }
        None => orphan.map(|flag| if flag { Dependents::Orphan } else { Dependents::Background }),
    })
}

fn invalid(cause: Cause) -> Status {
    Status::invalid("meta.k8s.io", "DeleteOptions", "", vec![cause])
}

/// Three namespaces are part of the house.
fn protected(call: &Call) -> Result<(), Status> {
    let fixed = ["default", "kube-system", "kube-public"].contains(&call.path.name.as_str());
    if call.entry.kind.storage.as_ref() == NAMESPACES && fixed {
        return Err(Status::forbidden("", NAMESPACES, &call.path.name, "this namespace may not be deleted"));
    }
    Ok(())
}

async fn remove(
    server: &Arc<Server>,
    call: &Call,
    mut stored: Arc<Stored>,
    options: &Options,
) -> Result<Answer, Status> {
    let kind = &call.entry.kind;
    loop {
        preconditions(call, &stored, options)?;
        let old = stored.value();
        let new = marked(call, &old, options);
        let gone = update::finished(&new);
        if options.dry_run {
            return Ok(Answer::ok(if gone {
                Content::Other(success(call, &stored))
            } else {
                Content::Stored(stored)
            }));
        }
        if new == old {
            return Ok(Answer::ok(Content::Stored(stored)));
        }
        match update::write(server, call, &stored, &new).await {
            Ok(_) if gone => return Ok(Answer::ok(Content::Other(success(call, &stored)))),
            Ok(now) => return Ok(Answer::ok(Content::Stored(now))),
            Err(CommitError::Changed { .. }) => {
                stored = server.store.get(&call.key()).ok_or_else(|| call.not_found())?;
            }
            Err(CommitError::Missing) => return Err(call.not_found()),
            Err(error) => return Err(refused(error, &kind.group, &kind.plural, &call.path.name)),
        }
    }
}

fn preconditions(call: &Call, stored: &Stored, options: &Options) -> Result<(), Status> {
    let kind = &call.entry.kind;
    let conflict = |why: String| {
        let what = if kind.builtin { &kind.kind } else { &kind.plural };
        Status::conflict(&kind.group, what, &call.path.name, &why)
    };
    let uid = &stored.facts().uid;
    if let Some(wanted) = options.uid.as_ref().filter(|wanted| wanted.as_str() != uid.as_ref()) {
        return Err(conflict(format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have been \
             deleted and then recreated"
        )));
    }
    let version = stored.revision.to_string();
    if let Some(wanted) = options.version.as_ref().filter(|wanted| **wanted != version) {
        return Err(conflict(format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({version}). \
             The object might have been modified"
        )));
    }
    Ok(())
}

/// The object as it looks once its deletion is asked for; `update::finished` tells whether it then goes.
fn marked(call: &Call, old: &Value, options: &Options) -> Value {
    let kind = &call.entry.kind;
    let mut new = old.clone();
    let metadata = &mut new["metadata"];
    let fresh = metadata["deletionTimestamp"].is_null();
    finalizers(metadata, options.dependents);
    let grace = grace(call, old, options);
    if fresh {
        let at = call.now + jiff::SignedDuration::from_secs(grace);
        metadata["deletionTimestamp"] = json!(create::seconds(at));
        metadata["deletionGracePeriodSeconds"] = json!(grace);
        if let Some(generation) = metadata["generation"].as_i64() {
            metadata["generation"] = json!(generation + 1);
        }
    } else if metadata["deletionGracePeriodSeconds"].as_i64().is_some_and(|before| grace < before) {
        metadata["deletionGracePeriodSeconds"] = json!(grace);
        metadata["deletionTimestamp"] =
            json!(create::seconds(call.now + jiff::SignedDuration::from_secs(grace)));
    }
    if kind.storage.as_ref() == NAMESPACES {
        new["status"]["phase"] = json!("Terminating");
        if let Some(map) = new["metadata"].as_object_mut() {
            map.shift_remove("deletionGracePeriodSeconds");
        }
    }
    new
}

/// Only a pod that runs somewhere is given time to stop.
fn grace(call: &Call, old: &Value, options: &Options) -> i64 {
    let runs = call.entry.kind.storage.as_ref() == "pods"
        && old["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty())
        && !matches!(old["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if !runs {
        return 0;
    }
    options.grace.or(old["spec"]["terminationGracePeriodSeconds"].as_i64()).unwrap_or(30).max(0)
}

fn finalizers(metadata: &mut Value, dependents: Option<Dependents>) {
    let Some(dependents) = dependents else { return };
    let mut list: Vec<Value> = metadata["finalizers"].as_array().cloned().unwrap_or_default();
    list.retain(|word| word != FOREGROUND && word != ORPHAN);
    match dependents {
        Dependents::Foreground => list.push(json!(FOREGROUND)),
        Dependents::Orphan => list.push(json!(ORPHAN)),
        Dependents::Background => {}
    }
    if let Some(map) = metadata.as_object_mut() {
        if list.is_empty() {
            map.shift_remove("finalizers");
        } else {
            map.insert("finalizers".into(), Value::Array(list));
        }
    }
}

fn success(call: &Call, stored: &Stored) -> Value {
    let kind = &call.entry.kind;
    let mut details = json!({ "name": call.path.name });
    if !kind.group.is_empty() {
        details["group"] = json!(kind.group);
    }
    details["kind"] = json!(kind.plural);
    details["uid"] = json!(stored.facts().uid);
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}
