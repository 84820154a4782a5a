//! `Application`: source code or an image in, a URL out.
//!
//! Every pass reads how far the application is off the world. An image that must be built is kpack's matter; once there
//! is one, a Deployment runs it, a Service finds its pods and a route brings requests to them. As long as the image that
//! the spec asks for is not there, what runs goes on running. The program that pods run knows nothing of Terrace: it
//! listens on the port in `PORT`.
//!
//! Children have the application's own name, and go with it by their owner reference, so there is no finalizer.

use std::convert::Infallible;

use api::annotations::APPLICATION;
use api::apps::{Application, ApplicationStatus, DataSource};
use api::foreign::{certmanager::Certificate, kpack, traefik::IngressRoute};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::networking::v1::Ingress;
use kit::{Fault, Index, Name, Plan, Reader, Receipt, Refusal, Relation, Room};

use super::Config;

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

/// Applications that may want the same host: those whose host begins with the same label. A default host ends in the
/// base domain, which an index does not know.
const SAME_LABEL: Index<Application> = Index { name: "application by first label", keys: first_label };
/// Applications by the data sources they are attached to.
const ATTACHED: Index<Application> = Index { name: "application by data source", keys: attached };
/// Pods by the application they belong to.
const PODS: Index<Pod> = Index { name: "pod by application", keys: application_key };

/// The room of `Application`.
#[derive(Clone, Debug)]
pub struct Applications {
    config: Config,
}

impl Applications {
    /// The room, as the platform's operators want it.
    pub fn new(config: Config) -> Self {
        Self { config }
    }
}

impl Room for Applications {
    type Kind = Application;
    type Status = ApplicationStatus;
    type World = plan::World;
    type Step = Infallible;

    const NAME: &'static str = "application";

    fn relations(&self) -> Vec<Relation<Application>> {
        vec![
            Relation::child::<kpack::Image>(),
            Relation::child::<Deployment>(),
            Relation::child::<Service>(),
            Relation::child::<IngressRoute>(),
            Relation::child::<Ingress>(),
            Relation::child::<Certificate>(),
            Relation::other::<Pod>(application_of),
            Relation::indexed::<Application>(SAME_LABEL, first_label),
            Relation::indexed::<DataSource>(ATTACHED, |source| {
                source.metadata.name.clone().into_iter().collect()
            }),
        ]
    }

    async fn observe(&self, app: &Application, reader: &Reader) -> Result<plan::World, Fault> {
        observe::observe(app, reader).await
    }

    fn plan(
        &self,
        app: &Application,
        world: &plan::World,
    ) -> Result<Plan<Infallible, ApplicationStatus>, Refusal> {
        plan::plan(app, world, &self.config)
    }

    async fn act(&self, _: &Application, step: &Infallible) -> Result<Receipt, Fault> {
        act::act(step)
    }
}

fn first_label(app: &Application) -> Vec<String> {
    let host = app.spec.host.as_ref().map(|host| host.as_str()).or(app.metadata.name.as_deref());
    host.and_then(|host| host.split('.').next()).map(str::to_owned).into_iter().collect()
}

fn attached(app: &Application) -> Vec<String> {
    app.spec.attached_data_sources.iter().map(|attached| attached.data_source_name.to_string()).collect()
}

fn application_of(pod: &Pod) -> Vec<Name> {
    let name = pod.metadata.labels.iter().flatten().find(|(label, _)| *label == APPLICATION);
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    name.map(|(_, name)| Name::new(namespace, name.clone())).into_iter().collect()
}

fn application_key(pod: &Pod) -> Vec<String> {
    application_of(pod).iter().map(Name::to_string).collect()
}
