//! What a call has begun and left to a task: an application that is being built or started.

use std::time::Duration;

use api::apps::{Application, ApplicationPhase};
use futures::{FutureExt, StreamExt};
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watch_object;
use rmcp::ErrorData;
use rmcp::model::CallToolResult;
use rmcp::task_manager::{TaskContext, TaskExit, TaskFuture};
use serde_json::{Value, json};

use super::calls;
use crate::identity::{Caller, Presented};
use crate::server::{Agents, Asked};
use crate::sessions;
use crate::tool::SESSION;

/// How often it is looked whether a token still holds.
pub(super) const TOKEN_CHECK: Duration = Duration::from_secs(1);

/// An application that a tool has begun to build or to start.
pub(super) struct Begun {
    agents: Agents,
    caller: Caller,
    presented: Presented,
    session: String,
    app: String,
    value: Value,
}

impl Begun {
    /// What a call has begun; `None` if the tool begins nothing that takes long.
    pub(super) fn of(
        agents: &Agents,
        caller: Caller,
        presented: Presented,
        asked: &Asked,
        value: &Value,
    ) -> Option<Self> {
        let tool = agents.tools().iter().find(|tool| tool.name() == asked.tool)?;
        let word = |name: &str| asked.arguments.get(name).and_then(Value::as_str).map(str::to_owned);
        let (app, session) = (word(tool.begins?)?, word(SESSION)?);
        Some(Self { agents: agents.clone(), caller, presented, session, app, value: value.clone() })
    }

    /// Waits until the application runs, or has failed, or nobody wants to know any more.
    pub(super) fn end(self, task: TaskContext) -> TaskFuture {
        async move {
            let settled = self.settled(&task);
            tokio::select! {
                settled = settled => settled,
                () = task.cancelled() => Err(TaskExit::Cancelled),
            }
        }
        .boxed()
    }

    async fn settled(&self, task: &TaskContext) -> Result<CallToolResult, TaskExit> {
        let own = self.agents.client();
        let namespace = sessions::resolve(own, &self.caller, &self.session).await;
        let namespace = namespace.map_err(|error| calls::protocol(&error))?;
        let apps: Api<Application> = Api::namespaced(self.caller.client(own), &namespace);
        let mut seen = watch_object(apps, &self.app).default_backoff().boxed();
        let mut check = tokio::time::interval(TOKEN_CHECK);
        loop {
            let app = tokio::select! {
                app = seen.next() => app,
                _ = check.tick() => match self.agents.caller(&self.presented) {
                    Some(_) => continue,
                    None => return Err(gone("this token was revoked").into()),
                },
            };
            match app {
                Some(Ok(Some(app))) => {
                    let phase = phase(&app);
                    task.set_status_message(format!("{} is {phase:?}", self.app));
                    if matches!(phase, ApplicationPhase::Running | ApplicationPhase::Failed) {
                        return Ok(self.told(&app, phase));
                    }
                }
                Some(Ok(None)) => return Err(gone("the application was deleted").into()),
                // A watch that broke is begun again, after a while.
                Some(Err(_)) => {}
                None => return Err(gone("the platform stopped").into()),
            }
        }
    }

    /// What the tool answered, with what has become of it since.
    fn told(&self, app: &Application, phase: ApplicationPhase) -> CallToolResult {
        let mut value = self.value.clone();
        value["phase"] = json!(phase);
        if let Some(url) = app.status.as_ref().and_then(|status| status.url.clone()) {
            value["url"] = url.into();
        }
        if let Some(message) = value.get_mut("message") {
            let failed = phase == ApplicationPhase::Failed;
            *message = if failed { "it failed; app_logs says why" } else { "it runs" }.into();
        }
        let mut result = calls::done(&value);
        result.is_error = Some(phase == ApplicationPhase::Failed);
        result
    }
}

/// How far an application is. A status that speaks of an earlier spec says nothing of this one.
fn phase(app: &Application) -> ApplicationPhase {
    let status = app.status.as_ref().filter(|status| status.observed_generation >= app.metadata.generation);
    status.and_then(|status| status.phase).unwrap_or_default()
}

fn gone(why: &'static str) -> ErrorData {
    ErrorData::invalid_request(why, None)
}
