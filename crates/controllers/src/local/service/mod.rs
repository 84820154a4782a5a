//! A `Service` names the pods behind it in `EndpointSlice`s, and passes connections to its own address on to those that
//! are ready. Every pod has a port of its own on this machine, so every pod has a slice of its own. A service that selects
//! nobody leads to what others' slices name.

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::conditions::Reason;
use k8s_openapi::api::core::v1::{Endpoints, Pod, Service, ServiceStatus};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kit::{Fault, Index, Name, Plan, Reader, Receipt, Refusal, Relation, Room};
use ports::forward::Forward;

pub use plan::REACHABLE;

/// The services of one namespace. Which of them a pod is behind is for each to say.
const BY_NAMESPACE: Index<Service> =
    Index { name: "namespace", keys: |service| service.metadata.namespace.iter().cloned().collect() };

/// The service that a slice belongs to, whoever wrote it.
fn named(slice: &EndpointSlice) -> Vec<Name> {
    let service = slice.metadata.labels.iter().flatten().find(|(label, _)| *label == plan::SERVICE_NAME);
    let namespace = slice.metadata.namespace.clone().unwrap_or_default();
    service.map(|(_, name)| Name::new(namespace, name.clone())).into_iter().collect()
}

/// The room of `Service`s.
pub struct Services<F> {
    forward: Arc<F>,
}

impl<F: Forward> Services<F> {
    /// The room, with what passes connections on.
    pub fn new(forward: Arc<F>) -> Self {
        Self { forward }
    }
}

impl<F: Forward> Room for Services<F> {
    type Kind = Service;
    type Status = ServiceStatus;
    type World = plan::World;
    type Step = plan::Step;

    const NAME: &'static str = "service";

    fn relations(&self) -> Vec<Relation<Service>> {
        vec![
            Relation::child::<EndpointSlice>(),
            Relation::child::<Endpoints>(),
            Relation::other::<EndpointSlice>(named),
            Relation::indexed::<Pod>(BY_NAMESPACE, |pod| pod.metadata.namespace.iter().cloned().collect()),
        ]
    }

    async fn observe(&self, service: &Service, reader: &Reader) -> Result<plan::World, Fault> {
        observe::observe(service, reader, &*self.forward).await
    }

    fn plan(
        &self,
        service: &Service,
        world: &plan::World,
    ) -> Result<Plan<plan::Step, ServiceStatus>, Refusal> {
        Ok(plan::plan(service, world))
    }

    async fn act(&self, _: &Service, step: &plan::Step) -> Result<Receipt, Fault> {
        act::act(step, &*self.forward).await
    }

    /// A Service has no word for a pass that failed, and goes on as it was.
    fn failed(_: &mut ServiceStatus, _: Reason, _: String) {}
}
