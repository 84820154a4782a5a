//! `list_services`: which databases there are.

use api::services::{ManagedService, ManagedServicePhase, ServicePlan, ServiceType};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use serde::{Deserialize, Serialize};

use super::{Error, phase};

/// The tool's name.
pub const NAME: &str = "list_services";

/// Nothing needs to be said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Input {}

/// All services of a namespace, by name.
pub type Output = Vec<Listed>;

/// One service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(rename = "type")]
    pub type_: ServiceType,
    /// How large it is.
    pub plan: ServicePlan,
    /// How far it is, in one word.
    pub phase: ManagedServicePhase,
    /// The applications that use it.
    pub bound_apps: Vec<String>,
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
