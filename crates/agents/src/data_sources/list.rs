//! `list_data_sources`: which data the operators offer.

use api::apps::DataSource;
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use schemars::JsonSchema;
use serde::Serialize;

use super::is_ready;
use crate::apps::list::Page;
use crate::tool::{Call, Hints, Stop, Tool};

/// `list_data_sources`.
pub struct ListDataSources;

/// How much of a description is listed.
const DESCRIPTION_MAX: usize = 200;

/// A part of the list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The data sources, by name.
    pub data_sources: Vec<Listed>,
    /// Where the next part begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// One data source.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: String,
    /// What is in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Whether it can be attached.
    pub ready: bool,
}

impl Tool for ListDataSources {
    const NAME: &'static str = "list_data_sources";
    const TITLE: &'static str = "List data sources";
    const DESCRIPTION: &'static str = "Data the platform offers to every app: databases, APIs, buckets. \
        Next: get_data_source for its layout and variables, then attach_data_source.";
    const HINTS: Hints = Hints::READS;
    const IN_SESSION: bool = false;
    type Input = Page;
    type Output = Output;

    async fn run(call: &Call<'_>, page: Page) -> Result<Output, Stop> {
        let sources: Api<DataSource> = Api::all(call.client.clone());
        let found = sources.list(&ListParams::default()).await?.items;
        let (found, next_cursor) = page.of(found, ResourceExt::name_any)?;
        Ok(Output { data_sources: found.into_iter().map(listed).collect(), next_cursor })
    }
}

fn listed(source: DataSource) -> Listed {
    Listed {
        name: source.name_any(),
        ready: is_ready(&source),
        description: source.spec.description.map(|text| text.chars().take(DESCRIPTION_MAX).collect()),
        kind: source.spec.kind,
        tags: source.spec.tags,
    }
}
