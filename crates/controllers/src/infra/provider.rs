//! The account that a provider describes, for whoever may use it.

use std::sync::Arc;

use api::annotations::ALLOW_FROM;
use api::conditions::{READY, Reason, find as condition};
use api::infra::{AWSProvider, ProviderRef, SecretKeySelector, Tags};
use k8s_openapi::api::core::v1::Secret;
use kit::{Fault, Name, Reader};
use kube::ResourceExt;
use ports::aws::{Account, Aws, Login, Role};

use api::secret::Sealed;

/// The endpoint that stands for this machine.
pub(super) const LOCAL: &str = "local";

/// Keys of a Secret with credentials: as the spec names them, and as AWS's own tools do.
const KEY_ID: [&str; 2] = ["accessKeyID", "AWS_ACCESS_KEY_ID"];
const KEY: [&str; 2] = ["secretAccessKey", "AWS_SECRET_ACCESS_KEY"];
const TOKEN: [&str; 2] = ["sessionToken", "AWS_SESSION_TOKEN"];

/// What a provider is to somebody.
#[derive(Debug)]
pub(super) enum Provider {
    /// An account, and the tags of everything in it.
    Ready(Arc<Account>, Tags),
    /// This machine.
    Local,
    /// Nothing yet.
    Unusable(Reason, String),
}

/// The namespace and name of the provider that an object names.
pub(super) fn named(namespace: &str, reference: &ProviderRef) -> Name {
    let of = reference.namespace.as_ref().map_or(namespace, |namespace| namespace.as_str());
    Name::new(of, reference.name.as_str())
}

/// The provider that an object names, if the object may use it and it is ready.
///
/// Whoever goes needs it once more: then a provider that is not ready is tried all the same, and one whose credentials were
/// deleted together with everything else is used as it was last known.
pub(super) async fn find(
    reader: &Reader,
    (object, going): (&Name, bool),
    reference: &ProviderRef,
    aws: &Aws,
) -> Result<Provider, Fault> {
    let name = named(&object.namespace, reference);
    let found = reader.get::<AWSProvider>(&name.namespace, &name.name).await?;
    let foreign = name.namespace != object.namespace;
    if foreign && !found.as_deref().is_some_and(|found| allows(found.annotations(), &object.namespace)) {
        return Ok(Provider::Unusable(Reason::ConsentMissing, no_consent("AWSProvider", &name, object)));
    }
    let Some(provider) = found else {
        let message = format!("AWSProvider {name} does not exist");
        return Ok(Provider::Unusable(Reason::DependencyNotReady, message));
    };
    let status = provider.status.clone().unwrap_or_default();
    if !status.ready && !going {
        let why = condition(&status.conditions, READY).map(|ready| ready.message.clone());
        let why = why.filter(|why| !why.is_empty()).map(|why| format!(": {why}")).unwrap_or_default();
        let message = format!("AWSProvider {name} is not ready{why}");
        return Ok(Provider::Unusable(Reason::DependencyNotReady, message));
    }
    if provider.spec.endpoint.as_deref() == Some(LOCAL) {
        return Ok(Provider::Local);
    }
    let known = || aws.known(&name.to_string()).filter(|_| going);
    let account = match account(reader, &provider).await? {
        Err((Reason::CredentialsMissing, message)) => known().ok_or((Reason::CredentialsMissing, message)),
        read => read,
    };
    Ok(match account {
        Ok(account) => Provider::Ready(Arc::new(account), provider.spec.default_tags.clone()),
        Err((reason, message)) => Provider::Unusable(reason, message),
    })
}

/// The account that a provider describes, or why there is none.
pub(super) async fn account(
    reader: &Reader,
    provider: &AWSProvider,
) -> Result<Result<Account, (Reason, String)>, Fault> {
    let own = Name::of(provider);
    let spec = &provider.spec;
    let login = if let Some(role) = &spec.role_arn {
        Login::WebIdentity { role: role.clone() }
    } else if let Some(named) = &spec.credentials_secret {
        let of = named.namespace.as_ref().map_or(own.namespace.as_str(), |namespace| namespace.as_str());
        let name = Name::new(of, named.name.as_str());
        match keys(reader, &own, &name).await? {
            Ok(login) => login,
            Err(why) => return Ok(Err(why)),
        }
    } else if let (Some(id), Some(key)) = (&spec.access_key_id_ref, &spec.secret_access_key_ref) {
        let (id, secret) = (value(reader, &own, id).await?, value(reader, &own, key).await?);
        match (id, secret) {
            (Ok(id), Ok(secret)) => Login::Keys { id, secret, token: None },
            (Err(why), _) | (_, Err(why)) => return Ok(Err(why)),
        }
    } else {
        let message =
            "no credentials: set roleARN, credentialsSecret, or accessKeyIDRef and secretAccessKeyRef";
        return Ok(Err((Reason::CredentialsMissing, message.to_owned())));
    };
    let role = spec.assume_role_arn.clone();
    let role = role.map(|arn| Role { arn, external_id: spec.external_id.clone() });
    let endpoint = spec.endpoint.clone().filter(|endpoint| !endpoint.is_empty());
    Ok(Ok(Account { provider: own.to_string(), region: spec.region.clone(), endpoint, login, role }))
}

type Wrong = (Reason, String);

async fn keys(reader: &Reader, own: &Name, name: &Name) -> Result<Result<Login, Wrong>, Fault> {
    let secret = match secret(reader, own, name).await? {
        Ok(secret) => secret,
        Err(why) => return Ok(Err(why)),
    };
    let one = |keys: [&str; 2]| keys.iter().find_map(|key| text(&secret, key));
    Ok(match (one(KEY_ID), one(KEY)) {
        (Some(id), Some(secret)) => Ok(Login::Keys { id, secret, token: one(TOKEN) }),
        _ => {
            let message = format!("Secret {name} lacks {} or {}", KEY_ID[0], KEY[0]);
            Err((Reason::CredentialsMissing, message))
        }
    })
}

async fn value(
    reader: &Reader,
    own: &Name,
    selector: &SecretKeySelector,
) -> Result<Result<Sealed<String>, Wrong>, Fault> {
    let of = selector.namespace.as_ref().map_or(own.namespace.as_str(), |namespace| namespace.as_str());
    let name = Name::new(of, selector.name.as_str());
    let secret = match secret(reader, own, &name).await? {
        Ok(secret) => secret,
        Err(why) => return Ok(Err(why)),
    };
    let key = selector.key.as_str();
    Ok(text(&secret, key)
        .ok_or_else(|| (Reason::CredentialsMissing, format!("Secret {name} has no key {key}"))))
}

async fn secret(reader: &Reader, own: &Name, name: &Name) -> Result<Result<Arc<Secret>, Wrong>, Fault> {
    let found = reader.get::<Secret>(&name.namespace, &name.name).await?;
    let foreign = name.namespace != own.namespace;
    if foreign && !found.as_deref().is_some_and(|found| allows(found.annotations(), &own.namespace)) {
        // Whether it exists is told to nobody who may not use it.
        return Ok(Err((Reason::ConsentMissing, no_consent("Secret", name, own))));
    }
    Ok(found.ok_or_else(|| (Reason::CredentialsMissing, format!("Secret {name} does not exist"))))
}

fn text(secret: &Secret, key: &str) -> Option<Sealed<String>> {
    let value = secret.data.as_ref().and_then(|data| data.get(key));
    let value = value.and_then(|value| String::from_utf8(value.0.clone()).ok());
    value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty()).map(Sealed::new)
}

/// Whether the annotation for consent names a namespace.
fn allows(annotations: &std::collections::BTreeMap<String, String>, namespace: &str) -> bool {
    let named = annotations.get(ALLOW_FROM).map(String::as_str).unwrap_or_default();
    named.split(',').any(|word| word.trim() == namespace)
}

fn no_consent(kind: &str, name: &Name, user: &Name) -> String {
    format!(
        "{kind} {name} is in another namespace and does not allow this one; its owner can, with the annotation {ALLOW_FROM}: {}",
        user.namespace
    )
}

/// Whether a change of a provider matters to its resources: not that it was asked again and all was well.
pub(super) fn noteworthy(old: &AWSProvider, new: &AWSProvider) -> bool {
    let ready = |provider: &AWSProvider| provider.status.as_ref().is_some_and(|status| status.ready);
    old.spec != new.spec || ready(old) != ready(new) || old.annotations() != new.annotations()
}
