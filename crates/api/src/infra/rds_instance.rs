//! `RDSInstance`: a database server in RDS.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AwsDeletionPolicy, ProviderRef, Tags};
use crate::{
    conditions,
    drift::Drift,
    names::{ObjectName, SecretKey},
    rules::{exclusive, frozen, unchanging},
    secret::PlainSecret,
};

/// Keeps a server's object until its policy has been carried out.
pub const RDS_INSTANCE_FINALIZER: &str = "aws-infra-operator.runner.codes/rdsinstance-finalizer";

/// Which server, and how it is set up.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "aws-infra-operator.runner.codes", version = "v1alpha1", kind = "RDSInstance", namespaced)]
#[kube(status = "RDSInstanceStatus", shortname = "rds", category = "terrace", derive = "PartialEq")]
#[kube(doc = "A database server in RDS. Its connection is published in a Secret.")]
#[kube(printcolumn = r#"{"name":"Instance","type":"string","jsonPath":".spec.dbInstanceIdentifier"}"#)]
#[kube(printcolumn = r#"{"name":"Engine","type":"string","jsonPath":".spec.engine"}"#)]
#[kube(printcolumn = r#"{"name":"Class","type":"string","jsonPath":".spec.dbInstanceClass"}"#)]
#[kube(printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.status"}"#)]
#[kube(printcolumn = r#"{"name":"Ready","type":"boolean","jsonPath":".status.ready"}"#)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[x_kube(validation = exclusive("masterUserPassword", "masterUserPasswordSecretRef"))]
#[x_kube(validation = frozen("dbName"))]
pub struct RDSInstanceSpec {
    /// Account and region.
    #[x_kube(validation = unchanging("providerRef is immutable: the server would stay behind in its account"))]
    pub provider_ref: ProviderRef,
    /// Name of the server, unique in account and region.
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-zA-Z](-?[a-zA-Z0-9])*$"))]
    #[x_kube(validation = unchanging("dbInstanceIdentifier is immutable: make a new object"))]
    pub db_instance_identifier: String,
    /// Database system, such as `postgres`, `mysql` or `mariadb`.
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z][a-z0-9-]*$"))]
    #[x_kube(validation = unchanging("engine is immutable: make a new server and move the data"))]
    pub engine: String,
    /// Its version. Default: AWS's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub engine_version: Option<String>,
    /// Size of the server, such as `db.t4g.micro`.
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^db\.[a-z0-9.-]+$"))]
    pub db_instance_class: String,
    /// Storage in GiB. It only grows.
    #[schemars(range(min = 5, max = 65_536))]
    #[x_kube(validation = Rule::new("self >= oldSelf").message("allocatedStorage cannot shrink"))]
    pub allocated_storage: i32,
    /// Name of the administrator.
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-zA-Z][a-zA-Z0-9_]*$"))]
    #[x_kube(validation = unchanging("masterUsername is immutable: make a new server and move the data"))]
    pub master_username: String,
    /// Where the administrator's password is. Default: one is generated into a Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master_user_password_secret_ref: Option<PasswordSecretRef>,
    /// The administrator's password, in plain text. Prefer `masterUserPasswordSecretRef`: this one is seen by everyone who may read the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master_user_password: Option<PlainSecret>,
    /// Database to create in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub db_name: Option<String>,
    /// Port that it listens on. Default: the engine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1150, max = 65535))]
    pub port: Option<i32>,
    /// Whether a standby in another zone takes over.
    #[serde(rename = "multiAZ", default)]
    pub multi_az: bool,
    /// Whether it has a public address.
    #[serde(default)]
    pub publicly_accessible: bool,
    /// Whether its storage is encrypted.
    #[serde(default)]
    #[x_kube(validation = unchanging("storageEncrypted is immutable: restore a snapshot into a new server"))]
    pub storage_encrypted: bool,
    /// Days that backups are kept; 0 turns them off. Default: AWS's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 35))]
    pub backup_retention_period: Option<i32>,
    /// Daily window for backups, in UTC: `03:00-04:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 11),
        regex(pattern = r"^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$")
    )]
    pub preferred_backup_window: Option<String>,
    /// Its tags, beside the provider's.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    #[schemars(schema_with = "super::reference::tags")]
    pub tags: Tags,
    /// What happens to the server when this object is deleted.
    #[serde(default)]
    pub deletion_policy: AwsDeletionPolicy,
    /// Whether it is deleted without a last snapshot, and its data for ever.
    #[serde(default)]
    pub skip_final_snapshot: bool,
}

/// A key of a Secret in the object's namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasswordSecretRef {
    /// Name of the Secret.
    pub name: ObjectName,
    /// Key in its data.
    pub key: SecretKey,
}

/// How the server stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RDSInstanceStatus {
    /// Whether it takes connections and is set up.
    #[serde(default)]
    pub ready: bool,
    /// Its ARN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub db_instance_arn: Option<String>,
    /// Host that it is reached under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Port that it listens on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
    /// How it stands, in AWS's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Version that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_version: Option<String>,
    /// Storage in GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocated_storage: Option<i32>,
    /// Secret that its connection is published in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_secret_ref: Option<ObjectName>,
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
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What it says of itself: `Ready`, `Reconciling`, `Stalled`, and what its kind adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
}
