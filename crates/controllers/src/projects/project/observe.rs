use std::collections::BTreeMap;

use api::foreign::flux::{GitRepository, Kustomization};
use api::projects::Project;
use api::projects::tenancy::{account_of, namespace_of, pull_secret_of};
use k8s_openapi::api::core::v1::{LimitRange, Namespace, ResourceQuota, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kit::{Address, Fault, Name, Object, Reader};
use kube::ResourceExt;

use super::plan::{World, secrets_of};
use super::{SUBSCRIPTIONS, TARGETS, is_of};

/// Looks at everything that was made for the project, and at what it stands on.
pub(super) async fn observe(project: &Project, reader: &Reader) -> Result<World, Fault> {
    let Name { namespace, name } = Name::of(project);
    let space = reader.get::<Namespace>("", &namespace_of(&name)).await?;
    let mut world = World {
        now: reader.now(),
        repositories: reader.children(project).await?,
        registries: reader.children(project).await?,
        ..World::default()
    };
    let leaving = project.metadata.deletion_timestamp.is_some();
    if space.as_deref().is_some_and(|space| is_of(project, space)) {
        inside(project, reader, leaving, &mut world).await?;
    }
    if leaving {
        world.made.extend(made::<RoleBinding>(project, reader, &namespace, &account_of(&name)).await?);
        world.made.extend(made::<Role>(project, reader, &namespace, &account_of(&name)).await?);
    } else {
        world.flux = reader.served::<Kustomization>().await? && reader.served::<GitRepository>().await?;
        world.secrets = secrets(project, reader).await?;
        let key = Name::of(project).to_string();
        let subscriptions = reader.indexed(SUBSCRIPTIONS, &key).await?;
        world.subscriptions = sorted(subscriptions.iter().map(|binding| Name::of(&**binding)));
        let targets = reader.indexed(TARGETS, &key).await?;
        world.targets = sorted(targets.iter().map(|binding| Name::of(&**binding)));
    }
    world.space = space;
    Ok(world)
}

/// Looks into the project's own namespace.
async fn inside(project: &Project, reader: &Reader, leaving: bool, world: &mut World) -> Result<(), Fault> {
    let name = project.name_any();
    let (space, account) = (namespace_of(&name), account_of(&name));
    world.kustomizations = reader.list(Some(&space)).await?;
    world.sources = reader.list(Some(&space)).await?;
    if leaving {
        // In the order in which they are taken away. A project that stays has them always.
        world.made.extend(made::<RoleBinding>(project, reader, &space, &account).await?);
        world.made.extend(made::<Role>(project, reader, &space, &account).await?);
        world.made.extend(made::<ServiceAccount>(project, reader, &space, &account).await?);
    }
    world.made.extend(made::<Secret>(project, reader, &space, &pull_secret_of(&name)).await?);
    world.made.extend(made::<ResourceQuota>(project, reader, &space, &account).await?);
    world.made.extend(made::<LimitRange>(project, reader, &space, &account).await?);
    Ok(())
}

/// The address of an object, if it is there and was made for the project.
async fn made<K: Object>(
    project: &Project,
    reader: &Reader,
    namespace: &str,
    name: &str,
) -> Result<Option<Address>, Fault> {
    let found = reader.get::<K>(namespace, name).await?;
    let ours = found.filter(|found| is_of(project, &**found) && found.meta().deletion_timestamp.is_none());
    Ok(ours.map(|found| Address::of(&*found)))
}

async fn secrets(
    project: &Project,
    reader: &Reader,
) -> Result<BTreeMap<String, std::sync::Arc<Secret>>, Fault> {
    let namespace = project.namespace().unwrap_or_default();
    let mut found = BTreeMap::new();
    for name in secrets_of(project) {
        if let Some(secret) = reader.get::<Secret>(&namespace, &name).await? {
            found.insert(name, secret);
        }
    }
    Ok(found)
}

fn sorted(names: impl Iterator<Item = Name>) -> Vec<String> {
    let mut names: Vec<String> = names.map(|name| name.to_string()).collect();
    names.sort();
    names
}
