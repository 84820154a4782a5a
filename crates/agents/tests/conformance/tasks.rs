//! Fixtures that begin tasks.

use std::time::Duration;

use agents::mcp::extras::Desk;
use futures::FutureExt;
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities};
use rmcp::task_manager::{TaskContext, TaskExit};
use serde_json::{Value, json};

use crate::asking;
use crate::fixtures::{complete, made, say};

/// Their names.
pub(crate) const NAMES: [&str; 6] = [
    "slow_compute",
    "failing_job",
    "protocol_error_job",
    "confirm_delete",
    "multi_input",
    "test_tool_with_task",
];

/// Calls one.
pub(crate) fn call(request: &CallToolRequestParams, desk: &Desk<'_>) -> Result<CallToolResponse, ErrorData> {
    let name = request.name.as_ref();
    let able = desk.context.client_capabilities().is_some_and(|able| able.supports_tasks());
    if !able {
        return match name {
            "failing_job" | "test_tool_with_task" => {
                let needed = ClientCapabilities::builder().enable_tasks().build();
                Err(ErrorData::missing_required_client_capability(needed))
            }
            _ => Ok(say("it was done at once")),
        };
    }
    let seconds = request.arguments.as_ref().and_then(|arguments| arguments.get("seconds"));
    let seconds = seconds.and_then(Value::as_u64).unwrap_or_default();
    match name {
        "slow_compute" => desk.task(|task| slow(task, seconds).boxed()),
        "failing_job" => desk.task(|_| async { Ok(failed()) }.boxed()),
        "protocol_error_job" => {
            let error = ErrorData::internal_error("it broke, as it was meant to", None);
            desk.task(|_| async { Err(TaskExit::Error(error)) }.boxed())
        }
        "confirm_delete" => desk.task(|task| ask(task, &["confirm"]).boxed()),
        "multi_input" => desk.task(|task| ask(task, &["step1", "step2"]).boxed()),
        _ => match asking::answer(request.input_responses.as_ref(), "user_name", "name") {
            Some(name) => desk.task(|_| async move { Ok(told(&format!("Hello, {name}!"))) }.boxed()),
            None => Ok(asking::ask(&["user_name"], None).into()),
        },
    }
}

/// Takes its time, and ends early when it is asked to.
async fn slow(task: TaskContext, seconds: u64) -> Result<CallToolResult, TaskExit> {
    match tokio::time::timeout(Duration::from_secs(seconds), task.cancelled()).await {
        Ok(()) => Err(TaskExit::Cancelled),
        Err(_) => Ok(told("it was computed")),
    }
}

/// Asks everything at once.
async fn ask(task: TaskContext, keys: &[&str]) -> Result<CallToolResult, TaskExit> {
    let asked = keys.iter().map(|key| task.request_input(*key, made(asking::question(key))));
    futures::future::try_join_all(asked).await?;
    Ok(told("everything was answered"))
}

fn told(text: &str) -> CallToolResult {
    complete(json!({ "content": [{ "type": "text", "text": text }] }))
}

fn failed() -> CallToolResult {
    complete(
        json!({ "content": [{ "type": "text", "text": "it failed, as it was meant to" }], "isError": true }),
    )
}
