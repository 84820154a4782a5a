//! Which pods come and go, by table, and a set through the two tests of every kind.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kit::{Do, Next};
use serde_json::{Value, json};

use super::ReplicaSets;
use super::plan::{World, plan};

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the fixture is of its kind")
}

fn set(replicas: i32, min_ready: i32) -> ReplicaSet {
    read(json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": { "name": "web-abc", "namespace": "default", "uid": "s", "generation": 3 },
        "spec": {
            "replicas": replicas, "minReadySeconds": min_ready,
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" }, "annotations": { "a": "b" } },
                "spec": { "containers": [{ "name": "app", "image": "v1" }] },
            },
        },
    }))
}

/// A pod by its name: `node` says whether it has one, `ready` since which minute it is ready.
fn pod(name: &str, phase: &str, ready: Option<u32>, change: impl FnOnce(&mut Value)) -> Arc<Pod> {
    let since =
        ready.map_or("2026-01-01T10:00:00Z".to_owned(), |minute| format!("2026-01-01T11:{minute:02}:00Z"));
    let mut value = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": "default", "uid": name, "labels": { "app": "web" },
            "creationTimestamp": "2026-01-01T10:00:00Z",
            "ownerReferences": [{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-abc", "uid": "s",
                "controller": true }] },
        "spec": { "nodeName": "local", "containers": [] },
        "status": { "phase": phase, "conditions": [{ "type": "Ready",
            "status": if ready.is_some() { "True" } else { "False" }, "lastTransitionTime": since }] },
    });
    change(&mut value);
    Arc::new(read(value))
}

fn world(pods: Vec<Arc<Pod>>) -> World {
    World { now: "2026-01-01T12:00:00Z".parse().expect("a time"), pods, orphans: Vec::new(), seed: 7 }
}

fn told(set: &ReplicaSet, world: &World) -> String {
    let planned = plan(set, world);
    let mut words: Vec<String> = planned
        .steps
        .iter()
        .map(|step| match step {
            Do::Create(_) => "create".to_owned(),
            Do::Delete(address, grace) => {
                assert_eq!(*grace, None, "pods are asked to end in their own time");
                format!("delete {}", address.name.name)
            }
            Do::Patch(address, patch) => {
                let owners = patch["metadata"]["ownerReferences"].as_array().map_or(0, Vec::len);
                format!("owners of {}: {owners}", address.name.name)
            }
            Do::Apply(_) => "apply".to_owned(),
            Do::Outside(never) => match *never {},
        })
        .collect();
    let status = planned.status;
    let n = |number: Option<i32>| number.unwrap_or(0);
    words.push(format!("{}/{}/{}", status.replicas, n(status.ready_replicas), n(status.available_replicas)));
    words.join("; ")
}

#[test]
fn pods_come_and_go_in_the_order_of_kubernetes() {
    let plain = |_: &mut Value| {};
    let works = |name: &str| pod(name, "Running", Some(0), plain);
    let going = |value: &mut Value| value["metadata"]["deletionTimestamp"] = json!("2026-01-01T12:00:30Z");
    let foreign = |value: &mut Value| value["metadata"]["labels"]["app"] = json!("other");
    let cheap = |value: &mut Value| {
        value["metadata"]["annotations"] = json!({ "controller.kubernetes.io/pod-deletion-cost": "-5" });
    };
    let unbound = |value: &mut Value| value["spec"] = json!({ "containers": [] });
    let restless = |value: &mut Value| {
        value["status"]["containerStatuses"] =
            json!([{ "name": "app", "image": "", "imageID": "", "ready": true, "restartCount": 4 }]);
    };
    let young = |value: &mut Value| value["metadata"]["creationTimestamp"] = json!("2026-01-01T11:30:00Z");
    let table = [
        ("none are there", 2, vec![], "create; create; 0/0/0"),
        ("one is missing", 2, vec![works("a")], "create; 1/1/1"),
        ("all there", 1, vec![works("a")], "1/1/1"),
        ("one that ended is replaced", 1, vec![pod("a", "Failed", None, plain)], "create; 0/0/0"),
        ("one that is going is replaced", 1, vec![pod("a", "Running", Some(0), going)], "create; 0/0/0"),
        (
            "one that no longer fits is let go",
            1,
            vec![pod("a", "Running", Some(0), foreign)],
            "owners of a: 0; create; 0/0/0",
        ),
        ("not bound first", 1, vec![works("a"), pod("b", "Pending", None, unbound)], "delete b; 2/1/1"),
        (
            "pending before running",
            1,
            vec![pod("b", "Running", None, plain), pod("a", "Pending", None, plain)],
            "delete a; 2/0/0",
        ),
        ("not ready first", 1, vec![works("a"), pod("b", "Running", None, plain)], "delete b; 2/1/1"),
        ("cheap first", 1, vec![works("a"), pod("b", "Running", Some(0), cheap)], "delete b; 2/2/2"),
        (
            "ready for the shortest time first",
            1,
            vec![works("a"), pod("b", "Running", Some(30), plain)],
            "delete b; 2/2/2",
        ),
        ("restless first", 1, vec![works("a"), pod("b", "Running", Some(0), restless)], "delete b; 2/2/2"),
        ("young first", 1, vec![works("a"), pod("b", "Running", Some(0), young)], "delete b; 2/2/2"),
    ];
    for (what, replicas, pods, want) in table {
        assert_eq!(told(&set(replicas, 0), &world(pods)), want, "{what}");
    }
}

#[test]
fn an_orphan_that_fits_is_taken_in_and_counts() {
    let mut seen = world(vec![]);
    let orphan = |value: &mut Value| value["metadata"]["ownerReferences"] = json!([]);
    seen.orphans = vec![pod("a", "Running", Some(0), orphan)];
    assert_eq!(told(&set(1, 0), &seen), "owners of a: 1; 1/1/1");
}

#[test]
fn a_pod_is_available_once_it_has_been_ready_for_long_enough() {
    let pods = || vec![pod("a", "Running", Some(58), |_| {})];
    assert_eq!(told(&set(1, 300), &world(pods())), "1/1/0");
    assert_eq!(plan(&set(1, 300), &world(pods())).next, Next::After(std::time::Duration::from_secs(180)));
    assert_eq!(plan(&set(1, 60), &world(pods())).next, Next::OnChange);
}

#[test]
fn a_new_pod_is_made_from_the_template_under_a_drawn_name() {
    let planned = plan(&set(60, 0), &world(vec![]));
    assert_eq!(planned.steps.len(), 50, "the rest is left to the next pass");
    let names: std::collections::BTreeSet<String> = planned.steps.iter().map(ToString::to_string).collect();
    assert_eq!(names.len(), 50);
    let Do::Create(child) = &planned.steps[0] else { panic!("a pod is created") };
    assert!(child.owned);
    assert_eq!(child.body["metadata"]["generateName"], "web-abc-");
    assert_eq!(child.body["metadata"]["labels"], json!({ "app": "web" }));
    assert_eq!(child.body["metadata"]["annotations"], json!({ "a": "b" }));
    assert_eq!(child.body["spec"]["containers"][0]["image"], "v1");
    assert_eq!(child.name().name.len(), "web-abc-".len() + 5);
}

fn scenario(_: &kit::testing::Gate) -> kit::testing::Scenario<ReplicaSets> {
    let set = serde_json::to_value(set(2, 0)).expect("a set is JSON");
    let manifest = json!({ "metadata": { "name": "web-abc" }, "spec": set["spec"] });
    kit::testing::Scenario::new(ReplicaSets, manifest)
}

#[tokio::test]
async fn a_set_converges() {
    let bench = kit::testing::converge(scenario).await;
    let made = bench.get::<ReplicaSet>("default", "web-abc").await.expect("it is there");
    assert_eq!(made.status.map(|status| status.replicas), Some(2));
}

#[tokio::test]
async fn no_broken_call_changes_what_becomes_of_a_set() {
    kit::testing::sweep(scenario).await;
}
