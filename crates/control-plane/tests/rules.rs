//! Rules that others bring: whatever the way of a write, the rule sees it.

mod harness;

use control_plane::Rule;
use harness::{Asker, CONFIGS, House};
use http::Method;
use serde_json::{Value, json};

const SHOP: &str = "/api/v1/namespaces/default/configmaps/shop";

/// In a namespace with an owner, `data.owner` is that owner: written in where it is missing, refused where it differs.
async fn house() -> (House, Asker) {
    let house = House::new().await;
    house.plane.rule(Rule::new("", "ConfigMap", |occasion, object| {
        let Some(owner) = occasion.namespace["metadata"]["labels"]["owner"].as_str() else { return Ok(()) };
        if occasion.old.is_some_and(|old| old["data"] == object["data"]) {
            return Ok(());
        }
        match object["data"]["owner"].as_str().unwrap_or_default() {
            "" => object["data"]["owner"] = json!(owner),
            named if named == owner => {}
            other => return Err(format!("data.owner is {other}, and here all is {owner}'s: leave it out")),
        }
        Ok(())
    }));
    let admin = house.admin();
    let labels = json!({ "metadata": { "labels": { "owner": "red" } } });
    assert_eq!(admin.merge("/api/v1/namespaces/default", &labels).await.code, 200);
    (house, admin)
}

fn shop(data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "shop" }, "data": data })
}

/// Who owns a field, by the managed fields.
fn managers(object: &Value, field: &str) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let owning = entries.iter().filter(|entry| !entry["fieldsV1"]["f:data"][format!("f:{field}")].is_null());
    owning.map(|entry| entry["manager"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn what_is_missing_is_written_in_whatever_the_way() {
    let ways: [(&str, Method, &str, Value); 7] = [
        ("PUT", Method::PUT, "application/json", shop(json!({ "a": "2" }))),
        ("PUT, empty", Method::PUT, "application/json", shop(json!({ "a": "2", "owner": "" }))),
        (
            "merge",
            Method::PATCH,
            "application/merge-patch+json",
            json!({ "data": { "a": "2", "owner": null } }),
        ),
        (
            "strategic",
            Method::PATCH,
            "application/strategic-merge-patch+json",
            json!({ "data": { "a": "2", "owner": null } }),
        ),
        (
            "JSON patch",
            Method::PATCH,
            "application/json-patch+json",
            json!([{ "op": "replace", "path": "/data/a", "value": "2" }, { "op": "remove", "path": "/data/owner" }]),
        ),
        ("apply", Method::PATCH, "application/apply-patch+yaml", shop(json!({ "a": "2" }))),
        (
            "apply, empty",
            Method::PATCH,
            "application/apply-patch+yaml",
            shop(json!({ "a": "2", "owner": "" })),
        ),
    ];
    for (way, method, kind, body) in ways {
        let (_house, admin) = house().await;
        let made = admin.made(CONFIGS, &shop(json!({ "a": "1" }))).await;
        assert_eq!(made["data"]["owner"], "red", "POST before {way}");
        assert!(managers(&made, "owner").is_empty(), "what was written in is nobody's: {made}");
        let path =
            if kind.contains("apply") { format!("{SHOP}?fieldManager=me&force=true") } else { SHOP.into() };
        let reply = admin.ask(method, &path, kind, body.to_string()).await;
        assert_eq!(reply.code, 200, "{way}: {}", reply.text);
        let data = reply.json()["data"].clone();
        assert_eq!(data, json!({ "a": "2", "owner": "red" }), "{way}");
    }
}

#[tokio::test]
async fn an_applied_field_that_is_dropped_is_written_in_again_and_is_nobodys() {
    let (_house, admin) = house().await;
    let first = admin.apply(SHOP, "me", &shop(json!({ "a": "1", "owner": "red" }))).await.json();
    assert_eq!(managers(&first, "owner"), ["me"]);
    let then = admin.apply(SHOP, "me", &shop(json!({ "a": "1" }))).await.json();
    assert_eq!(then["data"]["owner"], "red");
    assert!(managers(&then, "owner").is_empty(), "{then}");
    // Applied by nobody before: also the first apply is filled in.
    let path = "/api/v1/namespaces/default/configmaps/new";
    let mut fresh = shop(json!({ "a": "1" }));
    fresh["metadata"]["name"] = "new".into();
    let made = admin.apply(path, "me", &fresh).await;
    assert_eq!((made.code, made.json()["data"]["owner"].clone()), (201, json!("red")));
    assert!(managers(&made.json(), "owner").is_empty());
}

#[tokio::test]
async fn what_breaks_the_rule_is_refused_whatever_the_way() {
    let (_house, admin) = house().await;
    let blue = shop(json!({ "owner": "blue" }));
    let fresh = admin.post(CONFIGS, &blue).await;
    assert_eq!(fresh.told(), "403 Forbidden");
    let words = "configmaps \"shop\" is forbidden: data.owner is blue, and here all is red's: leave it out";
    assert_eq!(fresh.json()["message"], words);
    let applied = admin.apply(SHOP, "me", &blue).await;
    assert_eq!((applied.told(), applied.json()["message"].clone()), ("403 Forbidden".into(), json!(words)));
    admin.made(CONFIGS, &shop(json!({ "a": "1" }))).await;
    let change = json!({ "data": { "owner": "blue" } });
    let ways = [
        (Method::PUT, "application/json", blue.clone()),
        (Method::PATCH, "application/merge-patch+json", change.clone()),
        (Method::PATCH, "application/strategic-merge-patch+json", change),
        (
            Method::PATCH,
            "application/json-patch+json",
            json!([{ "op": "replace", "path": "/data/owner", "value": "blue" }]),
        ),
        (Method::PATCH, "application/apply-patch+yaml", blue),
    ];
    for (method, kind, body) in ways {
        let path =
            if kind.contains("apply") { format!("{SHOP}?fieldManager=me&force=true") } else { SHOP.into() };
        let reply = admin.ask(method, &path, kind, body.to_string()).await;
        assert_eq!(
            (reply.told(), reply.json()["message"].clone()),
            ("403 Forbidden".into(), json!(words)),
            "{kind}"
        );
    }
    assert_eq!(admin.get(SHOP).await.json()["data"], json!({ "a": "1", "owner": "red" }));
}

#[tokio::test]
async fn other_kinds_other_namespaces_and_what_stays_are_left_alone() {
    let (house, admin) = house().await;
    let secret = json!({ "metadata": { "name": "s" }, "stringData": { "owner": "blue" } });
    admin.made("/api/v1/namespaces/default/secrets", &secret).await;
    admin.made("/api/v1/namespaces", &json!({ "metadata": { "name": "free" } })).await;
    let free = admin.made("/api/v1/namespaces/free/configmaps", &shop(json!({ "owner": "blue" }))).await;
    assert_eq!(free["data"]["owner"], "blue");
    // What was wrong before may still lose a finalizer.
    let labels = json!({ "metadata": { "labels": { "owner": "red" } } });
    assert_eq!(admin.merge("/api/v1/namespaces/free", &labels).await.code, 200);
    let path = "/api/v1/namespaces/free/configmaps/shop";
    let touched = admin.merge(path, &json!({ "metadata": { "annotations": { "x": "y" } } })).await;
    assert_eq!(touched.code, 200, "{}", touched.text);
    house.plane.close().await;
}
