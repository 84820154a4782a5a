//! One arm per step.

use k8s_openapi::api::core::v1::Pod;
use kit::{Fault, Receipt};
use ports::homes::Homes;
use ports::images::Images;
use ports::probe::Prober;
use ports::process::Processes;

use super::super::memory::Memory;
use super::Ground;
use super::plan::Step;

pub(super) async fn act<P: Processes, I: Images, Q: Prober, H: Homes>(
    ground: &Ground<P, I, Q, H>,
    memory: &Memory,
    pod: &Pod,
    step: &Step,
) -> Result<Receipt, Fault> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    match step {
        Step::Prepare(home) => ground.homes.prepare(home.clone()).await?,
        Step::TurnLog(container) => ground.homes.turn_log(namespace, name, container).await?,
        Step::Start(launch) => ground.processes.start((**launch).clone()).await?,
        Step::Stop(run, grace) => ground.processes.stop(run, *grace).await?,
        Step::Forget(run) => ground.processes.forget(run).await?,
        Step::Ask(run, probes) => ground.rounds.begin(run.as_str(), probes.clone()),
        Step::AskNoMore(run) => ground.rounds.end(run.as_str()),
        Step::RemoveHome => ground.homes.remove(uid).await?,
        Step::RemoveLogs => {
            ground.homes.remove_logs(namespace, name).await?;
            memory.forget(uid);
        }
    }
    Ok(Receipt::Done)
}
