//! What clients would notice, where one answer alone does not show it.

mod harness;

use harness::{CONFIGS, House, config};
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

const SERVICES: &str = "/api/v1/namespaces/default/services";
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";

/// The first events of a watch, in the form asked for.
async fn events(house: &House, path: &str, accept: &str, count: usize) -> Vec<Value> {
    let request = Request::get(path).header("accept", accept).body(Full::default()).expect("is a request");
    let response = house.service.clone().oneshot(request).await.expect("never fails");
    let mut body = response.into_body();
    let mut text = String::new();
    while text.lines().count() < count {
        let frame = tokio::time::timeout(harness::PATIENCE, body.frame()).await.expect("an event comes");
        let data = frame.expect("goes on").expect("never fails").into_data().expect("is data");
        text.push_str(std::str::from_utf8(&data).expect("is text"));
    }
    text.lines().take(count).map(|line| serde_json::from_str(line).expect("is JSON")).collect()
}

#[tokio::test]
async fn a_watch_tells_the_columns_of_its_table_once() {
    let house = House::new().await;
    let admin = house.admin();
    for name in ["a", "b"] {
        let mut object = config(name);
        object["metadata"]["labels"] = json!({ "told": "yes" });
        admin.made(CONFIGS, &object).await;
    }
    let path = format!("{CONFIGS}?watch=1&labelSelector=told");
    let told = events(&house, &path, "application/json;as=Table;v=v1;g=meta.k8s.io", 2).await;
    let columns: Vec<_> =
        told.iter().map(|event| event["object"]["columnDefinitions"].as_array().map(Vec::len)).collect();
    assert_eq!(columns, [Some(3), None]);
}

#[tokio::test]
async fn bookmarks_are_of_the_kind_that_events_are_of() {
    let house = House::new().await;
    let path = format!(
        "{CONFIGS}?watch=1&labelSelector=none&sendInitialEvents=true&resourceVersionMatch=NotOlderThan\
         &allowWatchBookmarks=true"
    );
    for (accept, want) in [
        ("application/json", "ConfigMap"),
        ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "PartialObjectMetadata"),
    ] {
        let told = events(&house, &path, accept, 1).await;
        assert_eq!((&told[0]["type"], &told[0]["object"]["kind"]), (&json!("BOOKMARK"), &json!(want)));
    }
}

#[tokio::test]
async fn who_may_see_one_object_may_list_it_by_its_name() {
    let house = House::new().await;
    let admin = house.admin();
    let rule = json!({ "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["one"], "verbs": ["list"] });
    admin.made(&format!("{ROLES}/roles"), &json!({ "metadata": { "name": "r" }, "rules": [rule] })).await;
    let binding = json!({
        "metadata": { "name": "r" }, "roleRef": { "kind": "Role", "name": "r" },
        "subjects": [{ "kind": "User", "name": "jane" }],
    });
    admin.made(&format!("{ROLES}/rolebindings"), &binding).await;
    let jane = house.as_user("jane", &[]);
    for (selector, want) in [
        ("metadata.name%3Done", "200"),
        ("metadata.name%3Dtwo", "403 Forbidden"),
        ("metadata.name!%3Done", "403 Forbidden"),
        ("", "403 Forbidden"),
    ] {
        let reply = jane.get(&format!("{CONFIGS}?fieldSelector={selector}")).await;
        assert_eq!(reply.told(), want, "{selector}");
    }
}

#[tokio::test]
async fn services_get_ports_of_the_machine_and_give_them_back() {
    let house = House::new().await;
    let admin = house.admin();
    let service = |name: &str, port: Value| json!({ "metadata": { "name": name }, "spec": { "type": "NodePort", "ports": [{ "port": 80, "nodePort": port }] } });
    let first = admin.made(SERVICES, &service("first", Value::Null)).await;
    let port = first["spec"]["ports"][0]["nodePort"].clone();
    assert!(port.as_i64().is_some_and(|port| (30000..=32767).contains(&port)), "{first}");
    assert_eq!(admin.post(SERVICES, &service("second", port.clone())).await.told(), "422 Invalid");
    let path = format!("{SERVICES}/first");
    let closed = admin.merge(&path, &json!({ "spec": { "type": "ClusterIP" } })).await.json();
    assert_eq!(closed["spec"]["ports"][0].get("nodePort"), None);
    assert_eq!(closed["spec"].get("externalTrafficPolicy"), None);
    assert_eq!(closed["spec"]["clusterIP"], first["spec"]["clusterIP"], "the address stays");
    admin.made(SERVICES, &service("second", port)).await;
    let named = json!({ "spec": { "type": "ExternalName", "externalName": "a.example" } });
    let named = admin.merge(&path, &named).await.json();
    assert_eq!(named["spec"].get("clusterIP"), None, "a name has no address");
    let back =
        admin.merge(&path, &json!({ "spec": { "type": "ClusterIP", "externalName": null } })).await.json();
    assert!(back["spec"]["clusterIP"].is_string(), "{back}");
}

#[tokio::test]
async fn pods_say_how_important_they_are_and_what_they_bear() {
    let house = House::new().await;
    let admin = house.admin();
    admin.until("/api/v1/namespaces/default/serviceaccounts", "default", |found| found.is_some()).await;
    let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
    admin.made(classes, &json!({ "metadata": { "name": "high" }, "value": 7 })).await;
    let mut pod =
        json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let pods = "/api/v1/namespaces/default/pods";
    let plain = admin.made(pods, &pod).await;
    assert_eq!(plain["spec"]["priority"], 0);
    assert_eq!(plain["spec"]["tolerations"].as_array().map(Vec::len), Some(2));
    pod["metadata"]["name"] = json!("q");
    pod["spec"]["priorityClassName"] = json!("high");
    pod["spec"]["tolerations"] = json!([{ "operator": "Exists" }]);
    let high = admin.made(pods, &pod).await;
    assert_eq!(high["spec"]["priority"], 7);
    assert_eq!(high["spec"]["tolerations"].as_array().map(Vec::len), Some(1), "it bears everything already");
}
