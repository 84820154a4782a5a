//! `deprovision_service`: deletes a database that nobody uses.

use api::services::ManagedService;
use kube::api::{Api, DeleteParams, Preconditions};
use kube::{Client, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Error, bound_apps, may, service};
use crate::there::{explained, named};
use crate::tool::{Call, Hints, Question, Stop, Tool};

/// The tool's name.
pub const NAME: &str = "deprovision_service";

/// `deprovision_service`.
pub struct DeprovisionService;

/// How long the data of a deleted service is kept (managed-services.md).
const KEPT_HOURS: u32 = 72;

/// Which service.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Input {
    /// The database
    pub name: String,
}

/// What was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// What comes next.
    pub message: String,
}

impl Tool for DeprovisionService {
    const NAME: &'static str = NAME;
    const TITLE: &'static str = "Delete a database";
    const DESCRIPTION: &'static str = "Delete a database that no app is bound to, with its data; \
        unbind_service comes first. A person has to agree. Next: list_services until it is gone.";
    const HINTS: Hints = Hints::DESTROYS;
    type Input = Input;
    type Output = Output;

    async fn run(call: &Call<'_>, input: Input) -> Result<Output, Stop> {
        named("name", &input.name)?;
        may(call, "delete").await?;
        let (client, namespace) = (&call.client, &call.namespace);
        let found = match free(client, namespace, &input.name).await {
            Ok(found) => found,
            Err(error) => return Err(explained(client, error).await.into()),
        };
        if found.metadata.deletion_timestamp.is_none() {
            call.confirmed(question(&found, call))?;
        }
        Ok(run(client, namespace, input).await?)
    }
}

/// Deletes the service, unless an application uses it. It is not gone yet when this returns.
pub async fn run(client: &Client, namespace: &str, input: Input) -> Result<Output, Error> {
    let found = free(client, namespace, &input.name).await?;
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

/// A service that no application uses.
async fn free(client: &Client, namespace: &str, name: &str) -> Result<ManagedService, Error> {
    let found = service(client, namespace, name).await?;
    let apps = bound_apps(client, namespace, name).await?;
    if apps.is_empty() { Ok(found) } else { Err(Error::StillBound { apps }) }
}

fn question(service: &ManagedService, call: &Call<'_>) -> Question {
    let name = service.name_any();
    let born = service.creation_timestamp().map(|time| time.0.to_string()).unwrap_or_default();
    let (plan, database, namespace) = (service.spec.plan.as_str(), &service.spec.database, &call.namespace);
    Question {
        what: format!("Delete the database {name} in session {} with all its data?", call.session),
        plan: vec![
            format!("delete managed service {name} ({plan}, database {database}, created {born})"),
            format!(
                "its data is kept for {KEPT_HOURS} h as a Backup; `terrace service restore {name} -n {namespace}` brings \
                 it back until then"
            ),
        ],
        command: format!("terrace service delete {name} -n {namespace}"),
    }
}
