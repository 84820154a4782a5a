//! `apply_plan`: carries out a plan, exactly as it was told, or not at all.

use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::memory::{Key, Remembered};
use super::{Action, Fault, Planned, WRITER, carry, hash, preview, show};
use crate::server::Asked;
use crate::tool::{Call, Hints, Question, Stop, Tool};

/// How much of a hash tells plans apart for people.
const SHORT: usize = 12;
/// How many digits a hash has.
const HASH: usize = 64;
/// How many objects are named in an error.
const NAMED_MAX: usize = 5;

/// `apply_plan`.
pub struct ApplyPlan;

/// Which plan.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Input {
    /// From plan
    pub hash: String,
}

/// What was done.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The plan
    pub hash: String,
    /// What was done, object by object
    pub done: Vec<String>,
    /// What comes next
    pub message: String,
}

impl Tool for ApplyPlan {
    const NAME: &'static str = "apply_plan";
    const TITLE: &'static str = "Carry out a plan";
    const DESCRIPTION: &'static str = "Carry out what plan has shown, by its hash. If anything it touches has changed since, \
        nothing is written: plan again. A plan that deletes asks a person. Next: app_status or service_status.";
    const HINTS: Hints = Hints::DESTROYS;
    type Input = Input;
    type Output = Output;

    async fn run(call: &Call<'_>, Input { hash }: Input) -> Result<Output, Stop> {
        let key = Key { owner: call.caller.fingerprint.clone(), namespace: call.namespace.clone(), hash };
        let Some(plan) = call.agents.plans().find(&key, Instant::now()) else {
            return Err(Fault::Unknown { hash: key.hash.chars().take(HASH).collect() }.into());
        };
        let planned = preview(call, &plan.wish).await?;
        if plan.done && idle(&planned) {
            return Ok(Output {
                hash: key.hash,
                done: Vec::new(),
                message: "nothing to do: it was carried out".into(),
            });
        }
        check(&plan, &planned, &key.hash)?;
        if idle(&planned) {
            return Ok(Output { hash: key.hash, done: Vec::new(), message: "nothing to do".into() });
        }
        if planned.iter().any(destroys) {
            call.confirmed(question(call, &plan, &planned, &key.hash))?;
        }
        let done = carry::out(call, &plan.wish, &planned).await?;
        call.agents.plans().done(&key);
        let message = "done; look at app_status and service_status for what becomes of it".into();
        Ok(Output { hash: key.hash, done, message })
    }
}

/// The plan that a call names, for the audit trail: only what looks like a hash.
pub(crate) fn named(asked: &Asked) -> Option<String> {
    let hash = asked.arguments.get("hash").filter(|_| asked.tool == ApplyPlan::NAME)?.as_str()?;
    let digits = hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (hash.len() == HASH && digits).then(|| hash.to_owned())
}

/// Whether there is nothing to do.
fn idle(planned: &[Planned]) -> bool {
    planned.iter().all(|planned| planned.action == Action::None && planned.error.is_none())
}

/// Whether data may go.
fn destroys(planned: &Planned) -> bool {
    planned.action == Action::Delete || planned.steps.iter().any(|step| step.destroys)
}

/// Whether the plan is still what it was, and can be carried out.
fn check(plan: &Remembered, planned: &[Planned], told: &str) -> Result<(), Fault> {
    let errors: Vec<String> = planned
        .iter()
        .filter_map(|planned| planned.error.as_ref().map(|error| format!("{}: {error}", planned.object)))
        .collect();
    if !errors.is_empty() {
        return Err(Fault::Impossible { what: some(&errors) });
    }
    if plan.done {
        let left = planned.iter().filter(|planned| planned.action != Action::None);
        return Err(Fault::Spent { what: some(&left.map(show::line).collect::<Vec<_>>()) });
    }
    if hash::plan(&plan.wish, planned) != told {
        let changed = planned.iter().zip(&plan.facts).filter(|(now, (_, then))| hash::object(now) != *then);
        let lines: Vec<String> =
            changed.map(|(now, _)| format!("now it would {}", show::line(now))).collect();
        return Err(Fault::Changed { what: some(&lines) });
    }
    Ok(())
}

fn some(lines: &[String]) -> String {
    let named = lines.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join("; ");
    match lines.len().saturating_sub(NAMED_MAX) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}

/// What a person is asked before anything goes.
fn question(call: &Call<'_>, plan: &Remembered, planned: &[Planned], hash: &str) -> Question {
    let namespace = &call.namespace;
    let short: String = hash.chars().take(SHORT).collect();
    let mut lines = Vec::new();
    for planned in planned.iter().filter(|planned| planned.action != Action::None || destroys(planned)) {
        lines.push(show::line(planned));
        let gone = planned.steps.iter().filter(|step| step.destroys);
        lines.extend(gone.map(|step| format!("because of {}: {}", planned.object, step.words)));
    }
    let mut commands = Vec::new();
    if !plan.wish.manifests.is_empty() {
        commands.push(format!(
            "kubectl apply --server-side --field-manager={WRITER} --namespace {namespace} -f FILE (FILE holds the manifests)"
        ));
    }
    for planned in planned.iter().filter(|planned| planned.action == Action::Delete) {
        if let Some(target) = &planned.target {
            let kind = match target.resource.group.as_str() {
                "" => target.resource.plural.clone(),
                group => format!("{}.{group}", target.resource.plural),
            };
            commands.push(format!("kubectl delete --namespace {namespace} {kind} {}", target.name));
        }
    }
    Question {
        what: format!(
            "Carry out plan {short} in session {}, which deletes what cannot be brought back?",
            call.session
        ),
        plan: lines,
        command: commands.join("; "),
    }
}
