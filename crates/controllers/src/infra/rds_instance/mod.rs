//! `RDSInstance`: a database server.
//!
//! The server is made with all its settings and tags in one call. After that its settings are compared with those that the
//! spec names; what AWS is about to change already is not asked for again, and nothing is asked of a server that takes no
//! changes at the moment.
//!
//! AWS never tells a password. The one that was last set is in the Secret with the connection, which is written before the
//! server is made and after its password was changed: so it is known, whatever breaks in between. A password that nobody
//! gave is drawn into a Secret of its own. That one belongs to nobody, and stays with a server that stays.
//!
//! With a provider whose endpoint is `local` the server is a `Cluster` of CloudNativePG beside the object, on one machine as
//! in a cluster. The administrator may make databases and roles there, as RDS's may. What has no meaning there is not looked
//! at: the class, the port, the public address, encryption, backups and tags. Its last snapshot is a `Backup`.

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

use api::conditions::Reason;
use api::foreign::cnpg::{Backup, Cluster};
use api::infra::{AWSProvider, RDS_INSTANCE_FINALIZER, RDSInstance, RDSInstanceStatus};
use k8s_openapi::api::core::v1::Secret;
use kit::{ALL_PASSES, Bell, Changes, Fault, Index, Name, Plan, Reader, Receipt, Refusal, Relation, Room};
use kube::ResourceExt;
use ports::aws::in_time;

use super::Desk;
use super::provider::{named, noteworthy};
use super::report::Report;
use super::step::Step;
use plan::{Call, World, generated_secret, identifier};

/// Servers by the provider that they name.
const BY_PROVIDER: Index<RDSInstance> = Index {
    name: "database server by provider",
    keys: |instance| vec![named(&Name::of(instance).namespace, &instance.spec.provider_ref).to_string()],
};
/// Servers by the Secret that the administrator's password is in.
const BY_SECRET: Index<RDSInstance> = Index {
    name: "database server by secret",
    keys: |instance| {
        let named = instance.spec.master_user_password_secret_ref.as_ref();
        let name = named.map_or_else(|| generated_secret(instance), |named| named.name.to_string());
        vec![Name::new(Name::of(instance).namespace, name).to_string()]
    },
};
/// Servers by what they are called where they are.
const BY_IDENTIFIER: Index<RDSInstance> = Index {
    name: "database server by identifier",
    keys: |instance| vec![Name::new(Name::of(instance).namespace, identifier(instance)).to_string()],
};

/// The room of `RDSInstance`.
pub struct RDSInstances {
    desk: Desk,
    bell: Bell,
}

impl RDSInstances {
    /// The room, at a desk.
    pub fn new(desk: Desk) -> Self {
        Self { desk, bell: Bell::default() }
    }
}

impl Room for RDSInstances {
    type Kind = RDSInstance;
    type Status = RDSInstanceStatus;
    type World = World;
    type Step = Step<Call>;

    const NAME: &'static str = "rds_instance";
    const FINALIZER: Option<&'static str> = Some(RDS_INSTANCE_FINALIZER);

    fn passes(&self) -> Option<usize> {
        Some(ALL_PASSES)
    }

    fn relations(&self) -> Vec<Relation<RDSInstance>> {
        let name = |provider: &AWSProvider| vec![Name::of(provider).to_string()];
        vec![
            Relation::noticed::<AWSProvider>(BY_PROVIDER, name, noteworthy),
            Relation::child::<Secret>(),
            Relation::indexed::<Secret>(BY_SECRET, |secret| vec![Name::of(secret).to_string()]),
            Relation::indexed::<Cluster>(BY_IDENTIFIER, |cluster| vec![Name::of(cluster).to_string()]),
            Relation::indexed::<Backup>(BY_IDENTIFIER, |backup| {
                vec![
                    Name::new(backup.namespace().unwrap_or_default(), &*backup.spec.cluster.name).to_string(),
                ]
            }),
        ]
    }

    fn bell(&self) -> Option<&Bell> {
        Some(&self.bell)
    }

    async fn observe(&self, instance: &RDSInstance, reader: &Reader) -> Result<World, Fault> {
        observe::observe(self, instance, reader).await
    }

    fn plan(
        &self,
        instance: &RDSInstance,
        world: &World,
    ) -> Result<Plan<Step<Call>, RDSInstanceStatus>, Refusal> {
        plan::plan(instance, world)
    }

    async fn act(&self, _: &RDSInstance, step: &Step<Call>) -> Result<Receipt, Fault> {
        in_time(act::act(&self.desk, step)).await
    }

    fn changes(&self, step: &Step<Call>) -> Changes {
        step.changes()
    }

    fn failed(status: &mut RDSInstanceStatus, reason: Reason, story: String) {
        status.unseen(reason, story);
    }

    fn refused(status: &mut RDSInstanceStatus, refusal: &Refusal) {
        status.out_of_sync(refusal.reason.clone(), refusal.message.clone());
    }
}
