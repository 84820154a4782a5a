use std::convert::Infallible;
use std::time::Duration;

use http::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};

use super::*;

/// How long anything may take on the busiest machine before it counts as never.
const DEADLINE: Duration = Duration::from_secs(20);

/// `ZHNuLTE=` is `dsn-1`.
fn secret(version: u32, data: Value) -> Value {
    let metadata = json!({ "name": "db", "namespace": "shop", "resourceVersion": version.to_string() });
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data })
}

/// An API server that has one Secret, and tells of these changes once.
fn client(first: Value, changes: Vec<Value>) -> Client {
    let answer = move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        assert!(
            request.uri().path().ends_with("/namespaces/shop/secrets") && query.contains("metadata.name")
        );
        let list = json!({
            "apiVersion": "v1", "kind": "SecretList", "metadata": { "resourceVersion": "1" }, "items": [first],
        });
        let lines: String = changes
            .iter()
            .map(|change| format!("{}\n", json!({ "type": "MODIFIED", "object": change })))
            .collect();
        let body = match query.contains("watch=true") {
            true => lines,
            false => list.to_string(),
        };
        async move { Ok::<_, Infallible>(Response::new(Body::from(body.into_bytes()))) }
    };
    Client::new(tower::service_fn(answer), "shop")
}

#[tokio::test]
async fn changes_of_one_key_are_given_and_others_are_not() {
    let changes = vec![
        secret(2, json!({ "dsn": "ZHNuLTE=", "other": "ZHNuLTI=" })),
        secret(3, json!({ "dsn": "ZHNuLTI=" })),
        secret(4, json!({ "other": "ZHNuLTI=" })),
        secret(5, json!({ "dsn": "/w==" })),
        secret(6, json!({ "dsn": "ZHNuLTE=" })),
    ];
    let client = client(secret(1, json!({ "dsn": "ZHNuLTE=" })), changes);
    let mut source = SecretSource::new(client, "shop", "db", "dsn");
    let want = [
        "dsn-1",
        "dsn-2",
        "the Secret `db` has no key `dsn`",
        "the key `dsn` of the Secret `db` is not text",
        "dsn-1",
    ];
    for want in want {
        let given = tokio::time::timeout(DEADLINE, source.next()).await.expect("something is given");
        assert_eq!(given.map_or_else(|error| error.to_string(), |text| text.open().to_owned()), want);
    }
}
