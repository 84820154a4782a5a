//! The service's own address: where it listens, and for whom.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use api::conditions::{Reason, Standing};
use k8s_openapi::api::core::v1::{Pod, Service, ServiceStatus};

use super::{Step, World, address, ports, takes, target};

/// What a service says if its own address cannot be listened on.
const REACHABLE: &str = "Reachable";

/// The service's own address, if it has one.
fn own_address(service: &Service) -> Option<IpAddr> {
    service.spec.as_ref()?.cluster_ip.as_deref()?.parse().ok()
}

/// Where the service listens, and for whom.
fn wanted(service: &Service, pods: &[&Pod]) -> BTreeMap<SocketAddr, Vec<SocketAddr>> {
    let Some(ip) = own_address(service) else { return BTreeMap::new() };
    let tcp = ports(service).into_iter().filter(|port| port.protocol.as_deref().unwrap_or("TCP") == "TCP");
    let listens = tcp.filter_map(|port| {
        let listen = SocketAddr::new(ip, u16::try_from(port.port).ok()?);
        let backends = pods
            .iter()
            .filter(|pod| takes(pod, service))
            .filter_map(|pod| Some(SocketAddr::new(address(pod)?, u16::try_from(target(pod, &port)?).ok()?)));
        Some((listen, backends.collect()))
    });
    listens.collect()
}

/// What changes in what is passed on.
pub(super) fn forwards(service: &Service, pods: &[&Pod], world: &World) -> Vec<Step> {
    let wanted = wanted(service, pods);
    let own = own_address(service);
    let held: BTreeSet<SocketAddr> =
        world.forwards.keys().copied().filter(|listen| Some(listen.ip()) == own).collect();
    let mut steps: Vec<Step> =
        held.into_iter().filter(|listen| !wanted.contains_key(listen)).map(Step::Close).collect();
    for (listen, backends) in wanted {
        if world.forwards.get(&listen).is_none_or(|held| held.backends != backends) {
            steps.push(Step::Forward(listen, backends));
        }
    }
    steps
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
