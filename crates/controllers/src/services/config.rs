//! What the platform's operators decide for all managed services.

use api::services::DEFAULT_VERSION;

/// What the platform's operators decide for all managed services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The version of a service that names none.
    pub default_version: String,
}

impl Default for Config {
    fn default() -> Self {
        Self { default_version: DEFAULT_VERSION.into() }
    }
}
