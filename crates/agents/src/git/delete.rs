//! `delete_git_credential`: removes a credential.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store;
use crate::Error;
use crate::identity::rights;
use crate::tool::{Call, Hints, Stop, Tool};

/// `delete_git_credential`.
pub struct DeleteGitCredential;

/// Which one.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Input {
    /// Its name
    pub name: String,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// What comes next.
    pub message: String,
}

impl Tool for DeleteGitCredential {
    const NAME: &'static str = "delete_git_credential";
    const TITLE: &'static str = "Delete a git credential";
    const DESCRIPTION: &'static str =
        "Delete a git credential. Builds can no longer fetch what needs it; apps that run go on.";
    const HINTS: Hints = Hints::DESTROYS;
    type Input = Input;
    type Output = Output;

    async fn run(call: &Call<'_>, input: Input) -> Result<Output, Stop> {
        let namespace = &call.namespace;
        store::checked_name(&input.name)?;
        if !rights::may(&call.client, "delete", "gitcredentials.agents.terrace.dev", Some(namespace)).await? {
            return Err(Error::Denied { what: "delete git credentials here".into() }.into());
        }
        store::remove(call.agents.client(), namespace, &input.name).await?;
        let message = "it is gone; add_git_credential adds another".into();
        Ok(Output { name: input.name, message })
    }
}
