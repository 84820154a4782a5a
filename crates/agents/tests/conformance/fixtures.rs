//! What the conformance suite asks of a server that it tests: tools, prompts and resources of its own. They are added to
//! the product's, in this program only, and use the product's seals, tasks and progress.

use agents::mcp::extras::{Desk, Extras};
use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse, Prompt, Resource,
    ResourceContents, ResourceTemplate, Tool,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::{asking, plain, tasks};

/// A red dot.
pub(crate) const IMAGE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// Silence.
pub(crate) const AUDIO: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// All fixtures.
pub(crate) struct Fixtures;

impl Extras for Fixtures {
    fn tools(&self) -> Vec<Tool> {
        let nothing = json!({ "type": "object" });
        let of = |schema: Value| move |name: &&str| tool(name, &schema);
        let plain = plain::NAMES.iter().map(of(nothing.clone()));
        let asking = asking::NAMES.iter().map(of(nothing.clone()));
        let tasks = tasks::NAMES.iter().map(of(nothing));
        plain.chain(asking).chain(tasks).chain(described()).collect()
    }

    fn call<'a>(
        &'a self,
        request: CallToolRequestParams,
        desk: Desk<'a>,
    ) -> BoxFuture<'a, Result<CallToolResponse, ErrorData>> {
        async move {
            let name = request.name.clone();
            if asking::NAMES.contains(&name.as_ref()) {
                asking::call(&request, &desk)
            } else if tasks::NAMES.contains(&name.as_ref()) {
                tasks::call(&request, &desk)
            } else {
                plain::call(&request, &desk).await
            }
        }
        .boxed()
    }

    fn prompts(&self) -> Vec<Prompt> {
        let argument = |name: &str| json!({ "name": name, "description": name, "required": true });
        let prompt = |name: &str, arguments: Value| {
            made(json!({ "name": name, "description": "A fixture.", "arguments": arguments }))
        };
        vec![
            prompt("test_simple_prompt", json!([])),
            prompt("test_prompt_with_arguments", json!([argument("arg1"), argument("arg2")])),
            prompt("test_prompt_with_embedded_resource", json!([argument("resourceUri")])),
            prompt("test_prompt_with_image", json!([])),
            prompt("test_input_required_result_prompt", json!([])),
        ]
    }

    fn prompt<'a>(
        &'a self,
        request: GetPromptRequestParams,
        _: Desk<'a>,
    ) -> BoxFuture<'a, Result<GetPromptResponse, ErrorData>> {
        agents::mcp::extras::ready(Ok(prompted(&request)))
    }

    fn resources(&self) -> Vec<Resource> {
        let resource = |uri: &str| Resource::new(uri, uri).with_description("A fixture.");
        ["test://static-text", "test://static-binary", "test://watched-resource"].map(resource).into()
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        vec![ResourceTemplate::new("test://template/{id}/data", "template").with_description("A fixture.")]
    }

    fn read(&self, uri: &str) -> Option<ResourceContents> {
        let text = |text: String, kind: &str| ResourceContents::text(text, uri).with_mime_type(kind);
        match uri {
            "test://static-text" => {
                Some(text("This is the content of the static text resource.".into(), "text/plain"))
            }
            "test://static-binary" => Some(ResourceContents::blob(IMAGE, uri).with_mime_type("image/png")),
            "test://watched-resource" => Some(text("It never changes.".into(), "text/plain")),
            _ => {
                let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
                let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
                Some(text(data.to_string(), "application/json"))
            }
        }
    }

    fn watched(&self, uri: &str) -> bool {
        uri == "test://watched-resource"
    }
}

fn prompted(request: &GetPromptRequestParams) -> GetPromptResponse {
    let nothing = Map::new();
    let arguments = request.arguments.as_ref().unwrap_or(&nothing);
    let word = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let say = |text: &str| json!({ "role": "user", "content": { "type": "text", "text": text } });
    let messages = match request.name.as_str() {
        "test_prompt_with_arguments" => {
            let (first, second) = (word("arg1"), word("arg2"));
            json!([say(&format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))])
        }
        "test_prompt_with_embedded_resource" => {
            let resource =
                json!({ "uri": word("resourceUri"), "mimeType": "text/plain", "text": "Embedded." });
            let embedded = json!({ "role": "user", "content": { "type": "resource", "resource": resource } });
            json!([embedded, say("Please process the embedded resource above.")])
        }
        "test_prompt_with_image" => {
            let image = json!({ "type": "image", "data": IMAGE, "mimeType": "image/png" });
            json!([{ "role": "user", "content": image }, say("Please analyze the image above.")])
        }
        "test_input_required_result_prompt" => {
            let answer = asking::answer(request.input_responses.as_ref(), "user_context", "context");
            match answer {
                Some(context) => json!([say(&context)]),
                None => return asking::ask(&["user_context"], None).into(),
            }
        }
        _ => json!([say("This is a simple prompt for testing.")]),
    };
    GetPromptResponse::Complete(complete(json!({ "messages": messages })))
}

/// Tools whose schema matters.
fn described() -> Vec<Tool> {
    let address = json!({
        "$anchor": "addressDef", "type": "object",
        "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
    });
    let text = json!({ "type": "string" });
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": address },
        "properties": {
            "name": text, "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": text, "email": text,
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    });
    let header = json!({
        "type": "object",
        "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
        "required": ["region"],
    });
    vec![tool("json_schema_2020_12_tool", &schema), tool("test_custom_header", &header)]
}

fn tool(name: &str, schema: &Value) -> Tool {
    made(json!({ "name": name, "description": "A fixture.", "inputSchema": schema }))
}

/// A thing of the protocol, from its JSON.
pub(crate) fn made<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a thing of the protocol")
}

/// A result that is all there is.
pub(crate) fn complete<T: DeserializeOwned>(mut value: Value) -> T {
    value["resultType"] = "complete".into();
    made(value)
}

/// A plain answer.
pub(crate) fn say(text: &str) -> CallToolResponse {
    CallToolResponse::Complete(complete(json!({ "content": [{ "type": "text", "text": text }] })))
}
