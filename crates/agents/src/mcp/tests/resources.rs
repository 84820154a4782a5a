//! What can be read, and by whom.

use api::apps::DataSource;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use super::stage::{Stage, Visitor};
use crate::identity::Role;

async fn read(visitor: &Visitor<'_>, uri: &str) -> Value {
    let read = visitor.ask("resources/read", json!({ "uri": uri })).await;
    match read["contents"][0]["text"].as_str() {
        Some(text) => serde_json::from_str(text).expect("JSON"),
        None => read,
    }
}

#[tokio::test]
async fn the_platform_says_what_it_offers_as_in_the_seed() {
    let stage = Stage::open().await;
    let ann = stage.token("ann", Role::Session).await;
    let platform = read(&ann, "iaf://platform").await;
    let seed = json!({
        "available": ["postgres"],
        "plans": {
            "micro": {"instances": 1, "storage": "1Gi", "memory": "256Mi"},
            "small": {"instances": 1, "storage": "5Gi", "memory": "512Mi"},
            "ha": {"instances": 3, "storage": "10Gi", "memory": "1Gi"}
        },
        "versions": {"postgres": ["15", "17"]}
    });
    assert_eq!(platform["managedServices"], seed);
    let schema = read(&ann, "iaf://schema/application").await;
    let deploying = "image is resolved; Kubernetes Deployment is created; waiting for at least one pod replica to become \
                     available. The app URL is set and DNS is active but the application may not yet be accepting \
                     connections.";
    assert_eq!(schema["phases"]["Deploying"], deploying);
    assert_eq!(schema["spec"]["port"]["default"], 8080);
    assert!(schema["spec"]["image"]["description"].is_string() && schema["status"]["url"].is_object());
}

#[tokio::test]
async fn the_catalog_names_data_and_no_secret() {
    let stage = Stage::open().await;
    let ann = stage.token("ann", Role::Session).await;
    let source: DataSource = serde_json::from_value(json!({
        "metadata": { "name": "orders" },
        "spec": {
            "kind": "postgres", "description": "All orders.", "tags": ["sales"],
            "secretRef": { "name": "hidden-orders", "namespace": "ops" },
            "envVarMapping": { "uri": "ORDERS_URL" },
        },
    }))
    .expect("a data source");
    let sources: Api<DataSource> = Api::all(stage.plane.client());
    sources.create(&PostParams::default(), &source).await.expect("is created");
    let catalog = read(&ann, "iaf://catalog/data-sources").await;
    assert_eq!(catalog["dataSources"][0]["name"], "orders");
    assert_eq!(catalog["dataSources"][0]["variables"], json!(["ORDERS_URL"]));
    assert!(!catalog.to_string().contains("hidden-orders"), "{catalog}");
}

#[tokio::test]
async fn an_application_is_read_by_those_who_may_and_missing_for_all_others() {
    let stage = Stage::open().await;
    let ann = stage.token("ann", Role::Session).await;
    let bob = stage.token("bob", Role::Session).await;
    let (_, namespace) = ann.session().await;
    stage.app(&namespace, "shop").await;
    stage.say(&namespace, "shop", "Running").await;
    let uri = format!("iaf://app/{namespace}/shop");
    let own = read(&ann, &uri).await;
    assert_eq!((&own["phase"], &own["url"]), (&json!("Running"), &json!("http://shop.localhost")));
    assert!(own.get("managedFields").is_none() && own.get("metadata").is_none());
    let words = |error: &Value, uri: &str| error["message"].as_str().expect("words").replace(uri, "URI");
    let foreign = words(&read(&bob, &uri).await, &uri);
    for missing in
        [format!("iaf://app/{namespace}/none"), "iaf://app/nowhere/none".into(), "iaf://app/x".into()]
    {
        assert_eq!(words(&read(&bob, &missing).await, &missing), foreign);
        assert_eq!(words(&read(&ann, &missing).await, &missing), foreign);
    }
    let trail = stage.trail();
    let count = |outcome: &str| {
        trail.iter().filter(|line| **line == format!("resources/read {uri} {outcome}")).count()
    };
    assert_eq!((count("done"), count("refused")), (1, 1), "{trail:?}");
}
