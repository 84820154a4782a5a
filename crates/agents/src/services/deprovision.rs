//! `deprovision_service`: deletes a database that nobody uses.

use api::services::ManagedService;
use kube::api::{Api, DeleteParams, Preconditions};
use kube::{Client, ResourceExt};
use serde::{Deserialize, Serialize};

use super::{Error, bound_apps, service};

/// The tool's name.
pub const NAME: &str = "deprovision_service";

/// Which service.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Input {
    /// Its name.
    pub name: String,
}

/// What was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// What comes next.
    pub message: String,
}

/// Deletes the service, unless an application uses it. It is not gone yet when this returns.
pub async fn run(client: &Client, namespace: &str, input: Input) -> Result<Output, Error> {
    let found = service(client, namespace, &input.name).await?;
    let apps = bound_apps(client, namespace, &input.name).await?;
    if !apps.is_empty() {
        return Err(Error::StillBound { apps });
    }
    let services: Api<ManagedService> = Api::namespaced(client.clone(), namespace);
    // Only the one that was looked at: another of the same name may have come since.
    let same = Preconditions { uid: found.uid(), resource_version: None };
    match services.delete(&input.name, &DeleteParams::default().preconditions(same)).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        Err(error) => return Err(error.into()),
    }
    let message = "deprovisioning started; the service is gone when list_services no longer shows it".into();
    Ok(Output { name: input.name, message })
}
