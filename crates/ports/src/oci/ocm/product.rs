//! Products: what a component says of how it is delivered, and what belongs to that.

use std::collections::BTreeMap;

use api::projects::{ResourceReference, TargetRole};
use bytes::Bytes;
use serde::Deserialize;

use super::super::{Error, Oci, Registry};
use super::{Descriptor, content, follow};

/// Type of the resource that describes a product.
pub const PRODUCT_DESCRIPTION: &str = "productdescription.mpas.ocm.software";
/// Most that one document of a product may have: it goes into an object and a repository.
const DOCUMENT_MOST: u64 = 512 * 1024;

/// A product as its component describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// What it is, for people.
    pub description: String,
    /// Its parts.
    pub parts: Vec<Part>,
}

/// A part of a product.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// What is deployed.
    pub source: ResourceReference,
    /// Rules that put in the addresses of a registry.
    pub localization: Option<ResourceReference>,
    /// Rules that put in values.
    pub configuration: Option<ResourceReference>,
    /// Rules that the values must obey.
    pub validation: Option<ResourceReference>,
    /// Where it goes.
    pub role: TargetRole,
    /// Schema of its values, as it was written.
    pub schema: Option<Bytes>,
    /// What people should know of its values.
    pub readme: Option<String>,
}

#[derive(Deserialize)]
struct Document {
    kind: String,
    spec: Body,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[serde(default)]
    description: String,
    #[serde(default)]
    pipelines: Vec<Pipeline>,
    #[serde(default)]
    target_roles: Vec<Role>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pipeline {
    name: String,
    source: ResourceReference,
    target_role_name: String,
    schema: Option<ResourceReference>,
    localization: Option<ResourceReference>,
    configuration: Option<Configuration>,
    validation: Option<ResourceReference>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Configuration {
    rules: Option<ResourceReference>,
    readme: Option<ResourceReference>,
}

#[derive(Deserialize)]
struct Role {
    name: String,
    #[serde(flatten)]
    role: TargetRole,
}

/// Reads the product that a component is; none if it is none.
pub async fn product<O: Oci>(
    oci: &O,
    registry: &Registry,
    component: &Descriptor,
) -> Result<Option<Product>, Error> {
    let described = component.resources.iter().find(|resource| resource.type_ == PRODUCT_DESCRIPTION);
    let Some(described) = described else { return Ok(None) };
    let bytes = content(oci, registry, component, (described, DOCUMENT_MOST)).await?;
    let named = format!("component {}:{}", component.name, component.version);
    let garbled = |story: String| Error::Garbled { registry: registry.host.clone(), story };
    let document: Document = serde_saphyr::from_slice(&bytes)
        .map_err(|_| garbled(format!("the product description of {named} cannot be read")))?;
    if document.kind != "ProductDescription" {
        return Err(garbled(format!("the product description of {named} is none")));
    }
    let Body { description, pipelines, target_roles } = document.spec;
    let mut parts: Vec<Part> = Vec::new();
    for pipeline in pipelines {
        let (name, wanted) = (&pipeline.name, &pipeline.target_role_name);
        if parts.iter().any(|part| part.name == *name) {
            return Err(garbled(format!("the product description of {named} has two pipelines {name}")));
        }
        let role = target_roles.iter().find(|role| role.name == *wanted).map(|role| role.role.clone());
        let lacking = || garbled(format!("pipeline {name} of {named} names no target role: {wanted}"));
        let role = role.ok_or_else(lacking)?;
        parts.push(part(oci, registry, component, (pipeline, role)).await?);
    }
    Ok(Some(Product { description, parts }))
}

async fn part<O: Oci>(
    oci: &O,
    registry: &Registry,
    component: &Descriptor,
    (pipeline, role): (Pipeline, TargetRole),
) -> Result<Part, Error> {
    let Pipeline { name, source, target_role_name: _, schema, localization, configuration, validation } =
        pipeline;
    let (configuration, readme) = configuration.map_or((None, None), |held| (held.rules, held.readme));
    let schema = match &schema {
        Some(schema) => Some(document(oci, registry, component, schema).await?),
        None => None,
    };
    let readme = match &readme {
        Some(readme) => Some(document(oci, registry, component, readme).await?),
        None => None,
    };
    let readme = readme.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Part { name, source, localization, configuration, validation, role, schema, readme })
}

/// The bytes of a resource that is named as products name them.
pub async fn document<O: Oci>(
    oci: &O,
    registry: &Registry,
    component: &Descriptor,
    reference: &ResourceReference,
) -> Result<Bytes, Error> {
    let holder = follow(oci, registry, component, &reference.reference_path).await?;
    let mut identity: BTreeMap<String, String> = reference.extra_identity.clone();
    identity.insert("name".into(), reference.name.clone());
    if let Some(version) = &reference.version {
        identity.insert("version".into(), version.clone());
    }
    let Some(resource) = holder.resource(&identity) else {
        let what = format!("resource {} in component {}:{}", reference.name, holder.name, holder.version);
        return Err(Error::Missing { registry: registry.host.clone(), what });
    };
    content(oci, registry, &holder, (resource, DOCUMENT_MOST)).await
}
