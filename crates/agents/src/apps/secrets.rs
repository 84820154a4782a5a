//! The values that an application's programs and builds may know, read for one purpose: to leave them out of what they
//! say. They are read with the platform's own rights, which no caller has, and come out as [`Masks`] alone.

use std::collections::BTreeSet;

use api::apps::Application;
use api::connection::BOUND_VARIABLES;
use api::services::secrets_of;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};

use super::untrusted::Masks;
use crate::Error;

/// How many Secrets are read at once.
const PAGE: u32 = 100;
/// Types of Secrets that builds fetch sources with; those of databases have the first, too.
const LOGINS: [&str; 2] = ["kubernetes.io/basic-auth", "kubernetes.io/ssh-auth"];
/// Keys of a connection Secret that say where a database is, and open nothing.
const PLACES: [&str; 3] = ["host", "port", "dbname"];

/// What must not be seen in the words of an application. Whoever asks has read the application with the caller's rights.
pub(super) async fn masks(own: &Client, app: &Application, pods: &[Pod]) -> Result<Masks, Error> {
    let namespace = app.metadata.namespace.as_deref().unwrap_or_default();
    let secrets: Api<Secret> = Api::namespaced(own.clone(), namespace);
    let (wanted, mut found) = (named(app, pods), Vec::new());
    let mut params = ListParams::default().limit(PAGE);
    loop {
        let page = secrets.list(&params).await?;
        let more = page.metadata.continue_.filter(|more| !more.is_empty());
        let known = |secret: &Secret| {
            let login = secret.type_.as_deref().is_some_and(|type_| LOGINS.contains(&type_));
            login || wanted.contains(&secret.name_any())
        };
        found.extend(page.items.into_iter().filter(known));
        match more {
            Some(more) => params = params.continue_token(&more),
            None => break,
        }
    }
    Ok(Masks::of(found.iter().flat_map(values)))
}

/// The Secrets that an application names, and those that its pods were given.
fn named(app: &Application, pods: &[Pod]) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = secrets_of(app).into_iter().map(str::to_owned).collect();
    names.extend(app.spec.attached_data_sources.iter().map(|attached| attached.secret_name.to_string()));
    let containers = pods.iter().filter_map(|pod| pod.spec.as_ref()).flat_map(|spec| &spec.containers);
    for container in containers {
        let single = container.env.iter().flatten();
        let single = single.filter_map(|variable| variable.value_from.as_ref()?.secret_key_ref.as_ref());
        names.extend(single.map(|reference| reference.name.clone()));
        let whole = container.env_from.iter().flatten().filter_map(|from| from.secret_ref.as_ref());
        names.extend(whole.map(|reference| reference.name.clone()));
    }
    names
}

fn values(secret: &Secret) -> impl Iterator<Item = &[u8]> {
    let has = |key: &str| secret.data.as_ref().is_some_and(|data| data.contains_key(key));
    let connection = BOUND_VARIABLES.iter().all(|(_, key)| has(key));
    let open = move |key: &str| connection && PLACES.contains(&key);
    secret.data.iter().flatten().filter(move |(key, _)| !open(key)).map(|(_, value)| value.0.as_slice())
}
