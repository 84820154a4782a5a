//! What agents can read: the platform, its kinds, its languages, its data, and how far an application is.

mod app;
mod catalog;
mod platform;
mod schema;

use rmcp::model::{CacheScope, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use super::{Handler, calls, prompts};
use crate::Error;
use crate::identity::Caller;

pub(super) use app::{Place, short};

const PLATFORM: &str = "iaf://platform";
const SCHEMA: &str = "iaf://schema/application";
const CATALOG: &str = "iaf://catalog/data-sources";
const LANGUAGES: &str = "iaf://languages/";
/// How long a client may keep what does not change while the server runs.
const KEEP: u64 = 5 * 60 * 1000;

/// All resources that have an address of their own.
pub(super) fn all() -> Vec<Resource> {
    let resource = |uri: &str, name: &str, description: &str| {
        Resource::new(uri, name).with_description(description).with_mime_type("application/json")
    };
    vec![
        resource(PLATFORM, "platform", "What this platform offers: languages, managed services, limits."),
        resource(
            SCHEMA,
            "application-schema",
            "The fields of an Application and the phases it goes through.",
        ),
        resource(CATALOG, "data-sources", "Data that the platform's operators offer to applications."),
    ]
}

/// Resources whose address has a part to fill in.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("iaf://languages/{language}", "language")
            .with_description("What the builder looks for in a language, with an example that works.")
            .with_mime_type("text/markdown"),
        ResourceTemplate::new("iaf://app/{namespace}/{name}", "application")
            .with_description("How far an application is. Can be subscribed to.")
            .with_mime_type("application/json"),
    ]
}

impl Handler {
    /// Reads a resource, and leaves a record of it.
    pub(super) async fn read(
        &self,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResult, ErrorData> {
        let caller = self.admitted(("resources/read", uri), context).await?;
        let contents = calls::bounded(self.contents(&caller, uri)).await;
        self.noted(&caller, ("resources/read", uri), context, contents).await
    }

    /// What a resource holds. What the caller may not see is told as if it were not there.
    pub(super) async fn contents(&self, caller: &Caller, uri: &str) -> Result<ReadResourceResult, ErrorData> {
        if let Some(found) = self.agents.extras().and_then(|extras| extras.read(uri)) {
            return Ok(ReadResourceResult::new(vec![found]));
        }
        let client = caller.client(self.agents.client());
        if let Some(place) = Place::named(uri) {
            let app = place.get(client).await.map_err(|error| told(uri, &error))?;
            return app.map(|app| json_of(uri, &short(&app))).ok_or_else(|| missing(uri));
        }
        let language = uri.strip_prefix(LANGUAGES).and_then(prompts::guide);
        match (uri, language) {
            (_, Some(guide)) => {
                let text = ResourceContents::text(guide, uri).with_mime_type("text/markdown");
                Ok(kept(ReadResourceResult::new(vec![text])))
            }
            (PLATFORM, None) => Ok(kept(json_of(uri, &platform::told(self.agents.settings())))),
            (SCHEMA, None) => Ok(kept(json_of(uri, &schema::told()))),
            (CATALOG, None) => {
                let catalog = catalog::told(client).await.map_err(|error| told(uri, &error))?;
                Ok(json_of(uri, &catalog))
            }
            _ => Err(missing(uri)),
        }
    }
}

fn json_of(uri: &str, value: &Value) -> ReadResourceResult {
    let text = ResourceContents::text(value.to_string(), uri).with_mime_type("application/json");
    ReadResourceResult::new(vec![text])
}

/// Marks what is the same for everybody.
fn kept(result: ReadResourceResult) -> ReadResourceResult {
    result.with_ttl_ms(KEEP).with_cache_scope(CacheScope::Public)
}

/// There is nothing of that address, or nothing that the caller may know of.
pub(super) fn missing(uri: &str) -> ErrorData {
    let uri: String = uri.chars().take(200).collect();
    let message = format!(
        "there is no resource {uri} that this token may read; resources/list and resources/templates/list say what there is"
    );
    ErrorData::resource_not_found(message, Some(json!({ "uri": uri })))
}

fn told(uri: &str, error: &Error) -> ErrorData {
    if matches!(error, Error::Denied { .. }) { missing(uri) } else { calls::protocol(error) }
}
