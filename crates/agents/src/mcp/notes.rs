//! What is written down of what is no tool: who read which resource, and who got which prompt.

use jiff::Timestamp;
use rmcp::model::ErrorCode;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Map;

use super::{Handler, calls};
use crate::audit::{self, Outcome, Record};
use crate::identity::Caller;

/// How much of a subject is written down: that it is somebody else's choice must not fill the trail.
const SUBJECT: usize = 200;

impl Handler {
    /// Leaves a record of what was asked for. What cannot be written down has failed.
    pub(super) async fn noted<T>(
        &self,
        caller: &Caller,
        (action, subject): (&str, &str),
        context: &RequestContext<RoleServer>,
        outcome: Result<T, ErrorData>,
    ) -> Result<T, ErrorData> {
        let (told, reason) = match &outcome {
            Ok(_) => (Outcome::Done, None),
            Err(error) => (judged(error), Some(word(error).to_owned())),
        };
        let record = Record {
            time: Timestamp::now(),
            token: caller.fingerprint.clone(),
            name: caller.name.clone(),
            agent: super::agent(context),
            action: action.to_owned(),
            subject: subject.chars().filter(|letter| !letter.is_control()).take(SUBJECT).collect(),
            arguments: audit::digest(&Map::new()),
            plan: None,
            outcome: told,
            reason,
        };
        self.agents.note(record).await.map_err(|error| calls::protocol(&error))?;
        outcome
    }
}

/// What is somebody else's is told as missing, so a thing that is missing counts as refused.
fn judged(error: &ErrorData) -> Outcome {
    match error.code {
        ErrorCode::INTERNAL_ERROR => Outcome::Failed,
        _ => Outcome::Refused,
    }
}

fn word(error: &ErrorData) -> &'static str {
    match error.code {
        ErrorCode::RESOURCE_NOT_FOUND => "NotFound",
        ErrorCode::INVALID_PARAMS => "Invalid",
        ErrorCode::INTERNAL_ERROR => "Internal",
        _ => "Refused",
    }
}
