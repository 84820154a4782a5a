//! `Repository`: a git repository at a provider.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    CommitTemplate, Credentials, ExistingRepositoryPolicy, GitProvider, RepositoryDeletionPolicy, Visibility,
    reference::{main_branch, yes},
};
use crate::{
    conditions,
    names::{ObjectName, Span},
    rules::{frozen, unchanging},
};

/// Keeps a repository's object until its deploy key is gone.
pub const REPOSITORY_FINALIZER: &str = "mpas.ocm.software/repository-finalizer";

/// Which repository, and how it is made.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "mpas.ocm.software", version = "v1alpha1", kind = "Repository", namespaced)]
#[kube(status = "RepositoryStatus", shortname = "repo", category = "terrace", derive = "PartialEq")]
#[kube(doc = "A git repository at a provider: made or adopted, laid out, with maintainers and a deploy key.")]
#[kube(printcolumn = r#"{"name":"URL","type":"string","jsonPath":".status.url"}"#)]
#[kube(
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#
)]
#[kube(
    printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].message","priority":1}"#
)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[x_kube(validation = Rule::new("has(self.org) || has(self.owner)").message("org or owner must say whose the repository is"))]
#[x_kube(validation = Rule::new("!has(self.org) || !has(self.owner) || self.org == self.owner").message("org and owner mean the same: set one of them, or both alike"))]
#[x_kube(validation = Rule::new("has(self.name) || has(self.repositoryName)").message("name or repositoryName must name the repository"))]
#[x_kube(validation = Rule::new("!has(self.name) || !has(self.repositoryName) || self.name == self.repositoryName").message("name and repositoryName mean the same: set one of them, or both alike"))]
#[x_kube(validation = Rule::new("has(self.credentials) || self.provider == 'local'").message("credentials must name the Secret with the provider's token; only the provider `local` needs none"))]
#[x_kube(validation = frozen("org"))]
#[x_kube(validation = frozen("owner"))]
#[x_kube(validation = frozen("domain"))]
#[x_kube(validation = frozen("name"))]
#[x_kube(validation = frozen("repositoryName"))]
pub struct RepositorySpec {
    /// Who hosts it.
    #[x_kube(validation = unchanging("provider is immutable: make a new repository"))]
    pub provider: GitProvider,
    /// Organization or person whose it is. Means the same as `owner`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub org: Option<String>,
    /// Organization or person whose it is. Means the same as `org`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub owner: Option<String>,
    /// Whether the owner is an organization.
    #[serde(default = "yes")]
    pub is_organization: bool,
    /// Its name at the provider. Means the same as `repositoryName`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100), regex(pattern = "^[A-Za-z0-9._-]+$"))]
    pub name: Option<String>,
    /// Its name at the provider. Means the same as `name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100), regex(pattern = "^[A-Za-z0-9._-]+$"))]
    pub repository_name: Option<String>,
    /// People who answer for it; they become its CODEOWNERS.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::reference::maintainers")]
    pub maintainers: Vec<String>,
    /// Credentials for the provider's API. Only `local` needs none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
    /// Whether a pull request is opened for each generated branch.
    #[serde(default = "yes")]
    pub automatic_pull_request_creation: bool,
    /// Who can see it.
    #[serde(default)]
    pub visibility: Visibility,
    /// Its main branch.
    #[serde(default = "main_branch")]
    #[schemars(length(min = 1, max = 256))]
    pub default_branch: String,
    /// Address of the provider, where it is not the public one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub domain: Option<String>,
    /// Whether the provider may be spoken to without TLS.
    #[serde(default)]
    pub insecure: bool,
    /// What to do if it exists already.
    #[serde(default)]
    pub existing_repository_policy: ExistingRepositoryPolicy,
    /// Author and message of commits. Default: the platform's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_template: Option<CommitTemplate>,
    /// How often it is looked at again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,
    /// What happens to it when this object is deleted.
    #[serde(default)]
    pub deletion_policy: RepositoryDeletionPolicy,
}

/// How the repository stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepositoryStatus {
    /// Where people clone it from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Where programs with the deploy key fetch it from. Default: `url`.
    #[serde(rename = "deployURL", skip_serializing_if = "Option::is_none")]
    pub deploy_url: Option<String>,
    /// Its main branch, as the host has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_branch: Option<String>,
    /// Whether it was there before us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adopted: Option<bool>,
    /// The key that the cluster reads and writes it with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deploy_key: Option<DeployKey>,
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What it says of itself: `Ready`, `Reconciling`, `Stalled`, and what its kind adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
}

/// A deploy key. Its private half is in the Secret alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeployKey {
    /// Secret with the private key.
    pub secret_name: ObjectName,
    /// Fingerprint of the public key.
    pub fingerprint: String,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Time>,
}
