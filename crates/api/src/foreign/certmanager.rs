//! cert-manager's `Certificate`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ForeignCondition;

/// What is asked of cert-manager.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "cert-manager.io", version = "v1", kind = "Certificate", namespaced)]
#[kube(status = "CertificateStatus", derive = "PartialEq", derive = "Default")]
#[kube(shortname = "cert", shortname = "certs")]
#[kube(doc = "A certificate, as cert-manager issues and renews it.")]
#[kube(
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#
)]
#[kube(printcolumn = r#"{"name":"Secret","type":"string","jsonPath":".spec.secretName"}"#)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
pub struct CertificateSpec {
    /// Secret that receives it.
    pub secret_name: String,
    /// Who issues it.
    #[serde(default)]
    pub issuer_ref: IssuerRef,
    /// Hosts that it is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_names: Vec<String>,
    /// Name of its subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub common_name: Option<String>,
    /// How long it is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,
    /// How long before its end it is renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renew_before: Option<String>,
}

/// Who issues a certificate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IssuerRef {
    /// Its name.
    pub name: String,
    /// `Issuer` or `ClusterIssuer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its group, where it is not cert-manager's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// What cert-manager says of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CertificateStatus {
    /// From when it is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Time>,
    /// Until when it is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_after: Option<Time>,
    /// When it is renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewal_time: Option<Time>,
    /// How often it was issued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ForeignCondition>,
}
