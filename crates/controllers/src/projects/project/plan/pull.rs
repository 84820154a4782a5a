//! The one Secret that enters the project's namespace: the logins to its registries, so that its pods can pull.

use api::projects::tenancy::{namespace_of, pull_secret_of};
use api::projects::{Project, ProjectRegistry};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use serde_json::{Map, Value, json};

use super::{World, place};

const TYPE: &str = "kubernetes.io/dockerconfigjson";
const KEY: &str = ".dockerconfigjson";

/// The Secret; none if no registry has a login.
pub(super) fn secret(project: &Project, world: &World) -> Option<Secret> {
    let name = project.name_any();
    let mut auths = Map::new();
    for registry in project.spec.oci.iter().flat_map(|oci| &oci.registries) {
        let credentials = registry.credentials.as_ref();
        let found =
            credentials.and_then(|credentials| world.secrets.get(credentials.secret_ref.name.as_str()));
        let login = found.and_then(|secret| login(registry, secret));
        auths.extend(login.map(|login| (host(&registry.url).to_owned(), login)));
    }
    if auths.is_empty() {
        return None;
    }
    let document = json!({ "auths": auths }).to_string();
    Some(Secret {
        metadata: place::meta(project, &namespace_of(&name), pull_secret_of(&name)),
        type_: Some(TYPE.to_owned()),
        data: Some([(KEY.to_owned(), ByteString(document.into_bytes()))].into()),
        ..Secret::default()
    })
}

/// The login to one registry. Of a Secret that opens several, only this one's enters.
fn login(registry: &ProjectRegistry, secret: &Secret) -> Option<Value> {
    let data = secret.data.as_ref()?;
    if let Some(document) = data.get(KEY) {
        let document: Value = serde_json::from_slice(&document.0).ok()?;
        let auths = document.get("auths")?.as_object()?;
        let found = auths.iter().find(|(address, _)| host(address) == host(&registry.url));
        return found.map(|(_, login)| login.clone());
    }
    let text = |key: &str| String::from_utf8(data.get(key)?.0.clone()).ok();
    let (username, password) = (text("username")?, text("password").or_else(|| text("token"))?);
    let both = ByteString(format!("{username}:{password}").into_bytes());
    Some(json!({ "username": username, "password": password, "auth": both }))
}

/// The host of an address, with its port.
fn host(url: &str) -> &str {
    let bare = url.split_once("://").map_or(url, |(_, rest)| rest);
    bare.split('/').next().unwrap_or(bare)
}
