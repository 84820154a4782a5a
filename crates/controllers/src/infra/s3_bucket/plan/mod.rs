//! Every rule of buckets.

mod call;
mod leaving;
mod rules;
mod settings;

use std::time::Duration;

use api::conditions::{Reason, SYNCED, find, holds};
use api::infra::{BucketAcl, RuleList, S3Bucket, S3BucketSpec, S3BucketStatus, Tags};
use jiff::Timestamp;
use kit::{Name, Next, Plan, Refusal};
use ports::aws::{Bucket, Content, Error, Setting};

pub use call::{Call, Change};
pub(crate) use settings::canned;

use crate::infra::course::{Case, Mend, observes};
use crate::infra::desk::{Open, RESYNC, RETRY, Sight, World};
use crate::infra::farewell::untouched;
use crate::infra::report::Report;
use crate::infra::step::Step;
use crate::infra::tags::{self, OWNER};

/// The words with which S3 says that it did not make a bucket, and not that it may have.
const NOT_MADE: [&str; 9] = [
    "AccessDenied",
    "AllAccessDisabled",
    "BucketAlreadyExists",
    "IllegalLocationConstraintException",
    "InvalidAccessKeyId",
    "InvalidBucketName",
    "InvalidLocationConstraint",
    "SignatureDoesNotMatch",
    "TooManyBuckets",
];

/// The bucket of a name.
#[derive(Clone, Debug)]
pub enum Found {
    /// In the account's region.
    Here(Box<Here>),
    /// In another region, which may not be known.
    Elsewhere(String),
    /// Not for us to see.
    Hidden(Error),
}

/// A bucket that can be looked at.
#[derive(Clone, Debug, Default)]
pub struct Here {
    pub(super) bucket: Bucket,
    /// What is in it, of one that goes.
    pub(super) content: Content,
}

/// The plan for one pass over one bucket.
pub(super) fn plan(
    bucket: &S3Bucket,
    world: &World<Found>,
) -> Result<Plan<Step<Call>, S3BucketStatus>, Refusal> {
    let mut status = bucket.status.clone().unwrap_or_default();
    let going = bucket.metadata.deletion_timestamp.is_some();
    let open = match &world.sight {
        Sight::Open(open) => open,
        Sight::Parked => return Ok(Plan::part(Vec::new(), status, Next::OnChange)),
        Sight::Closed(..) if going && untouched(&bucket.metadata, bucket.spec.deletion_policy) => {
            return Ok(Plan::release(Vec::new(), status));
        }
        Sight::Closed(reason, message) => {
            status.unseen(reason.clone(), message.clone());
            return Ok(Plan::part(Vec::new(), status, Next::After(RETRY)));
        }
    };
    if going {
        return Ok(leaving::leave(bucket, open, status));
    }
    let live = match &open.found {
        Some(Found::Elsewhere(region)) => return Ok(elsewhere(bucket, open, region, status)),
        Some(Found::Hidden(error)) => return Ok(hidden(bucket, error, status)),
        Some(Found::Here(here)) => Some(&here.bucket),
        None => None,
    };
    if let (None, Some(delay)) = (live, pause(&status, world.now)) {
        return Ok(Plan::part(Vec::new(), status, Next::After(delay)));
    }
    if live.is_some() {
        report(&bucket.spec, &open.account.region, &mut status);
    }
    Ok(settle(bucket, live, (open, world.now), status))
}

/// The settings that have to be read: those that the spec names, and rules that it named before.
pub(super) fn asked(bucket: &S3Bucket) -> Vec<Setting> {
    let spec = &bucket.spec;
    let held = bucket.status.as_ref().map(|status| status.rule_lists.as_slice()).unwrap_or_default();
    let public = spec.acl.is_some_and(|acl| acl != BucketAcl::Private);
    let asked = |setting: &Setting| match setting {
        Setting::Acl => spec.acl.is_some(),
        Setting::Ownership => public,
        Setting::Versioning => spec.versioning.is_some(),
        Setting::Encryption => spec.encryption.is_some(),
        Setting::LifecycleRules => {
            !spec.lifecycle_rules.is_empty() || held.contains(&RuleList::LifecycleRules)
        }
        Setting::CorsRules => !spec.cors_rules.is_empty() || held.contains(&RuleList::CorsRules),
        Setting::PublicAccessBlock => spec.public_access_block.is_some(),
    };
    Setting::ALL.into_iter().filter(asked).collect()
}

/// Whether a pass failed because S3 refused to make the bucket, so that there is none of ours.
pub(super) fn not_made(reason: &Reason, story: &str) -> bool {
    let refused = matches!(reason, Reason::Code(code) if NOT_MADE.contains(&code.as_str()));
    refused && story.contains("CreateBucket was refused")
}

fn settle(
    bucket: &S3Bucket,
    live: Option<&Bucket>,
    (open, now): (&Open<Found>, Timestamp),
    status: S3BucketStatus,
) -> Plan<Step<Call>, S3BucketStatus> {
    let spec = &bucket.spec;
    let wanted = tags::wanted(&open.default_tags, &spec.tags, &Name::of(bucket));
    let held = &status.rule_lists;
    let call = |change| Call { bucket: spec.bucket_name.clone(), change };
    let named = |Mend { fields, call: change }| Mend { fields, call: call(change) };
    let mends = live.map(|live| {
        let tags = retagged(live, &wanted, &status.tag_keys);
        tags.into_iter().chain(mends(live, spec, held)).map(named).collect()
    });
    let make = make(spec, &wanted, status.tag_keys.iter().any(|key| key == OWNER));
    let case = Case {
        meta: &bucket.metadata,
        what: format!("bucket {}", spec.bucket_name),
        account: open.account.clone(),
        live: live.map(|live| &live.tags),
        tags: &wanted,
        own: &bucket.spec.tags,
        make: make.into_iter().map(call).collect(),
        mends: mends.unwrap_or_default(),
        waiting: None,
        now,
    };
    let mut plan = case.settle(status);
    // Only what this plan sees to is remembered as set from the spec.
    if !observes(&bucket.metadata) && holds(&plan.status.conditions, SYNCED) {
        plan.status.rule_lists = rule_lists(spec);
    }
    plan
}

/// What makes a bucket: at first only that it is noted as ours, then all of it, the mark before the settings.
fn make(spec: &S3BucketSpec, wanted: &Tags, noted: bool) -> Vec<Change> {
    if !noted {
        return vec![Change::Announce];
    }
    // Whether a new bucket can have access lists is up to S3, so that one is compared when the bucket is there.
    let rest = S3BucketSpec { acl: None, ..spec.clone() };
    let first = [Change::Create, Change::Tag { tags: wanted.clone() }];
    let rest = mends(&Bucket::default(), &rest, &[]).into_iter().map(|mend| mend.call);
    first.into_iter().chain(rest).collect()
}

/// What mends the settings. Public access is shut before it could be used, and opened before it is asked for.
fn mends(live: &Bucket, spec: &S3BucketSpec, held: &[RuleList]) -> Vec<Mend<Change>> {
    let all = [
        settings::block(live, spec),
        settings::acl(live, spec),
        settings::versioning(live, spec),
        settings::encryption(live, spec),
        rules::lifecycle(live, spec, held),
        rules::cors(live, spec, held),
    ];
    all.into_iter().flatten().collect()
}

/// S3 takes all tags at once, so those of others are among them.
fn retagged(live: &Bucket, wanted: &Tags, held: &[String]) -> Option<Mend<Change>> {
    let retag = tags::compare(&live.tags, wanted, held);
    let mut all = live.tags.clone();
    all.retain(|key, _| !retag.remove.contains(key));
    all.extend(retag.set);
    let differs = !retag.fields.is_empty();
    differs.then_some(Mend { fields: retag.fields, call: Change::Tag { tags: all } })
}

fn rule_lists(spec: &S3BucketSpec) -> Vec<RuleList> {
    let lists = [
        (RuleList::LifecycleRules, spec.lifecycle_rules.is_empty()),
        (RuleList::CorsRules, spec.cors_rules.is_empty()),
    ];
    lists.into_iter().filter(|(_, empty)| !empty).map(|(list, _)| list).collect()
}

/// How long a bucket that S3 refused to make is let be: what withdrew the intention must not bring it back at once.
fn pause(status: &S3BucketStatus, now: Timestamp) -> Option<Duration> {
    let refused = find(&status.conditions, SYNCED)?;
    let noted = status.tag_keys.iter().any(|key| key == OWNER);
    if noted || refused.status != "False" || !NOT_MADE.contains(&refused.reason.as_str()) {
        return None;
    }
    let since = now.duration_since(refused.last_transition_time.0);
    RETRY.checked_sub(since.unsigned_abs()).filter(|left| !left.is_zero())
}

fn elsewhere(
    bucket: &S3Bucket,
    open: &Open<Found>,
    region: &str,
    mut status: S3BucketStatus,
) -> Plan<Step<Call>, S3BucketStatus> {
    status.out_of_sync(Reason::Code(MOVED.into()), astray(&bucket.spec, &open.account.region, region));
    Plan::part(Vec::new(), status, Next::After(RESYNC))
}

/// S3's word for a bucket that is asked for in the wrong region.
const MOVED: &str = "PermanentRedirect";

fn astray(spec: &S3BucketSpec, asked: &str, region: &str) -> String {
    let place = if region.is_empty() { "another region" } else { region };
    format!(
        "bucket {} is in {place}, and its AWSProvider is of {asked}; a bucket cannot move: choose another name, or a provider of that region",
        spec.bucket_name
    )
}

fn hidden(bucket: &S3Bucket, error: &Error, mut status: S3BucketStatus) -> Plan<Step<Call>, S3BucketStatus> {
    status.unseen(Reason::Code(error.code().to_owned()), veiled(&bucket.spec, error));
    Plan::part(Vec::new(), status, Next::After(RETRY))
}

fn veiled(spec: &S3BucketSpec, error: &Error) -> String {
    format!(
        "bucket {} exists, but not for us: it belongs to another account, and then another name is needed, or the right s3:ListBucket is missing ({error})",
        spec.bucket_name
    )
}

fn report(spec: &S3BucketSpec, region: &str, status: &mut S3BucketStatus) {
    let name = &spec.bucket_name;
    let (partition, domain) = match region {
        region if region.starts_with("cn-") => ("aws-cn", "amazonaws.com.cn"),
        region if region.starts_with("us-gov-") => ("aws-us-gov", "amazonaws.com"),
        region if region.starts_with("us-iso-") => ("aws-iso", "c2s.ic.gov"),
        region if region.starts_with("us-isob-") => ("aws-iso-b", "sc2s.sgov.gov"),
        _ => ("aws", "amazonaws.com"),
    };
    status.arn = Some(format!("arn:{partition}:s3:::{name}"));
    status.region = Some(region.to_owned());
    status.bucket_domain_name = Some(format!("{name}.s3.{region}.{domain}"));
}
