//! How a tool is called: who asks, what a person says to it, how far it is, and what is left to a task.

use std::future::Future;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CreateTaskResult, ElicitResult,
    InputResponses,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use super::people::{self, Reach};
use super::{Handler, begun, progress};
use crate::Error;
use crate::identity::Caller;
use crate::server::{Asked, record};
use crate::tool::Stop;

/// How long a tool may take: nothing blocks longer (agents.md).
const PATIENCE: Duration = Duration::from_secs(30);
/// What is told of a tool that takes longer.
const GIVEN_UP: &str =
    "this took longer than 30 s and was given up; parts of it may be done: look first, then call it again";
/// How often a person is asked within one call: what they agreed to may have changed while they thought.
const QUESTIONS: usize = 3;
/// What is told when it changes each time.
const UNSETTLED: &str = "what this would change was different each time a person had agreed, so nothing was done; \
    wait until it has settled, then call it again";

impl Handler {
    /// Calls a tool, and leaves a record of it.
    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.known((&request.name, ""), context).await?;
        let mut asked = Asked {
            tool: request.name.clone().into_owned(),
            arguments: request.arguments.clone().unwrap_or_default(),
            ..Asked::default()
        };
        if let Some(answer) = self.call_extra(&caller, &asked, &request, context).await {
            return answer;
        }
        let answers = Answers::of(request.request_state, request.input_responses);
        let outcome = self.conduct(&caller, &mut asked, answers, context).await;
        let noted = self.agents.note(record(&caller, &super::agent(context), &asked, &outcome)).await;
        match noted.map_err(Stop::from).and(outcome) {
            Ok(value) => Ok(self.or_task(caller, &asked, value, context)),
            // What was sealed here and comes back different is no mistake that an agent can mend.
            Err(Stop::Wrong(error @ Error::BadConfirmation { .. })) => Err(protocol(&error)),
            Err(Stop::Wrong(error)) => Ok(wrong(&error).into()),
            Err(Stop::Ask(question)) => {
                let state = self.agents.seals().seal(&caller, &asked, question.hash());
                let state = state.map_err(|error| protocol(&error))?;
                let form = people::form(&question).map_err(|error| protocol(&error))?;
                Ok(people::later(form, Some(state)).into())
            }
            Err(Stop::Enter(entry)) => Ok(people::later(people::page(&entry), None).into()),
        }
    }

    /// Runs a tool, and asks a person where one has to agree.
    async fn conduct(
        &self,
        caller: &Caller,
        asked: &mut Asked,
        answers: Answers,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, Stop> {
        if let Some(state) = &answers.state {
            // Opened before the answer is looked at: what was refused is used up, too.
            let answered = self.agents.seals().open(caller, asked, state)?;
            match &answers.person {
                Some(answer) if people::agreed(answer) => asked.answered = Some(answered),
                Some(_) => return Err(Error::NotAgreed.into()),
                // Nobody has answered, so whoever has to is asked again.
                None => {}
            }
        } else if answers.person.as_ref().is_some_and(people::led) {
            asked.led = true;
        }
        let reach = Reach::of(context);
        for _ in 0..QUESTIONS {
            let stop = match self.run(caller, asked, context).await {
                Ok(value) => return Ok(value),
                Err(stop) => stop,
            };
            match stop {
                Stop::Ask(question) if !reach.form => {
                    return Err(Error::NeedsPerson { what: question.what, command: question.command }.into());
                }
                Stop::Enter(entry) if !reach.url => {
                    return Err(Error::NeedsPerson { what: entry.what, command: entry.command }.into());
                }
                stop if reach.next_call => return Err(stop),
                Stop::Ask(question) => {
                    let state = self.agents.seals().seal(caller, asked, question.hash())?;
                    let answer = people::now(context, people::form(&question)?).await?;
                    let answered = self.agents.seals().open(caller, asked, &state)?;
                    if !people::agreed(&answer) {
                        return Err(Error::NotAgreed.into());
                    }
                    asked.answered = Some(answered);
                }
                Stop::Enter(entry) => {
                    asked.led = people::led(&people::now(context, people::page(&entry)).await?);
                    if !asked.led {
                        return Err(Error::NotAgreed.into());
                    }
                }
                Stop::Wrong(error) => return Err(error.into()),
            }
        }
        Err(Error::Refused(UNSETTLED.into()).into())
    }

    /// Runs a tool, for as long as a call may take, and tells how far it is.
    async fn run(
        &self,
        caller: &Caller,
        asked: &Asked,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, Stop> {
        let (progress, told) = progress::listen(context);
        let running = told.during(context, self.agents.run(caller, asked.clone(), progress));
        match tokio::time::timeout(PATIENCE, running).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::Refused(GIVEN_UP.into()).into()),
        }
    }

    /// The answer; or, for a client that knows tasks, a task that ends when what was begun has come to its end.
    fn or_task(
        &self,
        caller: Caller,
        asked: &Asked,
        value: Value,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResponse {
        let declared = context.client_capabilities().is_some_and(|able| able.supports_tasks());
        let begun = self.presented(context).filter(|_| declared).and_then(|presented| {
            let begun = begun::Begun::of(&self.agents, caller.clone(), presented, asked, &value)?;
            self.agents.tasks().begin(&caller, |task| begun.end(task))
        });
        match begun {
            Some(task) => CreateTaskResult::new(task).into(),
            None => done(&value).into(),
        }
    }
}

/// What came back with a call: a seal, and what a person said.
#[derive(Default)]
struct Answers {
    state: Option<String>,
    person: Option<ElicitResult>,
}

impl Answers {
    fn of(state: Option<String>, responses: Option<InputResponses>) -> Self {
        let person = responses.and_then(|mut responses| responses.remove(people::KEY));
        Self { state, person: person.and_then(|answer| serde_json::from_value(answer).ok()) }
    }
}

/// The answer, as data and as the same in text.
pub(super) fn done(value: &Value) -> CallToolResult {
    CallToolResult::structured(value.clone())
}

/// What went wrong, for whoever can mend it.
fn wrong(error: &Error) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(error.to_string())])
}

/// Does what is no tool, for as long as a call may take.
pub(super) async fn bounded<T>(work: impl Future<Output = Result<T, ErrorData>>) -> Result<T, ErrorData> {
    let given_up = |_| Err(ErrorData::internal_error(GIVEN_UP, None));
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(given_up)
}

/// What went wrong, in the protocol's own form.
pub(super) fn protocol(error: &Error) -> ErrorData {
    match matches!(error, Error::Internal(_) | Error::Unreachable(_)) {
        true => ErrorData::internal_error(error.to_string(), None),
        false => ErrorData::invalid_params(error.to_string(), None),
    }
}
