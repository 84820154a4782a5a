//! The rooms: one folder per kind, each observe → plan → act → report on the kit's loop.

use std::sync::Arc;

use kit::{AnyRoom, entered};
use ports::admin::Admin;

pub mod apps;
pub mod claims;
pub mod infra;
pub mod local;
pub mod projects;
pub mod services;

/// Every room that runs in a cluster and on one machine alike.
pub fn all<A: Admin>(
    apps: apps::Config,
    services: services::Config,
    claims: claims::Office<A>,
    infra: infra::Desk,
) -> Vec<Arc<dyn AnyRoom>> {
    vec![
        entered(apps::Applications::new(apps)),
        entered(apps::DataSources),
        entered(services::ManagedServices::new(services)),
        entered(claims::DatabaseClaims::new(claims.clone())),
        entered(claims::DbRoleClaims::new(claims)),
        entered(infra::AWSProviders::new(infra.clone())),
        entered(infra::RDSInstances::new(infra.clone())),
        entered(infra::S3Buckets::new(infra.clone())),
        entered(infra::EC2Instances::new(infra.clone())),
        entered(infra::SQSQueues::new(infra)),
    ]
}
