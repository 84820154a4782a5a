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
    /// Components that it is made of.
    pub references: Vec<Reference>,
}

/// Another component that one is made of.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reference {
    /// Its name within the component that refers.
    pub name: String,
    /// The name of the other component.
    pub component_name: String,
    /// The version of the other component.
    pub version: String,
    /// What tells it from others of its name.
    #[serde(default)]
    pub extra_identity: BTreeMap<String, String>,
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
#[serde(rename_all = "camelCase")]
struct Body {
    name: String,
    version: String,
    #[serde(default)]
    resources: Vec<Resource>,
    #[serde(default, alias = "references")]
    component_references: Vec<Reference>,
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
    #[serde(default)]
    references: Vec<Reference>,
}

impl Descriptor {
    /// Reads one, in YAML or JSON.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let whole: Whole = serde_saphyr::from_slice(bytes).ok()?;
        if let Some(Body { name, version, resources, component_references: references }) = whole.component {
            return Some(Self { name, version, resources, references });
        }
        let Named { name, version } = whole.metadata?;
        let Parts { resources, references } = whole.spec.unwrap_or_default();
        Some(Self { name, version, resources, references })
    }

    /// The first resource that an identity fits.
    pub fn resource(&self, identity: &BTreeMap<String, String>) -> Option<&Resource> {
        self.resources
            .iter()
            .find(|found| fits(identity, (&found.name, &found.version), &found.extra_identity))
    }

    /// The first reference that an identity fits.
    pub fn reference(&self, identity: &BTreeMap<String, String>) -> Option<&Reference> {
        self.references
            .iter()
            .find(|found| fits(identity, (&found.name, &found.version), &found.extra_identity))
    }
}

/// Whether all that an identity says holds. It always says a name.
fn fits(
    identity: &BTreeMap<String, String>,
    (name, version): (&str, &str),
    extra: &BTreeMap<String, String>,
) -> bool {
    let holds = |(key, value): (&String, &String)| match key.as_str() {
        "name" => value == name,
        "version" => extra.get(key).map_or(version, String::as_str) == value,
        _ => extra.get(key) == Some(value),
    };
    identity.contains_key("name") && identity.iter().all(holds)
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

    /// The reference of the artifact, if it lies in a registry of its own right.
    pub fn image_reference(&self) -> Option<&str> {
        let known = ["ociArtifact", "ociRegistry", "ociImage", "OCIImage"].contains(&self.access_type());
        self.access["imageReference"].as_str().filter(|_| known)
    }
}
