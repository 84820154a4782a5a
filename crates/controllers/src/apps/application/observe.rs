use std::collections::BTreeSet;
use std::sync::Arc;

use api::apps::{Application, AttachedDataSource, DataSource};
use api::foreign::{certmanager::Certificate, kpack, traefik::IngressRoute};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use kit::{Fault, Name, Object, Reader};

use super::plan::{Attached, Dying, World, dying};
use super::{PODS, SAME_LABEL, first_label};

/// Looks at the children, the pods, the rivals for the host and the data sources.
pub(super) async fn observe(app: &Application, reader: &Reader) -> Result<World, Fault> {
    let pods = reader.indexed(PODS, &Name::of(app).to_string()).await?;
    let last_words = match dying(&pods) {
        Some(dying) => last_words(reader, &dying).await,
        None => None,
    };
    let mut attached = Vec::with_capacity(app.spec.attached_data_sources.len());
    for wanted in &app.spec.attached_data_sources {
        attached.push(look(app, wanted, reader).await?);
    }
    Ok(World {
        now: reader.now(),
        kpack: reader.served::<kpack::Image>().await?,
        traefik: reader.served::<IngressRoute>().await?,
        cert_manager: reader.served::<Certificate>().await?,
        image: child(app, reader).await?,
        deployment: child::<Deployment>(app, reader).await?,
        certificate: child(app, reader).await?,
        neighbours: neighbours(app, reader).await?,
        pods,
        last_words,
        attached,
    })
}

/// The child of a kind that has the application's name.
async fn child<K: Object>(app: &Application, reader: &Reader) -> Result<Option<Arc<K>>, Fault> {
    let children = reader.children::<K, _>(app).await?;
    Ok(children.into_iter().find(|child| child.meta().name == app.metadata.name))
}

async fn neighbours(app: &Application, reader: &Reader) -> Result<Vec<Arc<Application>>, Fault> {
    let mut found = Vec::new();
    for label in first_label(app) {
        found.extend(reader.indexed(SAME_LABEL, &label).await?);
    }
    found.retain(|other| Name::of(&**other) != Name::of(app));
    Ok(found)
}

async fn look(app: &Application, wanted: &AttachedDataSource, reader: &Reader) -> Result<Attached, Fault> {
    let namespace = app.metadata.namespace.as_deref().unwrap_or_default();
    let source = reader.get::<DataSource>("", wanted.data_source_name.as_str()).await?;
    let secret = reader.get::<Secret>(namespace, wanted.secret_name.as_str()).await?;
    let keys = secret
        .map(|secret| secret.data.iter().flatten().map(|(key, _)| key.clone()).collect::<BTreeSet<_>>());
    Ok(Attached {
        wanted: wanted.clone(),
        mapping: source.map(|source| source.spec.env_var_mapping.clone()),
        keys,
    })
}

async fn last_words(reader: &Reader, dying: &Dying) -> Option<String> {
    let Dying { pod, container, again } = dying;
    match reader.last_lines(pod, container, *again).await {
        Some(lines) => Some(lines),
        // Whether the run that died counts as the last or as the one before depends on how far its restart is.
        None => reader.last_lines(pod, container, !*again).await,
    }
}
