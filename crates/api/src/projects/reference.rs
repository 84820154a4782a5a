//! What several kinds of a project share: references, credentials, git settings.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::names::{Label, ObjectName};

/// An object in the same namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalRef {
    /// Its name.
    pub name: ObjectName,
}

/// An object, perhaps in another namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamespacedRef {
    /// Its name.
    pub name: ObjectName,
    /// Its namespace. Default: that of the object which refers to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Label>,
}

/// How to log in to a git provider or a registry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Credentials {
    /// Secret with the credentials, in the object's namespace.
    pub secret_ref: LocalRef,
}

/// Who hosts git repositories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GitProvider {
    /// GitHub, or GitHub Enterprise under its domain.
    Github,
    /// GitLab, or one of one's own under its domain.
    Gitlab,
    /// Gitea or Forgejo.
    Gitea,
    /// Terrace itself, on this machine.
    Local,
}

/// Who can see a repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Everyone.
    Public,
    /// Those who were invited.
    #[default]
    Private,
    /// Everyone in the organization.
    Internal,
}

/// What to do if the repository exists already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExistingRepositoryPolicy {
    /// Use it, and leave alone what is in it.
    #[default]
    Adopt,
    /// Stop, and say so.
    Fail,
}

/// What happens to a repository when its object is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RepositoryDeletionPolicy {
    /// It is kept.
    #[default]
    Retain,
    /// It is deleted at the provider, for ever.
    Delete,
}

/// Author and message of commits that Terrace makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommitTemplate {
    /// Name of the author.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
    /// Address of the author.
    #[schemars(length(min = 1, max = 256))]
    pub email: String,
    /// Message of the commit.
    #[schemars(length(min = 1, max = 4096))]
    pub message: String,
}

/// People who answer for a repository, as the provider names them.
pub(super) fn maintainers(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 100,
        "x-kubernetes-list-type": "set",
        "items": { "type": "string", "minLength": 1, "maxLength": 256 },
    })
}

/// A label selector, as Kubernetes has it everywhere.
pub(super) fn selector(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "matchLabels": {
                "type": "object",
                "description": "Labels that must have these values.",
                "additionalProperties": { "type": "string" },
            },
            "matchExpressions": {
                "type": "array",
                "description": "Conditions that must all hold.",
                "x-kubernetes-list-type": "atomic",
                "items": {
                    "type": "object",
                    "required": ["key", "operator"],
                    "properties": {
                        "key": { "type": "string", "description": "Label that the condition speaks of." },
                        "operator": {
                            "type": "string",
                            "description": "How the label is compared.",
                            "enum": ["In", "NotIn", "Exists", "DoesNotExist"],
                        },
                        "values": {
                            "type": "array",
                            "description": "Values that it is compared with, for `In` and `NotIn`.",
                            "x-kubernetes-list-type": "atomic",
                            "items": { "type": "string" },
                        },
                    },
                },
            },
        },
    })
}

pub(super) fn main_branch() -> String {
    "main".into()
}

pub(super) fn yes() -> bool {
    true
}
