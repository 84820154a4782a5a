//! A `Pod` on this machine is one process group per container, in a directory of its own. The room does what a kubelet
//! does: it takes pods that have no node, starts their containers in order, asks them how they are, starts them again
//! when they die, less and less often, and lets them end without losing a request.

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::conditions::{Reason, Standing};
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kit::{Bell, Fault, Name, Plan, Reader, Receipt, Refusal, Relation, Room};
use ports::homes::Homes;
use ports::images::Images;
use ports::loopback::Loopback;
use ports::probe::{Prober, Rounds};
use ports::process::Processes;
use ports::traffic::Traffic;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::memory::Memory;
use super::readiness;

/// What the pods of this machine stand on.
pub struct Ground<P, I, Q, H> {
    /// Name of this machine's node.
    pub node: String,
    /// Starts and ends process groups.
    pub processes: Arc<P>,
    /// Finds images.
    pub images: Arc<I>,
    /// Asks programs how they are.
    pub rounds: Arc<Rounds<Q>>,
    /// Directories and logs.
    pub homes: Arc<H>,
    /// Free ports.
    pub loopback: Arc<dyn Loopback>,
    /// How busy a pod is.
    pub traffic: Arc<dyn Traffic>,
    /// A container runtime for images that are not on this machine: its program, and arguments before `run`.
    pub runtime: Option<Vec<String>>,
    /// The user that the programs of a namespace run as; `None` is the platform's own.
    pub user: fn(&str) -> Option<u32>,
}

/// The room of `Pod`s.
pub struct Pods<P, I, Q, H> {
    ground: Ground<P, I, Q, H>,
    memory: Arc<Memory>,
    bell: Bell,
}

impl<P: Processes, I: Images, Q: Prober, H: Homes> Pods<P, I, Q, H> {
    /// The room. Must be made on a runtime: it listens to processes and probes for as long as the room is there.
    pub fn new(ground: Ground<P, I, Q, H>) -> Self {
        let (memory, bell) = (Arc::new(Memory::default()), Bell::default());
        let runs = ground.processes.changes();
        hear(runs, memory.clone(), bell.clone(), |id| id.as_str().to_owned());
        hear(ground.rounds.changes(), memory.clone(), bell.clone(), |run: &String| run.clone());
        Self { ground, memory, bell }
    }
}

/// Wakes the pod that a run belongs to. Who falls behind wakes all.
fn hear<T: Clone + Send + 'static>(
    mut changes: Receiver<T>,
    memory: Arc<Memory>,
    bell: Bell,
    name: fn(&T) -> String,
) {
    tokio::spawn(async move {
        loop {
            match changes.recv().await {
                Ok(change) => memory.pod_of(&name(&change)).into_iter().for_each(|pod| bell.ring(pod)),
                Err(RecvError::Lagged(_)) => memory.pods().into_iter().for_each(|pod| bell.ring(pod)),
                Err(RecvError::Closed) => return,
            }
        }
    });
}

impl<P: Processes, I: Images, Q: Prober, H: Homes> Room for Pods<P, I, Q, H> {
    type Kind = Pod;
    type Status = PodStatus;
    type World = plan::World;
    type Step = plan::Step;

    const NAME: &'static str = "pod";
    const SEES_DELETION: bool = true;

    fn relations(&self) -> Vec<Relation<Pod>> {
        vec![Relation::other::<EndpointSlice>(named)]
    }

    fn bell(&self) -> Option<&Bell> {
        Some(&self.bell)
    }

    async fn observe(&self, pod: &Pod, reader: &Reader) -> Result<plan::World, Fault> {
        observe::observe(&self.ground, &self.memory, pod, reader).await
    }

    fn plan(&self, pod: &Pod, world: &plan::World) -> Result<Plan<plan::Step, PodStatus>, Refusal> {
        Ok(plan::plan(pod, world))
    }

    async fn act(&self, pod: &Pod, step: &plan::Step) -> Result<Receipt, Fault> {
        act::act(&self.ground, &self.memory, pod, step).await
    }

    /// A pod that works goes on working; one that does not says what the platform could not do for it.
    fn failed(status: &mut PodStatus, reason: Reason, story: String) {
        let pod = Pod { status: Some(status.clone()), ..Pod::default() };
        if !readiness::ready(&pod) {
            status.say(plan::CONTAINERS_READY, Some(false), reason.clone(), story.clone());
            status.not_ready(reason, story);
        }
    }
}

/// The pods that a slice names.
fn named(slice: &EndpointSlice) -> Vec<Name> {
    let targets = slice.endpoints.iter().flatten().filter_map(|endpoint| endpoint.target_ref.as_ref());
    let pods = targets.filter(|target| target.kind.as_deref() == Some("Pod"));
    pods.map(|pod| Name::new(pod.namespace.clone().unwrap_or_default(), pod.name.clone().unwrap_or_default()))
        .collect()
}
