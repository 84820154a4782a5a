//! Fixtures that answer at once, or ask the client in the middle of the call, as in the earlier era.

use agents::mcp::extras::Desk;
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ClientCapabilities, ElicitRequestParams};
use serde_json::{Value, json};

use crate::fixtures::{AUDIO, IMAGE, complete, made, say};

/// Their names.
pub(crate) const NAMES: [&str; 16] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_error_handling",
    "test_tool_with_progress",
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_reconnection",
    "test_missing_capability",
    "test_logging_tool",
    "greet",
];

/// Calls one.
pub(crate) async fn call(
    request: &CallToolRequestParams,
    desk: &Desk<'_>,
) -> Result<CallToolResponse, ErrorData> {
    let word = |name: &str| {
        let arguments = request.arguments.as_ref();
        arguments.and_then(|arguments| arguments.get(name)).and_then(Value::as_str).unwrap_or_default()
    };
    let answer = match request.name.as_ref() {
        "test_image_content" => contents(json!([image()])),
        "test_audio_content" => {
            contents(json!([{ "type": "audio", "data": AUDIO, "mimeType": "audio/wav" }]))
        }
        "test_embedded_resource" => contents(json!([embedded("test://embedded-resource")])),
        "test_multiple_content_types" => {
            let text = json!({ "type": "text", "text": "Multiple content types test:" });
            contents(json!([text, image(), embedded("test://mixed-content-resource")]))
        }
        "test_error_handling" => CallToolResponse::Complete(complete(json!({
            "content": [{ "type": "text", "text": "This tool intentionally returns an error for testing" }],
            "isError": true,
        }))),
        "test_tool_with_progress" => progress(desk).await,
        "test_tool_with_logging" => logging(desk).await,
        "test_sampling" => sampling(word("prompt"), desk).await?,
        "test_elicitation" => {
            let text = |about: &str| json!({ "type": "string", "description": about });
            let fields =
                json!({ "username": text("User's response"), "email": text("User's email address") });
            elicitation(word("message"), fields, desk).await?
        }
        "test_elicitation_sep1034_defaults" => elicitation("Defaults", defaults(), desk).await?,
        "test_elicitation_sep1330_enums" => elicitation("Choices", choices(), desk).await?,
        "test_missing_capability" => {
            let needed: ClientCapabilities = made(json!({ "sampling": {} }));
            return Err(ErrorData::missing_required_client_capability(needed));
        }
        "greet" => say(&format!("Hello, {}!", word("name"))),
        _ => say("This is a simple text response for testing."),
    };
    Ok(answer)
}

fn contents(content: Value) -> CallToolResponse {
    CallToolResponse::Complete(complete(json!({ "content": content })))
}

fn image() -> Value {
    json!({ "type": "image", "data": IMAGE, "mimeType": "image/png" })
}

fn embedded(uri: &str) -> Value {
    let text = "This is an embedded resource content.";
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": "text/plain", "text": text } })
}

async fn progress(desk: &Desk<'_>) -> CallToolResponse {
    desk.telling(|progress| async move {
        for done in [0.0, 50.0, 100.0] {
            progress.tell(done, Some(100.0), format!("{done} of 100"));
        }
        say("all of it is done")
    })
    .await
}

#[expect(deprecated, reason = "the earlier era knows it")]
async fn logging(desk: &Desk<'_>) -> CallToolResponse {
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let told = made(json!({ "level": "info", "logger": "fixtures", "data": text }));
        desk.context.peer.notify_logging_message(told).await.expect("the client listens");
    }
    say("three messages were sent")
}

#[expect(deprecated, reason = "the earlier era knows it")]
async fn sampling(prompt: &str, desk: &Desk<'_>) -> Result<CallToolResponse, ErrorData> {
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    let params = made(json!({ "messages": [message], "maxTokens": 100 }));
    let answered = desk.context.peer.create_message(params).await;
    let answered = answered.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let content = serde_json::to_value(&answered.message.content).unwrap_or_default();
    Ok(say(&format!("LLM response: {}", content["text"])))
}

async fn elicitation(message: &str, fields: Value, desk: &Desk<'_>) -> Result<CallToolResponse, ErrorData> {
    let schema = json!({ "type": "object", "properties": fields });
    let params: ElicitRequestParams =
        made(json!({ "mode": "form", "message": message, "requestedSchema": schema }));
    let answered = desk.context.peer.create_elicitation(params).await;
    let answered = answered.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let content = answered.content.unwrap_or_default();
    Ok(say(&format!("User response: action={:?}, content={content}", answered.action)))
}

fn defaults() -> Value {
    json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
    })
}

fn choices() -> Value {
    let titled = |word: &str| {
        json!([
            { "const": "value1", "title": format!("First {word}") },
            { "const": "value2", "title": format!("Second {word}") },
            { "const": "value3", "title": format!("Third {word}") },
        ])
    };
    let options = json!(["option1", "option2", "option3"]);
    json!({
        "untitledSingle": { "type": "string", "enum": options },
        "titledSingle": { "type": "string", "oneOf": titled("Option") },
        "legacyEnum": {
            "type": "string", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
    })
}
