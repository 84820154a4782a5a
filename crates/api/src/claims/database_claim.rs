//! `DatabaseClaim`: a database, its owner and its rotating logins, wherever the server is.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DatabaseClaimStatus;
use crate::{
    names::{DatabaseName, Label, ObjectName, RoleName, SecretKey},
    rules::unchanging,
    secret::PlainSecret,
};

/// Keeps a claim until its database has been dealt with as its policies say.
pub const DATABASE_CLAIM_FINALIZER: &str = "databaseclaims.persistance.atlas.infoblox.com/finalizer";

/// The database's name, from whichever field gives it, in CEL.
const SAME_NAME: &str = "(has(self.dbNameOverride) ? self.dbNameOverride : has(self.databaseName) ? self.databaseName : self.appId) == (has(oldSelf.dbNameOverride) ? oldSelf.dbNameOverride : has(oldSelf.databaseName) ? oldSelf.databaseName : oldSelf.appId)";

/// A port as a string; the empty one stands for none, as the original system wrote it.
const PORT: &str =
    "^([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])?$";

/// Which database is claimed, for whom, and on which server.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "persistance.atlas.infoblox.com", version = "v1", kind = "DatabaseClaim", namespaced)]
#[kube(status = "DatabaseClaimStatus", shortname = "dbc", category = "terrace", derive = "PartialEq")]
#[kube(
    doc = "A claim on a database: created if absent, with logins whose passwords rotate, published in a Secret."
)]
#[kube(printcolumn = r#"{"name":"DB","type":"string","jsonPath":".spec.databaseName"}"#)]
#[kube(printcolumn = r#"{"name":"State","type":"string","jsonPath":".status.activeDB.DbState"}"#)]
#[kube(
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#
)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[kube(
    printcolumn = r#"{"name":"MigrationState","type":"string","jsonPath":".status.migrationState","priority":1}"#
)]
#[kube(
    printcolumn = r#"{"name":"Login","type":"string","jsonPath":".status.connectionInfo.userName","priority":1}"#
)]
#[x_kube(validation = Rule::new("has(self.databaseName) || has(self.dbNameOverride) || (has(self.appId) && self.appId != '')").message("databaseName, dbNameOverride or appId must name the database"))]
#[x_kube(validation = Rule::new(SAME_NAME).message("the database's name is immutable: the data would stay behind; make a new claim with sourceDataFrom"))]
pub struct DatabaseClaimSpec {
    /// Which controller serves the claim, where several share a cluster.
    #[serde(default = "default_class")]
    #[schemars(length(min = 1, max = 63))]
    pub class: String,
    /// Which application the database is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub app_id: Option<String>,
    /// Secret, in the claim's namespace, that receives the connection. Default: the claim's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<ObjectName>,
    /// What kind of server.
    #[serde(rename = "type", default)]
    pub type_: DatabaseType,
    /// Which server of the configuration: its fragment keys, dot-separated; the longest match wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub instance_label: Option<String>,
    /// Role that owns the database, and stem of its two logins: `app` becomes `app_a` and `app_b`.
    #[x_kube(validation = unchanging("userName is immutable: what the role owns would stay behind; make a new claim with sourceDataFrom"))]
    pub user_name: RoleName,
    /// Database to create or adopt on the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_name: Option<DatabaseName>,
    /// Name of the database where it is not that of the application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub db_name_override: Option<DatabaseName>,
    /// Key of the Secret that receives the DSN, beside the fixed key `dsn.txt`.
    #[serde(default = "default_dsn_name")]
    pub dsn_name: SecretKey,
    /// Server to use, instead of the one that the label finds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub host: Option<String>,
    /// Port of that server, as a number or a string. Default: the configuration's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1, "maximum" = 65_535, "pattern" = PORT))]
    pub port: Option<IntOrString>,
    /// Size of a server made for the claim, in the words of whoever makes it, such as `db.t4g.medium`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub shape: Option<String>,
    /// Least storage of a server made for the claim, in GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "minStorageGB")]
    #[schemars(range(min = 0, max = 65_536))]
    pub min_storage_gb: Option<i32>,
    /// Storage up to which a server made for the claim may grow by itself, in GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "maxStorageGB")]
    #[schemars(range(min = 0, max = 65_536))]
    pub max_storage_gb: Option<i64>,
    /// Version of a server made for the claim. A change migrates.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub db_version: Option<String>,
    /// What happens to the claim's database and roles when the claim goes.
    #[serde(default)]
    pub delete_policy: DeletePolicy,
    /// What happens to a server made for the claim when its last claim goes. Default: the configuration's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<DeletionPolicy>,
    /// Where the database's first content comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_data_from: Option<SourceDataFrom>,
    /// Whether `sourceDataFrom` is itself the database: only its users are managed. Unset later, it migrates.
    #[serde(default)]
    pub use_existing_source: bool,
    /// How often a server made for the claim is backed up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_policy: Option<BackupPolicy>,
    /// Snapshot to restore a server made for the claim from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub restore_from: Option<String>,
    /// Whether the logins may replicate.
    #[serde(default)]
    pub enable_replication_role: bool,
    /// Whether the logins are superusers, where the configuration permits it.
    #[serde(default)]
    pub enable_super_user: bool,
    /// Tags of a server made for the claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    #[schemars(length(max = 50))]
    pub tags: Vec<Tag>,
    /// Week's window for maintenance of a server made for the claim, in UTC: `Sun:03:00-Sun:04:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 32),
        regex(
            pattern = r"^((?i)(mon|tue|wed|thu|fri|sat|sun)):[0-2][0-9]:[0-5][0-9]-((?i)(mon|tue|wed|thu|fri|sat|sun)):[0-2][0-9]:[0-5][0-9]$"
        )
    )]
    pub preferred_maintenance_window: Option<String>,
    /// How traffic moves to a new server when a change migrates.
    #[serde(default)]
    pub migration: Migration,
}

fn default_class() -> String {
    "default".into()
}

fn default_dsn_name() -> SecretKey {
    crate::connection::DSN.parse().expect("`dsn.txt` is a secret key")
}

/// The servers there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DatabaseType {
    /// PostgreSQL.
    #[default]
    #[serde(rename = "postgres")]
    Postgres,
    /// Amazon Aurora, which speaks as PostgreSQL does.
    #[serde(rename = "aurora-postgresql")]
    AuroraPostgresql,
}

/// What happens to a claim's own database and roles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeletePolicy {
    /// They are locked and renamed, and dropped when the hold period ends.
    #[default]
    Delete,
    /// They are kept.
    Recycle,
}

/// What happens to a server that was made for a claim. Either case is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionPolicy {
    /// It is deleted with its last claim.
    Delete,
    /// The same as `Delete`.
    #[serde(rename = "delete")]
    LowerDelete,
    /// It is kept.
    Orphan,
    /// The same as `Orphan`.
    #[serde(rename = "orphan")]
    LowerOrphan,
}

impl DeletionPolicy {
    /// Whether the server is kept.
    pub fn keeps(self) -> bool {
        match self {
            Self::Delete | Self::LowerDelete => false,
            Self::Orphan | Self::LowerOrphan => true,
        }
    }
}

/// How traffic moves to a new server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Migration {
    /// As soon as the new server has caught up.
    #[default]
    Direct,
    /// The new database is kept in sync and offered under a second Secret, until a person approves.
    Canary,
}

/// How often a server is backed up: the better the metal, the oftener, and the longer it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BackupPolicy {
    /// Least.
    Bronze,
    /// More.
    Silver,
    /// Still more.
    Gold,
    /// Most.
    Platinum,
}

/// A database to copy the first content from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.type != 'database' || has(self.database)").message("a source of type database needs the field database"))]
pub struct SourceDataFrom {
    /// What kind of source it is.
    #[serde(rename = "type")]
    pub type_: SourceType,
    /// The database, where the source is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<SourceDatabase>,
}

/// The sources there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SourceType {
    /// A running database.
    Database,
}

/// A running database, and how to log in to it as its administrator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.dsn) || has(self.secretRef)").message("dsn or secretRef must say how to reach the source"))]
pub struct SourceDatabase {
    /// URI of the database. Prefer `secretRef`, which keeps the password out of the claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dsn: Option<PlainSecret>,
    /// Secret with the connection, in the keys that a claim's own Secret has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SourceSecretRef>,
}

/// A Secret with a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceSecretRef {
    /// Name of the Secret.
    pub name: ObjectName,
    /// Its namespace. Default: the claim's own; any other must have agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Label>,
}

/// A tag of a cloud resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tag {
    /// Its key.
    #[schemars(length(min = 1, max = 128))]
    pub key: String,
    /// Its value.
    #[schemars(length(max = 256))]
    pub value: String,
}
