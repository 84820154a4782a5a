//! YAML as the Kubernetes API speaks it: version 1.1 scalars in, Go's layout out.

mod read;
mod scalar;
mod write;

#[cfg(test)]
mod tests;

pub use read::read;
pub use write::to_yaml;

use serde_json::Value;

/// The first document of a YAML stream, as JSON. A key that stands twice has its last value.
pub fn from_yaml(bytes: &[u8]) -> Result<Value, String> {
    read(bytes).map(|decoded| decoded.value)
}
