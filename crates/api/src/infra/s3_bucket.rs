//! `S3Bucket`: a bucket and its settings.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AwsDeletionPolicy, ProviderRef, Tags};
use crate::{conditions, drift::Drift, rules::unchanging};

/// Prefixes and suffixes that S3 keeps for itself, and addresses: names with them are refused.
/// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html>
const NAME_RESERVED: &str = "!['xn--', 'sthree-', 'amzn-s3-demo-'].exists(part, self.startsWith(part)) && !['-s3alias', '--ol-s3', '.mrap', '--x-s3', '--table-s3'].exists(part, self.endsWith(part))";
const NAME_ADDRESS: &str = r"!self.matches('^[0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}$')";

/// Keeps a bucket's object until its policy has been carried out.
pub const S3_BUCKET_FINALIZER: &str = "aws-infra-operator.runner.codes/s3bucket-finalizer";

/// Which bucket, and how it is set up. Settings that are left out are left alone.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "aws-infra-operator.runner.codes", version = "v1alpha1", kind = "S3Bucket", namespaced)]
#[kube(status = "S3BucketStatus", shortname = "s3", category = "terrace", derive = "PartialEq")]
#[kube(doc = "A bucket in S3 and its settings.")]
#[kube(printcolumn = r#"{"name":"Bucket","type":"string","jsonPath":".spec.bucketName"}"#)]
#[kube(printcolumn = r#"{"name":"Ready","type":"boolean","jsonPath":".status.ready"}"#)]
#[kube(printcolumn = r#"{"name":"Region","type":"string","jsonPath":".status.region"}"#)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[x_kube(validation = Rule::new("!has(self.acl) || self.acl == 'private' || !has(self.publicAccessBlock) || !self.publicAccessBlock.blockPublicAcls").message("publicAccessBlock.blockPublicAcls refuses every access list but private").field_path(".acl"))]
pub struct S3BucketSpec {
    /// Account and region.
    #[x_kube(validation = unchanging("providerRef is immutable: the bucket would stay behind in its account"))]
    pub provider_ref: ProviderRef,
    /// Name of the bucket, which no other bucket in the world may have.
    #[schemars(length(min = 3, max = 63), regex(pattern = r"^[a-z0-9][a-z0-9.-]*[a-z0-9]$"))]
    #[x_kube(validation = unchanging("bucketName is immutable: make a new bucket and copy the objects"))]
    #[x_kube(validation = Rule::new("!self.contains('..')").message("the name of a bucket has no two full stops in a row"))]
    #[x_kube(validation = Rule::new(NAME_ADDRESS).message("the name of a bucket must not look like an IP address"))]
    #[x_kube(validation = Rule::new(NAME_RESERVED).message("S3 keeps names that begin with xn--, sthree- or amzn-s3-demo-, or end in -s3alias, --ol-s3, .mrap, --x-s3 or --table-s3, for itself"))]
    pub bucket_name: String,
    /// Canned access list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acl: Option<BucketAcl>,
    /// Whether old versions of objects are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versioning: Option<BucketVersioning>,
    /// How objects are encrypted at rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encryption: Option<BucketEncryption>,
    /// When objects move to cheaper storage or expire.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["id"]))]
    #[schemars(length(max = 1000))]
    pub lifecycle_rules: Vec<LifecycleRule>,
    /// Which web pages may read and write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(length(max = 100))]
    pub cors_rules: Vec<CorsRule>,
    /// Which ways of making it public are shut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_access_block: Option<PublicAccessBlock>,
    /// Its tags, beside the provider's.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    #[schemars(schema_with = "super::reference::tags")]
    pub tags: Tags,
    /// What happens to the bucket when this object is deleted.
    #[serde(default)]
    pub deletion_policy: AwsDeletionPolicy,
    /// Whether a bucket that is not empty may be emptied, for ever, in order to delete it.
    #[serde(default)]
    pub force_destroy: bool,
}

/// Canned access lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BucketAcl {
    /// The owner only.
    Private,
    /// The world may read.
    PublicRead,
    /// The world may read and write.
    PublicReadWrite,
    /// Whoever has an AWS account may read.
    AuthenticatedRead,
}

impl BucketAcl {
    /// All there is.
    pub const ALL: [Self; 4] =
        [Self::Private, Self::PublicRead, Self::PublicReadWrite, Self::AuthenticatedRead];

    /// As the spec and S3 write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::PublicRead => "public-read",
            Self::PublicReadWrite => "public-read-write",
            Self::AuthenticatedRead => "authenticated-read",
        }
    }
}

/// Whether old versions of objects are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BucketVersioning {
    /// On, or suspended.
    pub enabled: bool,
}

/// How objects are encrypted at rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.kmsKeyID) || self.algorithm == 'aws_kms'").message("kmsKeyID is used with the algorithm aws_kms only"))]
pub struct BucketEncryption {
    /// With whose keys.
    pub algorithm: EncryptionAlgorithm,
    /// Key of KMS. Default: the account's own for S3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "kmsKeyID")]
    #[schemars(length(min = 1, max = 2048))]
    pub kms_key_id: Option<String>,
}

/// With whose keys objects are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum EncryptionAlgorithm {
    /// S3's.
    #[serde(rename = "AES256")]
    Aes256,
    /// KMS's.
    #[serde(rename = "aws_kms")]
    AwsKms,
}

impl EncryptionAlgorithm {
    /// As the spec writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Aes256 => "AES256",
            Self::AwsKms => "aws_kms",
        }
    }
}

/// When objects move or expire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.expiration) || (has(self.transitions) && size(self.transitions) > 0)").message("a rule does something: set expiration or transitions"))]
#[x_kube(validation = Rule::new("!has(self.expiration) || !has(self.transitions) || self.transitions.all(move, move.days < self.expiration.days)").message("objects expire only after they have moved: expiration.days is more than the days of every transition").field_path(".expiration"))]
pub struct LifecycleRule {
    /// Name of the rule.
    #[schemars(length(min = 1, max = 255))]
    pub id: String,
    /// Whether it is in force.
    pub enabled: bool,
    /// Which objects: those whose keys begin so. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub prefix: Option<String>,
    /// When objects expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiration: Option<LifecycleExpiration>,
    /// When objects move to other storage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["storageClass"]))]
    #[schemars(length(max = 8))]
    pub transitions: Vec<LifecycleTransition>,
}

/// When objects expire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LifecycleExpiration {
    /// Days after they were written.
    #[schemars(range(min = 1))]
    pub days: i32,
}

/// When objects move to other storage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!(self.storageClass in ['STANDARD_IA', 'ONEZONE_IA']) || self.days >= 30").message("objects move to STANDARD_IA and ONEZONE_IA after 30 days at the earliest").field_path(".days"))]
pub struct LifecycleTransition {
    /// Days after they were written.
    #[schemars(range(min = 0))]
    pub days: i32,
    /// Where to.
    pub storage_class: StorageClass,
}

/// Cheaper storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StorageClass {
    /// Minutes to hours to read.
    Glacier,
    /// Hours to read.
    DeepArchive,
    /// S3 decides by use.
    IntelligentTiering,
    /// Seldom read.
    StandardIa,
    /// Seldom read, in one zone.
    #[serde(rename = "ONEZONE_IA")]
    OneZoneIa,
}

impl StorageClass {
    /// All there is.
    pub const ALL: [Self; 5] =
        [Self::Glacier, Self::DeepArchive, Self::IntelligentTiering, Self::StandardIa, Self::OneZoneIa];

    /// As the spec and S3 write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Glacier => "GLACIER",
            Self::DeepArchive => "DEEP_ARCHIVE",
            Self::IntelligentTiering => "INTELLIGENT_TIERING",
            Self::StandardIa => "STANDARD_IA",
            Self::OneZoneIa => "ONEZONE_IA",
        }
    }
}

/// Which web pages may do what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CorsRule {
    /// Where the pages come from.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(length(min = 1, max = 100))]
    pub allowed_origins: Vec<String>,
    /// What they may do.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(length(min = 1, max = 5))]
    pub allowed_methods: Vec<CorsMethod>,
    /// Which headers they may send.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(length(max = 100))]
    pub allowed_headers: Vec<String>,
    /// Which headers they may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(length(max = 100))]
    pub expose_headers: Vec<String>,
    /// How long browsers remember the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_age_seconds: Option<i32>,
}

/// What a web page may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum CorsMethod {
    /// Read.
    Get,
    /// Write.
    Put,
    /// Write by form.
    Post,
    /// Delete.
    Delete,
    /// Ask.
    Head,
}

impl CorsMethod {
    /// All there is.
    pub const ALL: [Self; 5] = [Self::Get, Self::Put, Self::Post, Self::Delete, Self::Head];

    /// As the spec and S3 write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Put => "PUT",
            Self::Post => "POST",
            Self::Delete => "DELETE",
            Self::Head => "HEAD",
        }
    }
}

/// Which ways of making a bucket public are shut.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublicAccessBlock {
    /// Refuse new public access lists.
    #[serde(default)]
    pub block_public_acls: bool,
    /// Ignore public access lists.
    #[serde(default)]
    pub ignore_public_acls: bool,
    /// Refuse new public policies.
    #[serde(default)]
    pub block_public_policy: bool,
    /// Ignore public policies for other accounts.
    #[serde(default)]
    pub restrict_public_buckets: bool,
}

/// How the bucket stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct S3BucketStatus {
    /// Whether it is there and set up.
    #[serde(default)]
    pub ready: bool,
    /// Its ARN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arn: Option<String>,
    /// Region it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Host under which its objects are reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket_domain_name: Option<String>,
    /// When it was last compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_sync_time: Option<Time>,
    /// What differed from the spec when it was last compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub drift: Vec<Drift>,
    /// The keys of the tags that were set from the spec and the provider. Kept here because AWS does not say who set a tag:
    /// what others set is left alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    #[schemars(length(max = 50), inner(length(max = 128)))]
    pub tag_keys: Vec<String>,
    /// The lists of rules that were set from the spec. Kept here because S3 does not say who set them: a list that the spec
    /// leaves out is left alone, but one that it had before is taken off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    #[schemars(length(max = 2))]
    pub rule_lists: Vec<RuleList>,
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What it says of itself: `Ready`, `Reconciling`, `Stalled`, and what its kind adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
}

/// A list of rules that S3 keeps as one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RuleList {
    /// When objects move or expire.
    LifecycleRules,
    /// Which web pages may do what.
    CorsRules,
}
