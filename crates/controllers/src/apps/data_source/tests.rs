use api::apps::DataSource;
use api::conditions::{READY, find};
use kit::testing::{Gate, Scenario};
use serde_json::{Value, json};

use super::DataSources;
use super::plan::{World, plan};

fn source() -> Value {
    json!({
        "apiVersion": "iaf.io/v1alpha1",
        "kind": "DataSource",
        "metadata": { "name": "orders", "generation": 3 },
        "spec": {
            "kind": "postgres",
            "secretRef": { "name": "orders", "namespace": "data" },
            "envVarMapping": { "uri": "ORDERS_URL", "password": "ORDERS_PASSWORD" },
        },
    })
}

fn told(keys: Option<&[&str]>) -> String {
    let source: DataSource = serde_json::from_value(source()).expect("a data source");
    let keys = keys.map(|keys| keys.iter().map(ToString::to_string).collect());
    let plan = plan(&source, &World { keys });
    assert_eq!(plan.status.observed_generation, Some(3));
    assert!(plan.steps.is_empty());
    let ready = find(&plan.status.conditions, READY).expect("it is said");
    format!("{} {}: {}; {:?}", ready.status, ready.reason, ready.message, plan.next)
}

#[test]
fn a_source_is_ready_when_its_secret_has_every_mapped_key() {
    let table: [(&str, Option<&[&str]>, &str); 4] = [
        (
            "all is there",
            Some(&["password", "uri", "more"]),
            "True Available: Secret data/orders has every mapped key; After(300s)",
        ),
        (
            "no Secret",
            None,
            "False CredentialsMissing: Secret data/orders does not exist; create it with the mapped keys; After(60s)",
        ),
        (
            "one key lacks",
            Some(&["uri"]),
            "False CredentialsMissing: Secret data/orders lacks password; add it, or map other keys; After(60s)",
        ),
        (
            "all keys lack",
            Some(&[]),
            "False CredentialsMissing: Secret data/orders lacks password, uri; add it, or map other keys; After(60s)",
        ),
    ];
    for (rule, keys, want) in table {
        assert_eq!(told(keys), want, "{rule}");
    }
}

fn with_its_secret(_: &Gate) -> Scenario<DataSources> {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "orders", "namespace": "data" },
        "stringData": { "uri": "postgres://", "password": "secret" },
    });
    Scenario::new(DataSources, source()).given(secret)
}

#[tokio::test]
async fn a_data_source_converges() {
    let bench = kit::testing::converge(with_its_secret).await;
    let source = bench.get::<DataSource>("", "orders").await.expect("the data source");
    let status = source.status.expect("a status");
    assert_eq!(find(&status.conditions, READY).map(|ready| ready.status.as_str()), Some("True"));
    assert!(!format!("{status:?}").contains("postgres://"));
}

#[tokio::test]
async fn a_data_source_survives_any_broken_call() {
    kit::testing::sweep(with_its_secret).await;
}
