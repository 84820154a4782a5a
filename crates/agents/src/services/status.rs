//! `service_status`: how far a database is.

use api::connection::BOUND_VARIABLES;
use api::services::{ManagedServicePhase, ServicePlan, ServiceType};
use kube::Client;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Error, message, phase, service};
use crate::there::{explained, named};
use crate::tool::{Call, Hints, Stop, Tool};

/// The tool's name.
pub const NAME: &str = "service_status";

/// `service_status`.
pub struct ServiceStatus;

/// Which service.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Input {
    /// The database
    pub name: String,
}

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(rename = "type")]
    #[schemars(with = "String")]
    pub type_: ServiceType,
    /// How large it is.
    #[schemars(with = "String")]
    pub plan: ServicePlan,
    /// How far it is, in one word.
    pub phase: ManagedServicePhase,
    /// What there is to say.
    pub message: String,
    /// The names of the variables that an application gets, once the service is ready. Never their values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_env_vars: Option<Vec<String>>,
}

impl Tool for ServiceStatus {
    const NAME: &'static str = NAME;
    const TITLE: &'static str = "How far a database is";
    const DESCRIPTION: &'static str = "How far a database is. Poll every 10 s until its phase is Ready; \
        then bind_service gives it to an app. Shows names of variables, never credentials.";
    const HINTS: Hints = Hints::READS;
    type Input = Input;
    type Output = Output;

    async fn run(call: &Call<'_>, input: Input) -> Result<Output, Stop> {
        named("name", &input.name)?;
        match run(&call.client, &call.namespace, input).await {
            Ok(output) => Ok(output),
            Err(error) => Err(explained(&call.client, error).await.into()),
        }
    }
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
