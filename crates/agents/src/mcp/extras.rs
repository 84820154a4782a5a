//! What a test adds to the server, beside what the product offers: the fixtures that the protocol's conformance suite
//! asks for. The product adds none.

use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CreateTaskResult, GetPromptRequestParams, GetPromptResponse,
    Prompt, Resource, ResourceContents, ResourceTemplate, Tool as Listed,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskFuture};
use rmcp::{ErrorData, RoleServer};

use super::calls;
use super::progress;
use crate::identity::Caller;
use crate::server::{Agents, Asked};
use crate::tool::{Erased, Progress};

/// What is added. It is asked first, for what it lists.
pub trait Extras: Send + Sync + 'static {
    /// Tools of the usual kind, listed after the platform's own.
    fn registered(&self) -> Vec<Erased> {
        Vec::new()
    }

    /// Tools that answer whatever the protocol allows.
    fn tools(&self) -> Vec<Listed> {
        Vec::new()
    }

    /// Calls one of [`Extras::tools`].
    fn call<'a>(
        &'a self,
        request: CallToolRequestParams,
        desk: Desk<'a>,
    ) -> BoxFuture<'a, Result<CallToolResponse, ErrorData>>;

    /// Prompts.
    fn prompts(&self) -> Vec<Prompt> {
        Vec::new()
    }

    /// Gets one of [`Extras::prompts`].
    fn prompt<'a>(
        &'a self,
        request: GetPromptRequestParams,
        desk: Desk<'a>,
    ) -> BoxFuture<'a, Result<GetPromptResponse, ErrorData>>;

    /// Resources.
    fn resources(&self) -> Vec<Resource> {
        Vec::new()
    }

    /// Templates of resources.
    fn templates(&self) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    /// Reads a resource; `None` if it is none of these.
    fn read(&self, _uri: &str) -> Option<ResourceContents> {
        None
    }

    /// Whether a resource can be subscribed to.
    fn watched(&self, _uri: &str) -> bool {
        false
    }
}

/// What an added tool works with: the server's own ways to seal, to tell and to begin tasks.
pub struct Desk<'a> {
    pub(super) agents: &'a Agents,
    pub(super) caller: &'a Caller,
    /// The request.
    pub context: &'a RequestContext<RoleServer>,
    /// What seals are bound to.
    pub(super) asked: Asked,
}

impl Desk<'_> {
    /// Seals a word to this caller and this call.
    pub fn seal(&self, word: impl Into<String>) -> Result<String, ErrorData> {
        self.agents
            .seals()
            .seal(self.caller, &self.asked, word.into())
            .map_err(|error| calls::protocol(&error))
    }

    /// Opens a seal, once.
    pub fn open(&self, state: &str) -> Result<String, ErrorData> {
        let opened = self.agents.seals().open(self.caller, &self.asked, state);
        opened.map(|answered| answered.hash).map_err(|error| calls::protocol(&error))
    }

    /// Does work that tells how far it is.
    pub async fn telling<F: Future>(&self, work: impl FnOnce(Progress) -> F) -> F::Output {
        let (progress, told) = progress::listen(self.context);
        told.during(self.context, work(progress)).await
    }

    /// Begins a task.
    pub fn task(&self, work: impl FnOnce(TaskContext) -> TaskFuture) -> Result<CallToolResponse, ErrorData> {
        let begun = self.agents.tasks().begin(self.caller, work);
        let full = || ErrorData::invalid_request("too many tasks of this token are under way", None);
        begun.map(|task| CreateTaskResult::new(task).into()).ok_or_else(full)
    }
}

/// A future that is ready, in the form in which [`Extras`] answers.
pub fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    std::future::ready(value).boxed()
}
