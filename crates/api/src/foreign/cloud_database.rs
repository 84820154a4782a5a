//! `CloudDatabaseClaim`: a database server that a Crossplane composition makes.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ForeignCondition, LocalRef};

/// What is asked of the composition.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "database.infobloxopen.github.com",
    version = "v1alpha1",
    kind = "CloudDatabaseClaim",
    namespaced
)]
#[kube(status = "CloudDatabaseClaimStatus", derive = "PartialEq", derive = "Default")]
#[kube(doc = "A database server that a composition makes in some cloud.")]
#[kube(
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#
)]
#[kube(
    printcolumn = r#"{"name":"Secret","type":"string","jsonPath":".spec.writeConnectionSecretToRef.name"}"#
)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
pub struct CloudDatabaseClaimSpec {
    /// Which server.
    #[serde(default)]
    pub parameters: CloudDatabaseParameters,
    /// Composition that makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub composition_ref: Option<LocalRef>,
    /// Secret that receives its connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_connection_secret_to_ref: Option<LocalRef>,
    /// What happens to it when the claim goes: `Delete` or `Orphan`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<String>,
}

/// Which server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudDatabaseParameters {
    /// Its kind.
    #[serde(rename = "type")]
    pub type_: String,
    /// Its least storage, such as `20GB`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_storage: Option<String>,
    /// Its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_version: Option<String>,
    /// Its region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
}

/// What the composition says of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudDatabaseClaimStatus {
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ForeignCondition>,
}
