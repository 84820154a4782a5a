//! How the world differs from what a spec asks for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One field that is not as the spec asks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Drift {
    /// Path of the field, as in the spec.
    pub field: String,
    /// What the spec asks for. Never a secret.
    pub expected: String,
    /// What was found. Never a secret.
    pub actual: String,
    /// How much it matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
}

/// How much a difference matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Cosmetic.
    Low,
    /// Behaviour may differ.
    Medium,
    /// Safety or data may be at risk.
    High,
}
