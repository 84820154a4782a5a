//! `list_git_credentials`: which credentials there are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::{self, Listed};
use crate::Error;
use crate::identity::rights;
use crate::tool::{Call, Hints, Stop, Tool};

/// `list_git_credentials`.
pub struct ListGitCredentials;

/// Nothing but the session has to be named.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct Input {}

/// The credentials, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Output {
    /// The credentials.
    pub credentials: Vec<Listed>,
}

impl Tool for ListGitCredentials {
    const NAME: &'static str = "list_git_credentials";
    const TITLE: &'static str = "List git credentials";
    const DESCRIPTION: &'static str =
        "List the session's git credentials and the hosts they are for. Their secrets are never shown.";
    const HINTS: Hints = Hints::READS;
    type Input = Input;
    type Output = Output;

    async fn run(call: &Call<'_>, _: Input) -> Result<Output, Stop> {
        let namespace = &call.namespace;
        if !rights::may(&call.client, "list", "gitcredentials.agents.terrace.dev", Some(namespace)).await? {
            return Err(Error::Denied { what: "list git credentials here".into() }.into());
        }
        Ok(Output { credentials: store::list(call.agents.client(), namespace).await? })
    }
}
