//! The service's own address: where it listens, and for whom.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use api::conditions::{Reason, Standing};
use k8s_openapi::api::core::v1::{Pod, Service, ServicePort, ServiceStatus};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kit::Next;
use ports::forward::Forwarding;

use super::{Step, World, address, ports, takes, target};

/// How often an address that is taken is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// What a service says if its own address cannot be listened on.
pub const REACHABLE: &str = "Reachable";

/// The service's own address, if it has one.
fn own_address(service: &Service) -> Option<IpAddr> {
    service.spec.as_ref()?.cluster_ip.as_deref()?.parse().ok()
}

/// The pods that take connections to a port of the service.
pub(super) fn pods_behind(service: &Service, pods: &[&Pod], port: &ServicePort) -> Option<Vec<SocketAddr>> {
    let taking = pods.iter().filter(|pod| takes(pod, service));
    let addresses = taking
        .filter_map(|pod| Some(SocketAddr::new(address(pod)?, u16::try_from(target(pod, port)?).ok()?)));
    Some(addresses.collect())
}

/// What slices that somebody else wrote name behind a port of the service. Without any slice nobody wants it forwarded:
/// the API's own service is of that sort.
pub(super) fn named_behind(world: &World, port: &ServicePort) -> Option<Vec<SocketAddr>> {
    let name = port.name.as_deref().unwrap_or_default();
    let mut found: Vec<SocketAddr> = world.slices.iter().flat_map(|slice| named_in(slice, name)).collect();
    found.sort_unstable();
    (!world.slices.is_empty()).then_some(found)
}

fn named_in(slice: &EndpointSlice, name: &str) -> Vec<SocketAddr> {
    let ports = slice.ports.iter().flatten().filter(|port| port.name.as_deref().unwrap_or_default() == name);
    let numbers: Vec<u16> =
        ports.filter_map(|port| port.port).filter_map(|number| u16::try_from(number).ok()).collect();
    let ready = slice.endpoints.iter().flatten().filter(|endpoint| {
        // Nothing said means ready, says the API.
        endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) != Some(false)
    });
    let addresses: Vec<IpAddr> =
        ready.flat_map(|endpoint| &endpoint.addresses).filter_map(|text| text.parse().ok()).collect();
    let pairs = addresses.iter().flat_map(|ip| numbers.iter().map(|number| SocketAddr::new(*ip, *number)));
    pairs.collect()
}

/// What changes in what is passed on.
pub(super) fn forwards(
    service: &Service,
    world: &World,
    behind: impl Fn(&ServicePort) -> Option<Vec<SocketAddr>>,
) -> Vec<Step> {
    let own = own_address(service);
    let tcp = ports(service).into_iter().filter(|port| port.protocol.as_deref().unwrap_or("TCP") == "TCP");
    let listens =
        tcp.filter_map(|port| Some((SocketAddr::new(own?, u16::try_from(port.port).ok()?), behind(&port)?)));
    let wanted: BTreeMap<SocketAddr, Vec<SocketAddr>> = listens.collect();
    let held: BTreeSet<SocketAddr> =
        world.forwards.keys().copied().filter(|listen| Some(listen.ip()) == own).collect();
    let mut steps: Vec<Step> =
        held.into_iter().filter(|listen| !wanted.contains_key(listen)).map(Step::Close).collect();
    for (listen, backends) in wanted {
        let as_wanted = |held: &Forwarding| held.backends == backends && held.trouble.is_none();
        if !world.forwards.get(&listen).is_some_and(as_wanted) {
            steps.push(Step::Forward(listen, backends));
        }
    }
    steps
}

/// When to look again: whether an address could be listened on is seen once it was tried, and one that could not may be
/// free later, which nobody tells.
pub(super) fn next(service: &Service, world: &World, tried: bool) -> Next {
    let own = own_address(service);
    let troubled =
        |(listen, held): (&SocketAddr, &Forwarding)| Some(listen.ip()) == own && held.trouble.is_some();
    let again = tried || world.forwards.iter().any(troubled);
    if again { Next::After(AGAIN) } else { Next::OnChange }
}

/// Says so if the service's own address cannot be listened on; its pods can still be reached.
pub(super) fn reachable(service: &Service, mut status: ServiceStatus, world: &World) -> ServiceStatus {
    let own = own_address(service);
    let mut troubles = world.forwards.iter().filter(|(listen, _)| Some(listen.ip()) == own);
    let trouble = troubles.find_map(|(_, forwarding)| forwarding.trouble.clone());
    match trouble {
        Some(why) => status.say(REACHABLE, Some(false), Reason::Code("CannotListen".into()), why),
        None => {
            let kept = status.conditions.take().map(|mut conditions| {
                conditions.retain(|condition| condition.type_ != REACHABLE);
                conditions
            });
            status.conditions = kept.filter(|conditions| !conditions.is_empty());
        }
    }
    status
}
