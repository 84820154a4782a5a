//! `iaf://app/{namespace}/{name}`: how far an application is.

use api::apps::Application;
use kube::api::Api;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::Error;

/// Where an application is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mcp) struct Place {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Place {
    /// The place that an address names; `None` if it is the address of no application.
    pub(in crate::mcp) fn named(uri: &str) -> Option<Self> {
        let (namespace, name) = uri.strip_prefix("iaf://app/")?.split_once('/')?;
        let well_formed = |word: &str| {
            (1..=63).contains(&word.len())
                && word.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        };
        let both = well_formed(namespace) && well_formed(name);
        both.then(|| Self { namespace: namespace.to_owned(), name: name.to_owned() })
    }

    /// The application, if the holder of the client may see it. Denied and missing are the same.
    pub(in crate::mcp) async fn get(&self, client: Client) -> Result<Option<Application>, Error> {
        match self.api(client).get_opt(&self.name).await.map_err(Error::from) {
            Err(Error::Denied { .. }) => Ok(None),
            other => other,
        }
    }

    /// The applications of its namespace.
    pub(in crate::mcp) fn api(&self, client: Client) -> Api<Application> {
        Api::namespaced(client, &self.namespace)
    }
}

/// An application in short.
pub(in crate::mcp) fn short(app: &Application) -> Value {
    let status = app.status.clone().unwrap_or_default();
    let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready");
    let mut told = json!({
        "name": app.name_any(),
        "namespace": app.namespace(),
        "phase": status.phase.unwrap_or_default(),
        "availableReplicas": status.available_replicas,
        "upToDate": status.observed_generation >= app.metadata.generation,
    });
    let more = [
        ("url", status.url),
        ("image", status.latest_image),
        ("buildStatus", status.build_status),
        ("message", ready.map(|condition| condition.message.clone())),
    ];
    for (key, value) in more {
        if let Some(value) = value {
            told[key] = value.into();
        }
    }
    told
}
