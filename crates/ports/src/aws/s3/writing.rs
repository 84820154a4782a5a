//! Changes of one setting each. What a document holds beside it is kept.

use api::infra::{
    BucketAcl, BucketEncryption, CorsRule, EncryptionAlgorithm, LifecycleRule, PublicAccessBlock,
};
use aws_sdk_s3::types::{
    BucketCannedAcl, BucketLifecycleConfiguration, BucketVersioningStatus, CorsConfiguration,
    CorsRule as Cors, ExpirationStatus, LifecycleExpiration, LifecycleRule as Rule, LifecycleRuleFilter,
    ObjectOwnership, OwnershipControls, OwnershipControlsRule, PublicAccessBlockConfiguration,
    ServerSideEncryption, ServerSideEncryptionByDefault, ServerSideEncryptionConfiguration,
    ServerSideEncryptionRule, Transition, TransitionStorageClass, VersioningConfiguration,
};

use super::built;
use super::reading::{NO_ENCRYPTION, NO_LIFECYCLE, configured};
use crate::aws::error::told;
use crate::aws::{Account, Aws, Error};

impl Aws {
    /// Sets the access list. `enabling` first lets the bucket have access lists at all, which new ones do not.
    pub async fn set_bucket_acl(
        &self,
        account: &Account,
        name: &str,
        acl: BucketAcl,
        enabling: bool,
    ) -> Result<(), Error> {
        const ENABLING: &str = "PutBucketOwnershipControls";
        let clients = self.clients(account);
        if enabling {
            let rule =
                OwnershipControlsRule::builder().object_ownership(ObjectOwnership::BucketOwnerPreferred);
            let controls = OwnershipControls::builder().rules(built(ENABLING, rule.build())?).build();
            let asked = clients.s3().put_bucket_ownership_controls().bucket(name);
            let answer = asked.ownership_controls(built(ENABLING, controls)?).send().await;
            answer.map_err(|error| told(ENABLING, error))?;
        }
        let asked = clients.s3().put_bucket_acl().bucket(name).acl(BucketCannedAcl::from(acl.as_str()));
        asked.send().await.map_err(|error| advised(told("PutBucketAcl", error))).map(drop)
    }

    /// Keeps old versions, or stops to.
    pub async fn set_bucket_versioning(
        &self,
        account: &Account,
        name: &str,
        enabled: bool,
    ) -> Result<(), Error> {
        let clients = self.clients(account);
        let status =
            if enabled { BucketVersioningStatus::Enabled } else { BucketVersioningStatus::Suspended };
        let asked = clients.s3().put_bucket_versioning().bucket(name);
        let asked = asked.versioning_configuration(VersioningConfiguration::builder().status(status).build());
        asked.send().await.map_err(|error| told("PutBucketVersioning", error)).map(drop)
    }

    /// Sets how objects are encrypted. Whether a key of the bucket's own saves calls to KMS stays as it is.
    pub async fn set_bucket_encryption(
        &self,
        account: &Account,
        name: &str,
        wanted: &BucketEncryption,
    ) -> Result<(), Error> {
        const ASKED: &str = "PutBucketEncryption";
        let clients = self.clients(account);
        let held = clients.s3().get_bucket_encryption().bucket(name).send().await;
        let held = held.map_err(|error| told("GetBucketEncryption", error));
        let held =
            configured(held, NO_ENCRYPTION)?.and_then(|answer| answer.server_side_encryption_configuration);
        let mut rule = held
            .and_then(|held| held.rules.into_iter().next())
            .unwrap_or_else(|| ServerSideEncryptionRule::builder().build());
        let algorithm = match wanted.algorithm {
            EncryptionAlgorithm::Aes256 => ServerSideEncryption::Aes256,
            EncryptionAlgorithm::AwsKms => ServerSideEncryption::AwsKms,
        };
        let default = ServerSideEncryptionByDefault::builder()
            .sse_algorithm(algorithm)
            .set_kms_master_key_id(wanted.kms_key_id.clone());
        rule.apply_server_side_encryption_by_default = Some(built(ASKED, default.build())?);
        let rules = ServerSideEncryptionConfiguration::builder().rules(rule).build();
        let asked = clients.s3().put_bucket_encryption().bucket(name);
        let answer = asked.server_side_encryption_configuration(built(ASKED, rules)?).send().await;
        answer.map_err(|error| told(ASKED, error)).map(drop)
    }

    /// Sets all rules about when objects move or expire; none, and there is no such configuration any more.
    pub async fn set_bucket_lifecycle(
        &self,
        account: &Account,
        name: &str,
        rules: &[LifecycleRule],
    ) -> Result<(), Error> {
        const ASKED: &str = "PutBucketLifecycleConfiguration";
        let clients = self.clients(account);
        if rules.is_empty() {
            let answer = clients.s3().delete_bucket_lifecycle().bucket(name).send().await;
            return answer.map_err(|error| told("DeleteBucketLifecycle", error)).map(drop);
        }
        // The smallest object that moves belongs to the same document, and would be lost.
        let held = clients.s3().get_bucket_lifecycle_configuration().bucket(name).send().await;
        let held = held.map_err(|error| told("GetBucketLifecycleConfiguration", error));
        let smallest =
            configured(held, NO_LIFECYCLE)?.and_then(|answer| answer.transition_default_minimum_object_size);
        let rules = rules.iter().map(|rule| built(ASKED, lifecycle_rule(rule).build()));
        let rules = rules.collect::<Result<Vec<_>, _>>()?;
        let all = BucketLifecycleConfiguration::builder().set_rules(Some(rules)).build();
        let asked = clients.s3().put_bucket_lifecycle_configuration().bucket(name);
        let asked = asked.lifecycle_configuration(built(ASKED, all)?);
        let answer = asked.set_transition_default_minimum_object_size(smallest).send().await;
        answer.map_err(|error| told(ASKED, error)).map(drop)
    }

    /// Sets all rules about web pages; none, and there is no such configuration any more.
    pub async fn set_bucket_cors(
        &self,
        account: &Account,
        name: &str,
        rules: &[CorsRule],
    ) -> Result<(), Error> {
        const ASKED: &str = "PutBucketCors";
        let clients = self.clients(account);
        if rules.is_empty() {
            let answer = clients.s3().delete_bucket_cors().bucket(name).send().await;
            return answer.map_err(|error| told("DeleteBucketCors", error)).map(drop);
        }
        let rules = rules.iter().map(|rule| built(ASKED, cors_rule(rule).build()));
        let rules = rules.collect::<Result<Vec<_>, _>>()?;
        let all = built(ASKED, CorsConfiguration::builder().set_cors_rules(Some(rules)).build())?;
        let answer = clients.s3().put_bucket_cors().bucket(name).cors_configuration(all).send().await;
        answer.map_err(|error| told(ASKED, error)).map(drop)
    }

    /// Sets which ways of making the bucket public are shut.
    pub async fn set_public_access_block(
        &self,
        account: &Account,
        name: &str,
        block: &PublicAccessBlock,
    ) -> Result<(), Error> {
        let clients = self.clients(account);
        let all = PublicAccessBlockConfiguration::builder()
            .block_public_acls(block.block_public_acls)
            .ignore_public_acls(block.ignore_public_acls)
            .block_public_policy(block.block_public_policy)
            .restrict_public_buckets(block.restrict_public_buckets)
            .build();
        let asked = clients.s3().put_public_access_block().bucket(name);
        let answer = asked.public_access_block_configuration(all).send().await;
        answer.map_err(|error| told("PutPublicAccessBlock", error)).map(drop)
    }
}

/// What to do where S3 takes no access list; its own words do not say it.
fn advised(error: Error) -> Error {
    let Error::Refused { operation, code, message } = error else { return error };
    let advice = match code.as_str() {
        "AccessControlListNotSupported" => {
            "; access lists are switched off for this bucket (Object Ownership BucketOwnerEnforced): leave `acl` out and use a bucket policy, or switch them on with `aws s3api put-bucket-ownership-controls`"
        }
        "AccessDenied" => {
            "; new buckets refuse public access lists: set `publicAccessBlock.blockPublicAcls: false`, and see that the account does not refuse them either"
        }
        _ => "",
    };
    Error::Refused { operation, code, message: format!("{message}{advice}") }
}

fn lifecycle_rule(rule: &LifecycleRule) -> aws_sdk_s3::types::builders::LifecycleRuleBuilder {
    let LifecycleRule { id, enabled, prefix, expiration, transitions } = rule;
    let status = if *enabled { ExpirationStatus::Enabled } else { ExpirationStatus::Disabled };
    let filter = LifecycleRuleFilter::builder().prefix(prefix.clone().unwrap_or_default()).build();
    let expiration = expiration.as_ref().map(|end| LifecycleExpiration::builder().days(end.days).build());
    let transitions = transitions.iter().map(|transition| {
        let class = TransitionStorageClass::from(transition.storage_class.as_str());
        Transition::builder().days(transition.days).storage_class(class).build()
    });
    let transitions: Vec<_> = transitions.collect();
    let transitions = (!transitions.is_empty()).then_some(transitions);
    let rule = Rule::builder().id(id).status(status).filter(filter).set_expiration(expiration);
    rule.set_transitions(transitions)
}

fn cors_rule(rule: &CorsRule) -> aws_sdk_s3::types::builders::CorsRuleBuilder {
    let CorsRule { allowed_origins, allowed_methods, allowed_headers, expose_headers, max_age_seconds } =
        rule;
    let methods = allowed_methods.iter().map(|method| method.as_str().to_owned()).collect();
    let some = |list: &Vec<String>| (!list.is_empty()).then(|| list.clone());
    Cors::builder()
        .set_allowed_origins(Some(allowed_origins.clone()))
        .set_allowed_methods(Some(methods))
        .set_allowed_headers(some(allowed_headers))
        .set_expose_headers(some(expose_headers))
        .set_max_age_seconds(*max_age_seconds)
}
