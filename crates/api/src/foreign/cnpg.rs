//! CloudNativePG's `Cluster`, a PostgreSQL server with its standbys, and `Backup`, a copy of one.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ForeignCondition, LocalRef, find};
use crate::conditions::READY;

/// The image of servers, but for its tag, which is the version (seed 000, `BuildCNPGCluster`).
pub const SERVER_IMAGE: &str = "ghcr.io/cloudnative-pg/postgresql";

/// What CloudNativePG says of a managed role that is as asked.
pub const RECONCILED: &str = "reconciled";

/// The tag of an image; a port of its registry is none.
pub fn version_of(image: &str) -> Option<&str> {
    let image = image.split_once('@').map_or(image, |(image, _)| image);
    image.rsplit_once(':').map(|(_, tag)| tag).filter(|tag| !tag.contains('/'))
}

/// The major version in a version, such as `15` in `15.3`.
pub fn major(version: &str) -> &str {
    version.split(|c: char| !c.is_ascii_digit()).next().unwrap_or(version)
}

/// What is asked of CloudNativePG.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "postgresql.cnpg.io", version = "v1", kind = "Cluster", namespaced)]
#[kube(status = "ClusterStatus", derive = "PartialEq", derive = "Default")]
#[kube(doc = "A PostgreSQL server with its standbys, as CloudNativePG runs it.")]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[kube(printcolumn = r#"{"name":"Instances","type":"integer","jsonPath":".status.instances"}"#)]
#[kube(printcolumn = r#"{"name":"Ready","type":"integer","jsonPath":".status.readyInstances"}"#)]
#[kube(printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.phase"}"#)]
#[kube(printcolumn = r#"{"name":"Primary","type":"string","jsonPath":".status.currentPrimary"}"#)]
pub struct ClusterSpec {
    /// Servers in all; one is the primary.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub instances: i32,
    /// Image of the server; its tag is the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_name: Option<String>,
    /// How the first server comes about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<Bootstrap>,
    /// Its disk.
    #[serde(default)]
    pub storage: Storage,
    /// What each server may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// Settings of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postgresql: Option<PostgresqlSettings>,
    /// Whether the superuser can log in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_superuser_access: Option<bool>,
    /// Secret with the superuser's login.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superuser_secret: Option<LocalRef>,
    /// What it looks after inside the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed: Option<Managed>,
}

fn one() -> i32 {
    1
}

/// What is looked after inside a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Managed {
    /// Roles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<ManagedRole>,
}

/// A role that is there, with these rights and this password.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedRole {
    /// Its name.
    pub name: String,
    /// Whether it may log in.
    #[serde(default)]
    pub login: bool,
    /// Whether it may make databases.
    #[serde(default)]
    pub createdb: bool,
    /// Whether it may make roles.
    #[serde(default)]
    pub createrole: bool,
    /// Secret with its name and password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_secret: Option<LocalRef>,
}

/// How the first server comes about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap {
    /// It is made anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initdb: Option<InitDb>,
    /// It is made from a backup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
}

/// A server that is made from a backup.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recovery {
    /// The `Backup` in the same namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<LocalRef>,
    /// Where to stop; without it, at the last change that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_target: Option<RecoveryTarget>,
    /// Database whose owner gets a login.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// Role that owns it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// Where a recovery stops.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryTarget {
    /// Before the first change after this moment, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_time: Option<String>,
}

/// A server that is made anew.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitDb {
    /// Database to create.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// Role that owns it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Secret with the owner's login. Default: one is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<LocalRef>,
}

/// A disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// Its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// Its class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<String>,
}

/// What a server may use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    /// What it gets for sure.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, Quantity>,
    /// What it never exceeds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, Quantity>,
}

/// Settings of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PostgresqlSettings {
    /// As in `postgresql.conf`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// For how many standbys each commit waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synchronous: Option<Synchronous>,
}

/// For how many standbys each commit waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Synchronous {
    /// `any` of them, or the `first` ones.
    pub method: String,
    /// How many.
    pub number: i32,
    /// Whether commits wait even where so many standbys are not to be had (`required`), or not (`preferred`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_durability: Option<String>,
}

/// What CloudNativePG says of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// Servers in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instances: Option<i32>,
    /// Servers that take connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_instances: Option<i32>,
    /// The servers' names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instance_names: Vec<String>,
    /// How often a standby became the primary, counted as PostgreSQL does.
    #[serde(rename = "timelineID", skip_serializing_if = "Option::is_none")]
    pub timeline_id: Option<i64>,
    /// How it stands, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_reason: Option<String>,
    /// Pod that is the primary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_primary: Option<String>,
    /// Pod that is to be the primary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_primary: Option<String>,
    /// Service that leads to the primary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_service: Option<String>,
    /// Service that leads to the standbys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_service: Option<String>,
    /// Versions of the Secrets that are in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets_resource_version: Option<SecretsResourceVersion>,
    /// How the roles stand that are looked after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_roles_status: Option<ManagedRolesStatus>,
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ForeignCondition>,
}

/// How the roles stand that are looked after.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedRolesStatus {
    /// The roles by how they stand: those under [`RECONCILED`] are as asked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_status: BTreeMap<String, Vec<String>>,
    /// The password that each role has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub password_status: BTreeMap<String, PasswordState>,
}

/// The password that a role has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasswordState {
    /// Version of the Secret that it was taken from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
}

impl ClusterStatus {
    /// Whether a role that is looked after is as asked, with the password in this version of its Secret.
    pub fn holds_role(&self, name: &str, secret_version: &str) -> bool {
        let Some(roles) = &self.managed_roles_status else { return false };
        let reconciled = roles.by_status.get(RECONCILED).is_some_and(|all| all.iter().any(|one| one == name));
        let version = roles.password_status.get(name).and_then(|state| state.resource_version.as_deref());
        reconciled && version == Some(secret_version)
    }

    /// What the Cluster is at, in its own words.
    pub fn words(&self) -> String {
        let said = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let ready = find(&self.conditions, READY).and_then(|ready| said(&ready.message));
        match (said(&self.phase), said(&self.phase_reason).or(ready)) {
            (Some(phase), Some(reason)) if phase != reason => format!("{phase}: {reason}"),
            (Some(words), _) | (None, Some(words)) => words,
            (None, None) => "the database cluster has not been taken up yet".into(),
        }
    }
}

/// Versions of the Secrets that are in use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretsResourceVersion {
    /// Of the owner's login.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application_secret_version: Option<String>,
    /// Of the superuser's login.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superuser_secret_version: Option<String>,
}

/// Which cluster is copied.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "postgresql.cnpg.io", version = "v1", kind = "Backup", namespaced)]
#[kube(status = "BackupStatus", derive = "PartialEq", derive = "Default")]
#[kube(doc = "A copy of a PostgreSQL server, from which another can be made.")]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[kube(printcolumn = r#"{"name":"Cluster","type":"string","jsonPath":".spec.cluster.name"}"#)]
#[kube(printcolumn = r#"{"name":"Method","type":"string","jsonPath":".spec.method"}"#)]
#[kube(printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#)]
#[kube(printcolumn = r#"{"name":"Error","type":"string","jsonPath":".status.error"}"#)]
pub struct BackupSpec {
    /// The cluster, in the same namespace.
    #[serde(default)]
    pub cluster: LocalRef,
    /// How it is copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
}

/// How far a backup is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackupStatus {
    /// `pending`, `started`, `running`, `completed` or `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// What it is called where it lies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_id: Option<String>,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// When it ended: the first moment that can be gone back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<Time>,
    /// Where in the server's history it began.
    #[serde(rename = "beginLSN", skip_serializing_if = "Option::is_none")]
    pub begin_lsn: Option<String>,
    /// Where it ended.
    #[serde(rename = "endLSN", skip_serializing_if = "Option::is_none")]
    pub end_lsn: Option<String>,
    /// How it was copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
