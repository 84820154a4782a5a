//! A room whose plan each test writes itself.

use api::apps::{Application, ApplicationStatus};
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::networking::v1::Ingress;
use kit::testing::Bench;
use kit::{Child, Do, Fault, Name, Plan, Reader, Receipt, Refusal, Relation, Retry, Room};
use serde_json::{Value, json};

pub type Planned = Result<Plan<String, ApplicationStatus>, Refusal>;

/// Applications with children, planned by a function. Steps that begin with `fail` fail.
pub struct Puppet<const HELD: bool = false>(pub Box<dyn Fn(&Application) -> Planned + Send + Sync>);

impl<const HELD: bool> Puppet<HELD> {
    pub fn new(plan: impl Fn(&Application) -> Planned + Send + Sync + 'static) -> Self {
        Self(Box::new(plan))
    }
}

impl<const HELD: bool> Room for Puppet<HELD> {
    type Kind = Application;
    type Status = ApplicationStatus;
    type World = ();
    type Step = String;

    const NAME: &'static str = "puppet";
    const FINALIZER: Option<&'static str> = if HELD { Some("terrace.dev/puppet") } else { None };

    fn relations(&self) -> Vec<Relation<Application>> {
        vec![Relation::child::<ConfigMap>(), Relation::child::<Service>(), Relation::child::<Ingress>()]
    }

    async fn observe(&self, _: &Application, _: &Reader) -> Result<(), Fault> {
        Ok(())
    }

    fn plan(&self, object: &Application, (): &()) -> Planned {
        (self.0)(object)
    }

    async fn act(&self, _: &Application, step: &String) -> Result<Receipt, Fault> {
        if step.starts_with("fail") {
            return Err(Fault::outside("strings", Retry::Slowly, step.clone()));
        }
        let keep = || Receipt::Keep(Box::new(config("kept", json!({ "answer": step }))));
        Ok(if step.starts_with("keep") { keep() } else { Receipt::Done })
    }
}

pub fn config(name: &str, data: Value) -> Child {
    let object = json!({ "metadata": { "name": name, "namespace": "default" }, "data": data });
    Child::of(&serde_json::from_value::<ConfigMap>(object).expect("a ConfigMap"))
}

pub fn apply(child: Child) -> Do<String> {
    Do::Apply(Box::new(child))
}

/// A bench with an Application `app`, and its name.
pub async fn staged() -> (Bench, Name) {
    let bench = Bench::start().await;
    bench
        .create(json!({
            "apiVersion": "iaf.io/v1alpha1", "kind": "Application",
            "metadata": { "name": "app" }, "spec": { "image": "app:1" },
        }))
        .await;
    (bench, Name::new("default", "app"))
}
