//! The document that describes all pages, made from the list of pages and the schemas of the tools.

use serde_json::{Map, Value, json};

use super::problem::KIND;
use super::request::{ARCHIVES, QUERY_SESSION};
use super::routes::{Act, Route};
use crate::tool::{Erased, SESSION};

/// What can go wrong anywhere, with a sentence each.
const PROBLEMS: [(&str, &str); 11] = [
    ("400", "Something in the request cannot be what it says"),
    ("401", "A token is needed"),
    ("403", "The token may not do this"),
    ("404", "There is no such session or application of this token"),
    ("408", "The body did not come in time"),
    ("409", "It cannot be done now, or a person has to agree: `command` does it"),
    ("413", "The request is too large"),
    ("415", "The body is of another kind than is taken"),
    ("429", "The token asks too often: see Retry-After"),
    ("500", "The platform failed"),
    ("503", "It is not available here, or not now"),
];

/// The document.
pub(super) fn document(tools: &[Erased]) -> Value {
    let mut paths = Map::new();
    for route in super::pages() {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.to_ascii_lowercase()] = operation(route, tools);
    }
    let answers: Map<String, Value> =
        PROBLEMS.iter().map(|(code, about)| (problem_name(code), problem(about))).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Terrace",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Applications of a session, for scripts. The same tokens and the same rules as for agents.",
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": { "Problem": problem_schema() },
            "responses": answers,
        },
    })
}

fn operation(route: &Route, tools: &[Erased]) -> Value {
    let tool = tools.iter().find(|tool| tool.name() == route.tool);
    let output = tool.and_then(|tool| tool.listed.output_schema.as_deref().cloned());
    let output = output.map_or_else(|| json!({ "type": "object" }), Value::Object);
    let mut answers = Map::new();
    let done = json!({ "description": "Done", "content": { "application/json": { "schema": output } } });
    answers.insert(route.act.code().as_str().to_owned(), done);
    for (code, _) in PROBLEMS {
        answers
            .insert(code.into(), json!({ "$ref": format!("#/components/responses/{}", problem_name(code)) }));
    }
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.summary,
        "parameters": parameters(route),
        "responses": answers,
    });
    if route.act.takes_body() {
        operation["requestBody"] = json!({ "required": true, "content": content(route, tool) });
    }
    operation
}

fn parameters(route: &Route) -> Vec<Value> {
    let text = || json!({ "type": "string" });
    let mut all = vec![json!({
        "name": QUERY_SESSION, "in": "query", "required": true, "schema": text(),
        "description": "The session's id, from the tool `register`",
    })];
    if route.path.contains("{name}") {
        all.push(json!({ "name": "name", "in": "path", "required": true, "schema": text() }));
    }
    for parameter in route.query {
        let schema = if parameter.number { json!({ "type": "integer", "minimum": 0 }) } else { text() };
        all.push(json!({
            "name": parameter.name, "in": "query", "required": false, "schema": schema, "description": parameter.about,
        }));
    }
    all
}

fn content(route: &Route, tool: Option<&Erased>) -> Value {
    let mut schema = tool.map_or_else(
        || json!({ "type": "object" }),
        |tool| Value::Object(tool.listed.input_schema.as_ref().clone()),
    );
    // These stand in the address.
    let named: &[&str] = if route.act == Act::Create { &[SESSION] } else { &[SESSION, "name"] };
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| !named.contains(&name.as_str()));
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !named.iter().any(|taken| name == taken));
    }
    schema["additionalProperties"] = false.into();
    let mut kinds = json!({ "application/json": { "schema": schema } });
    if route.act == Act::Source {
        for kind in ARCHIVES {
            kinds[kind] = json!({});
        }
    }
    kinds
}

fn problem_name(code: &str) -> String {
    format!("Problem{code}")
}

fn problem(about: &str) -> Value {
    json!({
        "description": about,
        "content": { KIND: { "schema": { "$ref": "#/components/schemas/Problem" } } },
    })
}

fn problem_schema() -> Value {
    json!({
        "type": "object",
        "required": ["type", "title", "status", "detail", "reason"],
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string", "description": "What happened, and what to do next" },
            "reason": { "type": "string", "description": "What it is, in one word" },
            "command": { "type": "string", "description": "What a person can type instead" },
        },
    })
}
