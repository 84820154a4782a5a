//! How a person is asked, in each era of the protocol: with the answer that ends a call and comes back with the next
//! one, or in the middle of a call.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    BooleanSchema, ClientCapabilities, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, InputRequest, InputRequests, InputRequiredResult, ProtocolVersion,
};
use rmcp::service::RequestContext;
use serde_json::Value;

use crate::Error;
use crate::tool::{Entry, Question};

/// The name of the one thing that is asked for.
pub(super) const KEY: &str = "confirm";
/// How long a client may hold a call open while a person thinks.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// What a client can do about people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) form: bool,
    pub(super) url: bool,
    /// Whether the answer comes with the next call.
    pub(super) next_call: bool,
}

impl Reach {
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let capabilities: Option<ClientCapabilities> = context.client_capabilities();
        let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation);
        let url = elicitation.as_ref().is_some_and(|able| able.url.is_some());
        // A client that names no mode knows forms: there was nothing else when it was written.
        let form = elicitation.is_some_and(|able| able.form.is_some() || able.url.is_none());
        let modern = ProtocolVersion::V_2026_07_28;
        let next_call = context.protocol_version().is_some_and(|version| version.as_str() >= modern.as_str());
        Self { form, url, next_call }
    }
}

/// The question as a form.
pub(super) fn form(question: &Question) -> Result<ElicitRequestParams, Error> {
    let mut message = question.what.clone();
    for line in &question.plan {
        message.push_str("\n- ");
        message.push_str(line);
    }
    let agree = |field: BooleanSchema| field.title("I agree").description("What is deleted is gone.");
    let requested_schema = ElicitationSchema::builder()
        .required_bool_property("agree", agree)
        .build()
        .map_err(|error| Error::Internal(error.to_string()))?;
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// The way to a page.
pub(super) fn page(entry: &Entry) -> ElicitRequestParams {
    ElicitRequestParams::UrlElicitationParams {
        meta: None,
        message: entry.what.clone(),
        url: entry.url.clone(),
        elicitation_id: entry.id.clone(),
    }
}

/// The end of a call that waits for a person.
pub(super) fn later(params: ElicitRequestParams, state: Option<String>) -> InputRequiredResult {
    let request = InputRequest::Elicitation(ElicitRequest::new(params));
    InputRequiredResult::new(Some(InputRequests::from([(KEY.to_owned(), request)])), state)
}

/// Asks in the middle of a call.
pub(super) async fn now(
    context: &RequestContext<RoleServer>,
    params: ElicitRequestParams,
) -> Result<ElicitResult, Error> {
    let asking = context.peer.create_elicitation_with_timeout(params, Some(PATIENCE));
    asking.await.map_err(|_| Error::NotAgreed)
}

/// Whether a person has agreed: they answered, and ticked the box.
pub(super) fn agreed(answer: &ElicitResult) -> bool {
    let ticked = answer.content.as_ref().is_some_and(|content| content["agree"] == Value::Bool(true));
    answer.action == ElicitationAction::Accept && ticked
}

/// Whether a person has opened the page, or said they would.
pub(super) fn led(answer: &ElicitResult) -> bool {
    answer.action == ElicitationAction::Accept
}
