use std::sync::Arc;

use api::conditions::{READY, Reason, SYNCED, find};
use api::infra::{SQSQueue, SQSQueueStatus};
use kit::Plan;
use ports::aws::{Account, Login, Queue};
use serde_json::{Value, json};

use super::plan::{Call, plan};
use crate::infra::desk::{Open, Sight, World};
use crate::infra::step::Step;

const NOW: &str = "2026-01-01T12:00:00Z";
const DEAD: &str = "arn:aws:sqs:eu-central-1:123456789012:dead";

fn queue(spec: Value, status: Value) -> SQSQueue {
    let mut manifest = json!({
        "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": "SQSQueue",
        "metadata": { "name": "orders", "namespace": "default", "generation": 1 },
        "spec": { "providerRef": { "name": "dev" }, "queueName": "orders" },
        "status": status,
    });
    for (field, value) in spec.as_object().expect("an object") {
        manifest["spec"][field] = value.clone();
    }
    serde_json::from_value(manifest).expect("a queue")
}

/// A queue of ours with these attributes.
fn live(attributes: Value) -> Queue {
    let tags = json!({ "team": "shop", "terrace.dev/owner": "default/orders" });
    Queue {
        url: "http://aws/123456789012/orders".into(),
        attributes: serde_json::from_value(attributes).expect("attributes"),
        tags: serde_json::from_value(tags).expect("tags"),
    }
}

fn world(found: Option<Queue>) -> World<Queue> {
    let login = Login::WebIdentity { role: "arn:aws:iam::123456789012:role/terrace".into() };
    let (provider, region) = ("default/dev".into(), "eu-central-1".into());
    let account = Arc::new(Account { provider, region, endpoint: None, login, role: None });
    let default_tags = [("team".to_owned(), "shop".to_owned())].into();
    let open = Open { account, default_tags, found, _place: None };
    World { now: NOW.parse().expect("a time"), sight: Sight::Open(open) }
}

fn planned(queue: &SQSQueue, world: &World<Queue>) -> Plan<Step<Call>, SQSQueueStatus> {
    plan(queue, world).expect("nothing is refused")
}

/// The steps with what they send, and what is remembered of the settings.
fn told(queue: &SQSQueue, world: &World<Queue>) -> String {
    let plan = planned(queue, world);
    let one = |step: &kit::Do<Step<Call>>| match step {
        kit::Do::Outside(Step { call: Call::Create { attributes, tags, .. }, .. }) => {
            format!("{step} {} {}", json!(attributes), json!(tags))
        }
        kit::Do::Outside(Step { call: Call::Set { attributes, .. }, .. }) => {
            format!("{step} {}", json!(attributes))
        }
        kit::Do::Outside(_) => step.to_string(),
        other => panic!("a queue does nothing in the cluster: {other}"),
    };
    let mut words: Vec<String> = plan.steps.iter().map(one).collect();
    words.push(format!("settings {}", plan.status.settings.join(",")));
    words.join("; ")
}

fn met(settings: Value) -> Value {
    json!({
        "ready": true, "tagKeys": ["team", "terrace.dev/owner"], "observedGeneration": 1, "settings": settings,
        "lastSyncTime": "2026-01-01T11:59:00Z",
    })
}

#[test]
fn a_queue_is_made_with_all_that_is_asked_in_one_call() {
    let tags = r#"{"team":"shop","terrace.dev/owner":"default/orders"}"#;
    let table = [
        (json!({}), format!("create queue orders {{}} {tags}; settings ")),
        (
            json!({
                "delaySeconds": 1, "maximumMessageSize": 2048, "messageRetentionPeriod": 60, "visibilityTimeout": 0,
                "receiveMessageWaitTimeSeconds": 2, "kmsMasterKeyId": "alias/k", "kmsDataKeyReusePeriodSeconds": 61,
            }),
            format!(
                "create queue orders {} {tags}; settings {}",
                r#"{"DelaySeconds":"1","KmsDataKeyReusePeriodSeconds":"61","KmsMasterKeyId":"alias/k","MaximumMessageSize":"2048","MessageRetentionPeriod":"60","ReceiveMessageWaitTimeSeconds":"2","VisibilityTimeout":"0"}"#,
                "delaySeconds,maximumMessageSize,messageRetentionPeriod,visibilityTimeout,receiveMessageWaitTimeSeconds,kmsMasterKeyId,kmsDataKeyReusePeriodSeconds"
            ),
        ),
        (
            json!({ "queueName": "orders.fifo", "fifoQueue": true }),
            format!(
                r#"create queue orders.fifo {{"ContentBasedDeduplication":"false","FifoQueue":"true"}} {tags}; settings contentBasedDeduplication"#
            ),
        ),
        (
            json!({ "deadLetterQueue": { "targetArn": DEAD, "maxReceiveCount": 3 } }),
            format!(
                r#"create queue orders {{"RedrivePolicy":"{{\"deadLetterTargetArn\":\"{DEAD}\",\"maxReceiveCount\":3}}"}} {tags}; settings deadLetterQueue"#
            ),
        ),
    ];
    for (spec, want) in table {
        assert_eq!(told(&queue(spec.clone(), json!({})), &world(None)), want, "{spec}");
    }
}

#[test]
fn only_what_differs_is_set_and_what_is_taken_out_goes_back_to_its_default() {
    let redrive = |count: &str| format!(r#"{{"maxReceiveCount":{count},"deadLetterTargetArn":"{DEAD}"}}"#);
    let dead = json!({ "deadLetterQueue": { "targetArn": DEAD, "maxReceiveCount": 3 } });
    let table = [
        (
            "all as asked",
            json!({ "delaySeconds": 5 }),
            json!([]),
            json!({ "DelaySeconds": "5" }),
            "settings delaySeconds",
        ),
        (
            "one otherwise",
            json!({ "delaySeconds": 5, "visibilityTimeout": 9 }),
            json!([]),
            json!({ "DelaySeconds": "5", "VisibilityTimeout": "30" }),
            r#"set VisibilityTimeout of queue orders {"VisibilityTimeout":"9"}; settings delaySeconds,visibilityTimeout"#,
        ),
        ("never asked for", json!({}), json!([]), json!({ "DelaySeconds": "5" }), "settings "),
        (
            "taken out",
            json!({}),
            json!(["delaySeconds", "maximumMessageSize", "messageRetentionPeriod"]),
            json!({ "DelaySeconds": "5", "MaximumMessageSize": "1024", "MessageRetentionPeriod": "345600" }),
            r#"set DelaySeconds, MaximumMessageSize of queue orders {"DelaySeconds":"0","MaximumMessageSize":"1048576"}; settings "#,
        ),
        (
            "no dead letters and no key any more",
            json!({}),
            json!(["deadLetterQueue", "kmsMasterKeyId", "kmsDataKeyReusePeriodSeconds"]),
            json!({ "RedrivePolicy": redrive("3"), "KmsMasterKeyId": "alias/k", "KmsDataKeyReusePeriodSeconds": "60" }),
            r#"set KmsDataKeyReusePeriodSeconds, KmsMasterKeyId, RedrivePolicy of queue orders {"KmsDataKeyReusePeriodSeconds":"300","KmsMasterKeyId":"","RedrivePolicy":""}; settings "#,
        ),
        (
            "taken out, and gone already",
            json!({}),
            json!(["deadLetterQueue", "kmsMasterKeyId"]),
            json!({}),
            "settings ",
        ),
        (
            "a policy in another order, with a number as text",
            dead.clone(),
            json!([]),
            json!({ "RedrivePolicy": redrive("\"3\"") }),
            "settings deadLetterQueue",
        ),
        (
            "a policy with another count",
            dead,
            json!([]),
            json!({ "RedrivePolicy": redrive("4") }),
            r#"set RedrivePolicy of queue orders {"RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:eu-central-1:123456789012:dead\",\"maxReceiveCount\":3}"}; settings deadLetterQueue"#,
        ),
    ];
    for (case, spec, settings, attributes, want) in table {
        assert_eq!(told(&queue(spec, met(settings)), &world(Some(live(attributes)))), want, "{case}");
    }
}

#[test]
fn what_is_only_watched_or_not_ours_leaves_no_memory_of_settings() {
    let strange = Queue { tags: [].into(), ..live(json!({ "DelaySeconds": "1" })) };
    let asked = queue(json!({ "delaySeconds": 5 }), json!({}));
    assert_eq!(told(&asked, &world(Some(strange))), "settings ");
    let mut watched = queue(json!({ "delaySeconds": 1 }), json!({}));
    watched.metadata.annotations = Some([("terrace.dev/mode".to_owned(), "observe".to_owned())].into());
    assert_eq!(told(&watched, &world(Some(live(json!({ "DelaySeconds": "1" }))))), "settings ");
}

#[test]
fn tags_come_and_go_and_one_may_have_no_value() {
    let mut found = live(json!({}));
    found.tags.extend([("old".to_owned(), "1".to_owned()), ("theirs".to_owned(), "x".to_owned())]);
    let mut status = met(json!([]));
    status["tagKeys"] = json!(["old", "team", "terrace.dev/owner"]);
    let asked = queue(json!({ "tags": { "empty": "" } }), status);
    assert_eq!(
        told(&asked, &world(Some(found))),
        "tag queue orders with empty; take tags old off queue orders; settings "
    );
}

#[test]
fn a_queue_that_nobody_could_look_at_keeps_what_is_known() {
    let closed = |reason, message: &str| World::<Queue> {
        now: NOW.parse().expect("a time"),
        sight: Sight::Closed(reason, message.into()),
    };
    let said = |status: Value, world: &World<Queue>| {
        let plan = planned(&queue(json!({}), status), world);
        let one = |type_| {
            find(&plan.status.conditions, type_)
                .map_or("-".into(), |said| format!("{}/{}", said.status, said.reason))
        };
        format!(
            "{} steps; {} {} {}; {:?}",
            plan.steps.len(),
            plan.status.ready,
            one(READY),
            one(SYNCED),
            plan.next
        )
    };
    let not_ready = closed(Reason::DependencyNotReady, "AWSProvider default/dev is not ready");
    let parked = World { now: NOW.parse().expect("a time"), sight: Sight::Parked };
    let table = [
        (
            json!({}),
            &not_ready,
            "0 steps; false False/DependencyNotReady False/DependencyNotReady; After(60s)",
        ),
        (met(json!([])), &not_ready, "0 steps; true - False/DependencyNotReady; After(60s)"),
        (met(json!([])), &parked, "0 steps; true - -; OnChange"),
    ];
    for (status, world, want) in table {
        assert_eq!(said(status, world), want);
    }
}

#[test]
fn every_policy_has_its_end() {
    let closed = World::<Queue> {
        now: NOW.parse().expect("a time"),
        sight: Sight::Closed(Reason::CredentialsMissing, "no Secret".into()),
    };
    let (open, gone) = (world(Some(live(json!({})))), world(None));
    let strange = world(Some(Queue { tags: [].into(), ..live(json!({})) }));
    let table = [
        ("Delete", &open, "delete queue orders; Release"),
        ("Delete", &gone, "Release"),
        ("Delete", &strange, "Release"),
        ("Delete", &closed, "After(60s)"),
        ("Retain", &open, "Release"),
        ("Retain", &closed, "Release"),
        ("Orphan", &open, "take tags terrace.dev/owner off queue orders; Release"),
        ("Orphan", &strange, "Release"),
        ("Orphan", &closed, "After(60s)"),
    ];
    for (row, (policy, world, want)) in table.into_iter().enumerate() {
        let mut going = queue(json!({ "deletionPolicy": policy }), json!({}));
        going.metadata.deletion_timestamp =
            serde_json::from_value(json!("2026-01-01T11:00:00Z")).expect("a time");
        let plan = planned(&going, world);
        let mut words: Vec<String> = plan.steps.iter().map(ToString::to_string).collect();
        words.push(format!("{:?}", plan.next));
        assert_eq!(words.join("; "), want, "row {row}, {policy}");
    }
}

#[test]
fn counts_and_addresses_are_told_as_they_are() {
    let found = live(json!({
        "QueueArn": "arn:aws:sqs:eu-central-1:123456789012:orders", "ApproximateNumberOfMessages": "3",
        "ApproximateNumberOfMessagesNotVisible": "2", "ApproximateNumberOfMessagesDelayed": "what",
    }));
    let status = planned(&queue(json!({}), json!({})), &world(Some(found))).status;
    assert_eq!(status.queue_url.as_deref(), Some("http://aws/123456789012/orders"));
    assert_eq!(status.queue_arn.as_deref(), Some("arn:aws:sqs:eu-central-1:123456789012:orders"));
    assert_eq!(status.approximate_number_of_messages, Some(3));
    assert_eq!(status.approximate_number_of_messages_not_visible, Some(2));
    assert_eq!(status.approximate_number_of_messages_delayed, None, "what cannot be read is not told");
}
