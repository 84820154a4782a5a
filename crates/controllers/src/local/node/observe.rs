//! What a node's plan needs to know.

use k8s_openapi::api::core::v1::{Node, Pod, Service};
use kit::{Fault, Name, Reader};
use ports::forward::Forward;
use ports::homes::Homes;
use ports::process::Processes;

use super::Nodes;
use super::plan::{Remains, World, due};

pub(super) async fn observe<P: Processes, H: Homes, F: Forward>(
    room: &Nodes<P, H, F>,
    node: &Node,
    reader: &Reader,
) -> Result<World, Fault> {
    let (now, cleared) = (reader.now(), *room.cleared.lock());
    let mine = node.metadata.name.as_deref() == Some(room.machine.name.as_str());
    let remains = if mine && due(cleared, now) { Some(remains(room, reader).await?) } else { None };
    Ok(World { now, remains })
}

async fn remains<P: Processes, H: Homes, F: Forward>(
    room: &Nodes<P, H, F>,
    reader: &Reader,
) -> Result<Remains, Fault> {
    // What runs is read before what should run: a pod that starts in between is then known.
    let mut runs = Vec::new();
    for id in room.processes.list().await? {
        let state = room.processes.look(&id).await?;
        runs.push((id, state));
    }
    let homes = room.homes.list().await?;
    let logs = room.homes.list_logs().await?.into_iter().map(|(namespace, name)| Name::new(namespace, name));
    let logs = logs.collect();
    let listens = room.forward.held().into_keys().collect();
    let pods = reader.list::<Pod>(None).await?;
    let services = reader.list::<Service>(None).await?;
    Ok(Remains { runs, homes, logs, listens, pods, services })
}
