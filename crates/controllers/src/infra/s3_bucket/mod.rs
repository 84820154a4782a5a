//! `S3Bucket`: a bucket and its settings.
//!
//! Not every S3 makes and marks a bucket in one call. So that a bucket is neither forgotten nor taken from somebody else, it
//! is made in two passes. The first only writes `status.tagKeys`: from then on an unmarked bucket of this name is ours. The
//! second makes the bucket, marks it, and then sets the rest; ended anywhere, the next one sees how far it came.
//!
//! When S3 says that it made no bucket (the name is another account's, or we have no right to), the intention is withdrawn:
//! should somebody make a bucket of this name later, it is theirs. `BucketAlreadyOwnedByYou` says nothing of that sort.
//! Either an answer to us was lost, or another object was faster, so the next pass looks whose mark is on it.
//!
//! After that each setting that the spec names is compared; others are left alone. Rules come in documents, and the spec's
//! document wins as a whole. A document that the spec had and has no more is taken off; which it had stands in the status.

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

use api::conditions::Reason;
use api::infra::{AWSProvider, S3_BUCKET_FINALIZER, S3Bucket, S3BucketStatus};
use kit::{ALL_PASSES, Bell, Changes, Fault, Index, Name, Plan, Reader, Receipt, Refusal, Relation, Room};
use ports::aws::in_time;

use super::Desk;
use super::desk::World;
use super::provider::{named, noteworthy};
use super::report::Report;
use super::step::Step;
pub(super) use plan::canned;
use plan::{Call, Found};

/// Buckets by the provider that they name.
const BY_PROVIDER: Index<S3Bucket> = Index {
    name: "bucket by provider",
    keys: |bucket| vec![named(&Name::of(bucket).namespace, &bucket.spec.provider_ref).to_string()],
};

/// The room of `S3Bucket`.
pub struct S3Buckets {
    desk: Desk,
    bell: Bell,
}

impl S3Buckets {
    /// The room, at a desk.
    pub fn new(desk: Desk) -> Self {
        Self { desk, bell: Bell::default() }
    }
}

impl Room for S3Buckets {
    type Kind = S3Bucket;
    type Status = S3BucketStatus;
    type World = World<Found>;
    type Step = Step<Call>;

    const NAME: &'static str = "s3_bucket";
    const FINALIZER: Option<&'static str> = Some(S3_BUCKET_FINALIZER);

    fn passes(&self) -> Option<usize> {
        Some(ALL_PASSES)
    }

    fn relations(&self) -> Vec<Relation<S3Bucket>> {
        let name = |provider: &AWSProvider| vec![Name::of(provider).to_string()];
        vec![Relation::noticed::<AWSProvider>(BY_PROVIDER, name, noteworthy)]
    }

    fn bell(&self) -> Option<&Bell> {
        Some(&self.bell)
    }

    async fn observe(&self, bucket: &S3Bucket, reader: &Reader) -> Result<World<Found>, Fault> {
        observe::observe(self, bucket, reader).await
    }

    fn plan(
        &self,
        bucket: &S3Bucket,
        world: &World<Found>,
    ) -> Result<Plan<Step<Call>, S3BucketStatus>, Refusal> {
        plan::plan(bucket, world)
    }

    async fn act(&self, _: &S3Bucket, step: &Step<Call>) -> Result<Receipt, Fault> {
        in_time(act::act(&self.desk, step)).await
    }

    fn changes(&self, step: &Step<Call>) -> Changes {
        step.changes()
    }

    fn failed(status: &mut S3BucketStatus, reason: Reason, story: String) {
        if plan::not_made(&reason, &story) {
            status.tag_keys.clear();
        }
        status.unseen(reason, story);
    }

    fn refused(status: &mut S3BucketStatus, refusal: &Refusal) {
        status.out_of_sync(refusal.reason.clone(), refusal.message.clone());
    }
}
