//! What becomes of a pod in one pass.

mod container;
mod env;
mod farewell;
mod launch;
mod probes;
mod report;
mod volumes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use api::annotations::PORT;
use api::secret::Sealed;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodSpec, PodStatus, Service};
use kit::{Address, Child, Do, Name, Next, Plan};
use kube::core::ApiResource;
use ports::homes::Home;
use ports::images::LocalImage;
use ports::probe::{Finding, Probe, Purpose};
use ports::process::{End, Id, Launch, State};
use serde_json::{Map, json};

use super::super::readiness::{loopback_port, over};
use container::{Considered, consider};

pub(super) use report::CONTAINERS_READY;
pub(super) use volumes::references;

/// What is known when a plan is made.
#[derive(Debug, Default)]
pub struct World {
    /// The time.
    pub(super) now: Timestamp,
    /// Name of this machine's node.
    pub(super) node: String,
    /// How each container stands.
    pub(super) seen: BTreeMap<String, Seen>,
    /// What containers are started from; empty while all run.
    pub(super) supplies: Supplies,
    /// A free port for each container port that has none.
    pub(super) free: BTreeMap<i32, u16>,
    /// The pod's directory.
    pub(super) home: PathBuf,
    /// The log of each container.
    pub(super) logs: BTreeMap<String, PathBuf>,
    /// The user that its programs run as.
    pub(super) user: Option<u32>,
    /// What holds back a pod that is to end.
    pub(super) farewell: Option<Farewell>,
}

/// How a container stands.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Its last attempt, from 0.
    pub(super) attempt: i32,
    /// How that stands; `None` if it was not begun.
    pub(super) state: Option<State>,
    /// How the attempt before ended.
    pub(super) before: Option<End>,
    /// How many attempts in a row ended soon.
    pub(super) failures: u32,
    /// What its probes found; `None` if nobody asks.
    pub(super) findings: Option<BTreeMap<Purpose, Finding>>,
}

/// What a Secret holds.
pub(super) type SecretData = BTreeMap<String, Sealed<Vec<u8>>>;

/// What containers are started from.
#[derive(Debug, Default)]
pub(super) struct Supplies {
    pub(super) images: BTreeMap<String, Found>,
    pub(super) secrets: BTreeMap<String, Option<SecretData>>,
    pub(super) config_maps: BTreeMap<String, Option<BTreeMap<String, Vec<u8>>>>,
    pub(super) services: Vec<Arc<Service>>,
}

/// Where an image is.
#[derive(Debug)]
pub(super) enum Found {
    /// On this machine.
    Here(LocalImage),
    /// A container runtime gets it.
    By(Vec<String>),
    /// Nobody gets it.
    Nowhere,
}

/// What holds back a pod that is to end.
#[derive(Debug, Default)]
pub(super) struct Farewell {
    /// Since when nobody is sent to it.
    pub(super) quiet_since: Option<Timestamp>,
    /// Requests that it is still answering.
    pub(super) requests: usize,
}

/// A step outside the cluster.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Makes the pod's directory.
    Prepare(Home),
    /// Keeps the log of a container's run before.
    TurnLog(String),
    /// Starts a run.
    Start(Box<Launch>),
    /// Ends a run.
    Stop(Id, Duration),
    /// Forgets a run that has ended.
    Forget(Id),
    /// Begins to ask a run how it is.
    Ask(Id, Vec<Probe>),
    /// Asks no more.
    AskNoMore(Id),
    /// Removes the pod's directory.
    RemoveHome,
    /// Removes the pod's logs, and all memory of it.
    RemoveLogs,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prepare(home) => write!(f, "prepare the directory of {}", home.uid),
            Self::TurnLog(container) => write!(f, "turn the log of {container}"),
            Self::Start(launch) => write!(f, "start {}", launch.id),
            Self::Stop(run, grace) => write!(f, "stop {run} within {} s", grace.as_secs()),
            Self::Forget(run) => write!(f, "forget {run}"),
            Self::Ask(run, _) => write!(f, "probe {run}"),
            Self::AskNoMore(run) => write!(f, "probe {run} no more"),
            Self::RemoveHome => f.write_str("remove its directory"),
            Self::RemoveLogs => f.write_str("remove its logs"),
        }
    }
}

/// A pod with all that is known of it.
struct Scene<'a> {
    pod: &'a Pod,
    spec: &'a PodSpec,
    world: &'a World,
}

pub(super) fn plan(pod: &Pod, world: &World) -> Plan<Step, PodStatus> {
    let status = pod.status.clone().unwrap_or_default();
    let Some(spec) = &pod.spec else { return Plan::part(Vec::new(), status, Next::OnChange) };
    let scene = Scene { pod, spec, world };
    let node = spec.node_name.as_deref().filter(|node| !node.is_empty());
    if node.is_some_and(|node| node != world.node) {
        return Plan::part(Vec::new(), status, Next::OnChange);
    }
    if pod.metadata.deletion_timestamp.is_some() {
        return farewell::plan(&scene);
    }
    if over(pod) {
        return Plan::part(Vec::new(), status, Next::OnChange);
    }
    let init: Vec<Considered> = begin(&scene);
    let initialized = init.len() == init_containers(spec).len() && init.iter().all(|one| one.done);
    let main: Vec<Considered> = spec
        .containers
        .iter()
        .map(|one| {
            if initialized {
                consider(&scene, one, restarts(spec))
            } else {
                container::initializing(&scene, one)
            }
        })
        .collect();
    let mut steps = welcome(&scene);
    let all = || init.iter().chain(&main);
    steps.extend(all().flat_map(|one| one.steps.iter().cloned()).map(Do::Outside));
    let next = all().filter_map(|one| one.again).min().map_or(Next::OnChange, Next::After);
    Plan::part(steps, report::status(&scene, &init, &main), next)
}

/// The init containers, one after the other, up to the first that is not done.
fn begin(scene: &Scene<'_>) -> Vec<Considered> {
    let begun = |one: &Container| scene.world.seen.get(&one.name).is_some_and(|seen| seen.state.is_some());
    let main_begun = scene.spec.containers.iter().any(begun);
    let policy = match restarts(scene.spec) {
        Restarts::Never => Restarts::Never,
        Restarts::Always | Restarts::OnFailure => Restarts::OnFailure,
    };
    let mut all = Vec::new();
    for one in init_containers(scene.spec) {
        // Who started the others was done before, whether that is still known or not.
        let considered =
            if main_begun { container::bygone(scene, one) } else { consider(scene, one, policy) };
        let done = considered.done;
        all.push(considered);
        if !done {
            break;
        }
    }
    all
}

/// Gives the pod its node and its ports, before anything starts.
fn welcome(scene: &Scene<'_>) -> Vec<Do<Step>> {
    let mut steps = Vec::new();
    if scene.spec.node_name.as_deref().is_none_or(str::is_empty) {
        steps.push(bind(scene));
    }
    if !scene.world.free.is_empty() {
        let ports: Map<_, _> = scene
            .world
            .free
            .iter()
            .map(|(port, free)| (format!("{PORT}{port}"), free.to_string().into()))
            .collect();
        steps.push(Do::Patch(Address::of(scene.pod), json!({ "metadata": { "annotations": ports } })));
    }
    steps
}

/// What a scheduler does: it creates a binding below the pod.
fn bind(scene: &Scene<'_>) -> Do<Step> {
    let (namespace, name) = (scene.namespace(), scene.name());
    let resource = ApiResource {
        group: String::new(),
        version: "v1".into(),
        api_version: "v1".into(),
        kind: "Binding".into(),
        plural: format!("pods/{name}/binding"),
    };
    let body = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": { "name": name, "namespace": namespace },
        "target": { "apiVersion": "v1", "kind": "Node", "name": scene.world.node },
    });
    let address = Address { resource, name: Name::new(namespace, name) };
    Do::Create(Box::new(Child { address, body, owned: false }))
}

/// When a container that ended is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Restarts {
    Always,
    OnFailure,
    Never,
}

fn restarts(spec: &PodSpec) -> Restarts {
    match spec.restart_policy.as_deref() {
        Some("Never") => Restarts::Never,
        Some("OnFailure") => Restarts::OnFailure,
        _ => Restarts::Always,
    }
}

fn init_containers(spec: &PodSpec) -> &[Container] {
    spec.init_containers.as_deref().unwrap_or_default()
}

/// Init containers and containers, in the order in which they start.
pub(super) fn all_containers(pod: &Pod) -> impl Iterator<Item = &Container> {
    let spec = pod.spec.as_ref();
    spec.into_iter().flat_map(|spec| init_containers(spec).iter().chain(&spec.containers))
}

/// The name of one attempt of one container.
pub(super) fn run_id(pod: &Pod, container: &str, attempt: i32) -> Id {
    Id::new(&format!("{}-{container}-{attempt}", pod.metadata.uid.as_deref().unwrap_or_default()))
}

/// The attempt of a container that the pod's status tells of.
pub(super) fn attempt_of(pod: &Pod, container: &str) -> i32 {
    status_of(pod, container).map_or(0, |status| status.restart_count)
}

fn status_of<'a>(pod: &'a Pod, container: &str) -> Option<&'a ContainerStatus> {
    let status = pod.status.as_ref()?;
    let mut all =
        status.init_container_statuses.iter().flatten().chain(status.container_statuses.iter().flatten());
    all.find(|status| status.name == container)
}

impl Scene<'_> {
    fn name(&self) -> &str {
        self.pod.metadata.name.as_deref().unwrap_or_default()
    }

    fn namespace(&self) -> &str {
        self.pod.metadata.namespace.as_deref().unwrap_or_default()
    }

    fn uid(&self) -> &str {
        self.pod.metadata.uid.as_deref().unwrap_or_default()
    }

    fn run(&self, container: &str, attempt: i32) -> Id {
        run_id(self.pod, container, attempt)
    }

    /// The port of this machine that stands for a container port; itself, if nobody declared it.
    fn port(&self, container_port: i32) -> u16 {
        let given = loopback_port(self.pod, container_port).or(self.world.free.get(&container_port).copied());
        given.unwrap_or_else(|| u16::try_from(container_port).unwrap_or_default())
    }

    /// How long the pod may take to end.
    fn grace(&self) -> Duration {
        let seconds = self.spec.termination_grace_period_seconds.unwrap_or(30);
        Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
    }
}

/// Names of things that a pod is made from.
#[derive(Debug, Default)]
pub(super) struct References {
    pub(super) secrets: BTreeSet<String>,
    pub(super) config_maps: BTreeSet<String>,
}
