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
/// Why nobody is let in whose token is not known; the door says the same.
const UNKNOWN: &str = "Unauthorized";

impl Handler {
    /// Who asks for something. One whose token is no longer known leaves a record, too: the door saw it when it was.
    pub(super) async fn known(
        &self,
        (action, subject): (&str, &str),
        context: &RequestContext<RoleServer>,
    ) -> Result<Caller, ErrorData> {
        let refusal = match self.caller(context) {
            Ok(caller) => return Ok(caller),
            Err(refusal) => refusal,
        };
        let fingerprint = self.presented(context).map(|presented| presented.fingerprint());
        let record = Record {
            token: fingerprint.unwrap_or_default(),
            outcome: Outcome::Refused,
            reason: Some(UNKNOWN.into()),
            ..blank(action, subject, context)
        };
        self.agents.note(record).await.map_err(|error| calls::protocol(&error))?;
        Err(refusal)
    }

    /// Who asks for something that is no tool, if they may ask once more.
    pub(super) async fn admitted(
        &self,
        asked: (&str, &str),
        context: &RequestContext<RoleServer>,
    ) -> Result<Caller, ErrorData> {
        let caller = self.known(asked, context).await?;
        let Err(error) = self.agents.admit(&caller) else { return Ok(caller) };
        let record = Record {
            token: caller.fingerprint,
            name: caller.name,
            outcome: Outcome::Refused,
            reason: Some(error.word().into()),
            ..blank(asked.0, asked.1, context)
        };
        self.agents.note(record).await.map_err(|error| calls::protocol(&error))?;
        Err(calls::protocol(&error))
    }

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
            token: caller.fingerprint.clone(),
            name: caller.name.clone(),
            outcome: told,
            reason,
            ..blank(action, subject, context)
        };
        self.agents.note(record).await.map_err(|error| calls::protocol(&error))?;
        outcome
    }
}

/// A record that says nothing yet of who asked and what came of it.
fn blank(action: &str, subject: &str, context: &RequestContext<RoleServer>) -> Record {
    Record {
        time: Timestamp::now(),
        token: String::new(),
        name: String::new(),
        agent: super::agent(context),
        action: action.chars().filter(|letter| !letter.is_control()).take(SUBJECT).collect(),
        subject: subject.chars().filter(|letter| !letter.is_control()).take(SUBJECT).collect(),
        arguments: audit::digest(&Map::new()),
        plan: None,
        outcome: Outcome::Failed,
        reason: None,
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
