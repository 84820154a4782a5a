//! `EC2Instance`: a virtual machine.
//!
//! EC2 knows no names, so a machine is known by our mark. It is asked for with a token that is made from the object's uid and
//! the machine that was there before: whoever asks twice gets the same machine, and one that was terminated is made again.
//! What can only be changed while a machine is stopped is changed in several passes: it is tagged as one that is to run again,
//! stopped, changed and started. A machine that somebody else stopped stays so: the spec does not say whether it is to run, and
//! whoever saves money at night would fight with us.

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

use api::conditions::Reason;
use api::infra::{AWSProvider, EC2_INSTANCE_FINALIZER, EC2Instance, EC2InstanceStatus};
use kit::{ALL_PASSES, Bell, Changes, Fault, Index, Name, Plan, Reader, Receipt, Refusal, Relation, Room};
use ports::aws::in_time;

use super::Desk;
use super::desk::World;
use super::provider::{named, noteworthy};
use super::report::Report;
use super::step::Step;
use plan::{Call, Found};
pub(super) use plan::{NAME, RESTART, lives};

/// Machines by the provider that they name.
const BY_PROVIDER: Index<EC2Instance> = Index {
    name: "machine by provider",
    keys: |instance| vec![named(&Name::of(instance).namespace, &instance.spec.provider_ref).to_string()],
};

/// The room of `EC2Instance`.
pub struct EC2Instances {
    desk: Desk,
    bell: Bell,
}

impl EC2Instances {
    /// The room, at a desk.
    pub fn new(desk: Desk) -> Self {
        Self { desk, bell: Bell::default() }
    }
}

impl Room for EC2Instances {
    type Kind = EC2Instance;
    type Status = EC2InstanceStatus;
    type World = World<Found>;
    type Step = Step<Call>;

    const NAME: &'static str = "ec2_instance";
    const FINALIZER: Option<&'static str> = Some(EC2_INSTANCE_FINALIZER);

    fn passes(&self) -> Option<usize> {
        Some(ALL_PASSES)
    }

    fn relations(&self) -> Vec<Relation<EC2Instance>> {
        let name = |provider: &AWSProvider| vec![Name::of(provider).to_string()];
        vec![Relation::noticed::<AWSProvider>(BY_PROVIDER, name, noteworthy)]
    }

    fn bell(&self) -> Option<&Bell> {
        Some(&self.bell)
    }

    async fn observe(&self, instance: &EC2Instance, reader: &Reader) -> Result<World<Found>, Fault> {
        observe::observe(self, instance, reader).await
    }

    fn plan(
        &self,
        instance: &EC2Instance,
        world: &World<Found>,
    ) -> Result<Plan<Step<Call>, EC2InstanceStatus>, Refusal> {
        plan::plan(instance, world)
    }

    async fn act(&self, _: &EC2Instance, step: &Step<Call>) -> Result<Receipt, Fault> {
        in_time(act::act(&self.desk, step)).await
    }

    fn changes(&self, step: &Step<Call>) -> Changes {
        step.changes()
    }

    fn failed(status: &mut EC2InstanceStatus, reason: Reason, story: String) {
        status.unseen(reason, story);
    }

    fn refused(status: &mut EC2InstanceStatus, refusal: &Refusal) {
        status.out_of_sync(refusal.reason.clone(), refusal.message.clone());
    }
}
