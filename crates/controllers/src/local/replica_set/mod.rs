//! A `ReplicaSet` keeps as many pods as it is told: it creates those that are missing, deletes those that are too many,
//! the least useful first, takes in pods that fit and belong to nobody, and lets go of those that no longer fit.

mod observe;
mod plan;
#[cfg(test)]
mod tests;

use std::convert::Infallible;

use api::conditions::{Reason, Standing};
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetStatus};
use k8s_openapi::api::core::v1::Pod;
use kit::{Fault, Index, Plan, Reader, Receipt, Refusal, Relation, Room};

use super::selection::controller;

/// The sets of one namespace.
const BY_NAMESPACE: Index<ReplicaSet> =
    Index { name: "namespace", keys: |set| set.metadata.namespace.iter().cloned().collect() };

/// The room of `ReplicaSet`s.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplicaSets;

impl Room for ReplicaSets {
    type Kind = ReplicaSet;
    type Status = ReplicaSetStatus;
    type World = plan::World;
    type Step = Infallible;

    const NAME: &'static str = "replicaset";

    fn relations(&self) -> Vec<Relation<ReplicaSet>> {
        // A pod that belongs to nobody may fit any set of its namespace.
        let orphans = |pod: &Pod| match controller(&pod.metadata) {
            Some(_) => Vec::new(),
            None => pod.metadata.namespace.iter().cloned().collect(),
        };
        vec![Relation::child::<Pod>(), Relation::indexed::<Pod>(BY_NAMESPACE, orphans)]
    }

    async fn observe(&self, set: &ReplicaSet, reader: &Reader) -> Result<plan::World, Fault> {
        observe::observe(set, reader).await
    }

    fn plan(
        &self,
        set: &ReplicaSet,
        world: &plan::World,
    ) -> Result<Plan<Infallible, ReplicaSetStatus>, Refusal> {
        Ok(plan::plan(set, world))
    }

    async fn act(&self, _: &ReplicaSet, step: &Infallible) -> Result<Receipt, Fault> {
        match *step {}
    }

    fn failed(status: &mut ReplicaSetStatus, _: Reason, story: String) {
        status.say(plan::REPLICA_FAILURE, Some(true), Reason::Code("FailedCreate".into()), story);
    }
}
