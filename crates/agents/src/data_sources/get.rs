//! `get_data_source`: how a data source is laid out, and which variables an application gets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{is_ready, variables};
use crate::there;
use crate::tool::{Call, Hints, Stop, Tool};

/// `get_data_source`.
pub struct GetDataSource;

/// Most that is told of a layout, in characters.
const SCHEMA_MAX: usize = 16 * 1024;

/// Which data source.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Input {
    /// From list_data_sources
    pub name: String,
}

/// What it is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: String,
    /// What is in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How it is laid out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// The names of the variables that an application gets. Never their values.
    pub env_vars: Vec<String>,
    /// Whether it can be attached.
    pub ready: bool,
}

impl Tool for GetDataSource {
    const NAME: &'static str = "get_data_source";
    const TITLE: &'static str = "Describe a data source";
    const DESCRIPTION: &'static str = "What a data source holds, its layout, and the names of the variables \
        an app gets; never their values. Next: attach_data_source.";
    const HINTS: Hints = Hints::READS;
    const IN_SESSION: bool = false;
    type Input = Input;
    type Output = Output;

    async fn run(call: &Call<'_>, input: Input) -> Result<Output, Stop> {
        let source = there::data_source(&call.client, &input.name).await?;
        Ok(Output {
            env_vars: variables(&source),
            ready: is_ready(&source),
            kind: source.spec.kind,
            description: source.spec.description,
            schema: source.spec.schema.map(|text| text.chars().take(SCHEMA_MAX).collect()),
            tags: source.spec.tags,
            name: input.name,
        })
    }
}
