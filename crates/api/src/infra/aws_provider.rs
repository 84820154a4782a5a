//! `AWSProvider`: an account, a region, and how to log in.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SecretKeySelector, Tags};
use crate::{
    conditions,
    names::{Label, ObjectName},
    rules::exclusive,
};

/// Keeps a provider until no resource needs it to be deleted.
pub const AWS_PROVIDER_FINALIZER: &str = "aws-infra-operator.runner.codes/awsprovider-finalizer";

/// Where to log in, and as whom.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "aws-infra-operator.runner.codes", version = "v1alpha1", kind = "AWSProvider", namespaced)]
#[kube(status = "AWSProviderStatus", shortname = "awsp", category = "terrace", derive = "PartialEq")]
#[kube(doc = "An AWS account and region, and the credentials that resources there are made with.")]
#[kube(printcolumn = r#"{"name":"Region","type":"string","jsonPath":".spec.region"}"#)]
#[kube(printcolumn = r#"{"name":"Ready","type":"boolean","jsonPath":".status.ready"}"#)]
#[kube(printcolumn = r#"{"name":"Account","type":"string","jsonPath":".status.accountID"}"#)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[x_kube(validation = Rule::new("has(self.accessKeyIDRef) == has(self.secretAccessKeyRef)").message("accessKeyIDRef and secretAccessKeyRef belong together: set both or neither"))]
#[x_kube(validation = exclusive("credentialsSecret", "accessKeyIDRef"))]
#[x_kube(validation = exclusive("roleARN", "credentialsSecret"))]
#[x_kube(validation = exclusive("roleARN", "accessKeyIDRef"))]
#[x_kube(validation = Rule::new("!has(self.externalID) || has(self.assumeRoleARN)").message("externalID is told to the role in assumeRoleARN, which is not set"))]
pub struct AWSProviderSpec {
    /// Region, such as `eu-central-1`.
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z0-9-]+$"))]
    pub region: String,
    /// Address to call instead of AWS: an emulator's, or `local` for this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), regex(pattern = r"^(local|https?://.+)?$"))]
    pub endpoint: Option<String>,
    /// Role to log in as with the pod's own web identity (IRSA).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "roleARN")]
    #[schemars(length(max = 2048), regex(pattern = r"^arn:[a-z-]+:iam::[0-9]{12}:role/.+$"))]
    pub role_arn: Option<String>,
    /// Secret with the keys `accessKeyID` and `secretAccessKey`, and perhaps `sessionToken`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_secret: Option<CredentialsSecretRef>,
    /// Key of a Secret that holds the access key's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "accessKeyIDRef")]
    pub access_key_id_ref: Option<SecretKeySelector>,
    /// Key of a Secret that holds the access key itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_access_key_ref: Option<SecretKeySelector>,
    /// Role, perhaps of another account, to take on after logging in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "assumeRoleARN")]
    #[schemars(length(max = 2048), regex(pattern = r"^arn:[a-z-]+:iam::[0-9]{12}:role/.+$"))]
    pub assume_role_arn: Option<String>,
    /// What that role wants to be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "externalID")]
    #[schemars(length(min = 2, max = 1224))]
    pub external_id: Option<String>,
    /// Tags of every resource made with this provider; a resource's own win.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    #[schemars(schema_with = "super::reference::tags")]
    pub default_tags: Tags,
}

/// A Secret with credentials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CredentialsSecretRef {
    /// Its name.
    pub name: ObjectName,
    /// Its namespace. Default: the provider's own; any other must have agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Label>,
}

/// Whether logging in works.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AWSProviderStatus {
    /// Whether the credentials work.
    #[serde(default)]
    pub ready: bool,
    /// Account that they belong to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "accountID")]
    pub account_id: Option<String>,
    /// ARN of the identity that they prove.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller_identity: Option<String>,
    /// When they last worked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_authentication_time: Option<Time>,
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What it says of itself: `Ready`, `Reconciling`, `Stalled`, and what its kind adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
}
