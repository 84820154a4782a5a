//! What is known of a claimed database.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DatabaseType;
use crate::{conditions, connection::SslMode, drift::Drift, names::ObjectName};

/// How far the claim is. The password is in the Secret alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatabaseClaimStatus {
    /// What went wrong last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Fragment key that the instance label matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched_label: Option<String>,
    /// When the database was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub db_created_at: Option<Time>,
    /// When the connection last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_info_updated_at: Option<Time>,
    /// The connection that the Secret holds, less the password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_info: Option<ConnectionInfo>,
    /// The database in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "activeDB")]
    pub active_db: Option<DatabaseStatus>,
    /// The database that a migration moves to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "newDB")]
    pub new_db: Option<DatabaseStatus>,
    /// The database that a migration left and that is not removed yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "oldDB")]
    pub old_db: Option<DatabaseStatus>,
    /// How far a migration is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migration_state: Option<MigrationState>,
    /// Secret that offers the new database while a canary migration waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canary_secret_name: Option<ObjectName>,
    /// What differed from the claim when it was last compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub drift: Vec<Drift>,
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What it says of itself: `Ready`, `Reconciling`, `Stalled`, and what its kind adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
}

/// A connection, less its password.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionInfo {
    /// Login in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_name: Option<String>,
    /// Host of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
    /// Port of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// Database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_name: Option<String>,
    /// How the connection is protected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssl_mode: Option<SslMode>,
    /// When the login was issued. Kept here because PostgreSQL does not remember it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_updated_at: Option<Time>,
}

/// One of the databases that a claim has to do with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatabaseStatus {
    /// How it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "DbState")]
    pub db_state: Option<DbState>,
    /// Version of its server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "dbversion")]
    pub db_version: Option<String>,
    /// Size of its server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// Storage of its server, in GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "minStorageGB")]
    pub min_storage_gb: Option<i32>,
    /// Storage up to which its server may grow, in GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "maxStorageGB")]
    pub max_storage_gb: Option<i64>,
    /// Kind of its server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "type")]
    pub type_: Option<DatabaseType>,
    /// Fragment key that its server was found by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_label: Option<String>,
    /// How it is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_info: Option<ConnectionInfo>,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub db_create_at: Option<Time>,
    /// When its connection last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_updated_at: Option<Time>,
    /// When its login was issued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_updated_at: Option<Time>,
    /// When the work after a migration began, on the database that was left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_migration_action_started_at: Option<Time>,
}

/// How a database stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DbState {
    /// It is in use.
    Ready,
    /// It is being made.
    InProgress,
    /// It is the source itself, and only its users are ours.
    UsingExistingDb,
    /// It is on a server that others share.
    UsingSharedHost,
    /// It was left and is being cleared away.
    PostMigrationInProgress,
}

/// How far a migration is, in the order of its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MigrationState {
    /// The new server is being made.
    Provisioning,
    /// Tables and all else but data are being copied.
    CopyingSchema,
    /// Data is being replicated.
    Replicating,
    /// The new server is almost level with the old one.
    CatchingUp,
    /// A person has to approve the switch.
    AwaitingApproval,
    /// Sequences are set to follow the old ones.
    ResettingSequences,
    /// The Secret is changing over.
    Switching,
    /// The old server still has sessions.
    Draining,
    /// The old server is being removed.
    RemovingOld,
    /// All is done.
    Completed,
    /// A step failed; the application stays where it was.
    Failed,
}
