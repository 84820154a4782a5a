//! Descriptors in both schemas, `v2` and `ocm.software/v3alpha1`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// What a component says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its resources.
    pub resources: Vec<Resource>,
}

/// A resource of a component.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Its name.
    pub name: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
    /// What it is.
    #[serde(rename = "type", default)]
    pub type_: String,
    /// What tells it from others of its name.
    #[serde(default)]
    pub extra_identity: BTreeMap<String, String>,
    #[serde(default)]
    access: Value,
}

#[derive(Deserialize)]
struct Whole {
    component: Option<Body>,
    metadata: Option<Named>,
    spec: Option<Parts>,
}

#[derive(Deserialize)]
struct Body {
    name: String,
    version: String,
    #[serde(default)]
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    version: String,
}

#[derive(Default, Deserialize)]
struct Parts {
    #[serde(default)]
    resources: Vec<Resource>,
}

impl Descriptor {
    /// Reads one, in YAML or JSON.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let whole: Whole = serde_saphyr::from_slice(bytes).ok()?;
        if let Some(Body { name, version, resources }) = whole.component {
            return Some(Self { name, version, resources });
        }
        let Named { name, version } = whole.metadata?;
        Some(Self { name, version, resources: whole.spec.unwrap_or_default().resources })
    }
}

impl Resource {
    /// How it is reached, without the version of the way.
    pub fn access_type(&self) -> &str {
        let kind = self.access["type"].as_str().unwrap_or_default();
        kind.split('/').next().unwrap_or_default()
    }

    /// Digest of the blob, if it lies beside the descriptor.
    pub fn local_digest(&self) -> Option<&str> {
        match self.access_type() {
            "localBlob" => self.access["localReference"].as_str(),
            "localOciBlob" => self.access["digest"].as_str(),
            _ => None,
        }
    }
}
