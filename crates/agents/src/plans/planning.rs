//! `plan`: what manifests would change, field by field, without changing it.

use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::memory::{Key, Remembered};
use super::{Action, Planned, hash, planner, preview, rules, show};
use crate::Error;
use crate::tool::{Call, Hints, Stop, Tool};

/// `plan`.
pub struct Plan;

/// What is wished.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct Input {
    /// YAML or JSON, one or more documents
    #[serde(default)]
    pub manifests: Option<String>,
    /// What is to go, each as Kind/name
    #[serde(default)]
    pub delete: Option<Vec<String>>,
}

/// What would be done.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Names the plan for apply_plan
    pub hash: String,
    /// What would become of each object
    pub objects: Vec<show::Shown>,
    /// What comes next
    pub message: String,
}

impl Tool for Plan {
    const NAME: &'static str = "plan";
    const TITLE: &'static str = "Plan changes";
    const DESCRIPTION: &'static str = "Show field by field what manifests would change in the session, and what deleting \
        would do; nothing is done. Next: apply_plan with the hash.";
    const HINTS: Hints = Hints::READS;
    type Input = Input;
    type Output = Output;

    async fn run(call: &Call<'_>, input: Input) -> Result<Output, Stop> {
        let planner = planner(call)?;
        let text = input.manifests.unwrap_or_default();
        if text.len() > rules::TEXT_MAX {
            let why = format!("they are larger than {} KiB; plan fewer at a time", rules::TEXT_MAX / 1024);
            return Err(Error::invalid("manifests", why).into());
        }
        let documents = planner.documents(&text).map_err(|why| Error::invalid("manifests", why))?;
        let wish = rules::wish(&call.namespace, documents, &input.delete.unwrap_or_default())?;
        let planned = preview(call, &wish).await?;
        let hash = hash::plan(&wish, &planned);
        let output =
            Output { hash: hash.clone(), objects: show::shown(&planned), message: message(&planned) };
        let key = Key { owner: call.caller.fingerprint.clone(), namespace: call.namespace.clone(), hash };
        call.agents.plans().keep(key, Remembered::new(wish, &planned), Instant::now());
        Ok(output)
    }
}

fn message(planned: &[Planned]) -> String {
    let summary = show::summary(planned);
    let next = if planned.iter().any(|planned| planned.error.is_some()) {
        "nothing of it can be applied; mend what has an error, and plan again"
    } else if planned.iter().all(|planned| planned.action == Action::None) {
        "there is nothing to apply"
    } else {
        "nothing was written; apply_plan with this hash carries it out, within 30 minutes"
    };
    format!("{summary}: {next}")
}
