//! `list_services`: which databases there are.

use api::services::{ManagedService, ManagedServicePhase, ServicePlan, ServiceType};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Error, phase};
use crate::tool::{Call, Hints, Stop, Tool};

/// The tool's name.
pub const NAME: &str = "list_services";

/// `list_services`.
pub struct ListServices;

/// Nothing needs to be said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Input {}

/// All services of a namespace, by name.
pub type Output = Vec<Listed>;

/// One service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
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
    #[schemars(with = "String")]
    pub phase: ManagedServicePhase,
    /// The applications that use it.
    pub bound_apps: Vec<String>,
}

/// All services, as an answer to an agent: those are objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Services {
    /// By name.
    pub services: Output,
}

impl Tool for ListServices {
    const NAME: &'static str = NAME;
    const TITLE: &'static str = "List databases";
    const DESCRIPTION: &'static str = "The session's databases, each with its phase and the apps that use \
        it.";
    const HINTS: Hints = Hints::READS;
    type Input = Input;
    type Output = Services;

    async fn run(call: &Call<'_>, input: Input) -> Result<Services, Stop> {
        let services = run(&call.client, &call.namespace, input).await?;
        Ok(Services { services })
    }
}

/// Lists the services.
pub async fn run(client: &Client, namespace: &str, _: Input) -> Result<Output, Error> {
    let services: Api<ManagedService> = Api::namespaced(client.clone(), namespace);
    let found = services.list(&ListParams::default()).await?.items;
    let mut all: Output = found
        .iter()
        .map(|service| Listed {
            name: service.name_any(),
            type_: service.spec.type_,
            plan: service.spec.plan,
            phase: phase(service),
            bound_apps: service.status.as_ref().map(|status| status.bound_apps.clone()).unwrap_or_default(),
        })
        .collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}
