//! The line of messages that `terrace mcp` speaks.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};

use api::services::ManagedService;
use kube::api::{Api, PostParams};
use tokio::io::BufStream;
use tokio::net::TcpStream;

use super::stage::{PATIENCE, Stage};
use crate::identity::Role;

#[tokio::test]
async fn a_message_that_is_too_long_is_dropped_and_the_next_one_answered() {
    let stage = Stage::open().await;
    let ann = stage.token("ann", Role::Session).await;
    let mut line = ann.line().await;
    let client = json!({ "name": "tests", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let long = json!({ "pad": "x".repeat(17 * 1024 * 1024) });
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "ping", "params": long }),
        json!({ "jsonrpc": "2.0", "id": 3, "method": "ping" }),
    ];
    for message in messages {
        line.write_all(format!("{message}\n").as_bytes()).await.expect("is written");
    }
    line.flush().await.expect("is written");
    let (mut ids, mut text) = (Vec::new(), String::new());
    while ids.len() < 2 {
        text.clear();
        line.read_line(&mut text).await.expect("a line");
        let answer: Value = serde_json::from_str(&text).expect("an answer");
        ids.push(answer["id"].clone());
    }
    assert_eq!(ids, [json!(1), json!(3)], "the long one has no answer");
}

#[tokio::test]
async fn who_agreed_to_something_else_is_asked_again_within_the_call() {
    let stage = Stage::open().await;
    let ann = stage.token("ann", Role::Session).await;
    let (session, namespace) = ann.session().await;
    let services: Api<ManagedService> = Api::namespaced(stage.plane.client(), &namespace);
    let another = async |name: &str| {
        let db = json!({ "metadata": { "name": name }, "spec": { "type": "postgres", "plan": "micro" } });
        let db: ManagedService = serde_json::from_value(db).expect("a service");
        services.create(&PostParams::default(), &db).await.expect("is created");
    };
    let mut line = ann.line().await;
    let client = json!({ "name": "tests", "version": "1" });
    let able = json!({ "elicitation": { "form": {} } });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": able, "clientInfo": client });
    say(&mut line, json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })).await;
    said(&mut line).await;
    say(&mut line, json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    let unregister = |id: u64| {
        let params = json!({ "name": "unregister", "arguments": { "session_id": session } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let agree = json!({ "action": "accept", "content": { "agree": true } });

    // It changes each time: nothing is done.
    say(&mut line, unregister(2)).await;
    for name in ["a", "b", "c"] {
        let question = said(&mut line).await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        another(name).await;
        say(&mut line, json!({ "jsonrpc": "2.0", "id": question["id"], "result": agree })).await;
    }
    let refused = said(&mut line).await;
    assert!(refused["result"]["content"][0]["text"].to_string().contains("nothing was done"), "{refused}");

    // It changes once: the second question names what has come.
    say(&mut line, unregister(3)).await;
    let first = said(&mut line).await;
    another("late").await;
    say(&mut line, json!({ "jsonrpc": "2.0", "id": first["id"], "result": agree })).await;
    let second = said(&mut line).await;
    assert!(second["params"]["message"].to_string().contains("late"), "{second}");
    say(&mut line, json!({ "jsonrpc": "2.0", "id": second["id"], "result": agree })).await;
    let done = said(&mut line).await;
    assert!(done["result"]["structuredContent"]["phase"].is_string(), "{done}");
}

async fn say(line: &mut BufStream<TcpStream>, message: Value) {
    line.write_all(format!("{message}\n").as_bytes()).await.expect("is written");
    line.flush().await.expect("is written");
}

async fn said(line: &mut BufStream<TcpStream>) -> Value {
    let mut text = String::new();
    tokio::time::timeout(PATIENCE, line.read_line(&mut text)).await.expect("an answer").expect("a line");
    serde_json::from_str(&text).expect("a message")
}
