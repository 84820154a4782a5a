//! Components of the Open Component Model, as they lie in registries: the descriptor, and resources that lie beside it.

mod descriptor;
mod product;
mod range;

use std::collections::BTreeMap;
use std::io::Read as _;

use bytes::Bytes;
use serde::Deserialize;

use super::{Error, Oci, Registry};
pub use descriptor::{Descriptor, Reference, Resource};
pub use product::{PRODUCT_DESCRIPTION, Part, Product, document, product};
pub use range::Range;

/// Most that a descriptor may have; large products have some hundred kilobytes.
const DESCRIPTOR_MOST: u64 = 8 * 1024 * 1024;
/// What media types of descriptors have in common, those of the model's forerunner included.
const DESCRIPTOR_TYPE: &str = ".component-descriptor.v";
/// What compressed bytes begin with (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

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

/// The newest version of a component within a range; none if there is none. Tags that are no versions are passed over.
pub async fn newest<O: Oci>(
    oci: &O,
    registry: &Registry,
    component: &str,
    range: &Range,
) -> Result<Option<String>, Error> {
    let tags = oci.tags(registry, &repository_of(component)).await?.unwrap_or_default();
    let known = tags.iter().filter_map(|tag| {
        let version = version_of(tag);
        Some((range::parsed(&version)?, version))
    });
    Ok(known.filter(|(parsed, _)| range.holds(parsed)).max().map(|(_, version)| version))
}

/// The component at the end of a path of references, each in the same registry.
pub async fn follow<O: Oci>(
    oci: &O,
    registry: &Registry,
    from: &Descriptor,
    path: &[BTreeMap<String, String>],
) -> Result<Descriptor, Error> {
    let mut at = from.clone();
    for identity in path {
        let missing = |what: String| Error::Missing { registry: registry.host.clone(), what };
        let Some(next) = at.reference(identity) else {
            let what = format!("reference {} in component {}:{}", told(identity), at.name, at.version);
            return Err(missing(what));
        };
        let (name, version) = (&next.component_name, &next.version);
        let found = descriptor(oci, registry, name, version).await?;
        at = found.ok_or_else(|| missing(format!("component {name}:{version}")))?;
    }
    Ok(at)
}

/// The bytes of a resource, unpacked if they are compressed: of a blob beside the descriptor, or of an artifact of one layer
/// below the same address. Elsewhere nobody looks: a component does not decide where our login is sent.
pub async fn content<O: Oci>(
    oci: &O,
    registry: &Registry,
    descriptor: &Descriptor,
    (resource, most): (&Resource, u64),
) -> Result<Bytes, Error> {
    let Some(reference) = resource.image_reference() else {
        let bytes = local_blob(oci, registry, descriptor, (resource, most)).await?;
        return inflated(registry, resource, bytes, most);
    };
    let Some((repository, tag)) = below(registry, reference) else {
        let (name, of) = (&resource.name, &descriptor.name);
        let what = format!("resource {name} of {of} lies outside the component's registry, at {reference}");
        return Err(Error::Invalid { what });
    };
    let missing =
        || Error::Missing { registry: registry.host.clone(), what: format!("artifact {reference}") };
    let manifest = oci.manifest(registry, &repository, &tag).await?.ok_or_else(missing)?;
    let layers = serde_json::from_slice::<ImageManifest>(&manifest.bytes).map(|manifest| manifest.layers);
    let layers = layers.unwrap_or_default();
    let [layer] = layers.as_slice() else {
        let story = format!("artifact {reference} has {} layers, and one is expected", layers.len());
        return Err(Error::Garbled { registry: registry.host.clone(), story });
    };
    let bytes = oci.blob(registry, &repository, &layer.digest, most).await?;
    inflated(registry, resource, bytes, most)
}

/// Repository below a registry's address and tag or digest of a reference; none if it lies elsewhere.
fn below(registry: &Registry, reference: &str) -> Option<(String, String)> {
    let bare = reference.split_once("://").map_or(reference, |(_, rest)| rest);
    let path = bare.strip_prefix(registry.host.as_str())?.strip_prefix('/')?;
    let path = match registry.prefix.as_str() {
        "" => path,
        prefix => path.strip_prefix(prefix)?.strip_prefix('/')?,
    };
    if let Some((named, digest)) = path.split_once('@') {
        let name = named.split_once(':').map_or(named, |(name, _)| name);
        return Some((name.to_owned(), digest.to_owned()));
    }
    let (name, tag) = path.split_once(':').unwrap_or((path, "latest"));
    Some((name.to_owned(), tag.to_owned()))
}

/// Bytes as they were before they were compressed, if they were.
fn inflated(registry: &Registry, resource: &Resource, bytes: Bytes, most: u64) -> Result<Bytes, Error> {
    if !bytes.starts_with(&GZIP) {
        return Ok(bytes);
    }
    let (host, what) = (registry.host.clone(), format!("resource {}", resource.name));
    let mut plain = Vec::new();
    let read =
        flate2::read::MultiGzDecoder::new(&bytes[..]).take(most.saturating_add(1)).read_to_end(&mut plain);
    match read {
        Err(_) => Err(Error::Garbled { registry: host, story: format!("{what} cannot be unpacked") }),
        Ok(length) if length as u64 > most => Err(Error::TooLarge { registry: host, what, most }),
        Ok(_) => Ok(plain.into()),
    }
}

fn told(identity: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = identity.iter().map(|(key, value)| format!("{key}={value}")).collect();
    pairs.join(",")
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
