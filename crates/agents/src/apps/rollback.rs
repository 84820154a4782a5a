//! `rollback_app`: goes back to an earlier version.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::revisions::{chosen, revisions};
use super::source::Source;
use super::write::{Wish, write};
use super::{Begun, WRITER, may};
use crate::there;
use crate::tool::{Call, Hints, Stop, Tool};

/// `rollback_app`.
pub struct RollbackApp;

/// Which application, and where to.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Input {
    /// The app
    pub name: String,
    /// Default: the last with another source
    #[serde(default)]
    pub revision: Option<u64>,
}

/// What was begun.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Output {
    /// What was begun.
    #[serde(flatten)]
    pub begun: Begun,
    /// The revision that it goes back to.
    pub revision: u64,
    /// Where that one came from.
    pub source: String,
}

impl Tool for RollbackApp {
    const NAME: &'static str = "rollback_app";
    const TITLE: &'static str = "Go back to an earlier version";
    const DESCRIPTION: &'static str = "Put an app back to the source of an earlier revision when a new one \
        is bad. Its variables, bindings and data stay as they are. Next: poll app_status.";
    const HINTS: Hints = Hints { idempotent: false, ..Hints::WRITES };
    type Input = Input;
    type Output = Output;

    async fn run(call: &Call<'_>, input: Input) -> Result<Output, Stop> {
        may(call, "patch").await?;
        let app = there::application(&call.client, &call.namespace, &input.name).await?;
        let known = revisions(&call.client, &call.namespace, &input.name).await?;
        let target = chosen(&known, Source::of(&app).as_ref(), input.revision, &input.name)?;
        let wish = Wish::source(target.source.clone());
        let written = write(&call.client, &call.namespace, &input.name, WRITER, &wish).await?;
        let done = format!("going back to revision {}", target.number);
        let begun = Begun::of(&input.name, &written, &done);
        Ok(Output { begun, revision: target.number, source: target.source.to_string() })
    }
}
