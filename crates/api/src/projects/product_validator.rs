//! `ProductValidator`: checks a pull request that changes a product.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Component, NamespacedRef, ResourceReference};
use crate::{
    conditions,
    names::{ObjectName, Span},
};

/// Which pull request, and by which rules.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "mpas.ocm.software", version = "v1alpha1", kind = "ProductValidator", namespaced)]
#[kube(status = "ProductValidatorStatus", shortname = "pv", category = "terrace", derive = "PartialEq")]
#[kube(doc = "Checks a pull request that changes a product's values, and marks it with a commit status.")]
#[kube(printcolumn = r#"{"name":"PullRequest","type":"integer","jsonPath":".spec.pullRequest"}"#)]
#[kube(printcolumn = r#"{"name":"Outcome","type":"string","jsonPath":".status.lastValidatedDigestOutcome"}"#)]
#[kube(
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#
)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
pub struct ProductValidatorSpec {
    /// The `Repository` that the pull request is in.
    pub repository_ref: NamespacedRef,
    /// Number of the pull request at the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub pull_request: Option<i64>,
    /// Branch to check, where no pull request was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub branch: Option<String>,
    /// Path of the file with the values.
    #[schemars(length(min = 1, max = 1024))]
    pub values_path: String,
    /// The component whose rules apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component: Option<Component>,
    /// The rules, among the component's resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(length(max = 64))]
    pub rules: Vec<ResourceReference>,
    /// Schema of the values, base64 of a CUE or JSON schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1_048_576), extend("format" = "byte"))]
    pub schema: Option<String>,
    /// ServiceAccount that the registry is read as. Default: the project's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<ObjectName>,
    /// How often the pull request is looked at again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,
}

/// What the check came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProductValidatorStatus {
    /// Digest of the values that were checked last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_validated_digest: Option<String>,
    /// What that check came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_validated_digest_outcome: Option<ValidationOutcome>,
    /// Commit that was marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_validated_commit: Option<String>,
    /// When it was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_validated_at: Option<Time>,
    /// What is wrong with the values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub violations: Vec<String>,
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What it says of itself: `Ready`, `Reconciling`, `Stalled`, and what its kind adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
}

/// What a check came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ValidationOutcome {
    /// The values obey the rules.
    Success,
    /// They do not.
    Failed,
}
