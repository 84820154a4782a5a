//! Sessions: a namespace each, which says itself whose it is and how long it lasts. There is no other list of them.

pub mod register;
pub mod unregister;

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;

use crate::Error;
use crate::identity::{Caller, Role, rights};

/// How the namespaces of sessions begin.
pub const PREFIX: &str = "iaf-";
/// Label on the namespaces of sessions.
pub const LABEL: &str = "terrace.dev/session";
/// The fingerprint of the token that owns the session.
pub const OWNER: &str = "terrace.dev/session-owner";
/// When the session was last used, as RFC 3339.
pub const LAST_ACTIVITY: &str = "terrace.dev/session-last-activity";
/// How long it lasts after that, in seconds.
pub const TTL: &str = "terrace.dev/session-ttl-seconds";
/// How old the note of the last use may become; a write for every call would cost more than it tells.
const NOTED: Duration = Duration::from_secs(60);

/// The namespace that a caller means, if it may work there. One that there is not and one of somebody else are told in
/// the same words.
pub async fn resolve(own: &Client, caller: &Caller, session: &str) -> Result<String, Error> {
    let missing = || Error::NoSession { session: session.chars().take(64).collect() };
    let well_formed = (1..=63 - PREFIX.len()).contains(&session.len())
        && session.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    if !well_formed {
        return Err(missing());
    }
    let namespaces: Api<Namespace> = Api::all(own.clone());
    let named = namespaces.get_opt(&format!("{PREFIX}{session}")).await?;
    if let Some(found) = named.filter(|found| found.labels().contains_key(LABEL)) {
        if found.metadata.deletion_timestamp.is_some() {
            return Err(missing());
        }
        if found.annotations().get(OWNER) == Some(&caller.fingerprint) {
            touch(&namespaces, &found).await;
            return Ok(found.name_any());
        }
        return match sees(own, caller, &found.name_any()).await? {
            true => Ok(found.name_any()),
            false => Err(missing()),
        };
    }
    // Who may work outside of sessions names the namespace itself.
    let outside = caller.role != Role::Session || caller.scoped;
    match outside && namespaces.get_opt(session).await?.is_some() && sees(own, caller, session).await? {
        true => Ok(session.to_owned()),
        false => Err(missing()),
    }
}

/// Whether RBAC lets a caller look at applications there.
async fn sees(own: &Client, caller: &Caller, namespace: &str) -> Result<bool, Error> {
    rights::may(&caller.client(own), "get", "applications.iaf.io", Some(namespace)).await
}

/// Notes that a session is in use. What cannot be noted is no reason to refuse a call.
async fn touch(namespaces: &Api<Namespace>, found: &Namespace) {
    let now = Timestamp::now();
    let last = found.annotations().get(LAST_ACTIVITY).and_then(|time| time.parse::<Timestamp>().ok());
    if last.is_some_and(|last| now.duration_since(last).unsigned_abs() < NOTED) {
        return;
    }
    let patch = json!({ "metadata": { "annotations": { LAST_ACTIVITY: now.to_string() } } });
    if let Err(error) =
        namespaces.patch(&found.name_any(), &PatchParams::default(), &Patch::Merge(patch)).await
    {
        tracing::debug!(%error, "cannot note that a session is in use");
    }
}
