//! `Target`: a place that products are deployed to.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    conditions,
    names::{ObjectName, Span},
};

/// What kind of place, and how to get in.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "mpas.ocm.software", version = "v1alpha1", kind = "Target", namespaced)]
#[kube(status = "TargetStatus", category = "terrace", derive = "PartialEq")]
#[kube(doc = "A place that products are deployed to. It exists already; Terrace only needs to get in.")]
#[kube(printcolumn = r#"{"name":"Type","type":"string","jsonPath":".spec.type"}"#)]
#[kube(
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#
)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
pub struct TargetSpec {
    /// What kind of place it is.
    #[serde(rename = "type")]
    pub type_: TargetType,
    /// How to get in, in the words of its type: `targetNamespace` and perhaps `secretRef` for `kubernetes`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "access")]
    pub access: BTreeMap<String, Value>,
    /// How often it is looked at again.
    #[serde(default = "five_minutes")]
    pub interval: Span,
    /// ServiceAccount to make at the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<ObjectName>,
    /// Secrets, by their labels, that become that account's pull secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::reference::selector")]
    pub selector: Option<LabelSelector>,
}

fn access(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

fn five_minutes() -> Span {
    "5m".parse().expect("`5m` is a time span")
}

/// The kinds of place there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TargetType {
    /// A namespace of a cluster.
    Kubernetes,
    /// A machine, by ssh.
    Ssh,
    /// A repository in a registry.
    OciRepository,
}

/// Whether the target can be reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetStatus {
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What it says of itself: `Ready`, `Reconciling`, `Stalled`, and what its kind adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
}
