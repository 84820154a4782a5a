//! `iaf://catalog/data-sources`: data that operators offer, as far as the caller may know of it.

use api::apps::DataSource;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::Error;

/// How many are told at once; `list_data_sources` finds the others by their tags.
const MOST: u32 = 100;
/// How much is told of each.
const WORDS: usize = 300;

/// The data sources, without a word of their Secrets.
pub(super) async fn told(client: Client) -> Result<Value, Error> {
    let all: Api<DataSource> = Api::all(client);
    let found = all.list(&ListParams::default().limit(MOST)).await?;
    let more = found.metadata.continue_.as_ref().is_some_and(|more| !more.is_empty());
    let sources: Vec<Value> = found
        .items
        .iter()
        .map(|source| {
            let spec = &source.spec;
            let description = spec.description.as_deref().unwrap_or_default();
            json!({
                "name": source.name_any(),
                "kind": spec.kind,
                "description": description.chars().take(WORDS).collect::<String>(),
                "tags": spec.tags,
                "variables": spec.env_var_mapping.values().collect::<Vec<_>>(),
            })
        })
        .collect();
    Ok(json!({ "dataSources": sources, "more": more, "next": "attach_data_source" }))
}
