//! The variables that a program sees.

use std::collections::BTreeSet;

use api::apps::{self, Application};
use api::connection::BOUND_VARIABLES;
use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource, SecretKeySelector};

use super::Attached;

/// The variable that tells a program where to listen, as buildpacks and most platforms do.
const PORT: &str = "PORT";

/// The variables, each once: the port, those of the spec, of the data sources and of the managed services. The spec's
/// own win over all others; among those, the earlier.
pub(super) fn variables(app: &Application, attached: &[Attached]) -> Result<Vec<EnvVar>, String> {
    let own_port = app.spec.env.iter().any(|variable| variable.name.as_str() == PORT);
    let mut variables = Vec::new();
    if !own_port {
        variables.push(plain(PORT, &app.spec.port.to_string()));
    }
    variables.extend(app.spec.env.iter().map(own));
    for attached in attached {
        variables.extend(of_source(app, attached)?);
    }
    for bound in &app.spec.bound_managed_services {
        let secret = bound.secret_name.as_str();
        variables.extend(BOUND_VARIABLES.iter().map(|(name, key)| from_secret(name, secret, key)));
    }
    let mut seen = BTreeSet::new();
    variables.retain(|variable| seen.insert(variable.name.clone()));
    Ok(variables)
}

fn own(variable: &apps::EnvVar) -> EnvVar {
    let name = variable.name.as_str();
    match &variable.secret_key_ref {
        Some(secret) => from_secret(name, secret.name.as_str(), secret.key.as_str()),
        None => plain(name, variable.value.as_deref().unwrap_or_default()),
    }
}

/// The variables of a data source, or what is missing.
fn of_source(app: &Application, attached: &Attached) -> Result<Vec<EnvVar>, String> {
    let Attached { wanted, mapping, keys } = attached;
    let source = &wanted.data_source_name;
    let Some(mapping) = mapping else {
        return Err(format!(
            "DataSource {source} does not exist; create it, or detach it in spec.attachedDataSources"
        ));
    };
    let namespace = app.metadata.namespace.as_deref().unwrap_or_default();
    let secret = wanted.secret_name.as_str();
    let Some(keys) = keys else {
        return Err(format!(
            "Secret {namespace}/{secret} with the credentials of DataSource {source} does not exist; attach it again"
        ));
    };
    let mut variables = Vec::with_capacity(mapping.len());
    for (key, name) in mapping {
        if !keys.contains(key.as_str()) {
            return Err(format!(
                "Secret {namespace}/{secret} lacks {key} of DataSource {source}; attach it again"
            ));
        }
        variables.push(from_secret(name.as_str(), secret, key.as_str()));
    }
    Ok(variables)
}

/// A value as it stands. Kubernetes replaces `$(NAME)` and reads `$$` as one `$`, so each `$` is doubled:
/// <https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/>.
fn plain(name: &str, value: &str) -> EnvVar {
    // API servers drop empty strings; wanting one would never be met.
    let value = (!value.is_empty()).then(|| value.replace('$', "$$"));
    EnvVar { name: name.to_owned(), value, value_from: None }
}

fn from_secret(name: &str, secret: &str, key: &str) -> EnvVar {
    let selector = SecretKeySelector { name: secret.to_owned(), key: key.to_owned(), optional: None };
    let value_from = Some(EnvVarSource { secret_key_ref: Some(selector), ..EnvVarSource::default() });
    EnvVar { name: name.to_owned(), value: None, value_from }
}
