//! `ProjectSubscriptionBinding` and `ProjectTargetBinding`: what a project delivers, and where to.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LocalRef, NamespacedRef};
use crate::{
    conditions,
    names::{Label, ObjectName},
    rules::unchanging,
};

/// Which subscription a project delivers.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "mpas.ocm.software", version = "v1alpha1", kind = "ProjectSubscriptionBinding", namespaced)]
#[kube(
    status = "ProjectSubscriptionBindingStatus",
    shortname = "psb",
    category = "terrace",
    derive = "PartialEq"
)]
#[kube(doc = "Ties a subscription to a project: its product is generated into the project's repository.")]
#[kube(printcolumn = r#"{"name":"Project","type":"string","jsonPath":".spec.projectRef.name"}"#)]
#[kube(printcolumn = r#"{"name":"Subscription","type":"string","jsonPath":".spec.subscriptionRef.name"}"#)]
#[kube(printcolumn = r#"{"name":"Version","type":"string","jsonPath":".status.version"}"#)]
#[kube(
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#
)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
pub struct ProjectSubscriptionBindingSpec {
    /// The project.
    #[x_kube(validation = unchanging("projectRef is immutable: make a new binding"))]
    pub project_ref: SubscribingProjectRef,
    /// The `ComponentSubscription`.
    #[x_kube(validation = unchanging("subscriptionRef is immutable: make a new binding"))]
    pub subscription_ref: NamespacedRef,
}

/// A project, and which of its repositories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscribingProjectRef {
    /// Its name.
    pub name: ObjectName,
    /// Its namespace. Default: the binding's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Label>,
    /// Repository to use, where the project has several. Default: its first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<LocalRef>,
}

/// How far the delivery is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectSubscriptionBindingStatus {
    /// Component that the subscription names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// Version that was generated last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Branch that the product was committed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Address of the pull request, where one was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "pullRequestURL")]
    pub pull_request_url: Option<String>,
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What it says of itself: `Ready`, `Reconciling`, `Stalled`, and what its kind adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
}

/// Which target a project delivers to.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "mpas.ocm.software", version = "v1alpha1", kind = "ProjectTargetBinding", namespaced)]
#[kube(status = "ProjectTargetBindingStatus", shortname = "ptb", category = "terrace", derive = "PartialEq")]
#[kube(doc = "Ties a target to a project: the project's products are deployed there.")]
#[kube(printcolumn = r#"{"name":"Project","type":"string","jsonPath":".spec.projectRef.name"}"#)]
#[kube(printcolumn = r#"{"name":"Target","type":"string","jsonPath":".spec.targetRef.name"}"#)]
#[kube(
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#
)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
pub struct ProjectTargetBindingSpec {
    /// The project.
    pub project_ref: TargetingProjectRef,
    /// The `Target`.
    #[x_kube(validation = unchanging("targetRef is immutable: make a new binding"))]
    pub target_ref: NamespacedRef,
}

/// A project, and which of its products stay away from the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetingProjectRef {
    /// Its name.
    pub name: ObjectName,
    /// Its namespace. Default: the binding's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Label>,
    /// Products that are not deployed to this target: patterns as in `.gitignore`, with `*` and `!`; the last match wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(length(max = 256), inner(length(min = 1, max = 256)))]
    pub ignore_products: Vec<String>,
}

/// How the binding stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectTargetBindingStatus {
    /// Products that are deployed to the target, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub products: Vec<String>,
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What it says of itself: `Ready`, `Reconciling`, `Stalled`, and what its kind adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
}
