//! Sessions that have ended or run out of time, carried to their end one step after the other. What is under way is
//! written on the namespaces themselves, so it goes on after a restart.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::ending::{Kind, Thing, carry};
use super::{ENDED, EXPIRED, LABEL, last_activity, ttl};
use crate::Error;

/// How often it is looked whether a session has run out of time.
const EVERY: Duration = Duration::from_secs(30);
/// How often it is looked while one is on its way out.
const UNDER_WAY: Duration = Duration::from_secs(1);

/// What is known of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct World {
    /// It was ended.
    pub(crate) ended: bool,
    /// It is marked as one that ran out of time.
    pub(crate) expired: bool,
    /// Nobody has used it for longer than it lasts.
    pub(crate) overdue: bool,
    /// Its namespace is on its way out.
    pub(crate) goes: bool,
    /// What it holds, in the order in which it goes.
    pub(crate) things: Vec<Thing>,
}

impl World {
    pub(crate) fn of(namespace: &Namespace, things: Vec<Thing>, now: Timestamp) -> Self {
        let marked = |mark: &str| namespace.annotations().contains_key(mark);
        Self {
            ended: marked(ENDED),
            expired: marked(EXPIRED),
            overdue: is_overdue(namespace, now),
            goes: namespace.metadata.deletion_timestamp.is_some(),
            things,
        }
    }
}

/// What is done next about a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing, until somebody uses or ends it.
    Rest,
    /// Nothing now: what was deleted goes.
    Wait,
    /// It is marked as ended.
    End,
    /// It is marked as one that ran out of time.
    Expire,
    /// These are deleted.
    Delete(Vec<Thing>),
    /// The namespace is deleted, with all that is left.
    DeleteNamespace,
}

/// The next step. Data is never deleted because time has passed: a person does that.
pub(crate) fn plan(world: &World) -> Step {
    let of = |kind: Kind| world.things.iter().filter(move |thing| thing.kind == kind);
    if world.goes {
        return Step::Wait;
    }
    if world.ended {
        let Some(next) = Kind::ORDER.into_iter().find(|kind| of(*kind).next().is_some()) else {
            return Step::DeleteNamespace;
        };
        return deleted(of(next), Step::Wait);
    }
    if !world.overdue {
        return Step::Rest;
    }
    if !world.things.iter().any(|thing| thing.kind.is_data()) {
        return Step::End;
    }
    if !world.expired {
        return Step::Expire;
    }
    deleted(of(Kind::App), Step::Rest)
}

/// Deletes those that are not on their way out yet; with none, the other step.
fn deleted<'a>(things: impl Iterator<Item = &'a Thing>, or: Step) -> Step {
    let staying: Vec<Thing> = things.filter(|thing| !thing.goes).cloned().collect();
    if staying.is_empty() { or } else { Step::Delete(staying) }
}

/// Whether nobody has used a session for longer than it lasts.
pub(crate) fn is_overdue(namespace: &Namespace, now: Timestamp) -> bool {
    let (Some(last), Some(ttl)) = (last_activity(namespace), ttl(namespace)) else { return false };
    let ttl = SignedDuration::try_from(ttl).unwrap_or(SignedDuration::MAX);
    now.duration_since(last) > ttl
}

/// Looks again and again, and at once when the bell rings, until `stop`.
pub(crate) async fn run(client: Client, bell: Arc<Notify>, stop: CancellationToken) {
    loop {
        let rest = match pass(&client, Timestamp::now()).await {
            Ok(true) => UNDER_WAY,
            Ok(false) => EVERY,
            Err(error) => {
                tracing::warn!(%error, "cannot look after sessions");
                EVERY
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = bell.notified() => {}
            () = tokio::time::sleep(rest) => {}
        }
    }
}

/// One look at all sessions: each is taken as far as it goes now. True while one is on its way out.
pub(crate) async fn pass(client: &Client, now: Timestamp) -> Result<bool, Error> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let sessions = namespaces.list(&ListParams::default().labels(LABEL)).await?.items;
    let mut under_way = false;
    for session in sessions {
        let marked = session.annotations().contains_key(ENDED);
        if !marked && !is_overdue(&session, now) {
            continue;
        }
        let name = session.name_any();
        match settle(client, &name, now).await {
            Ok(waits) => under_way |= waits,
            // Somebody has used or changed it since: it is looked at anew.
            Err(error) => {
                tracing::debug!(%error, session = name, "a session is not carried on now");
                under_way |= marked;
            }
        }
    }
    Ok(under_way)
}

/// Takes one session as far as it goes now. True while it is on its way out.
async fn settle(client: &Client, namespace: &str, now: Timestamp) -> Result<bool, Error> {
    loop {
        match carry(client, namespace, now).await? {
            (_, None) | (Step::Rest, _) => return Ok(false),
            (Step::Wait, _) => return Ok(true),
            (step @ (Step::End | Step::Expire), _) => {
                tracing::info!(session = namespace, ?step, "a session has run out of time");
            }
            (Step::Delete(_) | Step::DeleteNamespace, _) => {}
        }
    }
}
