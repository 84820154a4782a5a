//! What the gateway's table is to be.

mod backends;
mod ingress;
mod ingress_route;
pub(super) mod rule;
mod table;
mod wish;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use api::conditions::Silent;
use api::foreign::traefik::IngressRoute;
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use kit::{Do, Next, Plan};
use ports::traffic::Table;

use super::{CLASS, CONTROLLER};

/// Everything that speaks of routes.
#[derive(Debug, Default)]
pub struct World {
    /// Traefik's routes.
    pub(super) ingress_routes: Vec<Arc<IngressRoute>>,
    /// Those of Kubernetes.
    pub(super) ingresses: Vec<Arc<Ingress>>,
    /// Where they lead.
    pub(super) services: Vec<Arc<Service>>,
    /// Who answers there.
    pub(super) slices: Vec<Arc<EndpointSlice>>,
    /// Certificates are among them.
    pub(super) secrets: Vec<Arc<Secret>>,
    /// The table that the gateway follows.
    pub(super) followed: Arc<Table>,
    /// What was said of routes that cannot be followed.
    pub(super) said: Arc<BTreeSet<String>>,
}

/// What is done about it.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The gateway follows another table.
    Follow(Arc<Table>),
    /// The log tells which routes cannot be followed, and why.
    Say(Arc<BTreeSet<String>>),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Follow(table) => {
                let (routes, certificates) = (table.routes.len(), table.certificates.len());
                write!(f, "follow {routes} routes and {certificates} certificates")
            }
            Self::Say(skipped) => write!(f, "tell of {} routes that cannot be followed", skipped.len()),
        }
    }
}

/// The plan for one pass over our class; those of other gateways are not ours to follow.
pub(super) fn plan(class: &IngressClass, world: &World) -> Plan<Step, Silent> {
    let controller = class.spec.as_ref().and_then(|spec| spec.controller.as_deref());
    let ours = class.metadata.name.as_deref() == Some(CLASS) && controller == Some(CONTROLLER);
    let mut steps = Vec::new();
    if ours {
        let (table, skipped) = table::table(world);
        if table != *world.followed {
            steps.push(Do::Outside(Step::Follow(Arc::new(table))));
        }
        if skipped != *world.said {
            steps.push(Do::Outside(Step::Say(Arc::new(skipped))));
        }
    }
    Plan::part(steps, Silent {}, Next::OnChange)
}
