//! Settings that are one value each.

use api::drift::{Drift, Severity};
use api::infra::{BucketAcl, BucketEncryption, EncryptionAlgorithm, PublicAccessBlock, S3BucketSpec};
use ports::aws::{Bucket, Encryption, Grant};

use super::Change;
use crate::infra::course::{Mend, field};

/// The world, and whoever has an AWS account, as access lists name them.
const ALL_USERS: &str = "http://acs.amazonaws.com/groups/global/AllUsers";
const AUTHENTICATED_USERS: &str = "http://acs.amazonaws.com/groups/global/AuthenticatedUsers";
/// The key of KMS that is used where none is named.
const DEFAULT_KEY: &str = "alias/aws/s3";

/// The canned list that these grants are, if any.
pub(crate) fn canned(grants: &[Grant]) -> Option<BucketAcl> {
    let mut held: Vec<(&str, &str)> =
        grants.iter().map(|grant| (grant.grantee.as_str(), grant.permission.as_str())).collect();
    held.sort_unstable();
    BucketAcl::ALL.into_iter().find(|acl| {
        let mut all = vec![("owner", "FULL_CONTROL")];
        match acl {
            BucketAcl::Private => {}
            BucketAcl::PublicRead => all.push((ALL_USERS, "READ")),
            BucketAcl::PublicReadWrite => all.extend([(ALL_USERS, "READ"), (ALL_USERS, "WRITE")]),
            BucketAcl::AuthenticatedRead => all.push((AUTHENTICATED_USERS, "READ")),
        }
        all.sort_unstable();
        all == held
    })
}

/// A new bucket has no access lists. One that asks for another than the owner's is switched to have them, since it could
/// not be met otherwise; `private` is what a bucket without lists is.
pub(super) fn acl(live: &Bucket, spec: &S3BucketSpec) -> Option<Mend<Change>> {
    let acl = spec.acl?;
    let held = canned(&live.grants);
    if held == Some(acl) {
        return None;
    }
    let one = |grant: &Grant| format!("{} {}", grant.grantee, grant.permission);
    let all = || live.grants.iter().map(one).collect::<Vec<_>>().join(", ");
    let actual = held.map_or_else(all, |held| held.as_str().to_owned());
    let enabling = live.without_acls && acl != BucketAcl::Private;
    Some(Mend { fields: vec![grave("acl", acl.as_str(), actual)], call: Change::Acl { acl, enabling } })
}

/// A bucket that never kept old versions need not be told to stop.
pub(super) fn versioning(live: &Bucket, spec: &S3BucketSpec) -> Option<Mend<Change>> {
    let enabled = spec.versioning.as_ref()?.enabled;
    let fields = vec![field("versioning.enabled", enabled, live.versioned)];
    (enabled != live.versioned).then_some(Mend { fields, call: Change::Versioning { enabled } })
}

pub(super) fn encryption(live: &Bucket, spec: &S3BucketSpec) -> Option<Mend<Change>> {
    let wanted = spec.encryption.as_ref()?;
    let fields = encrypted(wanted, live.encryption.as_ref());
    (!fields.is_empty()).then(|| Mend { fields, call: Change::Encryption(wanted.clone()) })
}

fn encrypted(wanted: &BucketEncryption, live: Option<&Encryption>) -> Vec<Drift> {
    let BucketEncryption { algorithm, kms_key_id } = wanted;
    let actual = live.map_or("", |live| match live.algorithm.as_str() {
        "aws:kms" => EncryptionAlgorithm::AwsKms.as_str(),
        other => other,
    });
    let mut fields = Vec::new();
    if algorithm.as_str() != actual {
        fields.push(grave("encryption.algorithm", algorithm.as_str(), actual));
    }
    let key = live.and_then(|live| live.key.as_deref()).unwrap_or_default();
    let expected = kms_key_id.as_deref().unwrap_or_default();
    // S3's own keys have no name, whatever was named beside them.
    if *algorithm == EncryptionAlgorithm::AwsKms && !same_key(expected, key) {
        fields.push(grave("encryption.kmsKeyID", expected, key));
    }
    fields
}

/// A key's id and its ARN are the same key, and so are no key and the one that is used then.
fn same_key(one: &str, other: &str) -> bool {
    let resource = |key: &str| {
        let resource = if key.starts_with("arn:") { key.rsplit(':').next().unwrap_or(key) } else { key };
        let resource = resource.strip_prefix("key/").unwrap_or(resource).to_owned();
        if resource.is_empty() { DEFAULT_KEY.to_owned() } else { resource }
    };
    let whole = one.starts_with("arn:") && other.starts_with("arn:");
    if whole { one == other } else { resource(one) == resource(other) }
}

pub(super) fn block(live: &Bucket, spec: &S3BucketSpec) -> Option<Mend<Change>> {
    let wanted = spec.public_access_block.as_ref()?;
    let PublicAccessBlock {
        block_public_acls,
        ignore_public_acls,
        block_public_policy,
        restrict_public_buckets,
    } = wanted;
    let held = &live.public_access_block;
    let all = [
        ("publicAccessBlock.blockPublicAcls", *block_public_acls, held.block_public_acls),
        ("publicAccessBlock.ignorePublicAcls", *ignore_public_acls, held.ignore_public_acls),
        ("publicAccessBlock.blockPublicPolicy", *block_public_policy, held.block_public_policy),
        ("publicAccessBlock.restrictPublicBuckets", *restrict_public_buckets, held.restrict_public_buckets),
    ];
    let differing = all.into_iter().filter(|(_, expected, actual)| expected != actual);
    let fields: Vec<Drift> =
        differing.map(|(name, expected, actual)| grave(name, expected, actual)).collect();
    (!fields.is_empty()).then(|| Mend { fields, call: Change::Block(wanted.clone()) })
}

/// A field that decides who can read what.
fn grave(name: &str, expected: impl ToString, actual: impl ToString) -> Drift {
    Drift { severity: Some(Severity::High), ..field(name, expected, actual) }
}
