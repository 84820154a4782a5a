//! Fixtures that end a call with a question, whose answer comes with the next one, as in the later era. What has to come
//! back unchanged is sealed by the product.

use agents::mcp::extras::Desk;
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResponse, InputRequiredResult, InputResponses};
use serde_json::{Map, Value, json};

use crate::fixtures::{made, say};

/// Their names.
pub(crate) const NAMES: [&str; 9] = [
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "test_streaming_elicitation",
];

/// Calls one.
pub(crate) fn call(request: &CallToolRequestParams, desk: &Desk<'_>) -> Result<CallToolResponse, ErrorData> {
    let given = request.input_responses.as_ref();
    let opened = request.request_state.as_deref().map(|state| desk.open(state)).transpose()?;
    match request.name.as_ref() {
        "test_input_required_result_sampling" => Ok(unless(given, &["capital_question"])),
        "test_input_required_result_list_roots" => Ok(unless(given, &["client_roots"])),
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            match opened {
                Some(_) if has(given, &["confirm"]) => Ok(say("state-ok")),
                _ => Ok(ask(&["confirm"], Some(desk.seal("confirm")?)).into()),
            }
        }
        "test_input_required_result_multiple_inputs" => {
            let all = ["user_name", "greeting", "client_roots"];
            match opened {
                Some(_) if has(given, &all) => Ok(say("everything was answered")),
                _ => Ok(ask(&all, Some(desk.seal("all")?)).into()),
            }
        }
        "test_input_required_result_multi_round" => match opened.as_deref() {
            Some("step1") if has(given, &["step1"]) => Ok(ask(&["step2"], Some(desk.seal("step2")?)).into()),
            Some("step2") if has(given, &["step2"]) => Ok(say("both steps were answered")),
            _ => Ok(ask(&["step1"], Some(desk.seal("step1")?)).into()),
        },
        "test_input_required_result_capabilities" => {
            let able = desk.context.client_capabilities().unwrap_or_default();
            let mut keys = Vec::new();
            keys.extend(able.elicitation.map(|_| "user_name"));
            keys.extend(able.sampling.map(|_| "greeting"));
            Ok(ask(&keys, None).into())
        }
        _ => match answer(given, "user_name", "name") {
            Some(name) => Ok(say(&format!("Hello, {name}!"))),
            None => Ok(ask(&["user_name"], None).into()),
        },
    }
}

fn unless(given: Option<&InputResponses>, keys: &[&str]) -> CallToolResponse {
    if has(given, keys) { say("it was answered") } else { ask(keys, None).into() }
}

fn has(given: Option<&InputResponses>, keys: &[&str]) -> bool {
    keys.iter().all(|key| given.and_then(|given| given.get(*key)).is_some_and(Value::is_object))
}

/// What a person has entered into one field of one question.
pub(crate) fn answer(given: Option<&InputResponses>, key: &str, field: &str) -> Option<String> {
    given?.get(key)?["content"][field].as_str().map(str::to_owned)
}

/// Ends a call with these questions.
pub(crate) fn ask(keys: &[&str], state: Option<String>) -> InputRequiredResult {
    let questions: Map<String, Value> = keys.iter().map(|key| ((*key).to_owned(), question(key))).collect();
    let mut result = json!({ "resultType": "input_required", "inputRequests": questions });
    if let Some(state) = state {
        result["requestState"] = state.into();
    }
    made(result)
}

pub(crate) fn question(key: &str) -> Value {
    let form = |field: &str, kind: &str| {
        let schema =
            json!({ "type": "object", "properties": { field: { "type": kind } }, "required": [field] });
        let params = json!({ "mode": "form", "message": key, "requestedSchema": schema });
        json!({ "method": "elicitation/create", "params": params })
    };
    match key {
        "capital_question" | "greeting" => {
            let content = json!({ "type": "text", "text": "What is the capital of France?" });
            let params = json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": 100 });
            json!({ "method": "sampling/createMessage", "params": params })
        }
        "client_roots" => json!({ "method": "roots/list", "params": {} }),
        "confirm" => form("ok", "boolean"),
        "user_context" => form("context", "string"),
        "step2" => form("color", "string"),
        _ => form("name", "string"),
    }
}
