//! A plan that is only looked at: what a pass would do, field by field.

use serde::Serialize;
use serde_json::Value;

use crate::address::Address;
use crate::change::{Changes, changes, merge_patch, seal};
use crate::fault::Fault;
use crate::plan::{Child, Do, Next};
use crate::room::Room;
use crate::run::{planned, status};
use crate::tools::{Tools, dressed};

/// What a pass over one object would do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Draft {
    /// The object: its kind and name.
    pub object: String,
    /// What would be done, in this order.
    pub steps: Vec<Drafted>,
    /// What the status would then say otherwise.
    pub status: Changes,
    /// When it would be looked at again: `on change`, `after 10 s`, `never`.
    pub next: String,
    /// Why nothing can be done, if the spec cannot be met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
}

/// One thing that would be done.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Drafted {
    /// What it does to its object.
    pub verb: Verb,
    /// In words: `apply Deployment default/shop`.
    pub words: String,
    /// The fields that would change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Changes,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// An object comes into being.
    Create,
    /// An object changes.
    Change,
    /// An object goes.
    Delete,
    /// Something outside the cluster.
    Act,
}

impl Draft {
    /// Whether a pass would write nothing.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.status.is_empty() && self.refusal.is_none()
    }
}

/// Observes and plans, and does nothing.
pub(crate) async fn draft<R: Room>(room: &R, tools: &Tools, object: &R::Kind) -> Result<Draft, Fault> {
    let named = Address::of(object).to_string();
    let world = room.observe(object, tools.reader()).await?;
    let plan = match room.plan(object, &world) {
        Ok(plan) => plan,
        Err(refusal) => {
            let refusal = Some(refusal.message);
            let (steps, status) = (Vec::new(), Vec::new());
            return Ok(Draft { object: named, steps, status, next: "on change".into(), refusal });
        }
    };
    let mut steps = Vec::new();
    for step in &plan.steps {
        steps.extend(foreseen(room, tools, object, step).await?);
    }
    if plan.whole {
        for resource in room.relations().into_iter().filter_map(|relation| relation.child) {
            let strays = tools.strays(object, &resource, &planned(&plan.steps, &resource)).await?;
            steps.extend(strays.into_iter().map(|(name, _)| {
                let address = Address { resource: resource.clone(), name };
                Drafted { verb: Verb::Delete, words: format!("delete {address}"), changes: Vec::new() }
            }));
        }
    }
    let status = reported(&status::<R>(object), &plan.status);
    let next = match plan.next {
        Next::OnChange => "on change".to_owned(),
        Next::After(delay) => format!("after {} s", delay.as_secs()),
        Next::Release => "never".to_owned(),
    };
    Ok(Draft { object: named, steps, status, next, refusal: None })
}

/// What one step would do; nothing, if all is so already.
async fn foreseen<R: Room>(
    room: &R,
    tools: &Tools,
    object: &R::Kind,
    step: &Do<R::Step>,
) -> Result<Option<Drafted>, Fault> {
    let words = step.to_string();
    let drafted = match step {
        Do::Apply(child) => return written(tools, words, child, dressed(object, child)).await,
        Do::Create(child) => {
            if tools.peek(&child.address).await?.is_some() {
                return Ok(None);
            }
            Drafted { verb: Verb::Create, words, changes: told(child, None, &child.body) }
        }
        Do::Patch(address, patch) => {
            let Some(live) = tools.peek(address).await? else { return Ok(None) };
            let found = seal(&address.resource.kind, changes(Some(&live), patch));
            if found.is_empty() {
                return Ok(None);
            }
            Drafted { verb: Verb::Change, words, changes: found }
        }
        Do::Delete(address, _) => {
            if tools.peek(address).await?.is_none() {
                return Ok(None);
            }
            Drafted { verb: Verb::Delete, words, changes: Vec::new() }
        }
        Do::Outside(step) => Drafted { verb: Verb::Act, words, changes: room.changes(step) },
    };
    Ok(Some(drafted))
}

async fn written(
    tools: &Tools,
    words: String,
    child: &Child,
    wanted: Value,
) -> Result<Option<Drafted>, Fault> {
    let live = tools.peek(&child.address).await?;
    let found = told(child, live.as_ref(), &wanted);
    let verb = if live.is_some() { Verb::Change } else { Verb::Create };
    Ok((!found.is_empty()).then_some(Drafted { verb, words, changes: found }))
}

fn told(child: &Child, live: Option<&Value>, wanted: &Value) -> Changes {
    seal(&child.resource().kind, changes(live, wanted))
}

/// What a status would say otherwise; times of transition are not news.
fn reported<T: Serialize>(last: &T, next: &T) -> Changes {
    let undated = |status: &T| {
        let mut json = serde_json::to_value(status).unwrap_or_default();
        let conditions = json.get_mut("conditions").and_then(Value::as_array_mut);
        for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
            condition.remove("lastTransitionTime");
            condition.remove("observedGeneration");
        }
        json
    };
    let (last, next) = (undated(last), undated(next));
    match merge_patch(&last, &next) {
        None => Vec::new(),
        Some(patch) => changes(Some(&last), &patch),
    }
}
