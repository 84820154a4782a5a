//! `ManagedService`: a plan in, a database and a Secret with its login out.
//!
//! The database is a `Cluster` of CloudNativePG, or of whoever fulfils that contract, with the service's own name. The
//! service says of itself what the Cluster says, in fewer words, and names the Secret with the login once there is one.
//! Which applications use it is read off the applications on every pass: as long as there is one, the service is not
//! deleted. It goes by itself once the last is unbound.

use std::convert::Infallible;

use api::apps::Application;
use api::conditions::{Reason, Standing};
use api::foreign::cnpg::Cluster;
use api::services::{
    CONNECTION_SUFFIX, MANAGED_SERVICE_FINALIZER, ManagedService, ManagedServicePhase, ManagedServiceStatus,
    secrets_of,
};
use k8s_openapi::api::core::v1::Secret;
use kit::{Fault, Index, Name, Plan, Reader, Receipt, Refusal, Relation, Room};

use super::Config;

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

/// Applications by the Secrets that they name.
const BY_SECRET: Index<Application> = Index { name: "application by secret", keys: secret_keys };

/// The room of `ManagedService`.
#[derive(Clone, Debug)]
pub struct ManagedServices {
    config: Config,
}

impl ManagedServices {
    /// The room, as the platform's operators want it.
    pub fn new(config: Config) -> Self {
        Self { config }
    }
}

impl Room for ManagedServices {
    type Kind = ManagedService;
    type Status = ManagedServiceStatus;
    type World = plan::World;
    type Step = Infallible;

    const NAME: &'static str = "managed_service";
    const FINALIZER: Option<&'static str> = Some(MANAGED_SERVICE_FINALIZER);

    fn relations(&self) -> Vec<Relation<ManagedService>> {
        vec![
            Relation::child::<Cluster>(),
            // Also those of others: when one goes away, its name is free.
            Relation::other::<Cluster>(|cluster| vec![Name::of(cluster)]),
            Relation::other::<Secret>(|secret| service_of(&Name::of(secret)).into_iter().collect()),
            Relation::other::<Application>(services_of),
        ]
    }

    async fn observe(&self, service: &ManagedService, reader: &Reader) -> Result<plan::World, Fault> {
        observe::observe(service, reader).await
    }

    fn plan(
        &self,
        service: &ManagedService,
        world: &plan::World,
    ) -> Result<Plan<Infallible, ManagedServiceStatus>, Refusal> {
        plan::plan(service, world, &self.config)
    }

    async fn act(&self, _: &ManagedService, step: &Infallible) -> Result<Receipt, Fault> {
        act::act(step)
    }

    /// A pass that fails says nothing of a database that runs: only one that is not up yet is told about.
    fn failed(status: &mut ManagedServiceStatus, reason: Reason, story: String) {
        if status.phase != Some(ManagedServicePhase::Ready) {
            status.message = Some(story.clone());
        }
        status.not_ready(reason, story);
    }

    fn refused(status: &mut ManagedServiceStatus, refusal: &Refusal) {
        status.phase = Some(ManagedServicePhase::Failed);
        status.message = Some(refusal.message.clone());
        status.not_ready(refusal.reason.clone(), refusal.message.clone());
    }
}

/// The service whose connection Secret has this name, if it is such a name.
fn service_of(secret: &Name) -> Option<Name> {
    let service = secret.name.strip_suffix(CONNECTION_SUFFIX).filter(|name| !name.is_empty());
    service.map(|service| Name::new(secret.namespace.clone(), service))
}

/// The services that an application may be bound to.
fn services_of(app: &Application) -> Vec<Name> {
    let namespace = app.metadata.namespace.as_deref().unwrap_or_default();
    secrets_of(app).into_iter().filter_map(|secret| service_of(&Name::new(namespace, secret))).collect()
}

fn secret_keys(app: &Application) -> Vec<String> {
    let namespace = app.metadata.namespace.as_deref().unwrap_or_default();
    secrets_of(app).into_iter().map(|secret| Name::new(namespace, secret).to_string()).collect()
}
