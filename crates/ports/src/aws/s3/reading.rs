//! What a bucket is set to. That something is not configured is a fact, not an error.

use std::future::Future;

use api::infra::{
    CorsMethod, CorsRule, LifecycleExpiration, LifecycleRule, LifecycleTransition, PublicAccessBlock,
    StorageClass,
};
use aws_sdk_s3::Client;
use aws_sdk_s3::types::{
    BucketVersioningStatus, ExpirationStatus, LifecycleRule as Rule, LifecycleRuleFilter, ObjectOwnership,
};

use super::{ABSENT, Bucket, Encryption, Grant, LiveRule, Setting};
use crate::aws::error::told;
use crate::aws::{Account, Aws, Error, Tags};

/// What S3 says where nobody configured how objects are encrypted.
pub(super) const NO_ENCRYPTION: &str = "ServerSideEncryptionConfigurationNotFoundError";
/// The same of rules about when objects move or expire.
pub(super) const NO_LIFECYCLE: &str = "NoSuchLifecycleConfiguration";

impl Aws {
    /// A bucket with its tags and these settings, all read side by side; nothing, if it has gone meanwhile.
    pub async fn bucket(
        &self,
        account: &Account,
        name: &str,
        settings: &[Setting],
    ) -> Result<Option<Bucket>, Error> {
        let clients = self.clients(account);
        let s3 = clients.s3();
        let asked = |setting| settings.contains(&setting);
        let read = tokio::try_join!(
            tags(s3, name),
            when(asked(Setting::Acl), grants(s3, name)),
            when(asked(Setting::Ownership), without_acls(s3, name)),
            when(asked(Setting::Versioning), versioned(s3, name)),
            when(asked(Setting::Encryption), encryption(s3, name)),
            when(asked(Setting::LifecycleRules), lifecycle_rules(s3, name)),
            when(asked(Setting::CorsRules), cors_rules(s3, name)),
            when(asked(Setting::PublicAccessBlock), public_access_block(s3, name)),
        );
        let (tags, grants, without_acls, versioned, encryption, lifecycle_rules, cors_rules, block) =
            match read {
                Ok(read) => read,
                Err(error) if error.is(&ABSENT) => return Ok(None),
                Err(error) => return Err(error),
            };
        Ok(Some(Bucket {
            tags,
            grants,
            without_acls,
            versioned,
            encryption,
            lifecycle_rules,
            cors_rules,
            public_access_block: block,
        }))
    }
}

/// Asks only if somebody wants to know.
async fn when<T: Default>(wanted: bool, ask: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    if wanted { ask.await } else { Ok(T::default()) }
}

/// An answer, or nothing, where S3 says that there is no such configuration.
pub(super) fn configured<T>(answer: Result<T, Error>, absent: &str) -> Result<Option<T>, Error> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.is(&[absent]) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn tags(s3: &Client, name: &str) -> Result<Tags, Error> {
    let answer = s3.get_bucket_tagging().bucket(name).send().await;
    let answer = configured(answer.map_err(|error| told("GetBucketTagging", error)), "NoSuchTagSet")?;
    let tags = answer.map(|answer| answer.tag_set).unwrap_or_default();
    Ok(tags.into_iter().map(|tag| (tag.key, tag.value)).collect())
}

async fn grants(s3: &Client, name: &str) -> Result<Vec<Grant>, Error> {
    let answer = s3.get_bucket_acl().bucket(name).send().await;
    let answer = answer.map_err(|error| told("GetBucketAcl", error))?;
    let owner = answer.owner.and_then(|owner| owner.id);
    let grants = answer.grants.unwrap_or_default().into_iter().map(|grant| {
        let by = grant.grantee;
        let (id, uri) = by.map(|by| (by.id.or(by.email_address), by.uri)).unwrap_or_default();
        let grantee = if id.is_some() && id == owner { Some("owner".to_owned()) } else { uri.or(id) };
        let permission = grant.permission.map(|permission| permission.as_str().to_owned());
        Grant { grantee: grantee.unwrap_or_default(), permission: permission.unwrap_or_default() }
    });
    let mut grants: Vec<Grant> = grants.collect();
    grants.sort();
    Ok(grants)
}

/// Buckets from before there was this setting have access lists.
async fn without_acls(s3: &Client, name: &str) -> Result<bool, Error> {
    let answer = s3.get_bucket_ownership_controls().bucket(name).send().await;
    let answer = answer.map_err(|error| told("GetBucketOwnershipControls", error));
    let answer = configured(answer, "OwnershipControlsNotFoundError")?;
    let rules = answer.and_then(|answer| answer.ownership_controls).map(|controls| controls.rules);
    Ok(rules
        .unwrap_or_default()
        .iter()
        .any(|rule| rule.object_ownership == ObjectOwnership::BucketOwnerEnforced))
}

async fn versioned(s3: &Client, name: &str) -> Result<bool, Error> {
    let answer = s3.get_bucket_versioning().bucket(name).send().await;
    let answer = answer.map_err(|error| told("GetBucketVersioning", error))?;
    Ok(answer.status == Some(BucketVersioningStatus::Enabled))
}

async fn encryption(s3: &Client, name: &str) -> Result<Option<Encryption>, Error> {
    let answer = s3.get_bucket_encryption().bucket(name).send().await;
    let answer = answer.map_err(|error| told("GetBucketEncryption", error));
    let answer = configured(answer, NO_ENCRYPTION)?;
    let rules = answer.and_then(|answer| answer.server_side_encryption_configuration);
    let rule = rules.and_then(|configuration| configuration.rules.into_iter().next());
    Ok(rule.and_then(|rule| rule.apply_server_side_encryption_by_default).map(|default| Encryption {
        algorithm: default.sse_algorithm.as_str().to_owned(),
        key: default.kms_master_key_id.filter(|key| !key.is_empty()),
    }))
}

async fn lifecycle_rules(s3: &Client, name: &str) -> Result<Vec<LiveRule>, Error> {
    let answer = s3.get_bucket_lifecycle_configuration().bucket(name).send().await;
    let answer = answer.map_err(|error| told("GetBucketLifecycleConfiguration", error));
    let answer = configured(answer, NO_LIFECYCLE)?;
    Ok(answer.and_then(|answer| answer.rules).unwrap_or_default().into_iter().map(live).collect())
}

/// What a spec can say of a rule, and what it cannot.
#[expect(deprecated, reason = "rules from before there were filters are still in force")]
fn live(rule: Rule) -> LiveRule {
    let mut beyond = Vec::new();
    let mut note = |is: bool, name: &str| {
        if is {
            beyond.push(name.to_owned());
        }
    };
    note(rule.noncurrent_version_expiration.is_some(), "noncurrentVersionExpiration");
    note(
        rule.noncurrent_version_transitions.is_some_and(|all| !all.is_empty()),
        "noncurrentVersionTransitions",
    );
    note(rule.abort_incomplete_multipart_upload.is_some(), "abortIncompleteMultipartUpload");
    let filter = rule.filter.unwrap_or_else(|| LifecycleRuleFilter::builder().build());
    let sizes = filter.object_size_greater_than.is_some() || filter.object_size_less_than.is_some();
    note(filter.tag.is_some() || filter.and.is_some() || sizes, "filter");
    let days = rule.expiration.as_ref().and_then(|expiration| expiration.days);
    if let Some(expiration) = &rule.expiration {
        note(expiration.date.is_some(), "expiration.date");
        note(expiration.expired_object_delete_marker == Some(true), "expiration.expiredObjectDeleteMarker");
    }
    let mut transitions = Vec::new();
    for transition in rule.transitions.unwrap_or_default() {
        let word = transition.storage_class.as_ref().map_or("", |class| class.as_str());
        let class = StorageClass::ALL.into_iter().find(|class| class.as_str() == word);
        match (class, transition.days, transition.date) {
            (Some(storage_class), Some(days), None) => {
                transitions.push(LifecycleTransition { days, storage_class });
            }
            (_, _, date) => {
                note(true, &format!("transitions[{word}]{}", if date.is_some() { ".date" } else { "" }));
            }
        }
    }
    let rule = LifecycleRule {
        id: rule.id.unwrap_or_default(),
        enabled: rule.status == ExpirationStatus::Enabled,
        // Old rules have it outside the filter.
        prefix: filter.prefix.or(rule.prefix).filter(|prefix| !prefix.is_empty()),
        expiration: days.map(|days| LifecycleExpiration { days }),
        transitions,
    };
    LiveRule { rule, beyond }
}

async fn cors_rules(s3: &Client, name: &str) -> Result<Vec<CorsRule>, Error> {
    let answer = s3.get_bucket_cors().bucket(name).send().await;
    let answer = configured(answer.map_err(|error| told("GetBucketCors", error)), "NoSuchCORSConfiguration")?;
    let rules = answer.and_then(|answer| answer.cors_rules).unwrap_or_default();
    let rule = |rule: aws_sdk_s3::types::CorsRule| CorsRule {
        allowed_origins: rule.allowed_origins,
        allowed_methods: rule.allowed_methods.iter().filter_map(|word| method(word)).collect(),
        allowed_headers: rule.allowed_headers.unwrap_or_default(),
        expose_headers: rule.expose_headers.unwrap_or_default(),
        max_age_seconds: rule.max_age_seconds,
    };
    Ok(rules.into_iter().map(rule).collect())
}

/// S3 knows these five and no others.
fn method(word: &str) -> Option<CorsMethod> {
    CorsMethod::ALL.into_iter().find(|method| method.as_str() == word)
}

async fn public_access_block(s3: &Client, name: &str) -> Result<PublicAccessBlock, Error> {
    let answer = s3.get_public_access_block().bucket(name).send().await;
    let answer = answer.map_err(|error| told("GetPublicAccessBlock", error));
    let answer = configured(answer, "NoSuchPublicAccessBlockConfiguration")?;
    let block = answer.and_then(|answer| answer.public_access_block_configuration);
    Ok(block.map_or_else(PublicAccessBlock::default, |block| PublicAccessBlock {
        block_public_acls: block.block_public_acls == Some(true),
        ignore_public_acls: block.ignore_public_acls == Some(true),
        block_public_policy: block.block_public_policy == Some(true),
        restrict_public_buckets: block.restrict_public_buckets == Some(true),
    }))
}
