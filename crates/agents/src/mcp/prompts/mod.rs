//! Guides: what an agent should know before it begins, in one piece.

use rmcp::model::{
    CompleteRequestParams, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Prompt,
    PromptArgument, PromptMessage, Reference, Role,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use super::Handler;
use super::extras::Desk;
use crate::identity::Caller;
use crate::server::Asked;

const DEPLOY: &str = include_str!("deploy-guide.md");
const SERVICES: &str = include_str!("services-guide.md");
/// What is said of every language, before what is said of one.
const EVERY: &str = include_str!("every-language.md");

/// The languages that there is a guide for, in the order in which they are told.
pub(super) const LANGUAGES: [&str; 7] = ["go", "nodejs", "python", "java", "ruby", "rust", "static"];

const GUIDES: [&str; 7] = [
    include_str!("go.md"),
    include_str!("nodejs.md"),
    include_str!("python.md"),
    include_str!("java.md"),
    include_str!("ruby.md"),
    include_str!("rust.md"),
    include_str!("static.md"),
];

/// All prompts.
pub(super) fn all() -> Vec<Prompt> {
    let language = PromptArgument::new("language")
        .with_description(format!("One of {}", LANGUAGES.join(", ")))
        .with_required(true);
    vec![
        Prompt::new("deploy-guide", Some("How an application gets from files to an address."), None)
            .with_title("Deploy an application"),
        Prompt::new(
            "services-guide",
            Some("How an application gets a database, and how it is taken down."),
            None,
        )
        .with_title("Use a managed service"),
        Prompt::new(
            "language-guide",
            Some("What the builder looks for in a language, with an example that works."),
            Some(vec![language]),
        )
        .with_title("Write for the builder"),
    ]
}

/// The guide for a language; `None` if there is none.
pub(super) fn guide(language: &str) -> Option<String> {
    let place = LANGUAGES.iter().position(|known| *known == language)?;
    Some(format!("{}\n{EVERY}", GUIDES[place]))
}

/// What an argument that was begun may become.
pub(super) fn completed(request: &CompleteRequestParams) -> Vec<String> {
    let of_language = match &request.r#ref {
        Reference::Prompt(prompt) => prompt.name == "language-guide",
        Reference::Resource(template) => template.uri == "iaf://languages/{language}",
        _ => false,
    };
    let begun = request.argument.value.to_lowercase();
    let known = LANGUAGES.iter().filter(|_| of_language && request.argument.name == "language");
    known.filter(|language| language.starts_with(&begun)).map(ToString::to_string).collect()
}

impl Handler {
    /// Gets a prompt, and leaves a record of it.
    pub(super) async fn prompt(
        &self,
        request: GetPromptRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let name = request.name.clone();
        let caller = self.admitted(("prompts/get", &name), context).await?;
        let got = match self.prompt_extra(&caller, &request, context).await {
            Some(added) => added,
            None => text(&request)
                .map(|text| GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into()),
        };
        self.noted(&caller, ("prompts/get", &name), context, got).await
    }

    /// Gets a prompt that a test has added; `None` if it is none of those.
    async fn prompt_extra(
        &self,
        caller: &Caller,
        request: &GetPromptRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<Result<GetPromptResponse, ErrorData>> {
        let extras = self.agents.extras()?;
        extras.prompts().iter().find(|prompt| prompt.name == request.name)?;
        let asked = Asked { tool: request.name.clone(), ..Asked::default() };
        let desk = Desk { agents: &self.agents, caller, context, asked };
        Some(extras.prompt(request.clone(), desk).await)
    }
}

fn text(request: &GetPromptRequestParams) -> Result<String, ErrorData> {
    let wrong = |why: String| Err(ErrorData::invalid_params(why, None));
    match request.name.as_str() {
        "deploy-guide" => Ok(DEPLOY.to_owned()),
        "services-guide" => Ok(SERVICES.to_owned()),
        "language-guide" => {
            let named = request.arguments.as_ref().and_then(|arguments| arguments.get("language"));
            match named.and_then(Value::as_str).and_then(guide) {
                Some(guide) => Ok(guide),
                None => wrong(format!("`language` must be one of {}", LANGUAGES.join(", "))),
            }
        }
        _ => {
            let known: Vec<String> = all().into_iter().map(|prompt| prompt.name).collect();
            wrong(format!("there is no prompt of that name; there are: {}", known.join(", ")))
        }
    }
}
