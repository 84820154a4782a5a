//! What is asked of S3.

use std::fmt;

use api::infra::{BucketAcl, BucketEncryption, CorsRule, LifecycleRule, PublicAccessBlock, Tags};

/// One change of one bucket.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The bucket.
    pub(in super::super) bucket: String,
    /// The change.
    pub(in super::super) change: Change,
}

/// What becomes otherwise.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Nothing yet: that the bucket is ours is noted before it is there.
    Announce,
    /// The bucket comes into being.
    Create,
    /// It has these tags and no others.
    Tag { tags: Tags },
    /// It has another access list; perhaps it could not have one before.
    Acl { acl: BucketAcl, enabling: bool },
    /// It keeps old versions, or does not any more.
    Versioning { enabled: bool },
    /// It encrypts otherwise.
    Encryption(BucketEncryption),
    /// Its objects move and expire by these rules.
    Lifecycle(Vec<LifecycleRule>),
    /// Web pages use it by these rules.
    Cors(Vec<CorsRule>),
    /// Other ways of making it public are shut.
    Block(PublicAccessBlock),
    /// Many versions of objects are deleted.
    RemoveVersions,
    /// Unfinished uploads are given up.
    AbortUploads,
    /// It goes.
    Delete,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bucket, change } = self;
        match change {
            Change::Announce => {
                write!(f, "note that bucket {bucket} is ours, and create it in the next pass")
            }
            Change::Create => write!(f, "create bucket {bucket}"),
            Change::Tag { .. } => write!(f, "set the tags of bucket {bucket}"),
            Change::Acl { acl, enabling: false } => {
                write!(f, "set the access list of bucket {bucket} to {}", acl.as_str())
            }
            Change::Acl { acl, enabling: true } => {
                write!(f, "let bucket {bucket} have an access list, and set it to {}", acl.as_str())
            }
            Change::Versioning { enabled: true } => write!(f, "keep old versions in bucket {bucket}"),
            Change::Versioning { enabled: false } => {
                write!(f, "keep no more old versions in bucket {bucket}")
            }
            Change::Encryption(encryption) => {
                write!(f, "encrypt bucket {bucket} with {}", encryption.algorithm.as_str())
            }
            Change::Lifecycle(rules) if rules.is_empty() => {
                write!(f, "take the lifecycle rules off bucket {bucket}")
            }
            Change::Lifecycle(_) => write!(f, "set the lifecycle rules of bucket {bucket}"),
            Change::Cors(rules) if rules.is_empty() => write!(f, "take the CORS rules off bucket {bucket}"),
            Change::Cors(_) => write!(f, "set the CORS rules of bucket {bucket}"),
            Change::Block(_) => write!(f, "set the public access block of bucket {bucket}"),
            Change::RemoveVersions => write!(f, "delete versions of objects in bucket {bucket}"),
            Change::AbortUploads => write!(f, "give up unfinished uploads to bucket {bucket}"),
            Change::Delete => write!(f, "delete bucket {bucket}"),
        }
    }
}
