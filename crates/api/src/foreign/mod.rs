//! Other people's kinds: the fields that we write or read, typed. All others are kept as they are.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub mod certmanager;
pub mod cloud_database;
pub mod cnpg;
pub mod flux;
pub mod kpack;
pub mod ocm;
pub mod traefik;

/// A condition as other operators write it: not all of them fill every field.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForeignCondition {
    /// What it speaks of.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When the status last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// The generation of the object that this was said of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// The condition of one type.
pub fn find<'a>(conditions: &'a [ForeignCondition], type_: &str) -> Option<&'a ForeignCondition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// An object in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalRef {
    /// Its name.
    pub name: String,
}
