//! `patch`: four ways to say what should be different.

use std::sync::Arc;

use http::StatusCode;
use serde_json::Value;

use super::update::{self, Next, Part};
use super::{Answer, Call, body, create};
use crate::merge::{self, ApplyError, Manager, PatchError};
use crate::server::Server;
use crate::status::{Reason, Status};
use crate::wire::decode::{self, Media};

pub(super) async fn run(server: &Arc<Server>, call: &Call, part: Part) -> Result<Answer, Status> {
    let media = decode::media(&call.content_type);
    call.query.check_write("PatchOptions", matches!(media, Media::ApplyPatch))?;
    match media {
        Media::ApplyPatch => apply(server, call, part).await,
        Media::JsonPatch | Media::MergePatch => merged(server, call, part, media).await,
        Media::StrategicPatch if call.entry.kind.builtin => merged(server, call, part, media).await,
        Media::StrategicPatch => Err(unsupported(
            "the body of the request was in an unknown format - accepted media types include: \
             application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )),
        _ => {
            let mut status = unsupported("415: Unsupported Media Type");
            status.details = Some(serde_json::Map::new());
            Err(status)
        }
    }
}

/// Whether the call lays a patch over the object that is there.
pub(super) fn is_merged(call: &Call) -> bool {
    matches!(decode::media(&call.content_type), Media::JsonPatch | Media::MergePatch | Media::StrategicPatch)
}

/// What is said where a patch makes something that cannot be read: the fault is the patch's.
pub(super) fn unreadable(call: &Call, patched: &Value, status: Status) -> Status {
    let Some((_, why)) = status.message.split_once(" cannot be handled as a ") else { return status };
    let why = why.split_once(": ").map_or(why, |(_, why)| why);
    let value = match decode::media(&call.content_type) {
        Media::StrategicPatch => String::from_utf8_lossy(&call.body).into_owned(),
        _ => patched.to_string(),
    };
    let cause = crate::status::Cause::invalid("patch", &Value::from(value), why);
    let mut refused = Status::invalid("", "", "", vec![cause]);
    if let Some(details) = &mut refused.details {
        details.retain(|key, _| key == "causes");
    }
    refused
}

fn unsupported(message: &str) -> Status {
    Status::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Reason::UnsupportedMediaType, message)
}

async fn merged(server: &Arc<Server>, call: &Call, part: Part, media: Media) -> Result<Answer, Status> {
    let read = body::json_document(&call.entry.kind, &call.body)
        .map_err(|status| Status::bad_request(format!("error decoding patch: {}", status.message)))?;
    let make = |old: &Value| {
        let object = patched(call, &media, old, &read.value)?;
        Ok(Next { object, duplicates: read.duplicates.clone(), tracked: false })
    };
    update::change(server, call, part, &make).await
}

/// The object with the patch in it. What it may not change is taken back later.
fn patched(call: &Call, media: &Media, old: &Value, patch: &Value) -> Result<Value, Status> {
    let mut object = old.clone();
    let done = match media {
        Media::JsonPatch => merge::json_patch(&mut object, patch),
        Media::MergePatch => merge::merge_patch(&mut object, patch),
        _ => merge::strategic(&mut object, patch, call.entry.typed().as_deref()),
    };
    done.map_err(refused)?;
    let kind = &call.entry.kind;
    if !object.is_object() {
        return Err(Status::bad_request(format!("the patch makes no {} of the object", kind.kind)));
    }
    same_identity(call, &object)?;
    // A version that the patch brings is a condition; the one that lay there is none.
    if object["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"]
        && let Some(metadata) = object["metadata"].as_object_mut()
    {
        metadata.shift_remove("resourceVersion");
    }
    Ok(object)
}

fn same_identity(call: &Call, object: &Value) -> Result<(), Status> {
    let kind = &call.entry.kind;
    if object["apiVersion"] != kind.api_version() || object["kind"] != kind.kind {
        return Err(Status::bad_request(format!(
            "the patch changes apiVersion or kind: {} {} is expected",
            kind.api_version(),
            kind.kind
        )));
    }
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    if kind.namespaced && text("namespace") != call.path.namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let name = text("name");
    if name == call.path.name {
        return Ok(());
    }
    if name.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({} based on URL) was undeterminable: name must be provided",
            call.path.name
        )));
    }
    Err(Status::bad_request(format!(
        "the name of the object ({name}) does not match the name on the URL ({})",
        call.path.name
    )))
}

fn refused(error: PatchError) -> Status {
    match error {
        PatchError::Malformed(why) => Status::bad_request(why),
        PatchError::Rejected(_) => {
            let message = "the server rejected our request due to an error in our request";
            let mut status = Status::new(StatusCode::UNPROCESSABLE_ENTITY, Reason::Invalid, message);
            status.details = Some(serde_json::Map::new());
            status
        }
        PatchError::TooMany { .. } => {
            Status::new(StatusCode::PAYLOAD_TOO_LARGE, Reason::RequestEntityTooLarge, error.to_string())
        }
    }
}

async fn apply(server: &Arc<Server>, call: &Call, part: Part) -> Result<Answer, Status> {
    let kind = &call.entry.kind;
    let read = body::yaml_document(kind, &call.body)?;
    let mut config = read.value;
    fits(call, &mut config)?;
    if server.store.get(&call.key()).is_none() {
        if part != Part::Main {
            return Err(call.not_found());
        }
        if config["metadata"]["uid"].as_str().is_some_and(|uid| !uid.is_empty()) {
            return Err(call.conflict(
                "uid mismatch: the provided object specified uid, and no existing object was found",
            ));
        }
        let object = applied(call, None, &config, part)?;
        let (object, warnings) = create::admitted(server, call, object, &read.duplicates)?;
        return Ok(create::store(server, call, object).await?.warned(warnings));
    }
    let make = |old: &Value| {
        let object = applied(call, Some(old), &config, part)?;
        Ok(Next { object, duplicates: read.duplicates.clone(), tracked: true })
    };
    update::change(server, call, part, &make).await
}

/// The applied configuration must be about the object of the path, and say nothing of ownership.
fn fits(call: &Call, config: &mut Value) -> Result<(), Status> {
    let kind = &call.entry.kind;
    if !config.is_object() {
        return Err(Status::bad_request(format!("error decoding YAML: a {} is an object", kind.kind)));
    }
    if !config["metadata"]["managedFields"].is_null() {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    let text = |key: &str| config[key].as_str().unwrap_or_default();
    if text("apiVersion") != kind.api_version() || text("kind") != kind.kind {
        let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
        let what = format!("invalid object type: {group}/{version}, Kind={}", text("kind"));
        return Err(Status::bad_request(what));
    }
    if !config["metadata"].is_object() {
        config["metadata"] = serde_json::json!({});
    }
    match config["metadata"]["name"].as_str() {
        None | Some("") => config["metadata"]["name"] = call.path.name.clone().into(),
        Some(name) if name != call.path.name => {
            return Err(Status::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                call.path.name
            )));
        }
        Some(_) => {}
    }
    Ok(())
}

fn applied(call: &Call, old: Option<&Value>, config: &Value, part: Part) -> Result<Value, Status> {
    let kind = &call.entry.kind;
    let mut config = config.clone();
    // Where the status lives apart, neither side may claim what only the other can write.
    if let Some(map) = config.as_object_mut().filter(|_| kind.status) {
        match part {
            Part::Status => {
                map.retain(|key, _| matches!(key.as_str(), "apiVersion" | "kind" | "metadata" | "status"))
            }
            _ => {
                map.shift_remove("status");
            }
        }
    }
    let version = kind.api_version();
    let by = Manager { name: call.manager(), api_version: &version, subresource: part.word(), now: call.now };
    let force = call.query.force.unwrap_or(false);
    merge::apply(old, &config, call.entry.typed().as_deref(), &by, force).map_err(|error| match error {
        ApplyError::Conflicts(conflicts) => {
            merge::conflict_status(&kind.group, &kind.plural, &call.path.name, &conflicts)
        }
        ApplyError::Typed(why) => Status::unclassified(format!(
            "failed to create typed patch object ({}/{}; {}/{}, Kind={}): {why}",
            config["metadata"]["namespace"].as_str().unwrap_or_default(),
            call.path.name,
            kind.group,
            kind.version,
            kind.kind
        )),
        ApplyError::Malformed(why) => Status::bad_request(why),
    })
}
