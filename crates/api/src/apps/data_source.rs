//! `DataSource`: data that the platform's operators offer to applications.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::{
    conditions,
    names::{EnvName, Label, ObjectName, SecretKey},
};

/// What is offered, and which Secret opens it.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "iaf.io", version = "v1alpha1", kind = "DataSource")]
#[kube(status = "DataSourceStatus", shortname = "ds", category = "terrace", derive = "PartialEq")]
#[kube(
    doc = "Data that the platform's operators offer: agents find it by name and tags, and attach it to applications."
)]
#[kube(printcolumn = r#"{"name":"Kind","type":"string","jsonPath":".spec.kind"}"#)]
#[kube(printcolumn = r#"{"name":"Description","type":"string","jsonPath":".spec.description"}"#)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
pub struct DataSourceSpec {
    /// What it is: `postgres`, `mysql`, `s3`, `http-api`, `kafka`, or any other word.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// What is in it, for people and agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub description: Option<String>,
    /// How it is laid out: its tables, endpoints or topics, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65_536))]
    pub schema: Option<String>,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    #[schemars(length(max = 64), inner(length(min = 1, max = 63)))]
    pub tags: Vec<String>,
    /// Secret with its credentials.
    pub secret_ref: DataSourceSecretRef,
    /// Which variable of the application gets which key of the Secret: key of the Secret first, variable second.
    #[schemars(schema_with = "mapping")]
    pub env_var_mapping: BTreeMap<SecretKey, EnvName>,
}

fn mapping(generator: &mut SchemaGenerator) -> Schema {
    let variable = generator.subschema_for::<EnvName>();
    json_schema!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": 64,
        "additionalProperties": variable,
    })
}

/// The Secret that opens a data source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DataSourceSecretRef {
    /// Name of the Secret.
    pub name: ObjectName,
    /// Its namespace; only operators can read there.
    pub namespace: Label,
}

/// Whether the data source can be attached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DataSourceStatus {
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What it says of itself: `Ready`, `Reconciling`, `Stalled`, and what its kind adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
}
