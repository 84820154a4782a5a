//! `SQSQueue`s, looked at with AWS's own client.

use std::collections::BTreeMap;
use std::sync::Arc;

use controllers::infra::SQSQueues;
use kit::testing::{Gate, Scenario, converge, sweep};
use serde_json::{Value, json};

use crate::ground::{Ground, PATIENCE};

fn queue() -> Value {
    json!({
        "metadata": { "name": "orders", "namespace": "default" },
        "spec": {
            "providerRef": { "name": "dev" }, "queueName": "orders", "delaySeconds": 5, "visibilityTimeout": 40,
            "tags": { "app": "shop" },
        },
    })
}

/// One queue on an empty account.
fn one_queue(ground: &Arc<Ground>, gate: &Gate) -> Scenario<SQSQueues> {
    ground.reset();
    let [secret, provider] = ground.provider();
    let room = SQSQueues::new(ground.desk(gate));
    Scenario::new(room, queue()).given(secret).given(provider).patience(PATIENCE).outside({
        let ground = ground.clone();
        move || format!("{:?}", seen(&ground))
    })
}

/// The attributes and tags of the queue, as AWS's own client sees them.
fn seen(ground: &Ground) -> Option<(Value, Value)> {
    let url =
        ground.try_ask("sqs", "get_queue_url", json!({ "QueueName": "orders" })).ok()?["QueueUrl"].clone();
    let attributes =
        ground.ask("sqs", "get_queue_attributes", json!({ "QueueUrl": url, "AttributeNames": ["All"] }));
    let tags = ground.ask("sqs", "list_queue_tags", json!({ "QueueUrl": url }));
    let mut attributes = attributes["Attributes"].clone();
    // No two queues were made at the same time.
    for when in ["CreatedTimestamp", "LastModifiedTimestamp"] {
        attributes.as_object_mut().and_then(|all| all.remove(when)).expect("every queue has it");
    }
    Some((sorted(attributes), sorted(tags["Tags"].clone())))
}

/// The same, in the order of keys.
fn sorted(value: Value) -> Value {
    let all: BTreeMap<String, Value> = serde_json::from_value(value).expect("an object");
    json!(all)
}

pub async fn a_queue_converges(ground: &Arc<Ground>) {
    let _bench = converge(|gate| one_queue(ground, gate)).await;
    let (attributes, tags) = seen(ground).expect("the queue is there");
    assert_eq!(attributes["DelaySeconds"], "5");
    assert_eq!(attributes["VisibilityTimeout"], "40");
    let all = json!({ "app": "shop", "team": "shop", "terrace.dev/owner": "default/orders" });
    assert_eq!(tags, all);
}

pub async fn a_queue_survives_any_broken_call(ground: &Arc<Ground>) {
    sweep(|gate| one_queue(ground, gate)).await;
    assert_eq!(seen(ground), None, "the queue is gone");
}
