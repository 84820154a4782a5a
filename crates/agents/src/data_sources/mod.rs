//! Data that the platform's operators offer: find it, look at it, give it to an application.

pub mod attach;
pub mod get;
pub mod list;
#[cfg(test)]
mod tests;

use api::apps::DataSource;
use api::conditions::{READY, find};

/// Whether a source can be attached: what its own status says.
fn is_ready(source: &DataSource) -> bool {
    let conditions = source.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    find(conditions, READY).is_some_and(|ready| ready.status == "True")
}

/// The names of the variables that an application gets, sorted.
fn variables(source: &DataSource) -> Vec<String> {
    let mut names: Vec<String> = source.spec.env_var_mapping.values().map(ToString::to_string).collect();
    names.sort();
    names
}
