//! `ProductDeployment`: a product as it is deployed, generated into a project's repository.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NamespacedRef, TargetType};
use crate::{
    conditions,
    names::{ObjectName, Span},
};

/// Which component, by which pipelines, to which targets.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "mpas.ocm.software", version = "v1alpha1", kind = "ProductDeployment", namespaced)]
#[kube(status = "ProductDeploymentStatus", shortname = "pd", category = "terrace", derive = "PartialEq")]
#[kube(doc = "A product as it is deployed: its component, the pipelines that make it fit, and its targets.")]
#[kube(printcolumn = r#"{"name":"Component","type":"string","jsonPath":".spec.component.name"}"#)]
#[kube(printcolumn = r#"{"name":"Version","type":"string","jsonPath":".spec.component.version"}"#)]
#[kube(
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#
)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
pub struct ProductDeploymentSpec {
    /// The component.
    pub component: Component,
    /// The steps that each part of it goes through.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    #[schemars(length(max = 64))]
    pub pipelines: Vec<Pipeline>,
    /// Targets that the project offered when this was generated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(length(max = 256))]
    pub targets: Vec<NamespacedRef>,
    /// ServiceAccount that it is deployed as. Default: the project's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<ObjectName>,
    /// How often it is looked at again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,
    /// Schema of its values, base64 of a CUE or JSON schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1_048_576), extend("format" = "byte"))]
    pub schema: Option<String>,
    /// File with its values, beside this manifest in the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values_file: Option<ValuesFile>,
}

/// A version of a component in a registry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its version.
    #[schemars(length(min = 1, max = 128))]
    pub version: String,
    /// Registry that holds it.
    pub registry: ComponentRegistry,
}

/// A registry that holds a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentRegistry {
    /// Its address.
    #[schemars(length(min = 1, max = 2048))]
    pub url: String,
}

/// The steps that one part of a product goes through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pipeline {
    /// Its name.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// What is deployed.
    pub resource: ResourceReference,
    /// Rules that put in the addresses of the project's registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub localization: Option<ResourceReference>,
    /// Rules that put in the values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<PipelineConfiguration>,
    /// Rules that the values must obey.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<ResourceReference>,
    /// Where to.
    pub target_role: TargetRole,
}

/// A resource of a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceReference {
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its version. Default: the component's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub version: Option<String>,
    /// What tells it from others of its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_identity: BTreeMap<String, String>,
    /// Components to go through, from the first one to the one that holds it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(length(max = 32))]
    pub reference_path: Vec<BTreeMap<String, String>>,
}

/// How values are put in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PipelineConfiguration {
    /// The rules.
    pub rules: ResourceReference,
}

/// Which targets a part goes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetRole {
    /// Of which type.
    #[serde(rename = "type")]
    pub type_: TargetType,
    /// With which labels.
    #[schemars(schema_with = "super::reference::selector")]
    pub selector: LabelSelector,
}

/// A file with values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValuesFile {
    /// Its path in the repository.
    #[schemars(length(min = 1, max = 1024))]
    pub path: String,
}

/// How far the deployment is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProductDeploymentStatus {
    /// Pipelines that are still running.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub active_pipelines: Vec<String>,
    /// Version that is deployed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployed_version: Option<String>,
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What it says of itself: `Ready`, `Reconciling`, `Stalled`, and what its kind adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
}
