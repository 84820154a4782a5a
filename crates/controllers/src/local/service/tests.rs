//! Slices, endpoints and forwarding by table, and a service through the two tests of every kind.

use std::net::SocketAddr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Endpoints, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kit::{Do, Next};
use kube::Api;
use kube::api::{Patch, PatchParams};
use ports::forward::{Fake, Forward, Forwarding};
use serde_json::{Value, json};

use super::Services;
use super::plan::{World, plan, selects};

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the fixture is of its kind")
}

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn service(change: impl FnOnce(&mut Value)) -> Service {
    let mut value = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": "web", "namespace": "default", "labels": { "team": "a" } },
        "spec": { "clusterIP": "127.96.0.9", "selector": { "app": "web" },
            "ports": [{ "name": "http", "port": 80, "targetPort": "web" }] },
    });
    change(&mut value);
    read(value)
}

fn pod(name: &str, port: u16, change: impl FnOnce(&mut Value)) -> Arc<Pod> {
    let mut value = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": "default", "uid": name, "labels": { "app": "web" },
            "annotations": { "terrace.dev/port.8080": port.to_string() } },
        "spec": { "nodeName": "local",
            "containers": [{ "name": "app", "ports": [{ "name": "web", "containerPort": 8080 }] }] },
        "status": { "phase": "Running", "podIP": "127.0.0.1",
            "conditions": [{ "type": "Ready", "status": "True" }] },
    });
    change(&mut value);
    Arc::new(read(value))
}

fn told(service: &Service, pods: Vec<Arc<Pod>>, held: &[(&str, &[&str])]) -> String {
    let forward = |backends: &[&str]| Forwarding {
        backends: backends.iter().map(|backend| address(backend)).collect(),
        trouble: None,
    };
    let forwards = held.iter().map(|(listen, backends)| (address(listen), forward(backends))).collect();
    let planned = plan(service, &World { pods, forwards, slices: vec![] });
    assert!(planned.whole, "slices of pods that are gone go too");
    let words = planned.steps.iter().map(|step| match step {
        Do::Apply(child) if child.resource().kind == "EndpointSlice" => {
            let endpoint = &child.body["endpoints"][0];
            let conditions = &endpoint["conditions"];
            let flags = [("ready", "R"), ("serving", "S"), ("terminating", "T")];
            let flags: String = flags
                .iter()
                .filter(|(flag, _)| conditions[*flag] == true)
                .map(|(_, letter)| *letter)
                .collect();
            let name = endpoint["targetRef"]["name"].as_str().unwrap_or_default().to_owned();
            format!("{name}:{} {flags}", child.body["ports"][0]["port"])
        }
        Do::Apply(child) => {
            let subsets = child.body["subsets"].as_array().cloned().unwrap_or_default();
            let ready = subsets.iter().filter(|subset| subset["addresses"].is_array()).count();
            format!("{ready} of {} ready", subsets.len())
        }
        other => other.to_string(),
    });
    words.collect::<Vec<_>>().join("; ")
}

#[test]
fn every_pod_has_its_slice_and_only_ready_ones_get_connections() {
    let plain = |_: &mut Value| {};
    let unready = |value: &mut Value| value["status"]["conditions"][0]["status"] = json!("False");
    let going = |value: &mut Value| value["metadata"]["deletionTimestamp"] = json!("2026-01-01T12:00:30Z");
    let ended = |value: &mut Value| value["status"]["phase"] = json!("Failed");
    let unborn = |value: &mut Value| value["status"] = json!({ "phase": "Pending" });
    let headless = |value: &mut Value| value["spec"]["clusterIP"] = json!("None");
    let bare = |value: &mut Value| value["spec"]["selector"] = json!({});
    let early = |value: &mut Value| value["spec"]["publishNotReadyAddresses"] = json!(true);
    let number = |value: &mut Value| value["spec"]["ports"][0]["targetPort"] = json!(8080);
    let here: &[(&str, &[&str])] = &[("127.96.0.9:80", &["127.0.0.1:20001"])];
    let table = [
        ("nobody", service(plain), vec![], &[][..], "0 of 0 ready; forward 127.96.0.9:80 to nobody"),
        (
            "one",
            service(plain),
            vec![pod("a", 20001, plain)],
            &[],
            "a:20001 RS; 1 of 1 ready; forward 127.96.0.9:80 to 127.0.0.1:20001",
        ),
        ("one, as it was", service(plain), vec![pod("a", 20001, plain)], here, "a:20001 RS; 1 of 1 ready"),
        ("by number", service(number), vec![pod("a", 20001, plain)], here, "a:20001 RS; 1 of 1 ready"),
        (
            "not ready",
            service(plain),
            vec![pod("a", 20001, unready)],
            here,
            "a:20001 ; 0 of 1 ready; forward 127.96.0.9:80 to nobody",
        ),
        (
            "not ready, but wanted",
            service(early),
            vec![pod("a", 20001, unready)],
            here,
            "a:20001 R; 1 of 1 ready",
        ),
        (
            "one goes, one comes",
            service(plain),
            vec![pod("a", 20001, going), pod("b", 20002, plain)],
            here,
            "a:20001 ST; b:20002 RS; 1 of 1 ready; forward 127.96.0.9:80 to 127.0.0.1:20002",
        ),
        (
            "ended or not yet there",
            service(plain),
            vec![pod("a", 20001, ended), pod("b", 20002, unborn)],
            &[("127.96.0.9:80", &[])],
            "0 of 0 ready",
        ),
        ("headless", service(headless), vec![pod("a", 20001, plain)], &[], "a:20001 RS; 1 of 1 ready"),
        ("without a selector", service(bare), vec![], &[], ""),
        (
            "a port that is gone is closed, and others' are left",
            service(plain),
            vec![pod("a", 20001, plain)],
            &[("127.96.0.9:80", &["127.0.0.1:20001"]), ("127.96.0.9:81", &[]), ("127.96.0.8:80", &[])],
            "a:20001 RS; 1 of 1 ready; close 127.96.0.9:81",
        ),
    ];
    for (what, service, pods, held, want) in table {
        assert_eq!(told(&service, pods, held), want, "{what}");
    }
}

#[test]
fn a_service_that_selects_nobody_leads_to_what_slices_of_others_name() {
    let slice = |port: u16, ready: Value| {
        Arc::new(read::<EndpointSlice>(json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": { "name": format!("web-{port}"), "namespace": "default" },
            "ports": [{ "name": "http", "port": port }, { "name": "other", "port": 9 }],
            "endpoints": [{ "addresses": ["127.0.0.1"], "conditions": ready }],
        })))
    };
    let table = [
        ("none", vec![], ""),
        ("one", vec![slice(20001, json!({ "ready": true }))], "forward 127.96.0.9:80 to 127.0.0.1:20001"),
        (
            "two, in order, of which one says nothing",
            vec![slice(20002, json!({})), slice(20001, json!({ "ready": true }))],
            "forward 127.96.0.9:80 to 127.0.0.1:20001, 127.0.0.1:20002",
        ),
        (
            "one that is not ready",
            vec![slice(20001, json!({ "ready": false }))],
            "forward 127.96.0.9:80 to nobody",
        ),
    ];
    let bare = service(|value| value["spec"]["selector"] = json!({}));
    for (what, slices, want) in table {
        let planned = plan(&bare, &World { slices, ..World::default() });
        let steps: Vec<String> = planned.steps.iter().map(ToString::to_string).collect();
        assert_eq!(steps.join("; "), want, "{what}");
    }
}

#[test]
fn a_service_leads_to_pods_with_all_its_labels() {
    let pod = pod("a", 1, |value| value["metadata"]["labels"]["more"] = json!("x"));
    assert!(selects(&service(|_| {}), &pod));
    assert!(!selects(&service(|value| value["spec"]["selector"]["app"] = json!("other")), &pod));
    assert!(!selects(&service(|value| value["spec"]["selector"] = json!({})), &pod));
}

#[test]
fn an_address_that_cannot_be_listened_on_is_told() {
    let trouble = Some("127.96.0.9:80 cannot be listened on without root".to_owned());
    let forwards = [(address("127.96.0.9:80"), Forwarding { backends: vec![], trouble })].into();
    let planned = plan(&service(|_| {}), &World { forwards, ..World::default() });
    assert_eq!(planned.next, Next::After(std::time::Duration::from_secs(1)), "nobody tells when it is free");
    let again =
        planned.steps.iter().map(ToString::to_string).filter(|step| step.starts_with("forward")).count();
    assert_eq!(again, 1, "and it is tried again");
    let conditions = planned.status.conditions.clone().unwrap_or_default();
    assert_eq!((conditions[0].type_.as_str(), conditions[0].status.as_str()), ("Reachable", "False"));
    let mut healed = service(|_| {});
    healed.status = Some(planned.status);
    assert_eq!(plan(&healed, &World::default()).status.conditions, None);
}

fn scenario(_: &kit::testing::Gate) -> kit::testing::Scenario<Services<Fake>> {
    let manifest = json!({
        "metadata": { "name": "web" },
        "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80, "targetPort": 8080 }] },
    });
    let forward = Fake::default();
    let seen = forward.clone();
    let held = move || {
        seen.held().into_iter().map(|(listen, to)| format!("{} {:?}\n", listen.port(), to.backends)).collect()
    };
    let there = serde_json::to_value(&*pod("a", 20001, |_| {})).expect("a pod is JSON");
    let mut there =
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": there["metadata"], "spec": there["spec"] });
    there["metadata"]["uid"].take();
    there["spec"]["containers"][0]["image"] = json!("v1");
    // Forwarding of a service that is gone is closed by the node's room.
    kit::testing::Scenario::new(Services::new(Arc::new(forward)), manifest)
        .given(there)
        .world(play_pods)
        .outside(held)
        .keeps_something()
}

/// Plays the kubelet: pods are ready.
async fn play_pods(client: kube::Client) {
    let pods = Api::<Pod>::namespaced(client, "default");
    let status = json!({ "status": { "phase": "Running", "podIP": "127.0.0.1", "podIPs": [{ "ip": "127.0.0.1" }],
        "conditions": [{ "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T12:00:00Z" }] } });
    pods.patch_status("a", &PatchParams::default(), &Patch::Merge(status))
        .await
        .expect("a status can be written");
}

#[tokio::test]
async fn a_service_converges() {
    let bench = kit::testing::converge(scenario).await;
    let endpoints = bench.get::<Endpoints>("default", "web").await.expect("it has endpoints");
    assert_eq!(endpoints.subsets.map(|subsets| subsets.len()), Some(1));
    let slices = Api::<EndpointSlice>::namespaced(bench.client().clone(), "default");
    let slices =
        slices.list(&kube::api::ListParams::default().labels("kubernetes.io/service-name=web")).await;
    assert_eq!(slices.expect("slices can be listed").items.len(), 1);
}

#[tokio::test]
async fn no_broken_call_changes_what_becomes_of_a_service() {
    kit::testing::sweep(scenario).await;
}
