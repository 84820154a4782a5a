//! S3: buckets.

mod content;
mod reading;
mod writing;

use api::infra::LifecycleRule;
use aws_sdk_s3::types::{BucketLocationConstraint, CreateBucketConfiguration, Tag, Tagging};
use aws_smithy_types::error::operation::BuildError;

pub use content::Content;

use super::error::told;
use super::{Account, Aws, Error, Tags};

/// What S3 says of a bucket that is not there.
const ABSENT: [&str; 2] = ["NoSuchBucket", "NotFound"];
/// What it says of one that we may not look at.
const DENIED: [&str; 2] = ["AccessDenied", "AllAccessDisabled"];
/// The only region that buckets are made in without being told so.
const FIRST_REGION: &str = "us-east-1";
/// Where the answer to HEAD names the region, whatever else it says.
const REGION_HEADER: &str = "x-amz-bucket-region";
/// How many buckets are listed at a time.
const PAGE: i32 = 1000;

/// Where the bucket of a name is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// Nowhere.
    Absent,
    /// In the account's region.
    Here,
    /// In another region, which may not be told.
    Elsewhere(String),
    /// Somewhere, and we may not look: it is another account's, or rights are missing.
    Hidden(Error),
}

/// A setting that takes a call of its own to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The access list.
    Acl,
    /// Whether there are access lists at all.
    Ownership,
    /// Whether old versions are kept.
    Versioning,
    /// How objects are encrypted.
    Encryption,
    /// When objects move or expire.
    LifecycleRules,
    /// Which web pages may do what.
    CorsRules,
    /// Which ways of making it public are shut.
    PublicAccessBlock,
}

impl Setting {
    /// All there is.
    pub const ALL: [Self; 7] = [
        Self::Acl,
        Self::Ownership,
        Self::Versioning,
        Self::Encryption,
        Self::LifecycleRules,
        Self::CorsRules,
        Self::PublicAccessBlock,
    ];
}

/// A bucket that is there. Settings that nobody asked for, and those that are not configured, are as empty as can be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bucket {
    /// Its tags.
    pub tags: Tags,
    /// Who may do what, by the access list.
    pub grants: Vec<Grant>,
    /// Whether access lists are switched off.
    pub without_acls: bool,
    /// Whether old versions are kept.
    pub versioned: bool,
    /// How objects are encrypted.
    pub encryption: Option<Encryption>,
    /// When objects move or expire.
    pub lifecycle_rules: Vec<LiveRule>,
    /// Which web pages may do what.
    pub cors_rules: Vec<api::infra::CorsRule>,
    /// Which ways of making it public are shut.
    pub public_access_block: api::infra::PublicAccessBlock,
}

/// What somebody may do, by the access list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    /// Who: `owner`, the address of a group, or an id.
    pub grantee: String,
    /// What, in S3's word.
    pub permission: String,
}

/// How objects are encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// In S3's word.
    pub algorithm: String,
    /// The key, as whoever set it wrote it.
    pub key: Option<String>,
}

/// A rule as it is in S3.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveRule {
    /// What a spec can say of it.
    pub rule: LifecycleRule,
    /// The parts that no spec can say.
    pub beyond: Vec<String>,
}

impl Aws {
    /// Where the bucket of a name is.
    ///
    /// HEAD names the region, too, so that nobody has to ask for the location. But its answers have no body: why it was
    /// refused is found out by asking for the location after all.
    pub async fn whereabouts(&self, account: &Account, name: &str) -> Result<Whereabouts, Error> {
        let clients = self.clients(account);
        let answer = clients.s3().head_bucket().bucket(name).send().await;
        let region = match &answer {
            Ok(answer) => answer.bucket_region.clone(),
            Err(error) => {
                let raw = error.raw_response();
                raw.and_then(|raw| raw.headers().get(REGION_HEADER)).map(str::to_owned)
            }
        };
        match answer.map_err(|error| told("HeadBucket", error)) {
            // Some that speak S3 name no region: who answers is there.
            Ok(_) => Ok(match region.filter(|region| *region != account.region) {
                None => Whereabouts::Here,
                Some(region) => Whereabouts::Elsewhere(region),
            }),
            Err(error) if error.is(&ABSENT) => Ok(Whereabouts::Absent),
            Err(error) if error.is(&["PermanentRedirect"]) => {
                Ok(Whereabouts::Elsewhere(region.unwrap_or_default()))
            }
            Err(error @ Error::Refused { .. }) => {
                let answer = clients.s3().get_bucket_location().bucket(name).send().await;
                let why = answer.map_err(|error| told("GetBucketLocation", error)).err().unwrap_or(error);
                if why.is(&DENIED) { Ok(Whereabouts::Hidden(why)) } else { Err(why) }
            }
            Err(error) => Err(error),
        }
    }

    /// Makes a bucket. One that is there already is an error, but in the first region, where it is the same.
    pub async fn create_bucket(&self, account: &Account, name: &str) -> Result<(), Error> {
        let clients = self.clients(account);
        let elsewhere = (account.region != FIRST_REGION).then(|| {
            let region = BucketLocationConstraint::from(account.region.as_str());
            CreateBucketConfiguration::builder().location_constraint(region).build()
        });
        let asked = clients.s3().create_bucket().bucket(name).set_create_bucket_configuration(elsewhere);
        asked.send().await.map_err(|error| told("CreateBucket", error)).map(drop)
    }

    /// Sets all tags of a bucket: those that are not among them go.
    pub async fn set_bucket_tags(&self, account: &Account, name: &str, tags: &Tags) -> Result<(), Error> {
        const ASKED: &str = "PutBucketTagging";
        let clients = self.clients(account);
        if tags.is_empty() {
            let answer = clients.s3().delete_bucket_tagging().bucket(name).send().await;
            return answer.map_err(|error| told("DeleteBucketTagging", error)).map(drop);
        }
        let tag =
            |(key, value): (&String, &String)| built(ASKED, Tag::builder().key(key).value(value).build());
        let all = tags.iter().map(tag).collect::<Result<Vec<_>, _>>()?;
        let tagging = built(ASKED, Tagging::builder().set_tag_set(Some(all)).build())?;
        let answer = clients.s3().put_bucket_tagging().bucket(name).tagging(tagging).send().await;
        answer.map_err(|error| told(ASKED, error)).map(drop)
    }

    /// Deletes a bucket, which must be empty. One that is not there is deleted.
    pub async fn delete_bucket(&self, account: &Account, name: &str) -> Result<(), Error> {
        let clients = self.clients(account);
        match clients.s3().delete_bucket().bucket(name).send().await.map_err(|e| told("DeleteBucket", e)) {
            Err(error) if !error.is(&ABSENT) => Err(error),
            _ => Ok(()),
        }
    }

    /// The names of all buckets of an account in its region.
    pub async fn buckets(&self, account: &Account) -> Result<Vec<String>, Error> {
        let clients = self.clients(account);
        let asked = clients.s3().list_buckets().bucket_region(&account.region);
        let mut pages = asked.into_paginator().page_size(PAGE).send();
        let mut names = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| told("ListBuckets", error))?;
            names.extend(page.buckets.unwrap_or_default().into_iter().filter_map(|bucket| bucket.name));
        }
        names.sort();
        Ok(names)
    }
}

/// What the SDK puts together. It refuses only what lacks a field, and none does.
fn built<T>(operation: &'static str, made: Result<T, BuildError>) -> Result<T, Error> {
    made.map_err(|error| Error::garbled(operation, error.to_string()))
}
