//! `SelfSubjectAccessReview`, `SubjectAccessReview`, `LocalSubjectAccessReview`, `SelfSubjectRulesReview`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{answered, text, texts};
use crate::gates::rbac::{Attributes, Policy, User};
use crate::status::{Cause, Status};

const GROUP: &str = "authorization.k8s.io";
const API_VERSION: &str = "authorization.k8s.io/v1";

/// The authorizer as reviews see it: the reason when it allows.
pub type Authorize<'a> = dyn Fn(&User, &Attributes<'_>) -> Result<String, ()> + 'a;

/// May I?
pub fn self_subject_access(request: &Value, user: &User, authorize: &Authorize<'_>) -> Result<Value, Status> {
    let kind = "SelfSubjectAccessReview";
    refuse(kind, [target_faults(request), metadata_fault(request, &[], "must be empty")].concat())?;
    Ok(answered(request, kind, API_VERSION, decision(request, user, authorize)))
}

/// May they, anywhere?
pub fn subject_access(request: &Value, authorize: &Authorize<'_>) -> Result<Value, Status> {
    let kind = "SubjectAccessReview";
    let metadata = metadata_fault(request, &[], "must be empty");
    refuse(kind, [target_faults(request), subject_faults(request), metadata].concat())?;
    Ok(answered(request, kind, API_VERSION, decision(request, &subject(request), authorize)))
}

/// May they, in the namespace the review was posted to?
pub fn local_subject_access(
    request: &Value,
    namespace: &str,
    authorize: &Authorize<'_>,
) -> Result<Value, Status> {
    let kind = "LocalSubjectAccessReview";
    let home = text(&request["metadata"], "namespace");
    let metadata = metadata_fault(request, &["namespace"], "must be empty except for namespace");
    let mut causes = [target_faults(request), subject_faults(request), metadata].concat();
    let spec = &request["spec"];
    let asked = text(&spec["resourceAttributes"], "namespace");
    if spec["resourceAttributes"].is_object() && asked != home {
        let field = "spec.resourceAttributes.namespace";
        causes.push(Cause::invalid(field, &json!(asked), "must match metadata.namespace"));
    }
    if spec["nonResourceAttributes"].is_object() {
        let (field, why) = ("spec.nonResourceAttributes", "disallowed on this kind of request");
        causes.push(Cause::invalid(field, &spec["nonResourceAttributes"], why));
    }
    refuse(kind, causes)?;
    if home != namespace {
        let why = format!("spec.resourceAttributes.namespace must match namespace: {namespace}");
        return Err(Status::bad_request(why));
    }
    Ok(answered(request, kind, API_VERSION, decision(request, &subject(request), authorize)))
}

/// All I may do in a namespace.
pub fn self_subject_rules(request: &Value, user: &User, policy: &Policy) -> Result<Value, Status> {
    let namespace = text(&request["spec"], "namespace");
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let (resources, paths) = policy.rules_for(user, namespace);
    Ok(json!({
        "kind": "SelfSubjectRulesReview", "apiVersion": API_VERSION, "metadata": {}, "spec": {},
        "status": {"resourceRules": resources, "nonResourceRules": paths, "incomplete": false},
    }))
}

fn decision(request: &Value, user: &User, authorize: &Authorize<'_>) -> Value {
    let spec = &request["spec"];
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let attrs = if resource.is_object() {
        Attributes {
            verb: text(resource, "verb"),
            group: text(resource, "group"),
            version: text(resource, "version"),
            resource: text(resource, "resource"),
            subresource: text(resource, "subresource"),
            namespace: text(resource, "namespace"),
            name: text(resource, "name"),
            path: None,
        }
    } else {
        Attributes { verb: text(path, "verb"), path: Some(text(path, "path")), ..Attributes::default() }
    };
    match authorize(user, &attrs) {
        Ok(reason) if reason.is_empty() => json!({"allowed": true}),
        Ok(reason) => json!({"allowed": true, "reason": reason}),
        Err(()) => json!({"allowed": false}),
    }
}

fn subject(request: &Value) -> User {
    let spec = &request["spec"];
    let extra = spec["extra"].as_object().into_iter().flatten();
    User {
        name: text(spec, "user").to_owned(),
        uid: text(spec, "uid").to_owned(),
        groups: texts(&spec["groups"]),
        extra: extra.map(|(key, values)| (key.clone(), texts(values))).collect::<BTreeMap<_, _>>(),
    }
}

fn target_faults(request: &Value) -> Vec<Cause> {
    let spec = &request["spec"];
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    match (resource.is_object(), path.is_object()) {
        (true, true) => {
            let why = "cannot be specified in combination with resourceAttributes";
            vec![Cause::invalid("spec.nonResourceAttributes", path, why)]
        }
        (false, false) => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            vec![Cause::invalid("spec.resourceAttributes", &Value::Null, why)]
        }
        _ => Vec::new(),
    }
}

fn subject_faults(request: &Value) -> Vec<Cause> {
    let spec = &request["spec"];
    if text(spec, "user").is_empty() && texts(&spec["groups"]).is_empty() {
        let why = "at least one of user or group must be specified";
        return vec![Cause::invalid("spec.user", &json!(""), why)];
    }
    Vec::new()
}

/// Reviews are not stored, so that a name or labels on them can only be a mistake.
fn metadata_fault(request: &Value, allowed: &[&str], why: &str) -> Vec<Cause> {
    let given = request["metadata"].as_object().cloned().unwrap_or_default();
    let silent = ["managedFields", "creationTimestamp"];
    let foreign: Map<String, Value> = given
        .into_iter()
        .filter(|(key, value)| {
            !silent.contains(&key.as_str()) && !allowed.contains(&key.as_str()) && !value.is_null()
        })
        .collect();
    if foreign.is_empty() {
        return Vec::new();
    }
    vec![Cause::invalid("metadata", &request["metadata"], why)]
}

fn refuse(kind: &str, causes: Vec<Cause>) -> Result<(), Status> {
    if causes.is_empty() { Ok(()) } else { Err(Status::invalid(GROUP, kind, "", causes)) }
}
