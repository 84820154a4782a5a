//! Components of the Open Component Model, as they lie in registries: the descriptor, and resources that lie beside it.

mod descriptor;

use std::io::Read as _;

use bytes::Bytes;
use serde::Deserialize;

use super::{Error, Oci, Registry};
pub use descriptor::{Descriptor, Resource};

/// Most that a descriptor may have; large products have some hundred kilobytes.
const DESCRIPTOR_MOST: u64 = 8 * 1024 * 1024;
/// What media types of descriptors have in common, those of the model's forerunner included.
const DESCRIPTOR_TYPE: &str = ".component-descriptor.v";

#[derive(Deserialize)]
struct ImageManifest {
    #[serde(default)]
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Layer {
    media_type: String,
    digest: String,
}

/// The repository of a component, below the registry's prefix.
pub fn repository_of(component: &str) -> String {
    format!("component-descriptors/{}", component.to_ascii_lowercase())
}

/// The tag of a version: tags know no `+`.
pub fn tag_of(version: &str) -> String {
    version.replace('+', ".build-")
}

/// The version that a tag stands for.
pub fn version_of(tag: &str) -> String {
    tag.replace(".build-", "+")
}

/// The descriptor of a component's version; none if the registry has none. It must say that it is the one asked for.
pub async fn descriptor<O: Oci>(
    oci: &O,
    registry: &Registry,
    component: &str,
    version: &str,
) -> Result<Option<Descriptor>, Error> {
    let repository = repository_of(component);
    let garbled = |story: String| Error::Garbled { registry: registry.host.clone(), story };
    let Some(manifest) = oci.manifest(registry, &repository, &tag_of(version)).await? else {
        return Ok(None);
    };
    let named = format!("component {component}:{version}");
    let manifest: ImageManifest = serde_json::from_slice(&manifest.bytes)
        .map_err(|_| garbled(format!("the manifest of {named} is none")))?;
    let layer = manifest.layers.iter().find(|layer| layer.media_type.contains(DESCRIPTOR_TYPE));
    let layer = layer.ok_or_else(|| garbled(format!("{named} has no layer with a descriptor")))?;
    let bytes = oci.blob(registry, &repository, &layer.digest, DESCRIPTOR_MOST).await?;
    let bytes = if layer.media_type.contains("tar") { unpacked(&bytes) } else { Some(bytes.to_vec()) };
    let read = bytes.and_then(|bytes| Descriptor::read(&bytes));
    let read = read.ok_or_else(|| garbled(format!("the descriptor of {named} cannot be read")))?;
    if read.name != component || read.version != version {
        return Err(garbled(format!("the descriptor of {named} is of another component")));
    }
    Ok(Some(read))
}

/// The bytes of a resource that lies beside its component's descriptor.
pub async fn local_blob<O: Oci>(
    oci: &O,
    registry: &Registry,
    descriptor: &Descriptor,
    (resource, most): (&Resource, u64),
) -> Result<Bytes, Error> {
    let Some(digest) = resource.local_digest() else {
        let (name, kind) = (&resource.name, resource.access_type());
        let what =
            format!("resource {name} of {} has access {kind}, which is no local blob", descriptor.name);
        return Err(Error::Invalid { what });
    };
    oci.blob(registry, &repository_of(&descriptor.name), digest, most).await
}

/// The descriptor in an archive.
fn unpacked(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut archive = tar::Archive::new(bytes);
    for entry in archive.entries().ok()? {
        let mut entry = entry.ok()?;
        let named = entry.path().ok()?.file_name().is_some_and(|name| name == "component-descriptor.yaml");
        if named {
            let mut text = Vec::new();
            entry.read_to_end(&mut text).ok()?;
            return Some(text);
        }
    }
    None
}

#[cfg(test)]
mod tests;
