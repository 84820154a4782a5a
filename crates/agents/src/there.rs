//! What there is, for whoever named something that there is not.

use api::apps::{Application, DataSource};
use api::names::ObjectName;
use api::services::ManagedService;
use kube::api::{Api, ListParams};
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use crate::Error;

/// How many names are listed.
const LISTED: usize = 10;

/// The application of a name, or the error that says which there are.
pub(crate) async fn application(client: &Client, namespace: &str, name: &str) -> Result<Application, Error> {
    let apps: Api<Application> = Api::namespaced(client.clone(), namespace);
    match apps.get_opt(named("name", name)?).await? {
        Some(app) => Ok(app),
        None => Err(no_application(&apps, name).await),
    }
}

/// A name that can be one: what else were put into an address.
pub(crate) fn named<'a>(what: &'static str, name: &'a str) -> Result<&'a str, Error> {
    match name.parse::<ObjectName>() {
        Ok(_) => Ok(name),
        Err(error) => Err(Error::invalid(what, error.to_string())),
    }
}

/// The data source of a name, or the error that says which there are.
pub(crate) async fn data_source(client: &Client, name: &str) -> Result<DataSource, Error> {
    let sources: Api<DataSource> = Api::all(client.clone());
    match sources.get_opt(named("name", name)?).await? {
        Some(source) => Ok(source),
        None => {
            let why = missing(&sources, "data source", name, "the platform's operators offer none yet").await;
            Err(Error::invalid("name", why))
        }
    }
}

/// The same error, with the names that would have been right.
pub(crate) async fn explained(client: &Client, error: Error) -> Error {
    match error {
        Error::NotFound { what: "application", name, namespace } => {
            no_application(&Api::namespaced(client.clone(), &namespace), &name).await
        }
        Error::NotFound { what: "managed service", name, namespace } => {
            let services: Api<ManagedService> = Api::namespaced(client.clone(), &namespace);
            let none = "there is none yet, provision_service makes one";
            Error::invalid("name", missing(&services, "service", &name, none).await)
        }
        Error::StillBound { apps } => {
            Error::Refused(format!("{}; call unbind_service for each first", Error::StillBound { apps }))
        }
        Error::NotReady { .. } => {
            Error::Refused(format!("{error}; poll service_status every 10 s until it is"))
        }
        Error::EnvClash { .. } => {
            Error::Refused(format!("{error}; unbind what sets them, or rename the app's own"))
        }
        other => other,
    }
}

async fn no_application(apps: &Api<Application>, name: &str) -> Error {
    let none = "there is none yet, push_code makes one";
    Error::invalid("name", missing(apps, "application", name, none).await)
}

async fn missing<K>(all: &Api<K>, what: &str, name: &str, none: &str) -> String
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let found = all.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default();
    let mut names: Vec<String> = found.iter().map(ResourceExt::name_any).collect();
    names.sort();
    let more =
        if names.len() > LISTED { format!(" and {} more", names.len() - LISTED) } else { String::new() };
    names.truncate(LISTED);
    let name: String = name.chars().take(100).collect();
    match names.as_slice() {
        [] => format!("there is no {what} {name:?}; {none}"),
        names => format!("there is no {what} {name:?}; there are: {}{more}", names.join(", ")),
    }
}
