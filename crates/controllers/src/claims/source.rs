//! How the administrator of a server gets in: with a Secret of the platform, or with what a claim names as its source.

use std::sync::Arc;

use api::annotations::ALLOW_FROM;
use api::claims::SourceDatabase;
use api::conditions::Reason;
use api::connection::{DSN, URI_DSN};
use api::secret::Sealed;
use k8s_openapi::api::core::v1::Secret;
use kit::{Fault, Name, Reader};
use kube::ResourceExt;
use ports::admin::Server;

use super::makers::{ADMINISTRATION, Found};
use super::secret::text;
use super::target::Known;

/// A server that is there.
pub(super) async fn known(reader: &Reader, known: &Known, namespace: &str) -> Result<Found, Fault> {
    let missing = |name: &str, what: &str| {
        let message = format!("Secret {namespace}/{name} {what}; it has to hold the login of {}", known.host);
        Ok(Found::Wrong(Reason::CredentialsMissing, message))
    };
    let name = known.password_secret.as_str();
    let Some(secret) = reader.get::<Secret>(namespace, name).await? else {
        return missing(name, "does not exist");
    };
    let Some(password) = text(&secret, known.password_key.as_str()) else {
        return missing(name, &format!("has no key {}", known.password_key));
    };
    let ca = match &known.ca_secret {
        None => None,
        Some(name) => match reader.get::<Secret>(namespace, name.as_str()).await? {
            Some(secret) => text(&secret, "ca.crt"),
            None => return missing(name.as_str(), "with `ca.crt` does not exist"),
        },
    };
    Ok(Found::Ready(Arc::new(Server {
        host: known.host.clone(),
        port: known.port,
        user: known.username.clone(),
        password: Sealed::new(password),
        ssl_mode: known.ssl_mode,
        ca,
        database: ADMINISTRATION.to_owned(),
    })))
}

/// A database that a claim names as its source.
pub(super) async fn source(
    reader: &Reader,
    source: &SourceDatabase,
    namespace: &str,
) -> Result<Found, Fault> {
    if let Some(dsn) = &source.dsn {
        return Ok(parsed(dsn.seal().open(), None));
    }
    let wrong = |reason, message: String| Ok(Found::Wrong(reason, message));
    let Some(named) = &source.secret_ref else {
        return wrong(Reason::InvalidSpec, "the source has neither dsn nor secretRef".to_owned());
    };
    let of = named.namespace.as_ref().map_or(namespace, |namespace| namespace.as_str());
    let name = Name::new(of, named.name.as_str());
    let secret = reader.get::<Secret>(of, named.name.as_str()).await?;
    if of != namespace && !secret.as_deref().is_some_and(|secret| allows(secret.annotations(), namespace)) {
        // Whether it exists is told to nobody who may not use it.
        let message = format!(
            "Secret {name} is in another namespace and does not allow this one; its owner can, with the annotation {ALLOW_FROM}: {namespace}"
        );
        return wrong(Reason::ConsentMissing, message);
    }
    let Some(secret) = secret else {
        return wrong(Reason::CredentialsMissing, format!("Secret {name} does not exist"));
    };
    let ca = text(&secret, "ca.crt");
    if let (Some(host), Some(user), Some(password), Some(database)) = (
        text(&secret, "hostname"),
        text(&secret, "username"),
        text(&secret, "password"),
        text(&secret, "database"),
    ) {
        let port = text(&secret, "port").and_then(|port| port.parse().ok()).unwrap_or(5432);
        let mode = text(&secret, "sslmode").unwrap_or_default();
        let ssl_mode = serde_json::from_value(mode.into()).unwrap_or_default();
        let password = Sealed::new(password);
        return Ok(Found::Ready(Arc::new(Server { host, port, user, password, ssl_mode, ca, database })));
    }
    match text(&secret, URI_DSN).or_else(|| text(&secret, DSN)) {
        Some(dsn) => Ok(parsed(&dsn, ca)),
        None => wrong(
            Reason::CredentialsMissing,
            format!("Secret {name} has neither hostname, database, username and password nor {URI_DSN}"),
        ),
    }
}

/// Whether the annotation for consent names a namespace.
pub(super) fn allows(annotations: &std::collections::BTreeMap<String, String>, namespace: &str) -> bool {
    let named = annotations.get(ALLOW_FROM).map(String::as_str).unwrap_or_default();
    named.split(',').any(|word| word.trim() == namespace)
}

fn parsed(dsn: &str, ca: Option<String>) -> Found {
    match Server::of_dsn(dsn, ca) {
        Ok(server) => Found::Ready(Arc::new(server)),
        Err(rule) => {
            let message = format!("the source's connection cannot be read: {rule}");
            Found::Wrong(Reason::InvalidSpec, message)
        }
    }
}
