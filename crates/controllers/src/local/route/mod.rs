//! What Traefik does in a cluster: Ingresses and IngressRoutes become the table that the gateway follows.
//!
//! The table is one thing, so the room's object is one as well: the `IngressClass` of this gateway. Whatever speaks of
//! routes wakes it, and one pass over everything makes the whole table anew.

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use api::conditions::Silent;
use api::foreign::traefik::IngressRoute;
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use kit::{Fault, Name, Plan, Reader, Receipt, Refusal, Relation, Room};
use parking_lot::Mutex;
use ports::traffic::Traffic;

pub use plan::{Step, World};

/// The name of our class.
pub const CLASS: &str = "terrace";
/// What our class names as its controller.
pub const CONTROLLER: &str = "terrace.dev/gateway";

/// The routes of this machine.
pub struct Routes<T> {
    traffic: T,
    /// What was said of routes that cannot be followed, so that it is said once.
    said: Mutex<Arc<BTreeSet<String>>>,
}

impl<T: Traffic> Routes<T> {
    /// The routes that a gateway follows.
    pub fn new(traffic: T) -> Self {
        Self { traffic, said: Mutex::default() }
    }
}

impl<T: Traffic> Room for Routes<T> {
    type Kind = IngressClass;
    type Status = Silent;
    type World = World;
    type Step = Step;

    const NAME: &'static str = "route";

    fn relations(&self) -> Vec<Relation<IngressClass>> {
        vec![
            Relation::other::<IngressRoute>(|_| ours()),
            Relation::other::<Ingress>(|_| ours()),
            Relation::other::<Service>(|_| ours()),
            Relation::other::<EndpointSlice>(|_| ours()),
            Relation::other::<Secret>(|secret| if holds_certificate(secret) { ours() } else { Vec::new() }),
        ]
    }

    async fn observe(&self, _: &IngressClass, reader: &Reader) -> Result<World, Fault> {
        observe::observe(self, reader).await
    }

    fn plan(&self, class: &IngressClass, world: &World) -> Result<Plan<Step, Silent>, Refusal> {
        Ok(plan::plan(class, world))
    }

    async fn act(&self, _: &IngressClass, step: &Step) -> Result<Receipt, Fault> {
        act::act(self, step);
        Ok(Receipt::Done)
    }
}

fn ours() -> Vec<Name> {
    vec![Name::new("", CLASS)]
}

fn holds_certificate(secret: &Secret) -> bool {
    secret.data.as_ref().is_some_and(|data| data.contains_key("tls.crt"))
}
