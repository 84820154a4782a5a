//! Databases that the platform runs: make one, give it to an application, take it back, copy it, bring it back.

pub mod backup;
pub mod backups;
pub mod bind;
pub mod deprovision;
pub mod list;
pub mod provision;
pub mod restore;
pub mod status;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tool_tests;
pub mod unbind;

use api::apps::Application;
use api::services::{ManagedService, ManagedServicePhase, connection_secret, secrets_of};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};

pub use crate::Error;
use crate::identity::rights;
use crate::tool::Call;

/// How often a write is tried again when somebody else was faster. Each try sees what the other wrote.
pub(crate) const TRIES: usize = 16;
/// Who writes, in the object's own records.
pub(crate) const WRITER: &str = "terrace-agents";

/// The service of a name, or the error that says that there is none.
async fn service(client: &Client, namespace: &str, name: &str) -> Result<ManagedService, Error> {
    let services: Api<ManagedService> = Api::namespaced(client.clone(), namespace);
    services.get_opt(name).await?.ok_or_else(|| Error::no_service(namespace, name))
}

/// The application of a name, or the error that says that there is none.
async fn application(client: &Client, namespace: &str, name: &str) -> Result<Application, Error> {
    let apps: Api<Application> = Api::namespaced(client.clone(), namespace);
    apps.get_opt(name).await?.ok_or_else(|| Error::NotFound {
        what: "application",
        name: name.into(),
        namespace: namespace.into(),
    })
}

/// How far a service is. One that nobody has looked at yet is about to be made; one that is to go goes, unless it is said
/// to be held.
fn phase(service: &ManagedService) -> ManagedServicePhase {
    let said = service.status.as_ref().and_then(|status| status.phase);
    match said {
        Some(ManagedServicePhase::Failed) => ManagedServicePhase::Failed,
        _ if service.metadata.deletion_timestamp.is_some() => ManagedServicePhase::Deleting,
        said => said.unwrap_or(ManagedServicePhase::Provisioning),
    }
}

/// Refuses whoever may not do this to services, before anything is done or anybody is asked.
async fn may(call: &Call<'_>, verb: &str) -> Result<(), Error> {
    match rights::may(&call.client, verb, "managedservices.iaf.io", Some(&call.namespace)).await? {
        true => Ok(()),
        false => Err(Error::Denied { what: format!("{verb} services in {}", call.namespace) }),
    }
}

/// What a service says of itself.
fn message(service: &ManagedService) -> String {
    service.status.as_ref().and_then(|status| status.message.clone()).unwrap_or_default()
}

/// The applications that use a service now, sorted: read off the applications, not off what was said of them.
async fn bound_apps(client: &Client, namespace: &str, service: &str) -> Result<Vec<String>, Error> {
    let apps: Api<Application> = Api::namespaced(client.clone(), namespace);
    let secret = connection_secret(service);
    let all = apps.list(&ListParams::default()).await?.items;
    let bound = all.iter().filter(|app| secrets_of(app).contains(&secret.as_str()));
    let mut names: Vec<String> = bound.map(ResourceExt::name_any).collect();
    names.sort();
    Ok(names)
}
