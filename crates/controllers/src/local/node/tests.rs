//! What is cleared up, by table, and a node through the test that it converges.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use kit::{Name, Next};
use ports::forward;
use ports::homes;
use ports::process::{self, Cause, End, Id, State};
use serde_json::json;

use super::plan::{Remains, World, plan};
use super::{Machine, Nodes};

const UID: &str = "11111111-2222-3333-4444-555555555555";

fn machine() -> Machine {
    Machine { name: "local".into(), processors: 2, memory_bytes: 1 << 30, pods: 110, ..Machine::default() }
}

fn node(name: &str) -> Node {
    serde_json::from_value(json!({ "metadata": { "name": name } })).expect("a node")
}

fn running() -> Option<State> {
    Some(State::Running { pid: 1, since: Timestamp::UNIX_EPOCH })
}

fn ended() -> Option<State> {
    let (since, at) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
    Some(State::Ended(End { since, at, cause: Cause::Exited(0), last_line: None }))
}

fn told(remains: Remains) -> String {
    let planned = plan(&node("local"), &World { remains: Some(remains), ..World::default() }, &machine());
    let words: Vec<String> = planned.steps.iter().map(ToString::to_string).collect();
    let Next::After(again) = planned.next else { panic!("it is looked again") };
    format!("{}; {}s", words.join("; ").replace("; remember that it was cleared up", ""), again.as_secs())
}

#[test]
fn what_no_pod_and_no_service_has_any_more_is_cleared_up() {
    let run = |name: &str| Id::new(&format!("{UID}-{name}"));
    let pod: Arc<Pod> = Arc::new(
        serde_json::from_value(json!({ "metadata": { "name": "a", "namespace": "ns", "uid": UID } }))
            .expect("a pod"),
    );
    let service: Arc<Service> = Arc::new(
        serde_json::from_value(json!({ "spec": { "clusterIP": "127.96.0.2" } })).expect("a service"),
    );
    let listens =
        || vec!["127.96.0.2:80".parse().expect("an address"), "127.96.0.3:80".parse().expect("an address")];
    let all = |pods: Vec<Arc<Pod>>| Remains {
        runs: vec![(run("app-0"), ended()), (run("app-1"), running()), (Id::new("build-7"), running())],
        homes: vec![UID.to_owned()],
        logs: vec![Name::new("ns", "a")],
        pods,
        ..Remains::default()
    };
    let quiet = "remember that it was cleared up; 30s".to_owned();
    assert_eq!(told(Remains::default()), quiet);
    assert_eq!(told(all(vec![pod])), quiet, "what is a pod's is left alone, and what is others'");
    assert_eq!(
        told(all(vec![])),
        format!("forget {UID}-app-0; stop {UID}-app-1; remove the logs of ns/a; 2s"),
        "the directory stays until the last run has ended"
    );
    let later =
        Remains { runs: vec![(run("app-1"), ended())], homes: vec![UID.to_owned()], ..Remains::default() };
    assert_eq!(told(later), format!("forget {UID}-app-1; remove the directory of {UID}; 2s"));
    let addresses = Remains { listens: listens(), services: vec![service], ..Remains::default() };
    assert_eq!(told(addresses), "close 127.96.0.3:80; 2s");
}

#[test]
fn a_node_that_is_another_machine_is_left_alone() {
    let planned = plan(&node("other"), &World::default(), &machine());
    assert!(planned.steps.is_empty());
    assert_eq!((planned.status, planned.next), (Default::default(), Next::OnChange));
}

#[tokio::test]
async fn a_node_says_what_it_is_once() {
    let make = |_: &kit::testing::Gate| {
        let (processes, homes, forward) =
            (process::Fake::default(), homes::Fake::default(), forward::Fake::default());
        let room = Nodes::new(Arc::new(processes), Arc::new(homes), Arc::new(forward), machine());
        kit::testing::Scenario::new(room, json!({ "metadata": { "name": "local" } }))
    };
    let bench = kit::testing::converge(make).await;
    let made = bench.get::<Node>("", "local").await.expect("it is there");
    let conditions = made.status.and_then(|status| status.conditions).unwrap_or_default();
    let ready = conditions.iter().find(|held| held.type_ == "Ready").map(|held| held.status.as_str());
    assert_eq!(ready, Some("True"));
    kit::testing::sweep(make).await;
}
