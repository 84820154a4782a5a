//! `SQSQueue`: a queue of messages.
//!
//! The queue is made with all its settings and tags in one call, so that there is never one without our mark. After that its
//! attributes are compared with those that the spec names; others are left alone.

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

use api::conditions::Reason;
use api::infra::{AWSProvider, SQS_QUEUE_FINALIZER, SQSQueue, SQSQueueStatus};
use kit::{ALL_PASSES, Bell, Changes, Fault, Index, Name, Plan, Reader, Receipt, Refusal, Relation, Room};
use ports::aws::{Queue, in_time};

use super::Desk;
use super::desk::World;
use super::provider::{named, noteworthy};
use super::report::Report;
use super::step::Step;
use plan::Call;

/// Queues by the provider that they name.
const BY_PROVIDER: Index<SQSQueue> = Index {
    name: "queue by provider",
    keys: |queue| vec![named(&Name::of(queue).namespace, &queue.spec.provider_ref).to_string()],
};

/// The room of `SQSQueue`.
pub struct SQSQueues {
    desk: Desk,
    bell: Bell,
}

impl SQSQueues {
    /// The room, at a desk.
    pub fn new(desk: Desk) -> Self {
        Self { desk, bell: Bell::default() }
    }
}

impl Room for SQSQueues {
    type Kind = SQSQueue;
    type Status = SQSQueueStatus;
    type World = World<Queue>;
    type Step = Step<Call>;

    const NAME: &'static str = "sqs_queue";
    const FINALIZER: Option<&'static str> = Some(SQS_QUEUE_FINALIZER);

    fn passes(&self) -> Option<usize> {
        Some(ALL_PASSES)
    }

    fn relations(&self) -> Vec<Relation<SQSQueue>> {
        let name = |provider: &AWSProvider| vec![Name::of(provider).to_string()];
        vec![Relation::noticed::<AWSProvider>(BY_PROVIDER, name, noteworthy)]
    }

    fn bell(&self) -> Option<&Bell> {
        Some(&self.bell)
    }

    async fn observe(&self, queue: &SQSQueue, reader: &Reader) -> Result<World<Queue>, Fault> {
        observe::observe(self, queue, reader).await
    }

    fn plan(
        &self,
        queue: &SQSQueue,
        world: &World<Queue>,
    ) -> Result<Plan<Step<Call>, SQSQueueStatus>, Refusal> {
        plan::plan(queue, world)
    }

    async fn act(&self, _: &SQSQueue, step: &Step<Call>) -> Result<Receipt, Fault> {
        in_time(act::act(&self.desk, step)).await
    }

    fn changes(&self, step: &Step<Call>) -> Changes {
        step.changes()
    }

    fn failed(status: &mut SQSQueueStatus, reason: Reason, story: String) {
        status.unseen(reason, story);
    }

    fn refused(status: &mut SQSQueueStatus, refusal: &Refusal) {
        status.out_of_sync(refusal.reason.clone(), refusal.message.clone());
    }
}
