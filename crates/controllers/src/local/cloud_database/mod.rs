//! What a Crossplane composition does in a cloud: a `CloudDatabaseClaim` becomes a database server, and a Secret with the
//! login of its administrator.
//!
//! Here the server is a `Cluster` of the claim's own name, which lets its superuser in. Once it takes connections, the
//! superuser's login is copied into the Secret that the claim names, under Crossplane's keys. Both belong to the claim and
//! go with it; with the deletion policy `Orphan` the server stays, and a later claim of the same name finds it again.

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

use std::convert::Infallible;

use api::conditions::{READY, Reason, SYNCED, Standing};
use api::foreign::cloud_database::{CloudDatabaseClaim, CloudDatabaseClaimStatus};
use api::foreign::cnpg::Cluster;
use api::foreign::find;
use k8s_openapi::api::core::v1::Secret;
use kit::{Fault, Index, Name, Plan, Reader, Receipt, Refusal, Relation, Room};

use crate::services::Config;

pub use plan::World;

/// What CloudNativePG's Secret of the superuser is called, after the Cluster's name.
const SUPERUSER_SUFFIX: &str = "-superuser";

/// Claims by the Secret that they name.
const BY_SECRET: Index<CloudDatabaseClaim> = Index {
    name: "cloud database claim by secret",
    keys: |claim| {
        let namespace = claim.metadata.namespace.as_deref().unwrap_or_default();
        let named = claim.spec.write_connection_secret_to_ref.as_ref();
        named.map(|secret| Name::new(namespace, &secret.name).to_string()).into_iter().collect()
    },
};

/// The room of `CloudDatabaseClaim`.
#[derive(Clone, Debug)]
pub struct CloudDatabases {
    config: Config,
}

impl CloudDatabases {
    /// The room. A claim that names no version gets the one that services get.
    pub fn new(config: Config) -> Self {
        Self { config }
    }
}

impl Room for CloudDatabases {
    type Kind = CloudDatabaseClaim;
    type Status = CloudDatabaseClaimStatus;
    type World = World;
    type Step = Infallible;

    const NAME: &'static str = "cloud_database";
    const FINALIZER: Option<&'static str> = Some("terrace.dev/cloud-database");

    fn relations(&self) -> Vec<Relation<CloudDatabaseClaim>> {
        vec![
            Relation::child::<Cluster>(),
            Relation::child::<Secret>(),
            // Also those that belong to nobody, or to others: when one goes away, its name is free.
            Relation::other::<Cluster>(|cluster| vec![Name::of(cluster)]),
            Relation::other::<Secret>(|secret| claim_of(&Name::of(secret)).into_iter().collect()),
            Relation::indexed::<Secret>(BY_SECRET, |secret| vec![Name::of(secret).to_string()]),
        ]
    }

    async fn observe(&self, claim: &CloudDatabaseClaim, reader: &Reader) -> Result<World, Fault> {
        observe::observe(claim, reader).await
    }

    fn plan(
        &self,
        claim: &CloudDatabaseClaim,
        world: &World,
    ) -> Result<Plan<Infallible, CloudDatabaseClaimStatus>, Refusal> {
        plan::plan(claim, world, &self.config)
    }

    async fn act(&self, _: &CloudDatabaseClaim, step: &Infallible) -> Result<Receipt, Fault> {
        act::act(step)
    }

    fn failed(status: &mut CloudDatabaseClaimStatus, _: Reason, story: String) {
        out_of_sync(status, story);
    }

    fn refused(status: &mut CloudDatabaseClaimStatus, refusal: &Refusal) {
        out_of_sync(status, refusal.message.clone());
    }
}

/// Says that the server is not as the claim asks. One that took connections still does.
fn out_of_sync(status: &mut CloudDatabaseClaimStatus, why: String) {
    let ready = find(&status.conditions, READY);
    if ready.is_none_or(|ready| ready.status != "True") {
        status.not_ready(plan::not_ready(status), why.clone());
    }
    status.say(SYNCED, Some(false), Reason::Code(plan::OUT_OF_SYNC.into()), why);
}

/// The claim whose server's superuser has this Secret, if it is such a name.
fn claim_of(secret: &Name) -> Option<Name> {
    let claim = secret.name.strip_suffix(SUPERUSER_SUFFIX).filter(|name| !name.is_empty());
    claim.map(|claim| Name::new(secret.namespace.clone(), claim))
}
