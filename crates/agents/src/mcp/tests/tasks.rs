//! Tools that begin something long, for clients that know tasks.

use std::sync::Arc;

use api::apps::Application;
use futures::future::BoxFuture;
use kube::api::{Api, PostParams};
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::stage::{PATIENCE, Stage, Visitor};
use crate::Error;
use crate::identity::Role;
use crate::mcp::extras::{Desk, Extras, ready};
use crate::tool::{Call, Erased, Hints, Stop, Tool};

/// A tool like `push_code`: it writes an application and does not wait for it.
struct Begin;

#[derive(Deserialize, JsonSchema)]
struct Input {
    name: String,
}

#[derive(Serialize, JsonSchema)]
struct Output {
    name: String,
    phase: String,
}

impl Tool for Begin {
    const NAME: &'static str = "begin";
    const TITLE: &'static str = "Begin";
    const DESCRIPTION: &'static str = "Begins an application.";
    const HINTS: Hints = Hints::WRITES;
    const BEGINS: Option<&'static str> = Some("name");
    type Input = Input;
    type Output = Output;

    async fn run(call: &Call<'_>, input: Input) -> Result<Output, Stop> {
        let app = json!({ "metadata": { "name": input.name }, "spec": { "image": "nginx:1" } });
        let app: Application =
            serde_json::from_value(app).map_err(|error| Error::Internal(error.to_string()))?;
        let apps: Api<Application> = Api::namespaced(call.client.clone(), &call.namespace);
        apps.create(&PostParams::default(), &app).await?;
        Ok(Output { name: input.name, phase: "Pending".into() })
    }
}

struct Long;

impl Extras for Long {
    fn registered(&self) -> Vec<Erased> {
        vec![Erased::of::<Begin>()]
    }

    fn call<'a>(
        &'a self,
        _: CallToolRequestParams,
        _: Desk<'a>,
    ) -> BoxFuture<'a, Result<CallToolResponse, ErrorData>> {
        ready(Err(ErrorData::invalid_params("there is none", None)))
    }

    fn prompt<'a>(
        &'a self,
        _: GetPromptRequestParams,
        _: Desk<'a>,
    ) -> BoxFuture<'a, Result<GetPromptResponse, ErrorData>> {
        ready(Err(ErrorData::invalid_params("there is none", None)))
    }
}

/// Looks again and again until a task is over.
async fn over(visitor: &Visitor<'_>, id: &Value) -> Value {
    let looking = async {
        loop {
            let task = visitor.ask("tasks/get", json!({ "taskId": id })).await;
            if task["status"] != "working" {
                return task;
            }
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.expect("it ends")
}

async fn begun(visitor: &Visitor<'_>, session: &str, name: &str) -> Value {
    let task = visitor.call("begin", json!({ "session_id": session, "name": name })).await;
    assert_eq!(task["resultType"], "task", "{task}");
    task["taskId"].clone()
}

#[tokio::test]
async fn a_task_ends_when_the_application_runs_or_has_failed() {
    let stage = Stage::with(Some(Arc::new(Long))).await;
    let ann = stage.token("ann", Role::Session).await;
    let (session, namespace) = ann.session().await;
    let id = begun(&ann, &session, "shop").await;
    stage.say(&namespace, "shop", "Building").await;
    let task = ann.ask("tasks/get", json!({ "taskId": id })).await;
    assert_eq!(task["status"], "working", "{task}");
    stage.say(&namespace, "shop", "Running").await;
    let task = over(&ann, &id).await;
    assert_eq!(
        (&task["status"], &task["result"]["structuredContent"]["phase"]),
        (&json!("completed"), &json!("Running"))
    );
    assert_eq!(task["result"]["isError"], false);
    let id = begun(&ann, &session, "broken").await;
    stage.say(&namespace, "broken", "Failed").await;
    let task = over(&ann, &id).await;
    assert_eq!((&task["status"], &task["result"]["isError"]), (&json!("completed"), &json!(true)));
}

#[tokio::test]
async fn what_is_deployed_is_a_task_until_it_runs() {
    let stage = Stage::open().await;
    let ann = stage.token("ann", Role::Session).await;
    let (session, namespace) = ann.session().await;
    let arguments = json!({ "session_id": session, "name": "shop", "image": "nginx:1" });
    let task = ann.call("deploy_app", arguments).await;
    assert_eq!(task["resultType"], "task", "{task}");
    stage.say(&namespace, "shop", "Running").await;
    let task = over(&ann, &task["taskId"]).await;
    let told = &task["result"]["structuredContent"];
    assert_eq!((&told["phase"], &told["message"]), (&json!("Running"), &json!("it runs")), "{task}");
    assert_eq!(told["url"], "http://shop.localhost");
    let names: Vec<&str> =
        stage.agents.tools().iter().filter(|tool| tool.begins.is_some()).map(Erased::name).collect();
    assert_eq!(names, ["push_code", "deploy_app"]);
}

#[tokio::test]
async fn a_task_is_nothing_to_another_token() {
    let stage = Stage::with(Some(Arc::new(Long))).await;
    let ann = stage.token("ann", Role::Session).await;
    let eve = stage.token("eve", Role::Admin).await;
    let (session, _) = ann.session().await;
    let id = begun(&ann, &session, "shop").await;
    let words = |error: Value, id: &str| error["message"].as_str().expect("words").replace(id, "ID");
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let foreign = eve.ask(method, json!({ "taskId": id, "inputResponses": {} })).await;
        let missing = eve.ask(method, json!({ "taskId": "none", "inputResponses": {} })).await;
        assert_eq!(foreign["code"], -32602, "{foreign}");
        assert_eq!(words(foreign, id.as_str().expect("an id")), words(missing, "none"));
    }
    let task = ann.ask("tasks/get", json!({ "taskId": id })).await;
    assert_eq!(task["status"], "working", "nobody else has cancelled it: {task}");
    ann.ask("tasks/cancel", json!({ "taskId": id })).await;
    assert_eq!(over(&ann, &id).await["status"], "cancelled");
}

#[tokio::test]
async fn a_token_with_too_many_tasks_is_answered_at_once() {
    let stage = Stage::with(Some(Arc::new(Long))).await;
    let ann = stage.token("ann", Role::Session).await;
    let (session, _) = ann.session().await;
    for number in 0..16 {
        begun(&ann, &session, &format!("app-{number}")).await;
    }
    let answer = ann.call("begin", json!({ "session_id": session, "name": "one-more" })).await;
    assert_eq!(answer["structuredContent"]["phase"], "Pending", "{answer}");
}

#[tokio::test]
async fn a_client_that_knows_no_tasks_is_answered_at_once() {
    let stage = Stage::with(Some(Arc::new(Long))).await;
    let ann = stage.token("ann", Role::Session).await;
    let (session, _) = ann.session().await;
    let id = ann.visit().await;
    let params = json!({ "name": "begin", "arguments": { "session_id": session, "name": "shop" } });
    let (_, answer) = ann.within(&id, "tools/call", params).await;
    assert_eq!(answer["structuredContent"]["phase"], "Pending", "{answer}");
}
