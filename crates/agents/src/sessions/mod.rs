//! Sessions: a namespace each, which says itself whose it is and how long it lasts. There is no other list of them.

pub mod ending;
pub mod register;
#[cfg(test)]
pub(crate) mod stage;
pub(crate) mod sweep;
#[cfg(test)]
mod tests;
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
/// When the session was ended, as RFC 3339: from then on it is on its way out, and nothing else is done in it.
pub const ENDED: &str = "terrace.dev/session-ended";
/// When the session ran out of time while it held data, as RFC 3339: its applications are gone, its data stays.
pub const EXPIRED: &str = "terrace.dev/session-expired";
/// What the session is for, in its owner's words.
pub const NAME: &str = "terrace.dev/session-name";
/// How old the note of the last use may become; a write for every call would cost more than it tells.
const NOTED: Duration = Duration::from_secs(60);

/// The namespace that a caller means, if it may work there. One that there is not and one of somebody else are told in
/// the same words; one that has ended is told only to those who could see it.
pub async fn resolve(own: &Client, caller: &Caller, session: &str) -> Result<String, Error> {
    let found = find(own, caller, session).await?;
    if is_ending(&found) {
        let why = format!("session {session} has ended, and is being removed; `register` begins another");
        return Err(Error::invalid("session_id", why));
    }
    if is_session(&found) && found.annotations().get(OWNER) == Some(&caller.fingerprint) {
        touch(&Api::all(own.clone()), &found).await;
    }
    Ok(found.name_any())
}

/// The same, also of a session that has ended; it is not noted as a use of it.
pub async fn find(own: &Client, caller: &Caller, session: &str) -> Result<Namespace, Error> {
    let missing = || Error::NoSession { session: session.chars().take(64).collect() };
    let well_formed = (1..=63 - PREFIX.len()).contains(&session.len())
        && session.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    if !well_formed {
        return Err(missing());
    }
    let namespaces: Api<Namespace> = Api::all(own.clone());
    let named = namespaces.get_opt(&format!("{PREFIX}{session}")).await?;
    if let Some(found) = named.filter(is_session) {
        let owned = found.annotations().get(OWNER) == Some(&caller.fingerprint);
        return match owned || sees(own, caller, &found.name_any()).await? {
            true => Ok(found),
            false => Err(missing()),
        };
    }
    // Who may work outside of sessions names the namespace itself.
    let outside = caller.role != Role::Session || caller.scoped;
    let found = if outside { namespaces.get_opt(session).await? } else { None };
    match found {
        Some(found) if sees(own, caller, session).await? => Ok(found),
        _ => Err(missing()),
    }
}

/// Whether a namespace is a session.
pub fn is_session(namespace: &Namespace) -> bool {
    namespace.labels().contains_key(LABEL)
}

/// Whether a session has ended: it is on its way out, or already leaving.
pub fn is_ending(namespace: &Namespace) -> bool {
    namespace.metadata.deletion_timestamp.is_some() || namespace.annotations().contains_key(ENDED)
}

/// The id of a session, made of its namespace's name.
pub fn id(namespace: &str) -> &str {
    namespace.strip_prefix(PREFIX).unwrap_or(namespace)
}

/// When a session was last used; one that does not say so was used when it began.
pub fn last_activity(namespace: &Namespace) -> Option<Timestamp> {
    let noted = namespace.annotations().get(LAST_ACTIVITY).and_then(|time| time.parse().ok());
    noted.or_else(|| namespace.metadata.creation_timestamp.as_ref().map(|time| time.0))
}

/// How long a session lasts without a call; `None` is for ever.
fn ttl(namespace: &Namespace) -> Option<Duration> {
    let seconds = namespace.annotations().get(TTL)?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Whether RBAC lets a caller look at applications there.
async fn sees(own: &Client, caller: &Caller, namespace: &str) -> Result<bool, Error> {
    rights::may(&caller.client(own), "get", "applications.iaf.io", Some(namespace)).await
}

/// Notes that a session is in use, and brings one back that ran out of time. What cannot be noted is no reason to refuse
/// a call.
async fn touch(namespaces: &Api<Namespace>, found: &Namespace) {
    let now = Timestamp::now();
    // A session that lasts for seconds only is noted more often.
    let noted = ttl(found).map_or(NOTED, |ttl| NOTED.min(ttl / 10));
    let fresh = last_activity(found).is_some_and(|last| now.duration_since(last).unsigned_abs() < noted);
    if fresh && !found.annotations().contains_key(EXPIRED) {
        return;
    }
    let patch = json!({ "metadata": { "annotations": { LAST_ACTIVITY: now.to_string(), EXPIRED: null } } });
    if let Err(error) =
        namespaces.patch(&found.name_any(), &PatchParams::default(), &Patch::Merge(patch)).await
    {
        tracing::debug!(%error, "cannot note that a session is in use");
    }
}
