//! What becomes of a bucket when its object is deleted. What is in it is never lost unless the spec says so.

use std::time::Duration;

use api::conditions::{DELETION_BLOCKED, Reason, Standing};
use api::infra::{S3Bucket, S3BucketStatus};
use kit::{Do, Next, Plan};
use ports::aws::Content;

use super::{Call, Change, Found, Here, MOVED, astray, veiled};
use crate::infra::desk::{Open, RETRY};
use crate::infra::farewell::{Farewell, farewell};
use crate::infra::report::Report;
use crate::infra::step::Step;
use crate::infra::tags::OWNER;

/// How soon the next batch follows.
const NEXT_BATCH: Duration = Duration::from_millis(100);

/// The last plans of a bucket.
pub(super) fn leave(
    bucket: &S3Bucket,
    open: &Open<Found>,
    mut status: S3BucketStatus,
) -> Plan<Step<Call>, S3BucketStatus> {
    status.conditions.retain(|condition| condition.type_ != DELETION_BLOCKED);
    // Only what was seen can have been ours: an intention alone must not hold the object for ever.
    let ours = status.arn.is_some() && status.tag_keys.iter().any(|key| key == OWNER);
    let here = match &open.found {
        Some(Found::Here(here)) => here,
        // One that is ours is not forgotten because it cannot be reached.
        Some(Found::Elsewhere(region)) if ours => {
            status
                .out_of_sync(Reason::Code(MOVED.into()), astray(&bucket.spec, &open.account.region, region));
            return Plan::part(Vec::new(), status, Next::After(RETRY));
        }
        Some(Found::Hidden(error)) if ours => {
            status.unseen(Reason::Code(error.code().to_owned()), veiled(&bucket.spec, error));
            return Plan::part(Vec::new(), status, Next::After(RETRY));
        }
        Some(Found::Elsewhere(_) | Found::Hidden(_)) | None => return Plan::release(Vec::new(), status),
    };
    let step = |change| {
        let call = Call { bucket: bucket.spec.bucket_name.clone(), change };
        Do::Outside(Step { account: open.account.clone(), call, fields: Vec::new() })
    };
    let live = &here.bucket.tags;
    match farewell(&bucket.metadata, bucket.spec.deletion_policy, Some(live), &status.tag_keys) {
        Farewell::Leave => Plan::release(Vec::new(), status),
        Farewell::Unmark if !live.contains_key(OWNER) => Plan::release(Vec::new(), status),
        Farewell::Unmark => {
            let mut tags = live.clone();
            tags.remove(OWNER);
            Plan::release(vec![step(Change::Tag { tags })], status)
        }
        Farewell::Delete if here.content == Content::default() => {
            Plan::release(vec![step(Change::Delete)], status)
        }
        Farewell::Delete if bucket.spec.force_destroy => {
            let message = format!("bucket {} is being emptied", bucket.spec.bucket_name);
            status.ready = false;
            status.not_ready(Reason::Deleting, message);
            let batches = emptying(here).into_iter().map(step).collect();
            Plan::part(batches, status, Next::After(NEXT_BATCH))
        }
        Farewell::Delete => {
            let message = blocked(&bucket.spec.bucket_name, here.content);
            status.ready = false;
            status.say(DELETION_BLOCKED, Some(true), Reason::WouldLoseData, message.clone());
            status.not_ready(Reason::WouldLoseData, message);
            Plan::part(Vec::new(), status, Next::After(RETRY))
        }
    }
}

/// One batch of each: the next look sees what is left.
fn emptying(here: &Here) -> Vec<Change> {
    let Content { versions, uploads, more: _ } = here.content;
    let all = [(Change::RemoveVersions, versions), (Change::AbortUploads, uploads)];
    all.into_iter().filter(|(_, count)| *count > 0).map(|(change, _)| change).collect()
}

fn blocked(name: &str, content: Content) -> String {
    let Content { versions, uploads, more } = content;
    let least = if more { "at least " } else { "" };
    format!(
        "bucket {name} is not empty: there are {least}{versions} versions of objects and {uploads} unfinished uploads in it; empty it, or set forceDestroy: true, and all of it is deleted for ever"
    )
}
