//! `Project`: a team's namespace, repositories and registries.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::LimitRangeItem,
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::Condition},
};
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{
    CommitTemplate, Credentials, ExistingRepositoryPolicy, GitProvider, RepositoryDeletionPolicy, Visibility,
    reference::{main_branch, yes},
};
use crate::{
    conditions,
    names::{Label, ObjectName, Span},
    rules::{frozen, unchanging},
};

/// Keeps a project until all that was made for it is gone.
pub const PROJECT_FINALIZER: &str = "finalizers.mpas.ocm.software";

/// What the team gets.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "mpas.ocm.software", version = "v1alpha1", kind = "Project", namespaced)]
#[kube(status = "ProjectStatus", shortname = "prj", category = "terrace", derive = "PartialEq")]
#[kube(
    doc = "A team's place: a namespace with its own ServiceAccount, git repositories that are applied to it, and registries."
)]
#[kube(
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#
)]
#[kube(
    printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].message"}"#
)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[kube(validation = Rule::new("size(self.metadata.name) <= 50").message("the name becomes part of a namespace's name, so it has at most 50 characters"))]
pub struct ProjectSpec {
    /// Its git repositories.
    pub git: ProjectGit,
    /// Registries that it may use. They must exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oci: Option<ProjectOci>,
    /// How its repositories are applied.
    #[serde(default)]
    pub flux: ProjectFlux,
    /// Whether what leaves the spec leaves the world.
    #[serde(default = "yes")]
    pub prune: bool,
    /// How often the project is looked at again.
    #[serde(default = "five_minutes")]
    pub interval: Span,
    /// What the project's namespace may use in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<ProjectQuota>,
    /// What each thing in the project's namespace may use, by its type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "limits")]
    pub limits: Vec<LimitRangeItem>,
}

/// Where the project's repositories are, and how they are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.org) || has(self.owner)").message("org or owner must say whose the repositories are"))]
#[x_kube(validation = Rule::new("!has(self.org) || !has(self.owner) || self.org == self.owner").message("org and owner mean the same: set one of them, or both alike"))]
#[x_kube(validation = Rule::new("has(self.credentials) || self.provider == 'local'").message("credentials must name the Secret with the provider's token; only the provider `local` needs none"))]
#[x_kube(validation = frozen("org"))]
#[x_kube(validation = frozen("owner"))]
#[x_kube(validation = frozen("domain"))]
pub struct ProjectGit {
    /// Who hosts them.
    #[x_kube(validation = unchanging("provider is immutable: the repositories would stay behind; make a new project"))]
    pub provider: GitProvider,
    /// Organization or person whose they are. Means the same as `owner`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub org: Option<String>,
    /// Organization or person whose they are. Means the same as `org`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub owner: Option<String>,
    /// Whether the owner is an organization.
    #[serde(default = "yes")]
    pub is_organization: bool,
    /// The repositories. Default: one, named after the project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    #[schemars(length(max = 64))]
    pub repositories: Vec<ProjectRepository>,
    /// Name of the repository, where there is one that is not named after the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository_name: Option<String>,
    /// Credentials for the provider's API. Only `local` needs none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
    /// Who can see them.
    #[serde(default)]
    pub visibility: Visibility,
    /// Their main branch.
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
    /// Maintainers of every repository, beside its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::reference::maintainers")]
    pub maintainers: Vec<String>,
    /// What to do if a repository exists already.
    #[serde(default)]
    pub existing_repository_policy: ExistingRepositoryPolicy,
    /// Author and message of commits. Default: the platform's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_template: Option<CommitTemplate>,
    /// How often repositories are looked at again. Default: the project's interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,
    /// What happens to the repositories when the project is deleted.
    #[serde(default)]
    pub deletion_policy: RepositoryDeletionPolicy,
}

/// One repository of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectRepository {
    /// Its name at the provider.
    #[schemars(length(min = 1, max = 100), regex(pattern = "^[A-Za-z0-9._-]+$"))]
    pub name: String,
    /// People who answer for it; they become its CODEOWNERS.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::reference::maintainers")]
    pub maintainers: Vec<String>,
}

/// Registries of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectOci {
    /// The registries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    #[schemars(length(max = 64))]
    pub registries: Vec<ProjectRegistry>,
}

/// One registry of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectRegistry {
    /// Its name. The `OCIRegistry` is called `<project>-<name>`, or as the project where the two are the same.
    pub name: ObjectName,
    /// Its address.
    #[schemars(length(min = 1, max = 2048))]
    pub url: String,
    /// How to log in to it. Default: without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
}

/// How a project's repositories are applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectFlux {
    /// How often.
    #[serde(default = "five_minutes")]
    pub interval: Span,
}

impl Default for ProjectFlux {
    fn default() -> Self {
        Self { interval: five_minutes() }
    }
}

fn five_minutes() -> Span {
    "5m".parse().expect("`5m` is a time span")
}

/// What a project's namespace may use in all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectQuota {
    /// Most of each resource, as in a ResourceQuota: `requests.cpu`, `limits.memory`, `count/secrets`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hard: BTreeMap<String, Quantity>,
}

/// One entry per type, as in a LimitRange.
fn limits(_: &mut SchemaGenerator) -> Schema {
    let amounts = |description: &str| {
        json_schema!({
            "type": "object",
            "description": description,
            "additionalProperties": { "x-kubernetes-int-or-string": true },
        })
    };
    json_schema!({
        "type": "array",
        "maxItems": 8,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type"],
            "properties": {
                "type": {
                    "type": "string",
                    "description": "What is limited.",
                    "enum": ["Container", "Pod", "PersistentVolumeClaim"],
                },
                "max": amounts("Most that it may ask for, by resource."),
                "min": amounts("Least that it may ask for, by resource."),
                "default": amounts("Limit of a container that names none, by resource."),
                "defaultRequest": amounts("Request of a container that names none, by resource."),
                "maxLimitRequestRatio": amounts("How far limit and request may lie apart, by resource."),
            },
        },
    })
}

/// How far the project is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectStatus {
    /// Its subscription bindings, as `namespace/name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub subscriptions: Vec<String>,
    /// Its target bindings, as `namespace/name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub targets: Vec<String>,
    /// ServiceAccount that everything of the project runs as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// Its first repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository_ref: Option<RepositoryRef>,
    /// Everything that was made for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What it says of itself: `Ready`, `Reconciling`, `Stalled`, and what its kind adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
}

/// A `Repository` that was made for a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepositoryRef {
    /// Its name.
    pub name: ObjectName,
    /// Its namespace.
    pub namespace: Label,
}

/// Objects that were made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// The objects.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["id"]))]
    pub entries: Vec<InventoryEntry>,
}

/// An object that was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InventoryEntry {
    /// Which object: `<namespace>_<name>_<group>_<kind>`.
    pub id: String,
    /// Version of its API.
    pub v: String,
}
