//! Flux's `GitRepository` and `Kustomization`: what is fetched, and what of it is applied.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ForeignCondition, LocalRef};

/// What is asked of Flux's source controller.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "source.toolkit.fluxcd.io", version = "v1", kind = "GitRepository", namespaced)]
#[kube(status = "GitRepositoryStatus", shortname = "gitrepo", derive = "PartialEq", derive = "Default")]
#[kube(doc = "A git repository, as Flux fetches it.")]
#[kube(printcolumn = r#"{"name":"URL","type":"string","jsonPath":".spec.url"}"#)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[kube(
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#
)]
#[kube(
    printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].message"}"#
)]
pub struct GitRepositorySpec {
    /// Its address.
    pub url: String,
    /// How often it is fetched.
    pub interval: String,
    /// Which branch, tag or commit.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<GitReference>,
    /// Secret with the credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalRef>,
    /// Whether it rests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// How long a fetch may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// What of it is left out, as in `.gitignore`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore: Option<String>,
}

/// A branch, tag or commit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitReference {
    /// A branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// A tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// The newest tag in a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semver: Option<String>,
    /// A commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// A reference by its full name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// What Flux says of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitRepositoryStatus {
    /// What was fetched last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ForeignCondition>,
}

/// What was fetched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Path of it.
    pub path: String,
    /// Address of it.
    pub url: String,
    /// Commit that it is of, as `main@sha1:…`.
    pub revision: String,
    /// Digest of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// When it was fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
    /// Size of it in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
}

/// What is asked of Flux's kustomize controller.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "kustomize.toolkit.fluxcd.io", version = "v1", kind = "Kustomization", namespaced)]
#[kube(status = "KustomizationStatus", shortname = "ks", derive = "PartialEq", derive = "Default")]
#[kube(doc = "Manifests of a source, as Flux applies them.")]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[kube(
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#
)]
#[kube(
    printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].message"}"#
)]
pub struct KustomizationSpec {
    /// How often they are applied.
    pub interval: String,
    /// How soon after a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_interval: Option<String>,
    /// Where the manifests are.
    #[serde(default)]
    pub source_ref: SourceRef,
    /// Directory of the manifests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether what leaves the source leaves the cluster.
    #[serde(default)]
    pub prune: bool,
    /// Whether it waits until everything is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<bool>,
    /// ServiceAccount that they are applied as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// Namespace that everything is put into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_namespace: Option<String>,
    /// What must be ready first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Dependency>,
    /// Objects whose health counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub health_checks: Vec<HealthCheck>,
    /// Secret with the kubeconfig of another cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_config: Option<KubeConfig>,
    /// Whether it rests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// Whether objects that cannot be changed are made anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// How long applying may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}

/// A source of manifests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceRef {
    /// `GitRepository`, `OCIRepository` or `Bucket`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its namespace. Default: the kustomization's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// Another kustomization.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// Its name.
    pub name: String,
    /// Its namespace. Default: the kustomization's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// An object whose health counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthCheck {
    /// Its group and version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// Another cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeConfig {
    /// Secret with the kubeconfig.
    pub secret_ref: KubeConfigSecretRef,
}

/// A Secret with a kubeconfig.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeConfigSecretRef {
    /// Its name.
    pub name: String,
    /// Key in its data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// What Flux says of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KustomizationStatus {
    /// Commit that was applied last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_applied_revision: Option<String>,
    /// Commit that was tried last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_attempted_revision: Option<String>,
    /// Objects that were applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inventory: Option<KustomizationInventory>,
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ForeignCondition>,
}

/// Objects that were applied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KustomizationInventory {
    /// The objects.
    #[serde(default)]
    pub entries: Vec<KustomizationInventoryEntry>,
}

/// An object that was applied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KustomizationInventoryEntry {
    /// Which object: `<namespace>_<name>_<group>_<kind>`.
    pub id: String,
    /// Version of its API.
    pub v: String,
}
