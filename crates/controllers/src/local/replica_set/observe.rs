//! What a set's plan needs to know.

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kit::{Fault, Reader};

use super::super::selection;
use super::plan::World;

pub(super) async fn observe(set: &ReplicaSet, reader: &Reader) -> Result<World, Fault> {
    let pods = reader.children::<Pod, _>(set).await?;
    let mut orphans = reader.list::<Pod>(set.metadata.namespace.as_deref()).await?;
    if let Some(spec) = &set.spec {
        orphans.retain(|pod| selection::orphan(&pod.metadata, &spec.selector));
    }
    Ok(World { now: reader.now(), pods, orphans, seed: reader.dice().roll() })
}
