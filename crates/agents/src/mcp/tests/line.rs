//! The line of messages that `terrace mcp` speaks.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};

use super::stage::Stage;
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
