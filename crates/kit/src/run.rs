//! The pass itself.

use std::collections::BTreeSet;

use api::conditions::{READY, RECONCILING, Reason, STALLED, Standing, Statement, set, waits_for_people};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::Resource;
use kube::core::ApiResource;
use serde_json::Value;

use crate::address::{Address, Name, Object};
use crate::change::merge_patch;
use crate::fault::Fault;
use crate::plan::{Do, Next, Plan, Receipt, Refusal};
use crate::room::Room;
use crate::tools::{CALL_LIMIT, Tools};

/// What a pass came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is done until something changes.
    OnChange,
    /// It is to be looked at again after this long.
    After(std::time::Duration),
    /// The spec cannot be met: nothing happens until it changes.
    Refused,
    /// The object is gone.
    Gone,
}

/// Runs one pass over one object and reports it. The only caller of a room.
pub async fn reconcile<R: Room>(room: &R, tools: &Tools, object: &R::Kind) -> Result<Outcome, Fault> {
    let deleting = object.meta().deletion_timestamp.is_some();
    if !room.serves(object) {
        return Ok(Outcome::OnChange);
    }
    if deleting && !(R::SEES_DELETION && held::<R>(object)) {
        return Ok(Outcome::OnChange);
    }
    let owned;
    let object = if !deleting && !held::<R>(object) {
        match hold::<R>(tools, object).await? {
            Some(object) => {
                owned = object;
                &owned
            }
            None => return Ok(Outcome::Gone),
        }
    } else {
        object
    };
    let last = status::<R>(object);
    let (mut status, outcome) = match pass(room, tools, object).await {
        Ok(Passed { status, next, refused }) => {
            let next = refused.is_none().then_some(next);
            (mark(status, refused.as_ref()), Ok(next))
        }
        Err(fault) => {
            // A status never tells of a step that failed: we fall back to the last one.
            let mut last = last.clone();
            R::failed(&mut last, fault.reason(), fault.story());
            (mark(last, None), Err(fault))
        }
    };
    let generation = object.meta().generation;
    if let Some(conditions) = status.conditions_mut() {
        conditions.iter_mut().for_each(|condition| condition.observed_generation = generation);
    }
    let leaves = matches!(outcome, Ok(Some(Next::Release)));
    let reported = match leaves && !shared::<R>(object) {
        true => Ok(None),
        false => report(tools, object, &last, &status).await,
    };
    // What went wrong first is told first.
    let next = outcome?;
    let reported = reported?;
    match next {
        None => Ok(Outcome::Refused),
        Some(Next::OnChange) => Ok(Outcome::OnChange),
        Some(Next::After(delay)) => Ok(Outcome::After(delay)),
        Some(Next::Release) => release::<R>(tools, reported.as_ref().unwrap_or(object)).await,
    }
}

struct Passed<T> {
    status: T,
    next: Next,
    refused: Option<Refusal>,
}

async fn pass<R: Room>(room: &R, tools: &Tools, object: &R::Kind) -> Result<Passed<R::Status>, Fault> {
    let what = || format!("looking at {}", Address::of(object));
    let world = limited(what(), room.observe(object, tools.reader())).await?;
    let plan = match room.plan(object, &world) {
        Ok(plan) => plan,
        Err(refusal) => {
            let mut status = status::<R>(object);
            R::refused(&mut status, &refusal);
            return Ok(Passed { status, next: Next::OnChange, refused: Some(refusal) });
        }
    };
    let Plan { steps, status, next, whole } = plan;
    for step in &steps {
        act(room, tools, object, step).await?;
    }
    if whole {
        for resource in room.relations().into_iter().filter_map(|relation| relation.child) {
            tools.prune(object, &resource, &planned(&steps, &resource)).await?;
        }
    }
    Ok(Passed { status, next, refused: None })
}

async fn act<R: Room>(room: &R, tools: &Tools, object: &R::Kind, step: &Do<R::Step>) -> Result<(), Fault> {
    match step {
        Do::Apply(child) => tools.apply(object, child).await,
        Do::Create(child) => tools.create(object, child).await,
        Do::Patch(address, patch) => tools.patch(address, patch).await,
        Do::Delete(address, grace) => tools.delete(address, *grace, None).await,
        Do::Outside(step) => match limited(step.to_string(), room.act(object, step)).await? {
            Receipt::Done => Ok(()),
            Receipt::Keep(child) => tools.apply(object, &child).await,
        },
    }
}

async fn limited<T>(what: String, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    match tokio::time::timeout(CALL_LIMIT, work).await {
        Ok(done) => done,
        Err(_) => Err(Fault::Timeout { what, limit: CALL_LIMIT }),
    }
}

/// The names of the children of one kind that a plan wants to be there.
pub(crate) fn planned<S>(steps: &[Do<S>], resource: &ApiResource) -> BTreeSet<Name> {
    let named = steps.iter().filter_map(|step| match step {
        Do::Apply(child) | Do::Create(child) if child.resource() == resource => {
            Some(child.address.name.clone())
        }
        Do::Patch(address, _) if address.resource == *resource => Some(address.name.clone()),
        Do::Apply(_) | Do::Create(_) | Do::Patch(..) | Do::Delete(..) | Do::Outside(_) => None,
    });
    named.collect()
}

/// The status that an object has.
pub(crate) fn status<R: Room>(object: &R::Kind) -> R::Status {
    let body = serde_json::to_value(object).unwrap_or_default();
    body.get("status").cloned().and_then(|status| serde_json::from_value(status).ok()).unwrap_or_default()
}

/// Adds what the loop itself knows: nothing more will happen (`Stalled`), or more is to come (`Reconciling`).
fn mark<T: Standing>(mut status: T, refused: Option<&Refusal>) -> T {
    let Some(conditions) = status.conditions_mut() else { return status };
    conditions.retain(|condition| condition.type_ != STALLED && condition.type_ != RECONCILING);
    let ready = conditions.iter().find(|condition| condition.type_ == READY).cloned();
    match (refused, ready) {
        (Some(refusal), _) => say(conditions, STALLED, refusal.reason.clone(), refusal.message.clone()),
        (None, Some(ready)) if ready.status != "True" => {
            let type_ = if waits_for_people(&ready.reason) { STALLED } else { RECONCILING };
            say(conditions, type_, Reason::Code(ready.reason), ready.message);
        }
        (None, _) => {}
    }
    status
}

fn say(conditions: &mut Vec<Condition>, type_: &str, reason: Reason, message: String) {
    let statement = Statement { type_, status: Some(true), reason, message, generation: None };
    set(conditions, statement, Time(jiff::Timestamp::UNIX_EPOCH));
}

/// Writes the status, if it changed, and tells of conditions that did. Returns the object as it is then, if it changed.
async fn report<K: Object, T: Standing>(
    tools: &Tools,
    object: &K,
    last: &T,
    status: &T,
) -> Result<Option<K>, Fault> {
    let json = |status: &T| serde_json::to_value(status).unwrap_or_default();
    let (old, mut new) = (json(last), json(status));
    date(&old, &mut new, tools.reader().now());
    let Some(patch) = merge_patch(&old, &new) else { return Ok(None) };
    let answer = tools.write_status(&Address::of(object), patch).await?;
    tools.tell(object, &old, &new).await;
    // What cannot be read is as good as not answered: the next write finds out.
    Ok(answer.and_then(|answer| serde_json::from_value(answer).ok()))
}

/// Dates the conditions: the time of transition moves only if the status does.
fn date(old: &Value, new: &mut Value, now: jiff::Timestamp) {
    let held = old["conditions"].as_array().cloned().unwrap_or_default();
    let Some(conditions) = new.get_mut("conditions").and_then(Value::as_array_mut) else { return };
    for condition in conditions {
        let before = held.iter().find(|held| {
            held["type"] == condition["type"]
                && held["status"] == condition["status"]
                && held["lastTransitionTime"].is_string()
        });
        condition["lastTransitionTime"] = match before {
            Some(before) => before["lastTransitionTime"].clone(),
            None => seconds(now).into(),
        };
    }
}

/// A time as Kubernetes writes it.
fn seconds(now: jiff::Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Whether the object carries the finalizer of its room; one without a finalizer needs none.
fn held<R: Room>(object: &R::Kind) -> bool {
    let Some(finalizer) = R::FINALIZER else { return true };
    object.meta().finalizers.iter().flatten().any(|held| held == finalizer)
}

/// Whether anybody else holds the object as well: only then there is somebody left to report to.
fn shared<R: Room>(object: &R::Kind) -> bool {
    object.meta().finalizers.iter().flatten().any(|held| R::FINALIZER.is_none_or(|ours| held != ours))
}

async fn hold<R: Room>(tools: &Tools, object: &R::Kind) -> Result<Option<R::Kind>, Fault> {
    let mut finalizers = object.meta().finalizers.clone().unwrap_or_default();
    finalizers.extend(R::FINALIZER.map(str::to_owned));
    tools.set_finalizers(object, finalizers).await
}

async fn release<R: Room>(tools: &Tools, object: &R::Kind) -> Result<Outcome, Fault> {
    if let Some(finalizer) = R::FINALIZER {
        let mut finalizers = object.meta().finalizers.clone().unwrap_or_default();
        finalizers.retain(|held| held != finalizer);
        tools.set_finalizers(object, finalizers).await?;
    }
    Ok(Outcome::Gone)
}
