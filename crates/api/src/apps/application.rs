//! `Application`: a program, from its source or its image to its address.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    conditions,
    names::{EnvName, HostName, ObjectName, SecretKey},
    rules::exclusive,
};

/// Port that a program listens on if its owner says nothing; buildpacks and most frameworks agree on it.
const DEFAULT_PORT: i32 = 8080;

/// What is to run, and how it is reached.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "iaf.io", version = "v1alpha1", kind = "Application", namespaced)]
#[kube(status = "ApplicationStatus", shortname = "app", category = "terrace", derive = "PartialEq")]
#[kube(doc = "A program: built from its source or taken as an image, run, and reachable under its host.")]
#[kube(scale(spec_replicas_path = ".spec.replicas", status_replicas_path = ".status.availableReplicas"))]
#[kube(printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#)]
#[kube(printcolumn = r#"{"name":"URL","type":"string","jsonPath":".status.url"}"#)]
#[kube(printcolumn = r#"{"name":"Image","type":"string","jsonPath":".status.latestImage"}"#)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[kube(validation = Rule::new("size(self.metadata.name) <= 63").message("the name becomes that of a Service and a label, so it has at most 63 characters"))]
#[x_kube(validation = Rule::new("has(self.image) || has(self.git) || has(self.blob)").message("one of image, git and blob must say where the program comes from"))]
#[x_kube(validation = exclusive("image", "git"))]
#[x_kube(validation = exclusive("image", "blob"))]
#[x_kube(validation = exclusive("git", "blob"))]
pub struct ApplicationSpec {
    /// Image to run as it is. Excludes `git` and `blob`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub image: Option<String>,
    /// Repository to build from. Excludes `image` and `blob`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<GitSource>,
    /// URL of an archive to build from; the `push_code` tool writes it. Excludes `image` and `git`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048), regex(pattern = r"^[a-z][a-z0-9+.-]*://.+$"))]
    pub blob: Option<String>,
    /// Port that the program listens on. It is told in the variable `PORT`.
    #[serde(default = "default_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// How many copies run. 0 stops the program and keeps everything else.
    #[serde(default = "default_replicas")]
    #[schemars(range(min = 0, max = 1000))]
    pub replicas: i32,
    /// Variables of its environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    #[schemars(length(max = 256))]
    pub env: Vec<EnvVar>,
    /// Host under which it is reached. Default: its name under the platform's base domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostName>,
    /// Whether it is reached over HTTPS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Data sources whose credentials it gets; the `attach_data_source` tool writes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["dataSourceName"]))]
    #[schemars(length(max = 64))]
    pub attached_data_sources: Vec<AttachedDataSource>,
    /// Managed services whose credentials it gets, as if the six variables were listed in `env`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["serviceName"]))]
    #[schemars(length(max = 64))]
    pub bound_managed_services: Vec<BoundManagedService>,
}

fn default_port() -> i32 {
    DEFAULT_PORT
}

fn default_replicas() -> i32 {
    1
}

/// A git repository to build from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitSource {
    /// Address of the repository, by https or ssh.
    #[schemars(length(min = 1, max = 2048))]
    pub url: String,
    /// Branch, tag or commit.
    #[serde(default = "main_branch")]
    #[schemars(length(min = 1, max = 256))]
    pub revision: String,
}

fn main_branch() -> String {
    "main".into()
}

/// One variable: a value, or a key of a Secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = exclusive("value", "secretKeyRef"))]
pub struct EnvVar {
    /// Its name.
    pub name: EnvName,
    /// Its value, as it stands. Excludes `secretKeyRef`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 131_072))]
    pub value: Option<String>,
    /// Where its value is read from when the program starts. Excludes `value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SecretKeyRef>,
}

/// A key of a Secret in the application's namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKeyRef {
    /// Name of the Secret.
    pub name: ObjectName,
    /// Key in its data.
    pub key: SecretKey,
}

/// How the application's host is protected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tls {
    /// HTTPS with a certificate of the platform's issuer.
    #[serde(default = "tls_enabled")]
    pub enabled: bool,
}

fn tls_enabled() -> bool {
    true
}

/// A data source, and the copy of its credentials in the application's namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttachedDataSource {
    /// Name of the `DataSource`.
    pub data_source_name: ObjectName,
    /// Name of the Secret with the copied credentials.
    pub secret_name: ObjectName,
}

/// A managed service, and its connection Secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoundManagedService {
    /// Name of the `ManagedService`.
    pub service_name: ObjectName,
    /// Name of its connection Secret.
    pub secret_name: ObjectName,
}

/// How far the application is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationStatus {
    /// How far it is, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<ApplicationPhase>,
    /// Where it is reached, as soon as that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Image that runs, or is about to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_image: Option<String>,
    /// What the last build came to, in the builder's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_status: Option<String>,
    /// Copies that take requests.
    #[serde(default)]
    pub available_replicas: i32,
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What it says of itself: `Ready`, `Reconciling`, `Stalled`, and what its kind adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
}

/// How far an application is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ApplicationPhase {
    /// Nobody has looked at it yet.
    #[default]
    Pending,
    /// Its image is being built.
    Building,
    /// The image is known and its pods are coming up; the URL is set and may not answer yet.
    Deploying,
    /// At least one copy takes requests.
    Running,
    /// The build failed, or the pods have been dying for too long.
    Failed,
}
