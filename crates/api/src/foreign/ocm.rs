//! The Open Component Model's `ComponentSubscription`, which we only read.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ForeignCondition, LocalRef};

/// Which component is copied from where to where.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "delivery.ocm.software", version = "v1alpha1", kind = "ComponentSubscription", namespaced)]
#[kube(status = "ComponentSubscriptionStatus", shortname = "cs", derive = "PartialEq", derive = "Default")]
#[kube(doc = "A component that is copied from a delivery registry to one's own, version by version.")]
#[kube(
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#
)]
#[kube(printcolumn = r#"{"name":"Version","type":"string","jsonPath":".status.replicatedVersion"}"#)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
pub struct ComponentSubscriptionSpec {
    /// Name of the component.
    pub component: String,
    /// Which versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semver: Option<String>,
    /// Where it comes from.
    #[serde(default)]
    pub source: OcmRepository,
    /// Where it goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<OcmRepository>,
    /// How often is looked for a new version.
    #[serde(default)]
    pub interval: String,
    /// ServiceAccount whose Secrets open both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// Signatures that must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<Signature>,
}

/// A registry with components.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OcmRepository {
    /// Its address.
    pub url: String,
    /// Secret that opens it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalRef>,
}

/// A signature that must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Signature {
    /// Its name.
    pub name: String,
    /// Key that it is checked with.
    pub public_key: PublicKey,
}

/// A key that signatures are checked with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublicKey {
    /// Secret with the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalRef>,
}

/// What the replication controller says of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentSubscriptionStatus {
    /// Newest version that was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_version: Option<String>,
    /// Newest version that was copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicated_version: Option<String>,
    /// Registry that holds the copy.
    #[serde(rename = "replicatedRepositoryURL", skip_serializing_if = "Option::is_none")]
    pub replicated_repository_url: Option<String>,
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ForeignCondition>,
}
