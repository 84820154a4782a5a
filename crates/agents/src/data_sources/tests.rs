//! The catalog of data, as an agent sees it.

use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use serde_json::{Value, json};

use crate::apps::tests::stage::{CANARY, Stage};

async fn source(stage: &Stage, name: &str, mapping: Value) {
    stage
        .make(json!({
            "apiVersion": "iaf.io/v1alpha1", "kind": "DataSource", "metadata": { "name": name },
            "spec": {
                "kind": "postgres", "description": "Orders", "schema": "orders(id)", "tags": ["sales"],
                "secretRef": { "name": "orders", "namespace": "data" }, "envVarMapping": mapping,
            },
            "status": { "conditions": [{
                "type": "Ready", "status": "True", "reason": "Available", "message": "ok",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }] },
        }))
        .await;
}

async fn credentials(stage: &Stage) {
    stage.make(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "data" } })).await;
    stage
        .make(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "orders", "namespace": "data" },
            "stringData": { "uri": CANARY, "password": CANARY, "admin": "not mapped" },
        }))
        .await;
}

#[tokio::test]
async fn the_catalog_shows_names_of_variables_and_no_values() {
    let stage = Stage::start().await;
    assert_eq!(stage.good("list_data_sources", json!({})).await, json!({ "data_sources": [] }));
    assert!(stage.wrong("get_data_source", json!({ "name": "orders" })).await.contains("offer none yet"));
    credentials(&stage).await;
    source(&stage, "orders", json!({ "uri": "ORDERS_URL", "password": "ORDERS_PASSWORD" })).await;
    let row = json!({ "name": "orders", "kind": "postgres", "description": "Orders", "tags": ["sales"], "ready": true });
    assert_eq!(stage.good("list_data_sources", json!({})).await, json!({ "data_sources": [row] }));
    let seen = stage.good("get_data_source", json!({ "name": "orders" })).await;
    assert_eq!(seen["env_vars"], json!(["ORDERS_PASSWORD", "ORDERS_URL"]));
    assert_eq!((&seen["schema"], &seen["ready"]), (&json!("orders(id)"), &json!(true)));
    let told = stage.wrong("get_data_source", json!({ "name": "other" })).await;
    assert_eq!(told, "invalid name: there is no data source \"other\"; there are: orders");
    stage.end().await;
}

#[tokio::test]
async fn a_data_source_is_attached_by_reference() {
    let stage = Stage::start().await;
    credentials(&stage).await;
    source(&stage, "orders", json!({ "uri": "ORDERS_URL", "password": "ORDERS_PASSWORD" })).await;
    stage.make_app("shop", json!({ "image": "i:1" }), Value::Null).await;
    let attach = json!({ "app_name": "shop", "data_source_name": "orders" });
    let seen = stage.good("attach_data_source", attach.clone()).await;
    assert_eq!(
        (&seen["attached"], &seen["injected_env_vars"]),
        (&json!(true), &json!(["ORDERS_PASSWORD", "ORDERS_URL"]))
    );
    let app = stage.app("shop").await;
    let want = json!([{ "dataSourceName": "orders", "secretName": "data-source-orders" }]);
    assert_eq!(json!(app.spec.attached_data_sources), want);
    let secrets: Api<Secret> = Api::namespaced(stage.client.clone(), &stage.ns);
    let copy = secrets.get("data-source-orders").await.expect("the copy");
    let keys: Vec<String> = copy.data.clone().unwrap_or_default().into_keys().collect();
    assert_eq!(keys, ["password", "uri"], "only what is mapped");
    assert_eq!(
        copy.metadata.owner_references.map(|owners| owners[0].kind.clone()).as_deref(),
        Some("DataSource")
    );

    let again = stage.good("attach_data_source", attach).await;
    assert!(again["message"].as_str().expect("a text").starts_with("it was attached before"), "{again}");
    assert_eq!(stage.app("shop").await.metadata.resource_version, app.metadata.resource_version);
    stage.end().await;
}

#[tokio::test]
async fn what_cannot_be_attached_changes_nothing() {
    let stage = Stage::start().await;
    source(&stage, "orders", json!({ "uri": "ORDERS_URL" })).await;
    source(&stage, "twin", json!({ "uri": "ORDERS_URL" })).await;
    source(&stage, "bare", json!({ "none": "BARE" })).await;
    let env = json!([{ "name": "ORDERS_URL", "value": "mine" }]);
    stage.make_app("own", json!({ "image": "i:1", "env": env }), Value::Null).await;
    let bound = json!([{ "serviceName": "db", "secretName": "db-app" }]);
    stage.make_app("shop", json!({ "image": "i:1", "boundManagedServices": bound }), Value::Null).await;
    let attach = |app: &str, source: &str| json!({ "app_name": app, "data_source_name": source });
    let missing = stage.wrong("attach_data_source", attach("shop", "orders")).await;
    assert!(missing.contains("its credentials are missing"), "{missing}");
    credentials(&stage).await;
    source(&stage, "clash", json!({ "uri": "DATABASE_URL" })).await;
    let table = [
        (attach("own", "orders"), "application own has variables of these names already: ORDERS_URL"),
        (attach("shop", "clash"), "application shop has variables of these names already: DATABASE_URL"),
        (attach("shop", "bare"), "data source bare is not ready"),
        (attach("none", "orders"), "invalid name: there is no application \"none\"; there are: own, shop"),
        (
            attach("shop", "none"),
            "invalid name: there is no data source \"none\"; there are: bare, clash, orders, twin",
        ),
        (attach("shop", "../x"), "invalid name: "),
    ];
    for (arguments, want) in table {
        let told = stage.wrong("attach_data_source", arguments).await;
        assert!(told.starts_with(want), "{told}");
    }
    assert!(stage.app("shop").await.spec.attached_data_sources.is_empty());
    stage.good("attach_data_source", attach("shop", "orders")).await;
    let told = stage.wrong("attach_data_source", attach("shop", "twin")).await;
    assert!(told.contains("ORDERS_URL"), "{told}");
    stage.make_secret("data-source-foreign", json!({ "x": "y" })).await;
    source(&stage, "foreign", json!({ "uri": "F" })).await;
    let told = stage.wrong("attach_data_source", attach("own", "foreign")).await;
    assert!(told.contains("stands in the way"), "{told}");
    stage.end().await;
}
