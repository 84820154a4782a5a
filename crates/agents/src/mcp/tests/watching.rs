//! Subscriptions, in both eras.

use http::StatusCode;
use serde_json::{Value, json};

use super::stage::{Messages, Stage};
use crate::identity::Role;

fn wanted(uri: &str) -> Value {
    json!({ "notifications": { "resourceSubscriptions": [uri] } })
}

#[tokio::test]
async fn a_stream_tells_what_changes_and_ends_with_the_token() {
    let stage = Stage::open().await;
    let ann = stage.token("ann", Role::Session).await;
    let (_, namespace) = ann.session().await;
    stage.app(&namespace, "shop").await;
    let uri = format!("iaf://app/{namespace}/shop");
    let mut stream = Messages::of(ann.open("subscriptions/listen", wanted(&uri)).await);
    let first = stream.next().await.expect("a message");
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["notifications"]["resourceSubscriptions"], json!([uri]));
    stage.say(&namespace, "shop", "Deploying").await;
    let told = stream.next().await.expect("a message");
    assert_eq!(
        (&told["method"], &told["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!(uri))
    );
    ann.revoke().await;
    let last = stream.next().await.expect("the result");
    assert!(last["result"].is_object(), "{last}");
    assert_eq!(stream.next().await, None);
    assert!(stage.trail().contains(&format!("subscriptions/listen {uri} done")));
}

#[tokio::test]
async fn nobody_is_told_of_what_they_may_not_see() {
    let stage = Stage::open().await;
    let ann = stage.token("ann", Role::Session).await;
    let eve = stage.token("eve", Role::Session).await;
    let (_, namespace) = ann.session().await;
    stage.app(&namespace, "shop").await;
    let uri = format!("iaf://app/{namespace}/shop");
    let foreign = eve.ask("subscriptions/listen", wanted(&uri)).await;
    assert_eq!(foreign["code"], -32602, "{foreign}");
    let id = eve.visit().await;
    let (_, foreign) = eve.within(&id, "resources/subscribe", json!({ "uri": uri })).await;
    assert_eq!(foreign["code"], -32002, "{foreign}");
    let trail = stage.trail();
    assert!(trail.contains(&format!("subscriptions/listen {uri} refused")), "{trail:?}");
    assert!(trail.contains(&format!("resources/subscribe {uri} refused")), "{trail:?}");
}

#[tokio::test]
async fn a_subscription_of_the_earlier_era_is_told_on_the_sessions_stream() {
    let stage = Stage::open().await;
    let ann = stage.token("ann", Role::Session).await;
    let (_, namespace) = ann.session().await;
    for name in ["shop", "other"] {
        stage.app(&namespace, name).await;
    }
    let uri = |name: &str| format!("iaf://app/{namespace}/{name}");
    let id = ann.visit().await;
    let mut stream = Messages::of(ann.stream(&id).await);
    for name in ["shop", "other"] {
        let (status, _) = ann.within(&id, "resources/subscribe", json!({ "uri": uri(name) })).await;
        assert_eq!(status, StatusCode::OK);
    }
    stage.say(&namespace, "shop", "Running").await;
    let told = stream.next().await.expect("a message");
    assert_eq!(
        (&told["method"], &told["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!(uri("shop")))
    );
    ann.within(&id, "resources/unsubscribe", json!({ "uri": uri("shop") })).await;
    stage.say(&namespace, "shop", "Failed").await;
    stage.say(&namespace, "other", "Running").await;
    let told = stream.next().await.expect("a message");
    assert_eq!(told["params"]["uri"], uri("other"), "nothing is told of what is watched no more");
}

#[tokio::test]
async fn a_token_watches_a_bounded_number() {
    let stage = Stage::open().await;
    let ann = stage.token("ann", Role::Session).await;
    let (_, namespace) = ann.session().await;
    stage.app(&namespace, "shop").await;
    let uri = format!("iaf://app/{namespace}/shop");
    let mut open = Vec::new();
    for _ in 0..64 {
        let mut stream = Messages::of(ann.open("subscriptions/listen", wanted(&uri)).await);
        assert!(stream.next().await.is_some_and(|told| told["method"].is_string()));
        open.push(stream);
    }
    // Each of them has taken its place when the last one tells of a change.
    stage.say(&namespace, "shop", "Running").await;
    for stream in &mut open {
        assert!(stream.next().await.is_some_and(|told| told["method"] == "notifications/resources/updated"));
    }
    let refused = ann.ask("subscriptions/listen", wanted(&uri)).await;
    assert!(
        refused["message"].as_str().is_some_and(|words| words.contains("as much as it may")),
        "{refused}"
    );
}
