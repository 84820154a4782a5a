//! `OCIRegistry`: a registry that a project may use.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Credentials;
use crate::conditions;

/// Where the registry is.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "mpas.ocm.software", version = "v1alpha1", kind = "OCIRegistry", namespaced)]
#[kube(status = "OCIRegistryStatus", shortname = "ocireg", category = "terrace", derive = "PartialEq")]
#[kube(doc = "A registry for images and components. It exists already; Terrace checks that it can be used.")]
#[kube(printcolumn = r#"{"name":"URL","type":"string","jsonPath":".spec.url"}"#)]
#[kube(
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#
)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
pub struct OCIRegistrySpec {
    /// Its address.
    #[schemars(length(min = 1, max = 2048))]
    pub url: String,
    /// How to log in to it. Default: without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
    /// Whether it may be spoken to without TLS.
    #[serde(default)]
    pub insecure: bool,
}

/// Whether the registry can be used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OCIRegistryStatus {
    /// When it was last tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_checked_at: Option<Time>,
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What it says of itself: `Ready`, `Reconciling`, `Stalled`, and what its kind adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
}
