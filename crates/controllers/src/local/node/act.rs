//! One arm per step.

use kit::{Fault, Receipt};
use ports::forward::Forward;
use ports::homes::Homes;
use ports::process::Processes;

use super::Nodes;
use super::plan::Step;

pub(super) async fn act<P: Processes, H: Homes, F: Forward>(
    room: &Nodes<P, H, F>,
    step: &Step,
) -> Result<Receipt, Fault> {
    match step {
        Step::Stop(id, grace) => room.processes.stop(id, *grace).await?,
        Step::Forget(id) => room.processes.forget(id).await?,
        Step::RemoveHome(uid) => room.homes.remove(uid).await?,
        Step::RemoveLogs(pod) => room.homes.remove_logs(&pod.namespace, &pod.name).await?,
        Step::Close(listen) => room.forward.remove(*listen).await,
        Step::Cleared(at) => *room.cleared.lock() = Some(*at),
    }
    Ok(Receipt::Done)
}
