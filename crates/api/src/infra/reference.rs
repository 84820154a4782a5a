//! What several AWS kinds share: references, tags, policies.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::names::{Label, ObjectName, SecretKey};

/// Tags of a resource.
pub type Tags = BTreeMap<String, String>;

/// AWS allows 50 tags, with keys of 128 and values of 256 characters.
pub(super) fn tags(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 50,
        "additionalProperties": { "type": "string", "maxLength": 256 },
    })
}

/// The `AWSProvider` whose account and region a resource is in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderRef {
    /// Its name.
    pub name: ObjectName,
    /// Its namespace. Default: the resource's own; any other must have agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Label>,
}

/// A key of a Secret, perhaps in another namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKeySelector {
    /// Name of the Secret.
    pub name: ObjectName,
    /// Its namespace. Default: the object's own; any other must have agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Label>,
    /// Key in its data.
    pub key: SecretKey,
}

/// What happens in AWS when the object is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AwsDeletionPolicy {
    /// The resource is deleted.
    #[default]
    Delete,
    /// The resource is kept.
    Retain,
    /// The resource is kept, and our mark is taken off it.
    Orphan,
}
