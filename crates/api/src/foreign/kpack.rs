//! kpack's `Image`: an image that is built from source.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ForeignCondition;

/// What is asked of kpack.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "kpack.io", version = "v1alpha2", kind = "Image", namespaced)]
#[kube(status = "ImageStatus", derive = "PartialEq", derive = "Default")]
#[kube(shortname = "cnbimage", shortname = "cnbimages", shortname = "img")]
#[kube(doc = "An image that is built from source, as kpack builds it.")]
#[kube(printcolumn = r#"{"name":"LatestImage","type":"string","jsonPath":".status.latestImage"}"#)]
#[kube(
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#
)]
pub struct ImageSpec {
    /// Where the image is pushed to.
    pub tag: String,
    /// What builds it.
    #[serde(default)]
    pub builder: BuilderRef,
    /// ServiceAccount whose Secrets open source and registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// Where the source is.
    #[serde(default)]
    pub source: Source,
    /// How the build runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// How many failed builds are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_build_history_limit: Option<i64>,
    /// How many good builds are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_build_history_limit: Option<i64>,
}

/// What builds an image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BuilderRef {
    /// `ClusterBuilder` or `Builder`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its namespace, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// Where source is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// In a repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<GitSource>,
    /// In an archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<BlobSource>,
    /// Directory in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_path: Option<String>,
}

/// Source in a repository.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitSource {
    /// Address of the repository.
    pub url: String,
    /// Branch, tag or commit.
    pub revision: String,
}

/// Source in an archive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlobSource {
    /// Address of the archive.
    pub url: String,
}

/// How a build runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Build {
    /// Variables that it sees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<BuildEnv>,
}

/// A variable that a build sees.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BuildEnv {
    /// Its name.
    pub name: String,
    /// Its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// What kpack says of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageStatus {
    /// The last good image, by its digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_image: Option<String>,
    /// The last build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_build_ref: Option<String>,
    /// Why the last build ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_build_reason: Option<String>,
    /// How many builds there were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_counter: Option<i64>,
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ForeignCondition>,
}
