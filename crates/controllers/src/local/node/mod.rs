//! A `Node` is this machine. Its room says what the machine is and that it is ready, and clears up after pods that are
//! gone: their processes, directories, logs and probes, and addresses that no Service has any more.

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::conditions::Reason;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeStatus, Pod, Service};
use kit::{Fault, Index, Plan, Reader, Receipt, Refusal, Relation, Room};
use parking_lot::Mutex;
use ports::forward::Forward;
use ports::homes::Homes;
use ports::process::Processes;

pub use plan::Machine;

/// All nodes, under one key: a pod that goes wakes each of them.
const ALL: Index<Node> = Index { name: "all", keys: |_| vec![String::new()] };

/// The room of `Node`s: of the one that is this machine.
pub struct Nodes<P, H, F> {
    processes: Arc<P>,
    homes: Arc<H>,
    forward: Arc<F>,
    machine: Machine,
    /// When it was last cleared up. Nobody else can know, and a restart may well clear up at once.
    cleared: Mutex<Option<Timestamp>>,
}

impl<P: Processes, H: Homes, F: Forward> Nodes<P, H, F> {
    /// The room of the node that is this machine.
    pub fn new(processes: Arc<P>, homes: Arc<H>, forward: Arc<F>, machine: Machine) -> Self {
        Self { processes, homes, forward, machine, cleared: Mutex::default() }
    }
}

impl<P: Processes, H: Homes, F: Forward> Room for Nodes<P, H, F> {
    type Kind = Node;
    type Status = NodeStatus;
    type World = plan::World;
    type Step = plan::Step;

    const NAME: &'static str = "node";

    fn relations(&self) -> Vec<Relation<Node>> {
        let leaving = |pod: &Pod| match pod.metadata.deletion_timestamp {
            Some(_) => vec![String::new()],
            None => Vec::new(),
        };
        vec![
            Relation::indexed::<Pod>(ALL, leaving),
            Relation::indexed::<Service>(ALL, |_| vec![String::new()]),
        ]
    }

    async fn observe(&self, node: &Node, reader: &Reader) -> Result<plan::World, Fault> {
        observe::observe(self, node, reader).await
    }

    fn plan(&self, node: &Node, world: &plan::World) -> Result<Plan<plan::Step, NodeStatus>, Refusal> {
        Ok(plan::plan(node, world, &self.machine))
    }

    async fn act(&self, _: &Node, step: &plan::Step) -> Result<Receipt, Fault> {
        act::act(self, step).await
    }

    /// Clearing up can wait: the machine is as ready as before.
    fn failed(_: &mut NodeStatus, _: Reason, _: String) {}
}
