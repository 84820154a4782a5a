//! The kind that is created, read and watched, and one object of it of 1 KiB.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::client::{Client, Endpoint};
use crate::{Outcome, note};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const NAME: &str = "parcels.bench.terrace.dev";
const JSON: &str = "application/json";
/// Namespaces the loads work in.
const NAMESPACES: [&str; 5] = ["many", "sixteen", "one", "applied", "watched"];
/// Size of an object as it is sent.
const SIZE: usize = 1024;

/// The collection in a namespace.
pub fn path(namespace: &str) -> String {
    format!("/apis/bench.terrace.dev/v1/namespaces/{namespace}/parcels")
}

/// The definitions a server holds, as one would write them.
pub async fn definitions(endpoint: &Endpoint) -> Outcome<Vec<Value>> {
    let mut list = endpoint.connect().await?.json(DEFINITIONS).await?;
    let items = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let others = items.into_iter().filter(|item| item["metadata"]["name"] != NAME);
    Ok(others
        .map(|item| {
            json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": { "name": item["metadata"]["name"] }, "spec": item["spec"],
            })
        })
        .collect())
}

/// Installs definitions and ours, makes the namespaces, and waits until ours is served.
pub async fn define(endpoint: &Endpoint, definitions: &[Value]) -> Outcome<()> {
    let mut client = endpoint.connect().await?;
    for definition in definitions.iter().chain([&definition()]) {
        let body = Bytes::from(serde_json::to_vec(definition)?);
        if let Err(error) = client.send(Method::POST, DEFINITIONS, JSON, body).await {
            note(&format!("not installed: {error}"));
        }
    }
    for name in NAMESPACES {
        let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        client.send(Method::POST, "/api/v1/namespaces", JSON, Bytes::from(body.to_string())).await?;
    }
    served(&mut client).await
}

/// A definition is served some time after it has been taken.
async fn served(client: &mut Client) -> Outcome<()> {
    let mut clock = tokio::time::interval(std::time::Duration::from_millis(50));
    let mut last = Ok(0);
    for _ in 0..200 {
        clock.tick().await;
        last = client.get(&path("many")).await;
        if last.is_ok() {
            break;
        }
    }
    last.map(|_| ())
}

fn definition() -> Value {
    let text = |most: usize| json!({ "type": "string", "maxLength": most });
    let spec = json!({
        "type": "object", "required": ["number"],
        "properties": {
            "number": { "type": "integer", "minimum": 0 },
            "size": { "type": "string", "enum": ["small", "large"], "default": "small" },
            "note": text(4096),
            "contents": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object", "required": ["name"],
                    "properties": { "name": text(64), "count": { "type": "integer" } },
                },
            },
        },
    });
    let schema = json!({ "type": "object", "properties": { "spec": spec } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": NAME },
        "spec": {
            "group": "bench.terrace.dev", "scope": "Namespaced",
            "names": { "kind": "Parcel", "listKind": "ParcelList", "plural": "parcels", "singular": "parcel" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    })
}

/// An object of 1 KiB.
pub fn parcel(name: &str, number: usize) -> Bytes {
    let mut object = json!({
        "apiVersion": "bench.terrace.dev/v1", "kind": "Parcel",
        "metadata": { "name": name, "labels": { "app": "bench", "shelf": (number % 10).to_string() } },
        "spec": {
            "number": number, "note": "",
            "contents": [{ "name": "apples", "count": 3 }, { "name": "pears", "count": number % 7 }],
        },
    });
    let missing = SIZE.saturating_sub(object.to_string().len());
    object["spec"]["note"] = "x".repeat(missing).into();
    Bytes::from(object.to_string())
}
