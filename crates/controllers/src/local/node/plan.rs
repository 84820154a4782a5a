//! What a node says of this machine, and what is left of pods that are gone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use api::conditions::{Reason, Standing};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, NodeAddress, NodeStatus, NodeSystemInfo, Pod, Service};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kit::{Do, Name, Next, Plan};
use ports::process::{Id, State};

use super::super::quantity::thousandths;

/// The least time between two clearings: those who go often are cleared up after together.
const REST: Duration = Duration::from_secs(2);
/// How long nobody need have gone before it is looked anyway.
const ROUND: Duration = Duration::from_secs(30);
/// How long a process may take to end whose pod is gone already.
const GRACE: Duration = Duration::from_secs(5);
/// Length of a uid.
const UID: usize = 36;

/// What this machine is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Name of its node.
    pub name: String,
    /// Processors.
    pub processors: u64,
    /// Memory.
    pub memory_bytes: u64,
    /// Pods that it takes.
    pub pods: u64,
    /// Its kernel's version.
    pub kernel: String,
    /// Its operating system, for a person.
    pub system: String,
    /// Its architecture, as Go spells it (`amd64`, `arm64`).
    pub architecture: String,
    /// Version of Kubernetes that it behaves like (`v1.36.4`).
    pub version: String,
}

/// What is known when a plan is made.
#[derive(Debug, Default)]
pub struct World {
    /// The time.
    pub(super) now: Timestamp,
    /// What there is to clear up, if it is time to.
    pub(super) remains: Option<Remains>,
}

/// What runs and lies on this machine, and what should.
#[derive(Debug, Default)]
pub struct Remains {
    pub(super) runs: Vec<(Id, Option<State>)>,
    pub(super) homes: Vec<String>,
    pub(super) logs: Vec<Name>,
    pub(super) listens: Vec<SocketAddr>,
    pub(super) pods: Vec<Arc<Pod>>,
    pub(super) services: Vec<Arc<Service>>,
}

/// A step outside the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Ends a run.
    Stop(Id, Duration),
    /// Forgets a run that has ended.
    Forget(Id),
    /// Removes the directory of a pod, by uid.
    RemoveHome(String),
    /// Removes the logs of a pod.
    RemoveLogs(Name),
    /// Listens on an address no longer.
    Close(SocketAddr),
    /// Remembers when it was cleared up.
    Cleared(Timestamp),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stop(id, _) => write!(f, "stop {id}"),
            Self::Forget(id) => write!(f, "forget {id}"),
            Self::RemoveHome(uid) => write!(f, "remove the directory of {uid}"),
            Self::RemoveLogs(pod) => write!(f, "remove the logs of {pod}"),
            Self::Close(listen) => write!(f, "close {listen}"),
            Self::Cleared(_) => f.write_str("remember that it was cleared up"),
        }
    }
}

/// Whether it is time to clear up again.
pub(super) fn due(cleared: Option<Timestamp>, now: Timestamp) -> bool {
    cleared.is_none_or(|at| now.duration_since(at) >= SignedDuration::try_from(REST).unwrap_or_default())
}

pub(super) fn plan(node: &Node, world: &World, machine: &Machine) -> Plan<Step, NodeStatus> {
    let status = node.status.clone().unwrap_or_default();
    if node.metadata.name.as_deref() != Some(machine.name.as_str()) {
        return Plan::part(Vec::new(), status, Next::OnChange);
    }
    let Some(remains) = &world.remains else {
        return Plan::part(Vec::new(), told(status, machine), Next::After(REST));
    };
    let mut steps = clear(remains);
    // Runs that were asked to end are looked at again soon, to be forgotten.
    let again = if steps.is_empty() { ROUND } else { REST };
    steps.push(Step::Cleared(world.now));
    let steps = steps.into_iter().map(Do::Outside).collect();
    Plan::part(steps, told(status, machine), Next::After(again))
}

fn clear(remains: &Remains) -> Vec<Step> {
    let uids: BTreeSet<&str> = remains.pods.iter().filter_map(|pod| pod.metadata.uid.as_deref()).collect();
    let names: BTreeSet<Name> = remains.pods.iter().map(|pod| Name::of(&**pod)).collect();
    let mut steps = Vec::new();
    let mut ending = BTreeSet::new();
    for (id, state) in &remains.runs {
        let Some(uid) = pod_of(id).filter(|uid| !uids.contains(uid)) else { continue };
        match state {
            Some(State::Running { .. }) => {
                ending.insert(uid);
                steps.push(Step::Stop(id.clone(), GRACE));
            }
            Some(State::Ended(_)) | None => steps.push(Step::Forget(id.clone())),
        }
    }
    let homes =
        remains.homes.iter().filter(|uid| !uids.contains(uid.as_str()) && !ending.contains(uid.as_str()));
    steps.extend(homes.cloned().map(Step::RemoveHome));
    steps.extend(remains.logs.iter().filter(|name| !names.contains(name)).cloned().map(Step::RemoveLogs));
    let services = remains.services.iter().filter_map(|service| service.spec.as_ref()?.cluster_ip.as_deref());
    let addresses: BTreeSet<IpAddr> = services.filter_map(|address| address.parse().ok()).collect();
    let stale = remains.listens.iter().filter(|listen| !addresses.contains(&listen.ip()));
    steps.extend(stale.copied().map(Step::Close));
    steps
}

/// The uid of the pod that a run belongs to; runs of others have names of another form.
fn pod_of(id: &Id) -> Option<&str> {
    let (uid, rest) = id.as_str().split_at_checked(UID)?;
    let hyphens = [8, 13, 18, 23];
    let shaped = uid.bytes().enumerate().all(|(place, byte)| match hyphens.contains(&place) {
        true => byte == b'-',
        false => byte.is_ascii_hexdigit(),
    });
    (shaped && rest.starts_with('-')).then_some(uid)
}

/// What the machine is, and that it is ready. It says so once: a date that moves would be a write for nobody.
fn told(mut status: NodeStatus, machine: &Machine) -> NodeStatus {
    let capacity = BTreeMap::from([
        ("cpu".to_owned(), Quantity(machine.processors.to_string())),
        ("memory".to_owned(), Quantity(format!("{}Ki", machine.memory_bytes / 1024))),
        ("pods".to_owned(), Quantity(machine.pods.to_string())),
    ]);
    status.allocatable = Some(kept(status.allocatable.take(), &capacity));
    status.capacity = Some(kept(status.capacity.take(), &capacity));
    let address = |type_: &str, address: &str| NodeAddress { type_: type_.into(), address: address.into() };
    status.addresses = Some(vec![address("InternalIP", "127.0.0.1"), address("Hostname", &machine.name)]);
    status.node_info = Some(NodeSystemInfo {
        architecture: machine.architecture.clone(),
        container_runtime_version: "terrace://1".into(),
        kernel_version: machine.kernel.clone(),
        kubelet_version: machine.version.clone(),
        operating_system: "linux".into(),
        os_image: machine.system.clone(),
        ..status.node_info.unwrap_or_default()
    });
    let conditions = [
        ("MemoryPressure", false, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", false, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", false, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("Ready", true, "KubeletReady", "this machine starts pods as process groups"),
    ];
    for (type_, holds, reason, message) in conditions {
        status.say(type_, Some(holds), Reason::Code(reason.into()), message);
    }
    status
}

/// What is held, if it means the same: the API server may spell an amount in another way.
fn kept(
    held: Option<BTreeMap<String, Quantity>>,
    wanted: &BTreeMap<String, Quantity>,
) -> BTreeMap<String, Quantity> {
    let amounts = |all: &BTreeMap<String, Quantity>| -> BTreeMap<String, Option<i128>> {
        all.iter().map(|(name, amount)| (name.clone(), thousandths(&amount.0))).collect()
    };
    held.filter(|held| amounts(held) == amounts(wanted)).unwrap_or_else(|| wanted.clone())
}
