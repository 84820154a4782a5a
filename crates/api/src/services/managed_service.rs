//! `ManagedService`: a database that the platform runs.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    conditions,
    names::{DatabaseName, ObjectName},
    rules::unchanging,
};

/// Keeps a service that applications still use from being deleted.
pub const MANAGED_SERVICE_FINALIZER: &str = "iaf.io/managed-service-protection";

/// The version of a service that names none, on a cluster.
pub const DEFAULT_VERSION: &str = "17";

/// Which service, and how large.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "iaf.io", version = "v1alpha1", kind = "ManagedService", namespaced)]
#[kube(status = "ManagedServiceStatus", shortname = "msvc", category = "terrace", derive = "PartialEq")]
#[kube(
    doc = "A database that the platform runs: applications are bound to it and get its credentials by reference."
)]
#[kube(printcolumn = r#"{"name":"Type","type":"string","jsonPath":".spec.type"}"#)]
#[kube(printcolumn = r#"{"name":"Plan","type":"string","jsonPath":".spec.plan"}"#)]
#[kube(printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[kube(validation = Rule::new("size(self.metadata.name) <= 50").message("the name becomes that of a database cluster, so it has at most 50 characters"))]
#[x_kube(validation = Rule::new("!has(oldSelf.version) || (has(self.version) && self.version == oldSelf.version)").message("version cannot be changed in place: provision a second service of the new version, copy the data, and bind the applications to it").field_path(".version"))]
pub struct ManagedServiceSpec {
    /// What it is.
    #[serde(rename = "type")]
    #[x_kube(validation = unchanging("type is immutable: provision another service"))]
    pub type_: ServiceType,
    /// How large it is. A larger plan resizes in place.
    #[serde(default)]
    #[x_kube(validation = Rule::new("!(oldSelf == 'ha' && self != 'ha') && !(oldSelf == 'small' && self == 'micro')").message("a smaller plan would shrink the storage, which cannot be done in place: provision a second service and copy the data"))]
    pub plan: ServicePlan,
    /// Its major version, such as `17`. On one machine the default is the newest that is found there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16), regex(pattern = r"^[0-9]+(\.[0-9]+)*$"))]
    #[schemars(extend("default" = DEFAULT_VERSION))]
    pub version: Option<String>,
    /// Database to create in it.
    #[serde(default = "default_database")]
    #[x_kube(validation = unchanging("database is immutable: the data would stay behind in the old one"))]
    pub database: DatabaseName,
}

fn default_database() -> DatabaseName {
    "app".parse().expect("`app` is a database name")
}

/// The services there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServiceType {
    /// PostgreSQL.
    Postgres,
}

/// The sizes there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServicePlan {
    /// One instance with 0.1 CPU, 256 MiB memory and 1 GiB storage; not for production.
    #[default]
    Micro,
    /// One instance with 0.5 CPU, 512 MiB memory and 5 GiB storage.
    Small,
    /// Three instances with 1 CPU, 1 GiB memory and 10 GiB storage each; survives the loss of two.
    Ha,
}

/// How far the service is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedServiceStatus {
    /// How far it is, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<ManagedServicePhase>,
    /// Secret with the connection details, once the service is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_secret_ref: Option<ObjectName>,
    /// What there is to say, above all when it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Applications that use it, found anew on every pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub bound_apps: Vec<String>,
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What it says of itself: `Ready`, `Reconciling`, `Stalled`, and what its kind adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
}

/// How far a managed service is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ManagedServicePhase {
    /// It is being made.
    Provisioning,
    /// It takes connections.
    Ready,
    /// It could not be made, or not be deleted.
    Failed,
    /// It is going away.
    Deleting,
}
