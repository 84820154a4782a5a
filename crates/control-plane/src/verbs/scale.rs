//! `scale`: the replica count of any kind that has one, in one shape for all.

use std::sync::Arc;

use serde_json::{Value, json};

use super::update::{self, Next, Part};
use super::{Answer, Call, Content, body, method_not_allowed};
use crate::kinds::{ScalePaths, table};
use crate::merge::{self, ApplyError, Manager};
use crate::server::Server;
use crate::status::{Cause, Status};
use crate::wire::decode::{self, Media};

pub(super) async fn run(server: &Arc<Server>, verb: &str, call: &Call) -> Result<Answer, Status> {
    let Some(paths) = call.entry.kind.scale.clone() else { return Err(method_not_allowed()) };
    match verb {
        "get" => {
            let stored = server.store.get(&call.key()).ok_or_else(|| call.not_found())?;
            Ok(Answer::ok(Content::Other(scale_of(call, &paths, &stored.value()))))
        }
        "update" => {
            call.query.check_write("UpdateOptions", false)?;
            let wanted = body::document(call)?.value;
            change(server, call, &paths, &|_| Ok(wanted.clone())).await
        }
        "patch" => {
            let media = decode::media(&call.content_type);
            call.query.check_write("PatchOptions", matches!(media, Media::ApplyPatch))?;
            if media == Media::ApplyPatch {
                return apply(server, call, &paths).await;
            }
            let patch = body::json_document(&call.entry.kind, &call.body)?.value;
            let make = |scale: &Value| patched(&media, scale, &patch);
            change(server, call, &paths, &make).await
        }
        _ => Err(method_not_allowed()),
    }
}

/// An applied Scale claims the replica count of the object itself, against all who own it.
async fn apply(server: &Arc<Server>, call: &Call, paths: &ScalePaths) -> Result<Answer, Status> {
    let kind = &call.entry.kind;
    let scale = body::yaml_document(kind, &call.body)?.value;
    let version = kind.api_version();
    let mut config = json!({
        "apiVersion": version, "kind": kind.kind, "metadata": { "name": call.path.name },
    });
    if !scale["spec"]["replicas"].is_null() {
        set(&mut config, &paths.spec, json!(replicas(call, &scale)?));
    }
    let by = Manager { name: call.manager(), api_version: &version, subresource: "scale", now: call.now };
    let force = call.query.force.unwrap_or(false);
    let next = |old: &Value| {
        let object = merge::apply(Some(old), &config, call.entry.typed().as_deref(), &by, force);
        let object = object.map_err(|error| match error {
            ApplyError::Conflicts(mut found) => {
                // Everybody is shown as if they had written a Scale.
                found.iter_mut().for_each(|one| one.api_version = "autoscaling/v1".into());
                merge::conflict_status(&kind.group, &kind.plural, &call.path.name, &found)
            }
            ApplyError::Typed(why) => Status::unclassified(why),
            ApplyError::Malformed(why) => Status::bad_request(why),
        })?;
        Ok(Next { object, duplicates: Vec::new(), tracked: true })
    };
    answered(call, paths, update::change(server, call, Part::Scale, &next).await?)
}

fn patched(media: &Media, scale: &Value, patch: &Value) -> Result<Value, Status> {
    let mut scale = scale.clone();
    if let Some(metadata) = scale["metadata"].as_object_mut() {
        metadata.shift_remove("resourceVersion");
    }
    let done = match media {
        Media::JsonPatch => merge::json_patch(&mut scale, patch),
        _ => merge::merge_patch(&mut scale, patch),
    };
    done.map_err(|why| Status::bad_request(why.to_string()))?;
    Ok(scale)
}

async fn change(
    server: &Arc<Server>,
    call: &Call,
    paths: &ScalePaths,
    make: &(dyn Fn(&Value) -> Result<Value, Status> + Send + Sync),
) -> Result<Answer, Status> {
    let next = |old: &Value| {
        let scale = make(&scale_of(call, paths, old))?;
        let replicas = replicas(call, &scale)?;
        let mut object = old.clone();
        let version = scale["metadata"].get("resourceVersion").cloned();
        update::set_or_remove(&mut object["metadata"], "resourceVersion", version);
        set(&mut object, &paths.spec, json!(replicas));
        Ok(Next { object, duplicates: Vec::new(), tracked: false })
    };
    answered(call, paths, update::change(server, call, Part::Scale, &next).await?)
}

/// The Scale of the object that was written.
fn answered(call: &Call, paths: &ScalePaths, answer: Answer) -> Result<Answer, Status> {
    let object = match &answer.content {
        Content::Stored(stored) => stored.value(),
        Content::Object(object) => object.clone(),
        _ => Value::Null,
    };
    Ok(Answer { content: Content::Other(scale_of(call, paths, &object)), ..answer })
}

fn replicas(call: &Call, scale: &Value) -> Result<i64, Status> {
    let given = &scale["spec"]["replicas"];
    let number = if given.is_null() { Some(0) } else { given.as_i64() };
    match number {
        Some(number) if number >= 0 => Ok(number),
        _ => {
            let cause = Cause::invalid("spec.replicas", given, "must be greater than or equal to 0");
            Err(Status::invalid("autoscaling", "Scale", &call.path.name, vec![cause]))
        }
    }
}

fn scale_of(call: &Call, paths: &ScalePaths, object: &Value) -> Value {
    let at = |path: &str| object.pointer(&path.replace('.', "/")).cloned();
    let mut metadata = json!({ "name": object["metadata"]["name"] });
    for field in ["namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(field) {
            metadata[field] = value.clone();
        }
    }
    let mut spec = json!({});
    if let Some(wanted) = at(&paths.spec).filter(|value| !value.is_null()) {
        spec["replicas"] = wanted;
    }
    let mut status = json!({ "replicas": at(&paths.status).and_then(|value| value.as_i64()).unwrap_or(0) });
    let selector = match &paths.selector {
        Some(path) if !call.entry.kind.builtin => {
            at(path).and_then(|value| value.as_str().map(str::to_owned))
        }
        _ => table::selector::written(&object["spec"]["selector"]),
    };
    if let Some(selector) = selector.filter(|_| call.entry.kind.builtin || paths.selector.is_some()) {
        status["selector"] = json!(selector);
    }
    json!({ "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status })
}

/// Sets a value under a dotted path, making the objects on the way.
fn set(object: &mut Value, path: &str, value: Value) {
    let mut at = object;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[part];
    }
    *at = value;
}
