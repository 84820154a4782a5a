//! Registries that products are read from: their address, and the login among the pull secrets of an account.

use api::projects::OCIRegistry;
use api::projects::tenancy::PROJECT_LABEL;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kit::{Fault, Reader};
use kube::ResourceExt;
use ports::oci::{DOCKER_CONFIG, Error, Registry, login_among};

/// A pull secret.
pub(super) type Config = Vec<u8>;

/// The registry at an address. It may be spoken to without TLS if the project has a registry that may, on the same host.
pub(super) async fn registry(
    url: &str,
    project: Option<(&str, &str)>,
    configs: &[Config],
    reader: &Reader,
) -> Result<Registry, Fault> {
    let mut insecure = false;
    if let Some((project, beside)) = project {
        let host = Registry::parse(url, true)?.host;
        let registries = reader.list::<OCIRegistry>(Some(beside)).await?;
        insecure = registries.iter().any(|registry| {
            let theirs = registry.labels().get(PROJECT_LABEL).is_some_and(|label| label == project);
            let same = Registry::parse(&registry.spec.url, true).is_ok_and(|parsed| parsed.host == host);
            theirs && same && registry.spec.insecure
        });
    }
    let mut registry = Registry::parse(url, insecure)?;
    let login = login_among(&registry, configs.iter().map(Vec::as_slice));
    registry.login = login.map_err(|why| Error::Invalid { what: why.to_string() })?;
    Ok(registry)
}

/// The pull secrets of an account.
pub(super) async fn of_account(namespace: &str, name: &str, reader: &Reader) -> Result<Vec<Config>, Fault> {
    let account = reader.get::<ServiceAccount>(namespace, name).await?;
    let named =
        account.as_ref().and_then(|account| account.image_pull_secrets.as_deref()).unwrap_or_default();
    let mut configs = Vec::new();
    for reference in named {
        configs.extend(of_secret(namespace, &reference.name, reader).await?);
    }
    Ok(configs)
}

/// The pull secret in a Secret.
pub(super) async fn of_secret(namespace: &str, name: &str, reader: &Reader) -> Result<Option<Config>, Fault> {
    let secret = reader.get::<Secret>(namespace, name).await?;
    Ok(secret.and_then(|secret| Some(secret.data.as_ref()?.get(DOCKER_CONFIG)?.0.clone())))
}
