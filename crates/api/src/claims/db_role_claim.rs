//! `DbRoleClaim`: logins of one's own in a database that someone else claimed.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::DatabaseStatus;
use crate::{
    conditions,
    drift::Drift,
    names::{DatabaseName, Label, ObjectName},
    rules::unchanging,
};

/// Keeps a role claim until its logins are gone.
pub const DB_ROLE_CLAIM_FINALIZER: &str = "dbroleclaims.persistance.atlas.infoblox.com/finalizer";

/// Which database, and what may be done in it.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "persistance.atlas.infoblox.com", version = "v1", kind = "DbRoleClaim", namespaced)]
#[kube(status = "DbRoleClaimStatus", shortname = "dbrc", category = "terrace", derive = "PartialEq")]
#[kube(doc = "A claim on logins in a database that a DatabaseClaim made, with rights per schema.")]
#[kube(printcolumn = r#"{"name":"Source","type":"string","jsonPath":".status.matchedSourceClaim"}"#)]
#[kube(
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#
)]
#[kube(
    printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].message","priority":1}"#
)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
pub struct DbRoleClaimSpec {
    /// Which controller serves the claim, where several share a cluster.
    #[serde(default = "default_class")]
    #[schemars(length(min = 1, max = 63))]
    pub class: String,
    /// The claim that made the database.
    #[x_kube(validation = unchanging("sourceDatabaseClaim is immutable: make a new claim"))]
    pub source_database_claim: SourceDatabaseClaim,
    /// Secret, in the claim's namespace, that receives the connection. Default: the claim's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<ObjectName>,
    /// Rights per schema, on what is there and on what comes later. Without any, the source's connection is copied.
    #[serde(rename = "schemarolemap", default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "rights")]
    pub schema_role_map: BTreeMap<DatabaseName, RoleType>,
}

fn default_class() -> String {
    "default".into()
}

fn rights(generator: &mut SchemaGenerator) -> Schema {
    let role = generator.subschema_for::<RoleType>();
    json_schema!({ "type": "object", "maxProperties": 64, "additionalProperties": role })
}

/// A `DatabaseClaim`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceDatabaseClaim {
    /// Its namespace. Default: the role claim's own; any other must have agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Label>,
    /// Its name.
    pub name: ObjectName,
}

/// What may be done in a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RoleType {
    /// Read.
    ReadOnly,
    /// Read and write data.
    Regular,
    /// Read and write data, make and change tables.
    Admin,
}

/// How far the role claim is. The password is in the Secret alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DbRoleClaimStatus {
    /// What went wrong last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The source claim that was found, as `namespace/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched_source_claim: Option<String>,
    /// The Secret of the source claim, as `namespace/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_secret: Option<String>,
    /// Version of that Secret when it was last read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_secret_resource_version: Option<String>,
    /// The database that the claim's roles are in. Kept here because the source may be gone when they have to go.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "sourceDB")]
    pub source_db: Option<DatabaseStatus>,
    /// Login in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// When the login was issued. Kept here because PostgreSQL does not remember it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_updated_at: Option<Time>,
    /// When the claim's own Secret was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_created_at: Option<Time>,
    /// When the claim's own Secret last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_updated_at: Option<Time>,
    /// When rights last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "schemasrolesupdatedat")]
    pub schemas_roles_updated_at: Option<Time>,
    /// What became of schemas and roles.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "schemasstatus")]
    pub schemas_status: Option<SchemasStatus>,
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

/// What became of schemas and roles, each by its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub struct SchemasStatus {
    /// Schemas.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub schemastatus: BTreeMap<String, String>,
    /// Roles.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rolestatus: BTreeMap<String, String>,
}
