//! A `Deployment` rolls its template out: one `ReplicaSet` per template, the new one grown and the old ones shrunk
//! within the bounds of its strategy; old ones are kept as history.

mod observe;
mod plan;
#[cfg(test)]
mod tests;

use std::convert::Infallible;

use api::conditions::Reason;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use kit::{Fault, Index, Name, Plan, Reader, Receipt, Refusal, Relation, Room};

use super::selection::controller;

/// The deployments of one namespace.
const BY_NAMESPACE: Index<Deployment> =
    Index { name: "namespace", keys: |deployment| deployment.metadata.namespace.iter().cloned().collect() };

/// The room of `Deployment`s.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deployments;

impl Room for Deployments {
    type Kind = Deployment;
    type Status = DeploymentStatus;
    type World = plan::World;
    type Step = Infallible;

    const NAME: &'static str = "deployment";

    fn relations(&self) -> Vec<Relation<Deployment>> {
        let orphans = |set: &ReplicaSet| match controller(&set.metadata) {
            Some(_) => Vec::new(),
            None => set.metadata.namespace.iter().cloned().collect(),
        };
        vec![
            Relation::child::<ReplicaSet>(),
            Relation::indexed::<ReplicaSet>(BY_NAMESPACE, orphans),
            Relation::other::<Pod>(leaving),
        ]
    }

    async fn observe(&self, deployment: &Deployment, reader: &Reader) -> Result<plan::World, Fault> {
        observe::observe(deployment, reader).await
    }

    fn plan(
        &self,
        deployment: &Deployment,
        world: &plan::World,
    ) -> Result<Plan<Infallible, DeploymentStatus>, Refusal> {
        Ok(plan::plan(deployment, world))
    }

    async fn act(&self, _: &Deployment, step: &Infallible) -> Result<Receipt, Fault> {
        match *step {}
    }

    /// A Deployment has no word for a pass that failed; what cannot be made is told by its `ReplicaSet`.
    fn failed(_: &mut DeploymentStatus, _: Reason, _: String) {}
}

/// A pod on its way out may be the last that a `Recreate` waits for. Its set is named after the Deployment.
fn leaving(pod: &Pod) -> Vec<Name> {
    let set = controller(&pod.metadata).filter(|_| pod.metadata.deletion_timestamp.is_some());
    let hash = pod.metadata.labels.as_ref().and_then(|labels| labels.get(plan::HASH));
    let (Some(set), Some(hash)) = (set, hash) else { return Vec::new() };
    let name = set.name.strip_suffix(hash.as_str()).and_then(|name| name.strip_suffix('-'));
    name.map(|name| Name::new(pod.metadata.namespace.clone().unwrap_or_default(), name)).into_iter().collect()
}
