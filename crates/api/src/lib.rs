//! Every object Terrace serves: its types, its names, its conditions. No IO, no clock, no client.
//!
//! [`crds`] and [`foreign_crds`] are the definitions as a cluster wants them; a kind's own `crd()` lacks the
//! structural form that [`crds`] gives it.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use structural::{crd, foreign_crd};

pub mod annotations;
pub mod apps;
pub mod claims;
pub mod conditions;
pub mod connection;
pub mod drift;
pub mod foreign;
pub mod infra;
pub mod names;
pub mod projects;
pub mod secret;
pub mod services;

mod rules;
mod structural;
#[cfg(test)]
mod tests;

/// The category that all our kinds are in: `kubectl get terrace` lists them.
pub const CATEGORY: &str = "terrace";

/// Makes one definition. Each takes a millisecond or two; they can be made side by side.
pub type Maker = fn() -> CustomResourceDefinition;

/// Our own kinds.
pub const OURS: [Maker; 18] = [
    crd::<apps::Application>,
    crd::<apps::DataSource>,
    crd::<services::ManagedService>,
    crd::<claims::DatabaseClaim>,
    crd::<claims::DbRoleClaim>,
    crd::<infra::AWSProvider>,
    crd::<infra::S3Bucket>,
    crd::<infra::RDSInstance>,
    crd::<infra::EC2Instance>,
    crd::<infra::SQSQueue>,
    crd::<projects::Project>,
    crd::<projects::Repository>,
    crd::<projects::OCIRegistry>,
    crd::<projects::ProjectSubscriptionBinding>,
    crd::<projects::ProjectTargetBinding>,
    crd::<projects::Target>,
    crd::<projects::ProductDeployment>,
    crd::<projects::ProductValidator>,
];

/// Other people's kinds, for a machine where nobody else brings them.
pub const FOREIGN: [Maker; 9] = [
    foreign_crd::<foreign::cnpg::Cluster>,
    foreign_crd::<foreign::cnpg::Backup>,
    foreign_crd::<foreign::kpack::Image>,
    foreign_crd::<foreign::traefik::IngressRoute>,
    foreign_crd::<foreign::certmanager::Certificate>,
    foreign_crd::<foreign::flux::GitRepository>,
    foreign_crd::<foreign::flux::Kustomization>,
    foreign_crd::<foreign::cloud_database::CloudDatabaseClaim>,
    foreign_crd::<foreign::ocm::ComponentSubscription>,
];

/// The definitions of our own kinds.
pub fn crds() -> Vec<CustomResourceDefinition> {
    OURS.iter().map(|make| make()).collect()
}

/// The definitions of other people's kinds.
pub fn foreign_crds() -> Vec<CustomResourceDefinition> {
    FOREIGN.iter().map(|make| make()).collect()
}
