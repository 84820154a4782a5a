//! `unregister`: ends a session.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::ending::{self, Left};
use super::sweep::Step;
use super::{is_ending, is_session};
use crate::Error;
use crate::identity::rights;
use crate::tool::{Call, Hints, Question, Stop, Tool};

/// How long a call may watch; the protocol's own clients give up after thirty seconds.
const WATCHES: Duration = Duration::from_secs(25);
/// How often it looks meanwhile.
const LOOK: Duration = Duration::from_millis(250);
/// When to ask again.
const POLL_SECONDS: u64 = 5;

/// `unregister`.
pub struct Unregister;

/// Nothing but the session has to be named.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct Input {}

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Output {
    /// The session.
    pub session_id: String,
    /// Whether all of it is gone.
    pub phase: Phase,
    /// What is still there.
    pub left: Vec<String>,
    /// When to ask again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_seconds: Option<u64>,
}

/// Whether all of a session is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Phase {
    /// It goes.
    Deleting,
    /// Nothing is left.
    Deleted,
}

impl Tool for Unregister {
    const NAME: &'static str = "unregister";
    const TITLE: &'static str = "End a session";
    const DESCRIPTION: &'static str = "End a session: deletes its apps, its databases with their data, and everything \
        else in it. A person is asked first. While phase is Deleting, call again to see what is left; nothing else \
        works in the session then.";
    const HINTS: Hints = Hints::DESTROYS;
    type Input = Input;
    type Output = Output;

    async fn run(call: &Call<'_>, _: Input) -> Result<Output, Stop> {
        end(call, WATCHES).await
    }
}

/// Ends the session, and watches for a while.
pub(super) async fn end(call: &Call<'_>, watches: Duration) -> Result<Output, Stop> {
    let until = Instant::now() + watches;
    let (own, namespace) = (call.agents.client(), &call.namespace);
    let found = Api::<Namespace>::all(own.clone()).get_opt(namespace).await?;
    match found {
        None => return Ok(output(call, None)),
        Some(found) if !is_session(&found) => {
            return Err(Error::NoSession { session: call.session.clone() }.into());
        }
        // It has been agreed to: what remains is to tell how far it is.
        Some(found) if is_ending(&found) => {}
        Some(_) => {
            if !rights::may(&call.client, "delete", "sessions.agents.terrace.dev", Some(namespace)).await? {
                return Err(Error::Denied { what: format!("end session {}", call.session) }.into());
            }
            call.confirmed(question(call).await?)?;
            ending::mark(own, namespace).await?;
            call.agents.sweep();
        }
    }
    loop {
        let (step, left) = ending::carry(own, namespace, Timestamp::now()).await?;
        let Some(things) = &left else { return Ok(output(call, None)) };
        call.progress.tell(0.0, None, format!("{} left", things.join(", ")));
        if Instant::now() >= until {
            // Whoever ended it need not come back: the rest goes by itself.
            call.agents.sweep();
            return Ok(output(call, left));
        }
        if matches!(step, Step::Wait | Step::DeleteNamespace) {
            tokio::time::sleep(LOOK).await;
        }
    }
}

async fn question(call: &Call<'_>) -> Result<Question, Error> {
    let things = ending::things(call.agents.client(), &call.namespace).await?;
    Ok(Question {
        what: format!("End session {} and delete everything in it?", call.session),
        plan: ending::plan(&call.namespace, &things),
        command: format!("terrace session delete {}", call.session),
    })
}

fn output(call: &Call<'_>, left: Left) -> Output {
    let phase = if left.is_some() { Phase::Deleting } else { Phase::Deleted };
    Output {
        session_id: call.session.clone(),
        phase,
        poll_seconds: left.is_some().then_some(POLL_SECONDS),
        left: left.unwrap_or_default(),
    }
}
