//! What a pod's plan needs to know.

use std::collections::{BTreeMap, BTreeSet};

use api::annotations::PORT;
use api::secret::Sealed;
use k8s_openapi::api::core::v1::{ConfigMap, Container, Pod, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kit::{Fault, Index, Name, Reader};
use ports::homes::Homes;
use ports::images::Images;
use ports::probe::Prober;
use ports::process::{Processes, State};

use super::super::code::digest;
use super::super::memory::{Memory, UID};
use super::super::readiness::{addresses, loopback_port};
use super::Ground;
use super::plan::{Farewell, Found, Seen, Supplies, World, all_containers, attempt_of, references, run_id};

/// Pods by each port of this machine that they hold.
const BY_PORTS: Index<Pod> =
    Index { name: "ports", keys: |pod| if holds_ports(pod) { vec![String::new()] } else { vec![] } };
/// Slices by the uid of the pod that they name.
const BY_POD: Index<EndpointSlice> = Index { name: "pod", keys: |slice| uids(slice) };

pub(super) async fn observe<P: Processes, I: Images, Q: Prober, H: Homes>(
    ground: &Ground<P, I, Q, H>,
    memory: &Memory,
    pod: &Pod,
    reader: &Reader,
) -> Result<World, Fault> {
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    if memory.is_due(reader.now()) {
        forget_the_gone(ground, memory, reader).await?;
    }
    memory.meet(&uid, Name::of(pod));
    let mut seen = BTreeMap::new();
    for container in all_containers(pod) {
        seen.insert(container.name.clone(), look(ground, memory, pod, container).await?);
    }
    let farewell = match pod.metadata.deletion_timestamp {
        Some(_) => Some(farewell(ground, memory, pod, reader).await?),
        None => None,
    };
    let idle = |seen: &Seen| !matches!(seen.state, Some(State::Running { .. }));
    let wanted = farewell.is_none() && (seen.values().any(idle) || wants_exec(pod));
    let supplies = if wanted { supplies(ground, pod, reader).await? } else { Supplies::default() };
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    Ok(World {
        now: reader.now(),
        node: ground.node.clone(),
        seen,
        supplies,
        free: free_ports(ground, pod, reader).await?,
        home: ground.homes.directory(&uid),
        logs: all_containers(pod)
            .map(|container| {
                let name = pod.metadata.name.as_deref().unwrap_or_default();
                (container.name.clone(), ground.homes.log(namespace, name, &container.name))
            })
            .collect(),
        user: (ground.user)(namespace),
        farewell,
    })
}

/// Forgets pods that went without a word, and asks their programs no more.
async fn forget_the_gone<P: Processes, I: Images, Q: Prober, H: Homes>(
    ground: &Ground<P, I, Q, H>,
    memory: &Memory,
    reader: &Reader,
) -> Result<(), Fault> {
    let pods = reader.list::<Pod>(None).await?;
    let uids: BTreeSet<String> = pods.iter().filter_map(|pod| pod.metadata.uid.clone()).collect();
    memory.keep(&uids);
    let runs = ground.rounds.list();
    let gone = runs.iter().filter(|run| !run.get(..UID).is_some_and(|uid| uids.contains(uid)));
    gone.for_each(|run| ground.rounds.end(run));
    Ok(())
}

async fn look<P: Processes, I: Images, Q: Prober, H: Homes>(
    ground: &Ground<P, I, Q, H>,
    memory: &Memory,
    pod: &Pod,
    container: &Container,
) -> Result<Seen, Fault> {
    let told = attempt_of(pod, &container.name);
    let run = |attempt| run_id(pod, &container.name, attempt);
    // A pass may have been cut off between a start and its report.
    let (attempt, state) = match ground.processes.look(&run(told + 1)).await? {
        Some(state) => (told + 1, Some(state)),
        None => (told, ground.processes.look(&run(told)).await?),
    };
    let before = match attempt {
        0 => None,
        _ => ground.processes.look(&run(attempt - 1)).await?,
    };
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let failures = match &state {
        Some(State::Ended(end)) => memory.ended(uid, &container.name, attempt, end),
        Some(State::Running { .. }) | None => 0,
    };
    let before = before.and_then(|state| match state {
        State::Ended(end) => Some(end),
        State::Running { .. } => None,
    });
    let findings = ground.rounds.found(run(attempt).as_str());
    Ok(Seen { attempt, state, before, failures, findings })
}

async fn farewell<P: Processes, I: Images, Q: Prober, H: Homes>(
    ground: &Ground<P, I, Q, H>,
    memory: &Memory,
    pod: &Pod,
    reader: &Reader,
) -> Result<Farewell, Fault> {
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let slices = reader.indexed(BY_POD, uid).await?;
    let listed = slices.iter().any(|slice| {
        slice.endpoints.iter().flatten().any(|endpoint| {
            let mine = endpoint.target_ref.as_ref().and_then(|target| target.uid.as_deref()) == Some(uid);
            mine && endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) != Some(false)
        })
    });
    let table = ground.traffic.followed();
    let own = addresses(pod);
    let routed = table.routes.iter().any(|route| own.iter().any(|address| route.backends.contains(address)));
    let quiet_since = (!listed && !routed).then(|| memory.quiet_since(uid, reader.now()));
    let requests = own.into_iter().map(|address| ground.traffic.in_flight(address)).sum();
    Ok(Farewell { quiet_since, requests })
}

async fn supplies<P: Processes, I: Images, Q: Prober, H: Homes>(
    ground: &Ground<P, I, Q, H>,
    pod: &Pod,
    reader: &Reader,
) -> Result<Supplies, Fault> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let mut supplies = Supplies::default();
    for container in all_containers(pod) {
        let reference = container.image.clone().unwrap_or_default();
        let found = match (ground.images.find(&reference).await?, &ground.runtime) {
            (Some(image), _) => Found::Here(image),
            (None, Some(runtime)) => Found::By(runtime.clone()),
            (None, None) => Found::Nowhere,
        };
        supplies.images.insert(reference, found);
    }
    let wanted = references(pod);
    for name in wanted.secrets {
        let secret = reader.get::<Secret>(namespace, &name).await?;
        let data = secret.map(|secret| secret.data.clone().unwrap_or_default());
        let sealed = |data: BTreeMap<String, k8s_openapi::ByteString>| {
            data.into_iter().map(|(key, value)| (key, Sealed::new(value.0))).collect()
        };
        supplies.secrets.insert(name, data.map(sealed));
    }
    for name in wanted.config_maps {
        let map = reader.get::<ConfigMap>(namespace, &name).await?;
        let data = map.map(|map| {
            let text = map.data.clone().unwrap_or_default().into_iter();
            let bytes = map.binary_data.clone().unwrap_or_default().into_iter();
            let text = text.map(|(key, value)| (key, value.into_bytes()));
            text.chain(bytes.map(|(key, value)| (key, value.0))).collect()
        });
        supplies.config_maps.insert(name, data);
    }
    if pod.spec.as_ref().and_then(|spec| spec.enable_service_links) != Some(false) {
        supplies.services = reader.list::<Service>(Some(namespace)).await?;
    }
    supplies.services.extend(reader.get::<Service>("default", "kubernetes").await?);
    Ok(supplies)
}

fn wants_exec(pod: &Pod) -> bool {
    all_containers(pod).any(|container| {
        let probes = [&container.startup_probe, &container.readiness_probe, &container.liveness_probe];
        probes.into_iter().flatten().any(|probe| probe.exec.is_some())
    })
}

/// A free port for each container port that has none yet.
async fn free_ports<P: Processes, I: Images, Q: Prober, H: Homes>(
    ground: &Ground<P, I, Q, H>,
    pod: &Pod,
    reader: &Reader,
) -> Result<BTreeMap<i32, u16>, Fault> {
    let declared = all_containers(pod).flat_map(|container| container.ports.iter().flatten());
    let wanted: BTreeSet<i32> = declared.map(|port| port.container_port).collect();
    let lacking: Vec<i32> = wanted.into_iter().filter(|port| loopback_port(pod, *port).is_none()).collect();
    if lacking.is_empty() || pod.metadata.deletion_timestamp.is_some() {
        return Ok(BTreeMap::new());
    }
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let others = reader.indexed(BY_PORTS, "").await?;
    let mut taken: BTreeSet<u16> =
        others.iter().flat_map(|pod| addresses(pod)).map(|address| address.port()).collect();
    let mut free = BTreeMap::new();
    for port in lacking {
        // The search begins at a place of the pod's own, so that a pass that is cut off begins there again.
        let place = digest(&[namespace, name, &port.to_string()]);
        if let Some(found) = ground.loopback.free(&taken, place) {
            taken.insert(found);
            free.insert(port, found);
        }
    }
    Ok(free)
}

fn holds_ports(pod: &Pod) -> bool {
    pod.metadata.annotations.iter().flatten().any(|(key, _)| key.starts_with(PORT))
}

fn uids(slice: &EndpointSlice) -> Vec<String> {
    let targets = slice.endpoints.iter().flatten().filter_map(|endpoint| endpoint.target_ref.as_ref());
    targets.filter_map(|target| target.uid.clone()).collect()
}
