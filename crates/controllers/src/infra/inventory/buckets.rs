//! Buckets.

use api::infra::{
    AwsDeletionPolicy, BucketAcl, BucketEncryption, BucketVersioning, EncryptionAlgorithm, LifecycleRule,
    ProviderRef, S3Bucket, S3BucketSpec,
};
use futures::{StreamExt, TryStreamExt, stream};
use ports::aws::{Account, Aws, Bucket, Error, Setting, Whereabouts};

use super::{AT_A_TIME, Seen, name, tags};
use crate::infra::s3_bucket::canned;

/// The buckets of an account in its region, each as the object that asks for what is there.
pub(super) async fn found(
    aws: &Aws,
    account: &Account,
    provider: &ProviderRef,
) -> Result<Vec<Seen<S3Bucket>>, Error> {
    let names = aws.buckets(account).await?;
    let looks = names.into_iter().map(async |bucket| look(aws, account, provider, bucket).await);
    stream::iter(looks).buffered(AT_A_TIME).try_filter_map(async |seen| Ok(seen)).try_collect().await
}

async fn look(
    aws: &Aws,
    account: &Account,
    provider: &ProviderRef,
    bucket: String,
) -> Result<Option<Seen<S3Bucket>>, Error> {
    match aws.whereabouts(account, &bucket).await? {
        // One may go while we look, and not everybody who speaks S3 lists one region only.
        Whereabouts::Absent | Whereabouts::Elsewhere(_) => return Ok(None),
        Whereabouts::Hidden(error) => {
            tracing::warn!(bucket, %error, "a bucket cannot be looked at");
            return Ok(None);
        }
        Whereabouts::Here => {}
    }
    let live = aws.bucket(account, &bucket, &Setting::ALL).await?;
    Ok(live.map(|live| Seen {
        object: S3Bucket::new(&name(&bucket), spec(&bucket, &live, provider)),
        tags: live.tags,
        resource: bucket,
    }))
}

/// What the spec cannot say is left out of it, and so left alone.
fn spec(bucket: &str, live: &Bucket, provider: &ProviderRef) -> S3BucketSpec {
    let block = live.public_access_block.clone();
    // A public list from before public lists were shut out can stay, but nobody could ask for it.
    let possible = |acl: &BucketAcl| *acl == BucketAcl::Private || !block.block_public_acls;
    S3BucketSpec {
        provider_ref: provider.clone(),
        bucket_name: bucket.to_owned(),
        acl: canned(&live.grants).filter(possible),
        versioning: Some(BucketVersioning { enabled: live.versioned }),
        encryption: encryption(live),
        lifecycle_rules: lifecycle_rules(live),
        cors_rules: live.cors_rules.clone(),
        public_access_block: Some(block),
        tags: tags(&live.tags),
        // What somebody else made is not deleted because an object of ours is.
        deletion_policy: AwsDeletionPolicy::Retain,
        force_destroy: false,
    }
}

fn encryption(live: &Bucket) -> Option<BucketEncryption> {
    let held = live.encryption.as_ref()?;
    match held.algorithm.as_str() {
        "AES256" => Some(BucketEncryption { algorithm: EncryptionAlgorithm::Aes256, kms_key_id: None }),
        "aws:kms" => {
            Some(BucketEncryption { algorithm: EncryptionAlgorithm::AwsKms, kms_key_id: held.key.clone() })
        }
        _ => None,
    }
}

/// All rules or none: they are one document.
fn lifecycle_rules(live: &Bucket) -> Vec<LifecycleRule> {
    let plain = live.lifecycle_rules.iter().all(|live| live.beyond.is_empty());
    if plain { live.lifecycle_rules.iter().map(|live| live.rule.clone()).collect() } else { Vec::new() }
}
