//! Requests that store nothing and answer at once: who am I, may I, whose token is this.

mod access;
#[cfg(test)]
mod tests;
mod token;

use jiff::Timestamp;
use serde_json::{Value, json};

pub use access::{Authorize, local_subject_access, self_subject_access, self_subject_rules, subject_access};
pub use token::{Authenticate, TokenOrder, token_request, token_review};

use super::rbac::User;

/// `SelfSubjectReview`: the user, told back.
pub fn self_subject(user: &User, now: Timestamp) -> Value {
    json!({
        "kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": seconds(now)},
        "status": {"userInfo": user_info(user)},
    })
}

/// A user as reviews show one: empty parts are left out.
pub fn user_info(user: &User) -> Value {
    let mut info = json!({});
    for (field, text) in [("username", &user.name), ("uid", &user.uid)] {
        if !text.is_empty() {
            info[field] = json!(text);
        }
    }
    if !user.groups.is_empty() {
        info["groups"] = json!(user.groups);
    }
    if !user.extra.is_empty() {
        info["extra"] = json!(user.extra);
    }
    info
}

/// Times on the wire have whole seconds.
fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The review with its answer; fields in the order of the original.
fn answered(request: &Value, kind: &str, api_version: &str, status: Value) -> Value {
    let metadata = if request["metadata"].is_object() { request["metadata"].clone() } else { json!({}) };
    let spec = if request["spec"].is_object() { request["spec"].clone() } else { json!({}) };
    json!({"kind": kind, "apiVersion": api_version, "metadata": metadata, "spec": spec, "status": status})
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}
