//! Which pods a service leads to, and under which addresses.

mod forwarding;

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::core::v1::{Endpoints, ObjectReference, Pod, Service, ServicePort, ServiceStatus};
use k8s_openapi::api::discovery::v1 as discovery;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kit::{Child, Do, Next, Plan};
use ports::forward::Forwarding;

use super::super::code::{code, digest};
use super::super::readiness::{loopback_port, over, ready};
pub use forwarding::REACHABLE;
use forwarding::{forwards, named_behind, next, pods_behind, reachable};

/// On a slice: the service that it belongs to.
pub const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// On the slices and endpoints of a service without an address.
const HEADLESS: &str = "service.kubernetes.io/headless";
/// Length of the code at the end of a slice's name.
const CODE_LETTERS: usize = 8;

/// What is known when a plan is made.
#[derive(Debug, Default)]
pub struct World {
    /// Pods that the service selects.
    pub(super) pods: Vec<Arc<Pod>>,
    /// Slices that name it, of a service that selects nobody: whoever made it writes them.
    pub(super) slices: Vec<Arc<EndpointSlice>>,
    /// Every address of this machine that is passed on, whoever's it is.
    pub(super) forwards: BTreeMap<SocketAddr, Forwarding>,
}

/// A step outside the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Passes connections to an address on to these.
    Forward(SocketAddr, Vec<SocketAddr>),
    /// Listens on an address no longer.
    Close(SocketAddr),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forward(listen, backends) => {
                let list: Vec<String> = backends.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "forward {listen} to {}",
                    if list.is_empty() { "nobody".into() } else { list.join(", ") }
                )
            }
            Self::Close(listen) => write!(f, "close {listen}"),
        }
    }
}

/// Whether a service leads to a pod.
pub(super) fn selects(service: &Service, pod: &Pod) -> bool {
    let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    let labels = pod.metadata.labels.clone().unwrap_or_default();
    selector.is_some_and(|selector| {
        !selector.is_empty() && selector.iter().all(|(key, value)| labels.get(key) == Some(value))
    })
}

pub(super) fn plan(service: &Service, world: &World) -> Plan<Step, ServiceStatus> {
    let status = service.status.clone().unwrap_or_default();
    let spec = service.spec.clone().unwrap_or_default();
    if spec.type_.as_deref() == Some("ExternalName") {
        return Plan::whole(Vec::new(), status, Next::OnChange);
    }
    if spec.selector.is_none_or(|selector| selector.is_empty()) {
        // Whoever made the service makes its endpoints too.
        let steps: Vec<Step> = forwards(service, world, |port| named_behind(world, port));
        let next = next(service, world, !steps.is_empty());
        let steps = steps.into_iter().map(Do::Outside).collect();
        return Plan::whole(steps, reachable(service, status, world), next);
    }
    let mut pods: Vec<&Pod> = world.pods.iter().map(|pod| &**pod).filter(|pod| !over(pod)).collect();
    pods.retain(|pod| address(pod).is_some());
    pods.sort_by_key(|pod| pod.metadata.name.clone());
    let mut steps: Vec<Do<Step>> = pods.iter().filter_map(|pod| slice(service, pod)).map(apply).collect();
    steps.push(apply_endpoints(service, &pods));
    let behind = |port: &ServicePort| pods_behind(service, &pods, port);
    let forwards = forwards(service, world, behind);
    let next = next(service, world, !forwards.is_empty());
    steps.extend(forwards.into_iter().map(Do::Outside));
    Plan::whole(steps, reachable(service, status, world), next)
}

fn apply(slice: EndpointSlice) -> Do<Step> {
    Do::Apply(Box::new(Child::of(&slice)))
}

fn address(pod: &Pod) -> Option<IpAddr> {
    pod.status.as_ref()?.pod_ip.as_deref()?.parse().ok()
}

/// Whether a pod gets new connections.
fn takes(pod: &Pod, service: &Service) -> bool {
    let all = service.spec.as_ref().and_then(|spec| spec.publish_not_ready_addresses) == Some(true);
    pod.metadata.deletion_timestamp.is_none() && (all || ready(pod))
}

fn ports(service: &Service) -> Vec<ServicePort> {
    service.spec.as_ref().and_then(|spec| spec.ports.clone()).unwrap_or_default()
}

/// The port of this machine that stands for a service's port at one pod.
fn target(pod: &Pod, port: &ServicePort) -> Option<i32> {
    let containers = pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default();
    let number = match &port.target_port {
        None => port.port,
        Some(IntOrString::Int(0)) => port.port,
        Some(IntOrString::Int(number)) => *number,
        Some(IntOrString::String(name)) => {
            let mut all = containers.iter().flat_map(|container| container.ports.iter().flatten());
            all.find(|held| held.name.as_deref() == Some(name))?.container_port
        }
    };
    Some(loopback_port(pod, number).map_or(number, i32::from))
}

fn labels(service: &Service) -> BTreeMap<String, String> {
    let mut labels = service.metadata.labels.clone().unwrap_or_default();
    // What the loop marks its own things with is not the service's to hand on.
    labels.remove(api::annotations::MANAGED_BY);
    if service.spec.as_ref().and_then(|spec| spec.cluster_ip.as_deref()) == Some("None") {
        labels.insert(HEADLESS.into(), String::new());
    }
    labels
}

fn slice(service: &Service, pod: &Pod) -> Option<EndpointSlice> {
    let name = service.metadata.name.as_deref().unwrap_or_default();
    let pod_name = pod.metadata.name.as_deref().unwrap_or_default();
    let mut labels = labels(service);
    labels.insert(SERVICE_NAME.into(), name.to_owned());
    labels.insert("endpointslice.kubernetes.io/managed-by".into(), "endpointslice-controller.k8s.io".into());
    let going = pod.metadata.deletion_timestamp.is_some();
    let ports = ports(service).into_iter().filter_map(|port| {
        Some(discovery::EndpointPort {
            name: Some(port.name.clone().unwrap_or_default()),
            port: Some(target(pod, &port)?),
            protocol: Some(port.protocol.clone().unwrap_or_else(|| "TCP".into())),
            app_protocol: port.app_protocol.clone(),
        })
    });
    let endpoint = discovery::Endpoint {
        addresses: vec![address(pod)?.to_string()],
        conditions: Some(discovery::EndpointConditions {
            ready: Some(takes(pod, service)),
            serving: Some(ready(pod)),
            terminating: Some(going),
        }),
        node_name: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
        target_ref: Some(reference(pod)),
        ..discovery::Endpoint::default()
    };
    Some(EndpointSlice {
        metadata: ObjectMeta {
            name: Some(format!("{name}-{}", code(digest(&[pod_name]), CODE_LETTERS))),
            namespace: service.metadata.namespace.clone(),
            labels: Some(labels),
            ..ObjectMeta::default()
        },
        address_type: "IPv4".into(),
        endpoints: Some(vec![endpoint]),
        ports: Some(ports.collect()),
    })
}

fn reference(pod: &Pod) -> ObjectReference {
    ObjectReference {
        kind: Some("Pod".into()),
        namespace: pod.metadata.namespace.clone(),
        name: pod.metadata.name.clone(),
        uid: pod.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

/// The same in the older form, for those who still read it.
fn apply_endpoints(service: &Service, pods: &[&Pod]) -> Do<Step> {
    let staying = pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
    let subsets: Vec<_> = staying.filter_map(|pod| subset(service, pod)).collect();
    let endpoints = Endpoints {
        metadata: ObjectMeta {
            name: service.metadata.name.clone(),
            namespace: service.metadata.namespace.clone(),
            labels: Some(labels(service)).filter(|labels| !labels.is_empty()),
            ..ObjectMeta::default()
        },
        subsets: (!subsets.is_empty()).then_some(subsets),
    };
    Do::Apply(Box::new(Child::of(&endpoints)))
}

fn subset(service: &Service, pod: &Pod) -> Option<core::EndpointSubset> {
    let address = core::EndpointAddress {
        ip: address(pod)?.to_string(),
        node_name: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
        target_ref: Some(reference(pod)),
        ..core::EndpointAddress::default()
    };
    let ports = ports(service).into_iter().filter_map(|port| {
        Some(core::EndpointPort {
            name: port.name.clone(),
            port: target(pod, &port)?,
            protocol: Some(port.protocol.clone().unwrap_or_else(|| "TCP".into())),
            app_protocol: port.app_protocol.clone(),
        })
    });
    let addresses = Some(vec![address]);
    let (ready, not_ready) = if takes(pod, service) { (addresses, None) } else { (None, addresses) };
    Some(core::EndpointSubset {
        addresses: ready,
        not_ready_addresses: not_ready,
        ports: Some(ports.collect()),
    })
}
