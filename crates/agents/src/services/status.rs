//! `service_status`: how far a database is.

use api::connection::BOUND_VARIABLES;
use api::services::{ManagedServicePhase, ServicePlan, ServiceType};
use kube::Client;
use serde::{Deserialize, Serialize};

use super::{Error, message, phase, service};

/// The tool's name.
pub const NAME: &str = "service_status";

/// Which service.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Input {
    /// Its name.
    pub name: String,
}

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(rename = "type")]
    pub type_: ServiceType,
    /// How large it is.
    pub plan: ServicePlan,
    /// How far it is, in one word.
    pub phase: ManagedServicePhase,
    /// What there is to say.
    pub message: String,
    /// The names of the variables that an application gets, once the service is ready. Never their values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_env_vars: Option<Vec<String>>,
}

/// Reads how far the service is.
pub async fn run(client: &Client, namespace: &str, input: Input) -> Result<Output, Error> {
    let service = service(client, namespace, &input.name).await?;
    let phase = phase(&service);
    let names = || BOUND_VARIABLES.iter().map(|(name, _)| (*name).to_owned()).collect();
    Ok(Output {
        name: input.name,
        type_: service.spec.type_,
        plan: service.spec.plan,
        phase,
        message: message(&service),
        connection_env_vars: (phase == ManagedServicePhase::Ready).then(names),
    })
}
