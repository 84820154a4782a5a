//! Pods on a control plane in memory, with fakes outside.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use k8s_openapi::api::core::v1::Pod;
use kit::Name;
use kit::testing::{Bench, Broken, Gate, Scenario, converge, sweep};
use ports::homes::Homes;
use ports::probe::Rounds;
use ports::process::{Cause, Error, Id, Launch, Processes, State};
use ports::{homes, images, loopback, probe, process, traffic};
use serde_json::json;
use tokio::sync::broadcast;

use super::super::{Ground, Pods};
use super::image;

/// Processes whose calls go through the gate.
struct Gated {
    gate: Gate,
    inner: process::Fake,
}

fn broken<T>(answer: Result<Result<T, Error>, Broken>) -> Result<T, Error> {
    answer.unwrap_or_else(|broken| Err(Error::Shim(broken.into())))
}

impl Processes for Gated {
    async fn start(&self, launch: Launch) -> Result<(), Error> {
        broken(self.gate.write("start", self.inner.start(launch)).await)
    }

    async fn stop(&self, id: &Id, grace: Duration) -> Result<(), Error> {
        broken(self.gate.write("stop", self.inner.stop(id, grace)).await)
    }

    async fn look(&self, id: &Id) -> Result<Option<State>, Error> {
        broken(self.gate.read("look", self.inner.look(id)).await)
    }

    async fn list(&self) -> Result<Vec<Id>, Error> {
        broken(self.gate.read("list", self.inner.list()).await)
    }

    async fn forget(&self, id: &Id) -> Result<(), Error> {
        broken(self.gate.write("forget", self.inner.forget(id)).await)
    }

    fn changes(&self) -> broadcast::Receiver<Id> {
        self.inner.changes()
    }
}

type Room = Pods<Gated, images::Fake, probe::Fake, homes::Fake>;

struct Set {
    room: Room,
    processes: process::Fake,
    homes: homes::Fake,
    rounds: Arc<Rounds<probe::Fake>>,
}

fn set(gate: &Gate) -> Set {
    let (processes, homes, store) =
        (process::Fake::default(), homes::Fake::default(), images::Fake::default());
    store.put("shop", image());
    let rounds = Arc::new(Rounds::new(probe::Fake::default()));
    let room = Pods::new(Ground {
        node: "local".into(),
        processes: Arc::new(Gated { gate: gate.clone(), inner: processes.clone() }),
        images: Arc::new(store),
        rounds: rounds.clone(),
        homes: Arc::new(homes.clone()),
        loopback: Arc::new(loopback::Fake),
        traffic: Arc::new(traffic::Fake::default()),
        runtime: None,
        user: |_| None,
    });
    Set { room, processes, homes, rounds }
}

fn manifest() -> serde_json::Value {
    json!({
        "metadata": { "name": "a" },
        "spec": { "containers": [{
            "name": "app", "image": "shop", "ports": [{ "containerPort": 8080 }],
            "readinessProbe": { "tcpSocket": { "port": 8080 } },
        }] },
    })
}

/// What there is outside, without what differs from run to run.
fn outside(processes: &process::Fake, homes: &homes::Fake) -> String {
    let runs = processes.list().now_or_never().and_then(Result::ok).unwrap_or_default();
    let runs = runs.iter().map(|run| format!("run {}\n", run.as_str().get(37..).unwrap_or_default()));
    let homes = homes.list().now_or_never().and_then(Result::ok).unwrap_or_default();
    runs.chain(homes.iter().map(|_| "home\n".to_owned())).collect()
}

/// Waits until every program that is asked has answered.
async fn answered(rounds: &Rounds<probe::Fake>) {
    let all = |run: &String| {
        rounds.found(run).is_none_or(|found| found.values().all(|finding| finding.passes.is_some()))
    };
    let waiting = async {
        while !rounds.list().iter().all(all) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("the fake answers");
}

fn scenario(gate: &Gate) -> Scenario<Room> {
    let Set { room, processes, homes, rounds } = set(gate);
    Scenario::new(room, manifest())
        .world(move |_| {
            let rounds = rounds.clone();
            async move { answered(&rounds).await }
        })
        .outside(move || outside(&processes, &homes))
}

#[tokio::test]
async fn a_pod_converges() {
    let bench = converge(scenario).await;
    let made = bench.get::<Pod>("default", "a").await.expect("it is there");
    assert!(super::super::readiness::ready(&made));
    assert_eq!(made.spec.and_then(|spec| spec.node_name).as_deref(), Some("local"));
}

#[tokio::test]
async fn no_broken_call_changes_what_becomes_of_a_pod() {
    sweep(scenario).await;
}

#[tokio::test]
async fn a_pod_that_is_killed_comes_back_at_once_under_the_same_port() {
    let bench = Bench::start().await;
    let Set { room, processes, rounds, .. } = set(bench.gate());
    bench
        .create({
            let mut pod = manifest();
            pod["apiVersion"] = json!("v1");
            pod["kind"] = json!("Pod");
            pod
        })
        .await;
    let name = Name::new("default", "a");
    for _ in 0..3 {
        bench.pass(&room, &name).await.expect("a pass");
        answered(&rounds).await;
    }
    let first = processes.launches()[0].clone();
    processes.end(&first.id, Cause::Signaled(9), Some("last words"));
    for _ in 0..3 {
        bench.pass(&room, &name).await.expect("a pass");
        answered(&rounds).await;
    }
    let second = processes.launches()[1].clone();
    assert_eq!(second.env["PORT"], first.env["PORT"]);
    let made = bench.get::<Pod>("default", "a").await.expect("it is there");
    assert!(super::super::readiness::ready(&made));
    let status = made.status.and_then(|status| status.container_statuses).unwrap_or_default();
    assert_eq!(status[0].restart_count, 1);
    let last = status[0].last_state.clone().and_then(|state| state.terminated).expect("it ended");
    assert_eq!(last.message.as_deref(), Some("last words"));
    assert_eq!(rounds.list().len(), 1, "nobody asks the run that ended");
}
