use api::foreign::cnpg::Cluster;
use api::services::{ManagedService, connection_secret};
use k8s_openapi::api::core::v1::Secret;
use kit::{Fault, Name, Reader};
use kube::ResourceExt;

use super::BY_SECRET;
use super::plan::World;

/// Looks at the Cluster, whether its Secret is there, and who uses that. What the Secret holds is not looked at.
pub(super) async fn observe(service: &ManagedService, reader: &Reader) -> Result<World, Fault> {
    let Name { namespace, name } = Name::of(service);
    let secret = connection_secret(&name);
    let cluster = reader.get::<Cluster>(&namespace, &name).await?;
    let uid = cluster.as_ref().and_then(|cluster| cluster.uid());
    let found = reader.get::<Secret>(&namespace, &secret).await?;
    let secret_there = found.is_some_and(|secret| {
        let owners = secret.owner_references();
        uid.is_some_and(|uid| owners.iter().any(|owner| owner.uid == uid))
    });
    let users = reader.indexed(BY_SECRET, &Name::new(namespace, secret).to_string()).await?;
    let mut bound_apps: Vec<String> = users.iter().map(|app| app.name_any()).collect();
    bound_apps.sort();
    Ok(World { served: reader.served::<Cluster>().await?, cluster, secret_there, bound_apps })
}
