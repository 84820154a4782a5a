//! HTTP sessions of the earlier era.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::stage::Stage;
use crate::identity::Role;

#[tokio::test]
async fn a_session_id_is_of_no_use_to_another_token() {
    let stage = Stage::open().await;
    let ann = stage.token("ann", Role::Session).await;
    let eve = stage.token("eve", Role::Admin).await;
    let id = ann.visit().await;
    let headers = [("mcp-session-id", id.as_str()), ("mcp-protocol-version", "2025-11-25")];
    assert_eq!(eve.within(&id, "tools/list", json!({})).await.0, StatusCode::NOT_FOUND);
    assert_eq!(eve.stream(&id).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(eve.send(Method::DELETE, &headers, &Value::Null).await.status(), StatusCode::NOT_FOUND);
    let refused = stage.trail().iter().filter(|record| record.ends_with("refused")).count();
    assert_eq!(refused, 3, "each attempt is written down: {:?}", stage.trail());
    let (status, tools) = ann.within(&id, "tools/list", json!({})).await;
    assert_eq!(status, StatusCode::OK);
    assert!(tools["tools"].is_array());
    assert!(ann.send(Method::DELETE, &headers, &Value::Null).await.status().is_success());
    assert_eq!(ann.within(&id, "tools/list", json!({})).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_token_that_ends_no_session_loses_the_oldest() {
    let stage = Stage::open().await;
    let ann = stage.token("ann", Role::Session).await;
    let bob = stage.token("bob", Role::Session).await;
    let (first, others) = (ann.visit().await, bob.visit().await);
    let second = ann.visit().await;
    for _ in 0..31 {
        ann.visit().await;
    }
    assert_eq!(ann.within(&first, "ping", json!({})).await.0, StatusCode::NOT_FOUND);
    assert_eq!(ann.within(&second, "ping", json!({})).await.0, StatusCode::OK);
    assert_eq!(bob.within(&others, "ping", json!({})).await.0, StatusCode::OK);
}
