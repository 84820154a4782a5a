//! What a deployment's plan needs to know.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use kit::{Fault, Reader};

use super::super::{readiness, selection};
use super::plan::{World, set_name};

pub(super) async fn observe(deployment: &Deployment, reader: &Reader) -> Result<World, Fault> {
    let namespace = deployment.metadata.namespace.as_deref().unwrap_or_default();
    let sets = reader.children::<ReplicaSet, _>(deployment).await?;
    let mut orphans = reader.list::<ReplicaSet>(Some(namespace)).await?;
    orphans.retain(|set| {
        let selector = deployment.spec.as_ref().map(|spec| &spec.selector);
        selector.is_some_and(|selector| selection::orphan(&set.metadata, selector))
    });
    let mut busy = BTreeSet::new();
    for set in &sets {
        let pods = reader.children::<Pod, _>(&**set).await?;
        if pods.iter().any(|pod| !readiness::over(pod)) {
            busy.extend(set.metadata.uid.clone());
        }
    }
    let namesake = reader.get::<ReplicaSet>(namespace, &set_name(deployment)).await?;
    Ok(World { now: reader.now(), sets, orphans, busy, namesake })
}
