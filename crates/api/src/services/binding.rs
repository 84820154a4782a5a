//! How an application gets the credentials of a managed service: six variables that name its connection Secret.

use crate::apps::{Application, EnvVar, SecretKeyRef};
use crate::connection::BOUND_VARIABLES;
use crate::names::ObjectName;

/// What the name of a service's connection Secret ends with; `CloudNativePG` has it so.
pub const CONNECTION_SUFFIX: &str = "-app";

/// The name of a service's connection Secret.
pub fn connection_secret(service: &str) -> String {
    format!("{service}{CONNECTION_SUFFIX}")
}

/// The variables that a binding sets, in their order.
pub fn bound_variables(secret: &ObjectName) -> Vec<EnvVar> {
    let variable = |(name, key): &(&str, &str)| {
        let key = key.parse().expect("the keys of a connection Secret are keys");
        EnvVar {
            name: name.parse().expect("the variables of a binding have names of variables"),
            value: None,
            secret_key_ref: Some(SecretKeyRef { name: secret.clone(), key }),
        }
    };
    BOUND_VARIABLES.iter().map(variable).collect()
}

/// The Secrets that an application gets credentials of services from, each once, in their order.
pub fn secrets_of(app: &Application) -> Vec<&str> {
    let variables = app.spec.env.iter().filter_map(|variable| variable.secret_key_ref.as_ref());
    let listed = variables.map(|reference| reference.name.as_str());
    let bound = app.spec.bound_managed_services.iter().map(|bound| bound.secret_name.as_str());
    let mut all: Vec<&str> = listed.chain(bound).collect();
    all.sort_unstable();
    all.dedup();
    all
}
