//! What is written down of a call.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::hex;

/// One call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// When it was answered.
    pub time: Timestamp,
    /// The fingerprint of the token that was presented; empty without one.
    pub token: String,
    /// The token's name, if it is known.
    pub name: String,
    /// The program that asked, in its own words.
    pub agent: String,
    /// What was asked for: a tool's name, `resources/read`, or a method and path.
    pub action: String,
    /// The session or resource that was named, in the caller's words.
    pub subject: String,
    /// The digest of the arguments: what they were stays with the caller.
    pub arguments: String,
    /// The hash of the plan that a person was asked about, or agreed to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub plan: Option<String>,
    /// What came of it.
    pub outcome: Outcome,
    /// Why it was refused or failed, without anything of the arguments' values.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It was done.
    Done,
    /// A person is asked first.
    Asked,
    /// The caller may not, or nobody knows the caller.
    Refused,
    /// It could not be done.
    Failed,
}

/// The digest of arguments.
pub fn digest(arguments: &Map<String, Value>) -> String {
    let bytes = serde_json::to_vec(arguments).unwrap_or_default();
    hex(&Sha256::digest(bytes))
}
