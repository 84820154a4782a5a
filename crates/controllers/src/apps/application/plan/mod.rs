//! Every rule of the kind.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use api::apps::{Application, ApplicationStatus, AttachedDataSource};
use api::conditions::{BUILT, EXPOSED, READY, Reason, Standing};
use api::foreign::{certmanager::Certificate, kpack};
use api::names::{EnvName, SecretKey};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{EnvVar, Pod};
use kit::{Address, Child, Do, Object, Plan, Refusal};
use serde_json::json;

use crate::apps::Config;

mod env;
mod pods;
mod program;
mod route;
mod source;
mod verdict;

pub(super) use pods::{Dying, dying};
use route::Way;
use source::{Build, Source};
use verdict::{Hold, verdict};

/// What is known when a plan is made.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The time.
    pub now: Timestamp,
    /// Whether kpack's kind is served.
    pub kpack: bool,
    /// Whether Traefik's kind is served.
    pub traefik: bool,
    /// Whether cert-manager's kind is served.
    pub cert_manager: bool,
    /// What kpack says of the image.
    pub image: Option<Arc<kpack::Image>>,
    /// What runs.
    pub deployment: Option<Arc<Deployment>>,
    /// What cert-manager says of the certificate.
    pub certificate: Option<Arc<Certificate>>,
    /// Its pods, of all versions.
    pub pods: Vec<Arc<Pod>>,
    /// The last lines of the container that died last.
    pub last_words: Option<String>,
    /// Applications that may want the same host.
    pub neighbours: Vec<Arc<Application>>,
    /// What is there of the data sources that the spec attaches, in its order.
    pub attached: Vec<Attached>,
}

/// What is there of a data source that is attached.
#[derive(Clone, Debug, PartialEq)]
pub struct Attached {
    /// What the spec says.
    pub wanted: AttachedDataSource,
    /// Which key goes to which variable, if the data source exists.
    pub mapping: Option<BTreeMap<SecretKey, EnvName>>,
    /// The keys of its Secret in the application's namespace, if that exists.
    pub keys: Option<BTreeSet<String>>,
}

/// The plan for one pass over one application.
pub(super) fn plan(
    app: &Application,
    world: &World,
    config: &Config,
) -> Result<Plan<Infallible, ApplicationStatus>, Refusal> {
    named(app)?;
    let source = Source::of(&app.spec)?;
    let way = Way::of(app, world, config)?;
    let order = source.order(app, config);
    let build = source::build(&source, order.as_ref(), world);
    let program = program(app, &build, world);

    let mut steps = Vec::new();
    if world.kpack {
        steps.extend(order.as_ref().map(apply));
    }
    match &program {
        Ok((image, env)) => steps.push(apply(&program::deployment(app, image, &source, env.clone()))),
        Err(_) => steps.extend(rescaled(app, world)),
    }
    if program.is_ok() || world.deployment.is_some() {
        steps.push(apply(&program::service(app)));
        steps.extend(way.children(app, config));
    }

    let verdict = verdict(app, world, config, program.as_ref().err());
    let mut status = app.status.clone().unwrap_or_default();
    status.observed_generation = app.metadata.generation;
    status.phase = Some(verdict.phase);
    status.url = way.url(config);
    status.available_replicas = program::available(world);
    status.latest_image =
        program.as_ref().ok().map(|(image, _)| image.clone()).or_else(|| program::running(world));
    status.build_status = build.words();
    let (built, reason, message) = build.condition();
    status.say(BUILT, built, reason, message);
    let (exposed, reason, message) = way.condition(world, config, program.is_ok());
    status.say(EXPOSED, Some(exposed), reason, message);
    match way.conflict() {
        Some(message) => status.not_ready(Reason::HostConflict, message),
        None => status.say(READY, Some(verdict.ready), verdict.reason, verdict.message),
    }
    let plan = if program.is_ok() { Plan::whole } else { Plan::part };
    Ok(plan(steps, status, verdict.next))
}

/// The name becomes that of a Service, which is more narrow than that of other objects.
fn named(app: &Application) -> Result<(), Refusal> {
    let name = program::name(app);
    if name.contains('.') || !name.starts_with(|first: char| first.is_ascii_lowercase()) {
        let message = format!(
            "`{name}` cannot be the name of a Service; choose one of letters, digits and `-` that begins with a letter"
        );
        return Err(Refusal::new(Reason::InvalidSpec, message));
    }
    Ok(())
}

/// What the spec asks to run, or what it still lacks.
fn program(app: &Application, build: &Build, world: &World) -> Result<(String, Vec<EnvVar>), Hold> {
    let image = build.image().map_err(Hold::Build)?;
    let env = env::variables(app, &world.attached).map_err(Hold::Data)?;
    Ok((image, env))
}

/// Copies that come and go need no new image.
fn rescaled(app: &Application, world: &World) -> Option<Do<Infallible>> {
    let deployment = world.deployment.as_ref()?;
    let held = deployment.spec.as_ref().and_then(|spec| spec.replicas);
    let replicas = app.spec.replicas;
    (held != Some(replicas))
        .then(|| Do::Patch(Address::of(&**deployment), json!({ "spec": { "replicas": replicas } })))
}

fn apply<K: Object>(child: &K) -> Do<Infallible> {
    Do::Apply(Box::new(Child::of(child)))
}
