//! What the server does by itself: garbage, namespaces, definitions, quotas, derived objects.

mod harness;

use harness::{Asker, CONFIGS, DEFINITIONS, House, WIDGETS, config, widgets};
use serde_json::{Value, json};

fn owned(name: &str, owner: &Value, block: bool) -> Value {
    let mut object = config(name);
    object["metadata"]["ownerReferences"] = json!([{
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": block,
    }]);
    object
}

async fn finalized(admin: &Asker, name: &str) -> Value {
    let mut object = config(name);
    object["metadata"]["finalizers"] = json!(["demo.io/hold"]);
    admin.made(CONFIGS, &object).await
}

async fn release(admin: &Asker, path: &str) {
    let reply = admin.merge(path, &json!({ "metadata": { "finalizers": null } })).await;
    assert_eq!(reply.code, 200, "{}", reply.text);
}

#[tokio::test]
async fn dependents_go_after_their_owner_in_the_background() {
    let house = House::new().await;
    let admin = house.admin();
    let owner = admin.made(CONFIGS, &config("owner")).await;
    let child = admin.made(CONFIGS, &owned("child", &owner, false)).await;
    admin.made(CONFIGS, &owned("grandchild", &child, false)).await;
    assert_eq!(admin.delete(&format!("{CONFIGS}/owner"), &json!({})).await.code, 200);
    admin.gone(CONFIGS, "child").await;
    admin.gone(CONFIGS, "grandchild").await;
}

#[tokio::test]
async fn in_the_foreground_the_owner_waits_for_those_that_block() {
    let house = House::new().await;
    let admin = house.admin();
    let owner = admin.made(CONFIGS, &config("owner")).await;
    let mut child = owned("child", &owner, true);
    child["metadata"]["finalizers"] = json!(["demo.io/hold"]);
    admin.made(CONFIGS, &child).await;
    let reply =
        admin.delete(&format!("{CONFIGS}/owner"), &json!({ "propagationPolicy": "Foreground" })).await;
    assert_eq!(reply.json()["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    let deleting =
        |found: Option<&Value>| found.is_some_and(|o| !o["metadata"]["deletionTimestamp"].is_null());
    admin.until(CONFIGS, "child", deleting).await;
    assert_eq!(admin.get(&format!("{CONFIGS}/owner")).await.code, 200, "the owner is still there");
    release(&admin, &format!("{CONFIGS}/child")).await;
    admin.gone(CONFIGS, "owner").await;
}

#[tokio::test]
async fn orphans_stay_and_name_no_owner_any_more() {
    let house = House::new().await;
    let admin = house.admin();
    let owner = admin.made(CONFIGS, &config("owner")).await;
    admin.made(CONFIGS, &owned("child", &owner, false)).await;
    admin.delete(&format!("{CONFIGS}/owner"), &json!({ "propagationPolicy": "Orphan" })).await;
    admin.gone(CONFIGS, "owner").await;
    let free = |found: Option<&Value>| found.is_some_and(|o| o["metadata"]["ownerReferences"].is_null());
    admin.until(CONFIGS, "child", free).await;
}

#[tokio::test]
async fn an_object_whose_owner_never_was_goes() {
    let house = House::new().await;
    let admin = house.admin();
    let ghost =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "ghost", "uid": "nobody" } });
    admin.made(CONFIGS, &owned("child", &ghost, false)).await;
    admin.gone(CONFIGS, "child").await;
}

#[tokio::test]
async fn an_object_with_another_living_owner_stays() {
    let house = House::new().await;
    let admin = house.admin();
    let first = admin.made(CONFIGS, &config("first")).await;
    let second = admin.made(CONFIGS, &config("second")).await;
    let mut child = owned("child", &first, false);
    let also = owned("x", &second, false)["metadata"]["ownerReferences"][0].clone();
    child["metadata"]["ownerReferences"].as_array_mut().expect("is a list").push(also);
    admin.made(CONFIGS, &child).await;
    admin.delete(&format!("{CONFIGS}/first"), &json!({})).await;
    let one = |found: Option<&Value>| {
        found.is_some_and(|o| o["metadata"]["ownerReferences"].as_array().is_some_and(|list| list.len() == 1))
    };
    admin.until(CONFIGS, "child", one).await;
}

#[tokio::test]
async fn owners_of_a_kind_that_nobody_serves_are_left_alone() {
    let house = House::new().await;
    let admin = house.admin();
    let foreign =
        json!({ "apiVersion": "far.io/v1", "kind": "Away", "metadata": { "name": "a", "uid": "u" } });
    admin.made(CONFIGS, &owned("child", &foreign, false)).await;
    // A second object with a dead owner is collected: by then the first has been looked at too.
    let ghost =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "ghost", "uid": "nobody" } });
    admin.made(CONFIGS, &owned("other", &ghost, false)).await;
    admin.gone(CONFIGS, "other").await;
    assert_eq!(admin.get(&format!("{CONFIGS}/child")).await.code, 200);
}

#[tokio::test]
async fn a_namespace_is_furnished_and_emptied_before_it_goes() {
    let house = House::new().await;
    let admin = house.admin();
    admin.made("/api/v1/namespaces", &json!({ "metadata": { "name": "team" } })).await;
    let inside = "/api/v1/namespaces/team/configmaps";
    let ca = admin.until(inside, "kube-root-ca.crt", |found| found.is_some()).await.expect("is there");
    assert!(ca["data"]["ca.crt"].as_str().expect("is text").contains("BEGIN CERTIFICATE"));
    admin.until("/api/v1/namespaces/team/serviceaccounts", "default", |found| found.is_some()).await;
    let mut held = config("held");
    held["metadata"]["finalizers"] = json!(["demo.io/hold"]);
    admin.made(inside, &held).await;
    admin.made(inside, &config("free")).await;
    let reply = admin.delete("/api/v1/namespaces/team", &json!({})).await;
    assert_eq!(reply.json()["status"]["phase"], "Terminating");
    admin.gone(inside, "free").await;
    assert_eq!(admin.post(inside, &config("late")).await.told(), "403 Forbidden");
    let waits = |found: Option<&Value>| {
        found.is_some_and(|o| o["status"]["conditions"][0]["type"] == "NamespaceContentRemaining")
    };
    admin.until("/api/v1/namespaces", "team", waits).await;
    release(&admin, &format!("{inside}/held")).await;
    admin.gone("/api/v1/namespaces", "team").await;
}

#[tokio::test]
async fn the_default_account_comes_back() {
    let house = House::new().await;
    let admin = house.admin();
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let first = admin.until(accounts, "default", |found| found.is_some()).await.expect("is there");
    admin.delete(&format!("{accounts}/default"), &json!({})).await;
    let uid = first["metadata"]["uid"].clone();
    admin.until(accounts, "default", |found| found.is_some_and(|o| o["metadata"]["uid"] != uid)).await;
}

#[tokio::test]
async fn a_definition_takes_its_objects_along() {
    let house = House::new().await;
    let admin = house.admin();
    let made = admin.made(DEFINITIONS, &widgets()).await;
    assert_eq!(made["status"]["conditions"][1]["type"], "Established");
    admin.made(WIDGETS, &json!({ "apiVersion": "demo.io/v1", "kind": "Widget", "metadata": { "name": "w" }, "spec": { "size": 1 } })).await;
    admin.delete(&format!("{DEFINITIONS}/widgets.demo.io"), &json!({})).await;
    admin.gone(DEFINITIONS, "widgets.demo.io").await;
    assert_eq!(admin.get(WIDGETS).await.code, 404);
    // Brought back, it finds nothing of its past.
    admin.made(DEFINITIONS, &widgets()).await;
    assert_eq!(admin.get(WIDGETS).await.json()["items"], json!([]));
}

#[tokio::test]
async fn every_served_version_shows_the_same_objects() {
    let house = House::new().await;
    let admin = house.admin();
    let mut definition = widgets();
    let mut second = definition["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    definition["spec"]["versions"].as_array_mut().expect("is a list").push(second);
    admin.made(DEFINITIONS, &definition).await;
    admin.made(WIDGETS, &json!({ "apiVersion": "demo.io/v1", "kind": "Widget", "metadata": { "name": "w" }, "spec": { "size": 1 } })).await;
    let newer = WIDGETS.replace("/v1/", "/v2/");
    let found = admin.get(&format!("{newer}/w")).await.json();
    assert_eq!((&found["apiVersion"], &found["spec"]["size"]), (&json!("demo.io/v2"), &json!(1)));
    let list = admin.get(&newer).await.json();
    assert_eq!(
        (&list["apiVersion"], &list["items"][0]["apiVersion"]),
        (&json!("demo.io/v2"), &json!("demo.io/v2"))
    );
    let patched = admin.merge(&format!("{newer}/w"), &json!({ "spec": { "size": 2 } })).await.json();
    assert_eq!(patched["apiVersion"], "demo.io/v2");
    assert_eq!(admin.get(&format!("{WIDGETS}/w")).await.json()["spec"]["size"], 2);
}

#[tokio::test]
async fn a_quota_is_kept_and_tells_what_is_used() {
    let house = House::new().await;
    let admin = house.admin();
    admin.until(CONFIGS, "kube-root-ca.crt", |found| found.is_some()).await;
    let quota = json!({ "metadata": { "name": "q" }, "spec": { "hard": { "count/configmaps": "2" } } });
    admin.made("/api/v1/namespaces/default/resourcequotas", &quota).await;
    admin.made(CONFIGS, &config("one")).await;
    let refused = admin.post(CONFIGS, &config("two")).await;
    assert_eq!(refused.told(), "403 Forbidden");
    let want = "configmaps \"two\" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=2, limited: count/configmaps=2";
    assert_eq!(refused.json()["message"], want);
    let counted =
        |found: Option<&Value>| found.is_some_and(|o| o["status"]["used"]["count/configmaps"] == "2");
    admin.until("/api/v1/namespaces/default/resourcequotas", "q", counted).await;
}

#[tokio::test]
async fn many_creations_at_once_never_pass_a_quota() {
    let house = House::new().await;
    let admin = house.admin();
    admin
        .made(
            "/api/v1/namespaces/default/resourcequotas",
            &json!({ "metadata": { "name": "q" }, "spec": { "hard": { "secrets": "5" } } }),
        )
        .await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let objects: Vec<Value> = (0..20).map(|n| json!({ "metadata": { "name": format!("s{n}") } })).collect();
    let tries = objects.iter().map(|object| admin.post(secrets, object));
    let replies = futures::future::join_all(tries).await;
    assert_eq!(replies.iter().filter(|reply| reply.code == 201).count(), 5);
}

#[tokio::test]
async fn aggregated_roles_follow_those_they_select() {
    let house = House::new().await;
    let admin = house.admin();
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let rule = json!({ "apiGroups": ["demo.io"], "resources": ["widgets"], "verbs": ["get"] });
    let part = json!({
        "metadata": { "name": "widgets-view", "labels": { "rbac.authorization.k8s.io/aggregate-to-view": "true" } },
        "rules": [rule],
    });
    admin.made(roles, &part).await;
    let holds = |found: Option<&Value>| {
        found.is_some_and(|o| o["rules"].as_array().is_some_and(|rules| rules.contains(&rule)))
    };
    admin.until(roles, "view", holds).await;
}

#[tokio::test]
async fn finalizers_hold_an_object_until_they_are_gone() {
    let house = House::new().await;
    let admin = house.admin();
    finalized(&admin, "held").await;
    let path = format!("{CONFIGS}/held");
    let deleting = admin.delete(&path, &json!({})).await.json();
    assert!(!deleting["metadata"]["deletionTimestamp"].is_null());
    assert_eq!(admin.post(CONFIGS, &config("held")).await.told(), "409 AlreadyExists");
    release(&admin, &path).await;
    assert_eq!(admin.get(&path).await.code, 404);
}

#[tokio::test]
async fn objects_from_before_a_change_of_the_storage_version_are_shown_in_the_version_asked_for() {
    let house = House::new().await;
    let admin = house.admin();
    admin.made(DEFINITIONS, &widgets()).await;
    let widget = json!({ "apiVersion": "demo.io/v1", "kind": "Widget", "metadata": { "name": "w" }, "spec": { "size": 1 } });
    let start = admin.made(WIDGETS, &widget).await["metadata"]["resourceVersion"].clone();
    let path = format!("{DEFINITIONS}/widgets.demo.io");
    let mut definition = admin.get(&path).await.json();
    let mut second = definition["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    definition["spec"]["versions"][0]["storage"] = json!(false);
    definition["spec"]["versions"].as_array_mut().expect("is a list").push(second);
    let moved = admin.put(&path, &definition).await;
    assert_eq!(moved.code, 200, "{}", moved.text);
    let newer = WIDGETS.replace("/v1/", "/v2/");
    for (collection, want) in [(WIDGETS, "demo.io/v1"), (newer.as_str(), "demo.io/v2")] {
        assert_eq!(admin.get(&format!("{collection}/w")).await.json()["apiVersion"], want, "get");
        assert_eq!(admin.get(collection).await.json()["items"][0]["apiVersion"], want, "list");
        let mut events = admin.watch(&format!("{collection}?resourceVersion=0")).await;
        assert_eq!(events.next().await.expect("comes")["object"]["apiVersion"], want, "watch from now");
    }
    let before = start.as_str().and_then(|text| text.parse::<u64>().ok()).expect("has a version") - 1;
    let mut events = admin.watch(&format!("{newer}?resourceVersion={before}")).await;
    assert_eq!(
        events.next().await.expect("comes")["object"]["apiVersion"],
        "demo.io/v2",
        "watch from the past"
    );
}

#[tokio::test]
async fn a_limit_range_fills_in_and_refuses() {
    let house = House::new().await;
    let admin = house.admin();
    let range = json!({ "metadata": { "name": "r" }, "spec": { "limits": [{
        "type": "Container", "default": { "memory": "64Mi" }, "max": { "memory": "128Mi" },
    }] } });
    admin.made("/api/v1/namespaces/default/limitranges", &range).await;
    let pod = |name: &str, resources: Value| json!({ "metadata": { "name": name }, "spec": { "containers": [{ "name": "c", "image": "i", "resources": resources }] } });
    let pods = "/api/v1/namespaces/default/pods";
    let filled = admin.made(pods, &pod("small", json!({}))).await;
    assert_eq!(filled["spec"]["containers"][0]["resources"]["limits"]["memory"], "64Mi");
    let refused = admin.post(pods, &pod("large", json!({ "limits": { "memory": "1Gi" } }))).await;
    assert_eq!(refused.told(), "403 Forbidden");
    assert!(
        refused.text.contains("maximum memory usage per Container is 128Mi, but limit is 1Gi"),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn a_lease_is_taken_by_one_at_a_time() {
    let house = House::new().await;
    let admin = house.admin();
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let made =
        admin.made(leases, &json!({ "metadata": { "name": "l" }, "spec": { "holderIdentity": "a" } })).await;
    let path = format!("{leases}/l");
    let mut takes = Vec::new();
    for who in ["b", "c"] {
        let mut wish = made.clone();
        wish["spec"]["holderIdentity"] = json!(who);
        takes.push(wish);
    }
    let replies = futures::future::join_all(takes.iter().map(|wish| admin.put(&path, wish))).await;
    let mut told: Vec<String> = replies.iter().map(harness::Reply::told).collect();
    told.sort();
    assert_eq!(told, ["200", "409 Conflict"]);
}

#[tokio::test]
async fn an_event_is_one_object_in_both_of_its_apis() {
    let house = House::new().await;
    let admin = house.admin();
    let event = json!({
        "metadata": { "name": "e" }, "reason": "Started", "message": "it runs", "type": "Normal",
        "involvedObject": { "kind": "Pod", "namespace": "default", "name": "p" },
    });
    admin.made("/api/v1/namespaces/default/events", &event).await;
    let newer = admin.get("/apis/events.k8s.io/v1/namespaces/default/events/e").await.json();
    assert_eq!(
        (&newer["apiVersion"], &newer["note"], &newer["regarding"]["name"]),
        (&json!("events.k8s.io/v1"), &json!("it runs"), &json!("p"))
    );
    let list = admin
        .get("/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=regarding.name%3Dp")
        .await
        .json();
    assert_eq!(list["items"][0]["note"], "it runs");
}

#[tokio::test]
async fn a_pod_is_bound_to_a_node_once() {
    let house = House::new().await;
    let admin = house.admin();
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web" },
        "spec": { "containers": [{ "name": "web", "image": "web" }] },
    });
    admin.made(pods, &pod).await;
    let binding = |node: &str| json!({ "target": { "kind": "Node", "name": node } });
    let first = admin.post(&format!("{pods}/web/binding"), &binding("one")).await;
    assert_eq!(first.code, 201, "{}", first.text);
    let second = admin.post(&format!("{pods}/web/binding"), &binding("two")).await;
    assert_eq!(second.code, 409, "{}", second.text);
    let read = admin.get(&format!("{pods}/web")).await;
    assert!(read.text.contains(r#""nodeName":"one""#), "{}", read.text);
}
