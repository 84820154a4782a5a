//! `SQSQueue`s, looked at with AWS's own client.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::conditions::{READY, SYNCED, find};
use api::infra::{ProviderRef, SQSQueue, SQSQueueStatus};
use controllers::infra::{Found, Kind, SQSQueues};
use k8s_openapi::api::events::v1::Event;
use kit::testing::{Bench, Gate, Scenario, converge, sweep};
use kit::{Name, Outcome};
use kube::Api;
use ports::aws::{Account, Login};
use proptest::prelude::{Just, Strategy, any};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::ground::{Ground, PATIENCE, REGION};
use crate::proxy::{Fate, Proxy};

/// Queues that are made by the property test, each changed twice.
const GENERATED: usize = 16;
const DEAD: &str = "arn:aws:sqs:eu-central-1:123456789012:dead";
const DEAD_FIFO: &str = "arn:aws:sqs:eu-central-1:123456789012:dead.fifo";

fn queue(spec: &Value) -> Value {
    let mut manifest = json!({
        "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": "SQSQueue",
        "metadata": { "name": "orders", "namespace": "default" },
        "spec": { "providerRef": { "name": "dev" }, "queueName": "orders" },
    });
    for (field, value) in spec.as_object().expect("an object") {
        manifest["spec"][field] = value.clone();
    }
    manifest
}

fn name() -> Name {
    Name::new("default", "orders")
}

/// One queue on an account where there are two for dead letters.
fn one_queue(ground: &Arc<Ground>, gate: &Gate, spec: &Value) -> Scenario<SQSQueues> {
    prepare(ground);
    let [secret, provider] = ground.provider();
    let room = SQSQueues::new(ground.desk(gate));
    let called = spec["queueName"].as_str().unwrap_or("orders").to_owned();
    Scenario::new(room, queue(spec)).given(secret).given(provider).patience(PATIENCE).outside({
        let ground = ground.clone();
        move || format!("{:?}", seen(&ground, &called))
    })
}

fn prepare(ground: &Ground) {
    ground.reset();
    ground.ask("sqs", "create_queue", json!({ "QueueName": "dead" }));
    let fifo = json!({ "QueueName": "dead.fifo", "Attributes": { "FifoQueue": "true" } });
    ground.ask("sqs", "create_queue", fifo);
}

/// The attributes and tags of a queue, as AWS's own client sees them.
fn seen(ground: &Ground, called: &str) -> Option<(Value, Value)> {
    let url = url(ground, called)?;
    let attributes =
        ground.ask("sqs", "get_queue_attributes", json!({ "QueueUrl": url, "AttributeNames": ["All"] }));
    let tags = ground.ask("sqs", "list_queue_tags", json!({ "QueueUrl": url }));
    let mut attributes = attributes["Attributes"].clone();
    // No two queues were made at the same time.
    for when in ["CreatedTimestamp", "LastModifiedTimestamp"] {
        attributes.as_object_mut().and_then(|all| all.remove(when)).expect("every queue has it");
    }
    let tags = tags.get("Tags").cloned().unwrap_or_else(|| json!({}));
    Some((sorted(attributes), sorted(tags)))
}

fn url(ground: &Ground, called: &str) -> Option<Value> {
    let found = ground.try_ask("sqs", "get_queue_url", json!({ "QueueName": called })).ok()?;
    Some(found["QueueUrl"].clone())
}

/// The same, in the order of keys.
fn sorted(value: Value) -> Value {
    let all: BTreeMap<String, Value> = serde_json::from_value(value).expect("an object");
    json!(all)
}

/// What AWS must say of each field that a spec can have; what is left out has AWS's default.
fn attributes_of(spec: &Value) -> Vec<(&'static str, Value)> {
    let of = |field: &str, default: Value| match &spec[field] {
        Value::Null => default,
        Value::Number(number) => json!(number.to_string()),
        Value::Bool(flag) => json!(flag.to_string()),
        other => other.clone(),
    };
    let mut all = vec![
        ("DelaySeconds", of("delaySeconds", json!("0"))),
        ("MaximumMessageSize", of("maximumMessageSize", json!("1048576"))),
        ("MessageRetentionPeriod", of("messageRetentionPeriod", json!("345600"))),
        ("VisibilityTimeout", of("visibilityTimeout", json!("30"))),
        ("ReceiveMessageWaitTimeSeconds", of("receiveMessageWaitTimeSeconds", json!("0"))),
        ("KmsMasterKeyId", of("kmsMasterKeyId", Value::Null)),
    ];
    if !spec["kmsMasterKeyId"].is_null() {
        let reuse = of("kmsDataKeyReusePeriodSeconds", json!("300"));
        all.push(("KmsDataKeyReusePeriodSeconds", reuse));
    }
    if spec["fifoQueue"] == true {
        all.push(("FifoQueue", json!("true")));
        let content = of("contentBasedDeduplication", json!("false"));
        all.push(("ContentBasedDeduplication", content));
    }
    all
}

/// The queue in AWS is what the spec says, tags and mark included.
fn assert_as_asked(ground: &Ground, spec: &Value, owner: &str) {
    let called = spec["queueName"].as_str().unwrap_or("orders");
    let (attributes, tags) = seen(ground, called).expect("the queue is there");
    for (attribute, want) in attributes_of(spec) {
        assert_eq!(attributes[attribute], want, "{attribute} of {called}: {attributes}");
    }
    let policy = attributes["RedrivePolicy"].as_str().map(|policy| {
        serde_json::from_str::<Value>(policy).unwrap_or_else(|error| panic!("{policy:?}: {error}"))
    });
    let want = spec.get("deadLetterQueue").filter(|dead| !dead.is_null()).map(|dead| {
        json!({ "deadLetterTargetArn": dead["targetArn"], "maxReceiveCount": dead["maxReceiveCount"] })
    });
    assert_eq!(policy, want, "dead letters of {called}");
    let mut all = json!({ "team": "shop" });
    for (key, value) in spec["tags"].as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    all["terrace.dev/owner"] = owner.into();
    assert_eq!(tags, sorted(all), "tags of {called}");
}

fn all_settings() -> Value {
    json!({
        "delaySeconds": 5, "maximumMessageSize": 2048, "messageRetentionPeriod": 3600, "visibilityTimeout": 40,
        "receiveMessageWaitTimeSeconds": 10, "deadLetterQueue": { "targetArn": DEAD, "maxReceiveCount": 3 },
        "kmsMasterKeyId": "alias/orders", "kmsDataKeyReusePeriodSeconds": 600, "tags": { "app": "shop", "empty": "" },
    })
}

fn all_fifo_settings() -> Value {
    let mut spec = all_settings();
    spec["queueName"] = "orders.fifo".into();
    spec["fifoQueue"] = true.into();
    spec["contentBasedDeduplication"] = true.into();
    spec["deadLetterQueue"]["targetArn"] = DEAD_FIFO.into();
    spec
}

pub async fn a_queue_converges(ground: &Arc<Ground>) {
    for spec in [json!({}), all_settings(), all_fifo_settings()] {
        let bench = converge(|gate| one_queue(ground, gate, &spec)).await;
        assert_as_asked(ground, &spec, "default/orders");
        let status = status(&bench).await;
        let called = spec["queueName"].as_str().unwrap_or("orders");
        assert_eq!(status.queue_arn, Some(format!("arn:aws:sqs:{REGION}:123456789012:{called}")));
        assert_eq!(status.queue_url.map(Value::String), url(ground, called));
        assert!(status.ready);
    }
}

pub async fn a_queue_survives_any_broken_call(ground: &Arc<Ground>) {
    let spec = json!({ "delaySeconds": 5, "visibilityTimeout": 40, "tags": { "app": "shop" } });
    sweep(|gate| one_queue(ground, gate, &spec)).await;
    assert_eq!(seen(ground, "orders"), None, "the queue is gone");
}

/// A room whose passes are run by hand, and the line to AWS with its own book.
struct Stage<'a> {
    ground: &'a Ground,
    bench: Bench,
    line: Gate,
    room: SQSQueues,
}

impl<'a> Stage<'a> {
    async fn new(ground: &'a Ground) -> Self {
        prepare(ground);
        Self::at(ground, &ground.endpoint).await
    }

    /// On a server that is reached there.
    async fn at(ground: &'a Ground, endpoint: &str) -> Self {
        let (bench, line) = (Bench::start().await, Gate::default());
        let [secret, mut provider] = ground.provider();
        provider["spec"]["endpoint"] = endpoint.into();
        bench.create(secret).await;
        bench.create(provider).await;
        let room = SQSQueues::new(ground.desk(&line));
        Self { ground, bench, line, room }
    }

    /// Passes until nothing more is to be done soon. Returns what they wrote to AWS.
    async fn settle_of(&self, name: &Name) -> Vec<String> {
        self.line.take();
        for _ in 0..10 {
            match self.bench.pass(&self.room, name).await.unwrap_or_else(|fault| panic!("{}", fault.story()))
            {
                Outcome::After(delay) if delay < PATIENCE => self.bench.clock().advance(delay),
                _ => return self.line.writes(),
            }
        }
        panic!("{name} does not settle: {:?}", self.line.writes());
    }

    async fn settle(&self) -> Vec<String> {
        self.settle_of(&name()).await
    }

    /// One more pass, which must write nothing anywhere.
    async fn assert_quiet(&self, of: &Name) {
        self.line.take();
        self.bench.gate().take();
        self.bench.pass(&self.room, of).await.expect("a pass");
        assert_eq!(self.line.writes(), Vec::<String>::new(), "to AWS");
        assert_eq!(self.bench.gate().writes(), Vec::<String>::new(), "to the cluster");
    }

    async fn patch(&self, patch: Value) {
        self.bench.patch::<SQSQueue>(&name(), patch).await;
    }

    async fn annotate(&self, key: &str, value: Option<&str>) {
        self.patch(json!({ "metadata": { "annotations": { key: value } } })).await;
    }

    /// What its owner or somebody else did behind our back.
    fn change(&self, attributes: Value) {
        let url = url(self.ground, "orders");
        self.ground.ask("sqs", "set_queue_attributes", json!({ "QueueUrl": url, "Attributes": attributes }));
    }

    /// A queue that somebody else made.
    fn strange(&self, attributes: Value, tags: Value) {
        let asked = json!({ "QueueName": "orders", "Attributes": attributes, "tags": tags });
        self.ground.ask("sqs", "create_queue", asked);
    }

    async fn said(&self, type_: &str) -> (String, String, String) {
        let status = status(&self.bench).await;
        let said = find(&status.conditions, type_).cloned().unwrap_or_else(|| panic!("{type_} is not said"));
        (said.status, said.reason, said.message)
    }

    async fn assert_says(&self, type_: &str, status: &str, reason: &str) -> String {
        let said = self.said(type_).await;
        assert_eq!((said.0.as_str(), said.1.as_str()), (status, reason), "{type_}: {}", said.2);
        said.2
    }
}

async fn status(bench: &Bench) -> SQSQueueStatus {
    bench.get::<SQSQueue>("default", "orders").await.and_then(|queue| queue.status).expect("a status")
}

pub async fn every_setting_of_a_queue_can_be_changed_and_taken_out(ground: &Arc<Ground>) {
    for mut spec in [json!({}), json!({ "queueName": "orders.fifo", "fifoQueue": true })] {
        let fifo = spec["fifoQueue"] == true;
        let stage = Stage::new(ground).await;
        stage.bench.create(queue(&spec)).await;
        stage.settle().await;
        let dead = if fifo { DEAD_FIFO } else { DEAD };
        let mut changes = vec![
            json!({ "delaySeconds": 7 }),
            json!({ "delaySeconds": 8, "maximumMessageSize": 4096 }),
            json!({ "messageRetentionPeriod": 7200 }),
            json!({ "visibilityTimeout": 0 }),
            json!({ "receiveMessageWaitTimeSeconds": 20 }),
            json!({ "deadLetterQueue": { "targetArn": dead, "maxReceiveCount": 3 } }),
            json!({ "deadLetterQueue": { "targetArn": dead, "maxReceiveCount": 9 } }),
            json!({ "kmsMasterKeyId": "alias/orders" }),
            json!({ "kmsDataKeyReusePeriodSeconds": 90 }),
            json!({ "tags": { "app": "shop", "tier": "1" } }),
            json!({ "tags": { "app": "store", "tier": null } }),
            json!({ "delaySeconds": null, "maximumMessageSize": null, "messageRetentionPeriod": null }),
            json!({ "visibilityTimeout": null, "receiveMessageWaitTimeSeconds": null }),
            json!({ "kmsDataKeyReusePeriodSeconds": null }),
            json!({ "deadLetterQueue": null, "kmsMasterKeyId": null, "tags": null }),
        ];
        if fifo {
            changes.push(json!({ "contentBasedDeduplication": true }));
            changes.push(json!({ "contentBasedDeduplication": false }));
        }
        for change in changes {
            stage.patch(json!({ "spec": change })).await;
            merge(&mut spec, &change);
            let writes = stage.settle().await;
            assert!((1..=2).contains(&writes.len()), "{change}: {writes:?}");
            assert_as_asked(ground, &spec, "default/orders");
            let status = status(&stage.bench).await;
            assert_eq!(status.drift, [], "a new spec is no drift: {change}");
            stage.assert_says(SYNCED, "True", "Available").await;
            stage.assert_quiet(&name()).await;
        }
        assert_eq!(
            status(&stage.bench).await.settings.len(),
            usize::from(fifo),
            "nothing else is set any more"
        );
    }
}

fn merge(into: &mut Value, patch: &Value) {
    for (key, value) in patch.as_object().expect("an object") {
        match value {
            Value::Null => drop(into.as_object_mut().and_then(|fields| fields.remove(key))),
            Value::Object(_) if into[key].is_object() => merge(&mut into[key], value),
            other => into[key] = other.clone(),
        }
    }
}

pub async fn what_is_changed_outside_is_put_back_and_told(ground: &Arc<Ground>) {
    let stage = Stage::new(ground).await;
    stage.bench.create(queue(&all_settings())).await;
    stage.settle().await;
    let [redrive, none] = [json!({ "RedrivePolicy": "" }), json!({ "MaximumMessageSize": "1024" })];
    let table = [
        (json!({ "DelaySeconds": "700" }), "delaySeconds", "700", "5"),
        (json!({ "VisibilityTimeout": "1" }), "visibilityTimeout", "1", "40"),
        (json!({ "MessageRetentionPeriod": "60" }), "messageRetentionPeriod", "60", "3600"),
        (json!({ "ReceiveMessageWaitTimeSeconds": "0" }), "receiveMessageWaitTimeSeconds", "0", "10"),
        (json!({ "KmsDataKeyReusePeriodSeconds": "60" }), "kmsDataKeyReusePeriodSeconds", "60", "600"),
        (none, "maximumMessageSize", "1024", "2048"),
        (redrive, "deadLetterQueue", "", DEAD),
    ];
    for (change, field, actual, expected) in table {
        stage.change(change);
        assert_eq!(stage.settle().await, ["SetQueueAttributes"], "{field}");
        assert_as_asked(ground, &all_settings(), "default/orders");
        let status = status(&stage.bench).await;
        let told: Vec<_> =
            status.drift.iter().map(|drift| (drift.field.as_str(), drift.actual.as_str())).collect();
        assert_eq!(told, [(field, actual)]);
        assert!(status.drift[0].expected.contains(expected), "{:?}", status.drift);
        let message = stage.assert_says(SYNCED, "True", "DriftCorrected").await;
        assert!(message.contains(field) && message.contains(actual), "{message}");
        stage.assert_says(READY, "True", "Available").await;
        stage.assert_quiet(&name()).await;
    }
    let events: Api<Event> = Api::namespaced(stage.bench.client().clone(), "default");
    let events = events.list(&Default::default()).await.expect("events can be listed");
    let told = events.items.iter().find(|event| event.reason.as_deref() == Some("DriftCorrected"));
    let note = told.and_then(|event| event.note.clone()).expect("an event tells of it");
    assert!(note.contains("put back what was changed outside: delaySeconds"), "{note}");
    // The next comparison finds nothing to tell.
    stage.bench.clock().advance(Duration::from_secs(300));
    assert_eq!(stage.settle().await, Vec::<String>::new());
    assert_eq!(status(&stage.bench).await.drift, []);
    stage.assert_says(SYNCED, "True", "Available").await;
}

pub async fn tags_and_whole_queues_that_go_outside_come_back(ground: &Arc<Ground>) {
    let stage = Stage::new(ground).await;
    let spec = json!({ "tags": { "app": "shop" } });
    stage.bench.create(queue(&spec)).await;
    stage.settle().await;
    let url = url(ground, "orders");
    let taken = json!({ "QueueUrl": url, "TagKeys": ["app", "terrace.dev/owner"] });
    ground.ask("sqs", "untag_queue", taken);
    ground.ask("sqs", "tag_queue", json!({ "QueueUrl": url, "Tags": { "theirs": "x", "team": "them" } }));
    assert_eq!(stage.settle().await, ["TagQueue"]);
    let (_, tags) = seen(ground, "orders").expect("the queue is there");
    let all = json!({ "app": "shop", "team": "shop", "terrace.dev/owner": "default/orders", "theirs": "x" });
    assert_eq!(tags, all, "what others set is left alone");
    let drift = status(&stage.bench).await.drift;
    let told: Vec<_> = drift.iter().map(|drift| drift.field.as_str()).collect();
    assert_eq!(told, ["tags[app]", "tags[team]", "tags[terrace.dev/owner]"]);
    ground.ask("sqs", "delete_queue", json!({ "QueueUrl": url }));
    assert_eq!(stage.settle().await, ["CreateQueue"]);
    assert_as_asked(ground, &spec, "default/orders");
    let message = stage.assert_says(SYNCED, "True", "DriftCorrected").await;
    assert!(message.contains("queue orders was \"gone\""), "{message}");
}

pub async fn a_queue_that_is_only_watched_is_never_written(ground: &Arc<Ground>) {
    let stage = Stage::new(ground).await;
    let mut absent = queue(&json!({ "delaySeconds": 5 }));
    absent["metadata"]["annotations"] = json!({ "terrace.dev/mode": "observe" });
    stage.bench.create(absent).await;
    assert_eq!(stage.settle().await, Vec::<String>::new());
    assert!(stage.assert_says(SYNCED, "False", "Drifted").await.contains("does not exist"));
    stage.strange(json!({ "DelaySeconds": "9" }), json!({}));
    assert_eq!(stage.settle().await, Vec::<String>::new());
    let message = stage.assert_says(SYNCED, "False", "Drifted").await;
    assert!(message.contains("delaySeconds"), "{message}");
    stage.assert_says(READY, "True", "Available").await;
    assert_eq!(status(&stage.bench).await.drift[0].actual, "9");
    stage.assert_quiet(&name()).await;
    // Neither is it when it goes.
    stage.bench.delete::<SQSQueue>(&name()).await;
    assert_eq!(stage.settle().await, Vec::<String>::new());
    assert!(stage.bench.get::<SQSQueue>("default", "orders").await.is_none());
    let (attributes, tags) = seen(ground, "orders").expect("the queue is still there");
    assert_eq!((&attributes["DelaySeconds"], tags), (&json!("9"), json!({})));
}

pub async fn a_strange_queue_is_taken_over_only_when_its_differences_are_approved(ground: &Arc<Ground>) {
    let stage = Stage::new(ground).await;
    stage.strange(json!({ "DelaySeconds": "9", "VisibilityTimeout": "77" }), json!({ "theirs": "x" }));
    stage.bench.create(queue(&json!({ "delaySeconds": 5 }))).await;
    let before = seen(ground, "orders");
    assert_eq!(stage.settle().await, Vec::<String>::new());
    assert!(stage.assert_says(READY, "False", "NotOurs").await.contains("terrace.dev/adopt"));
    stage.annotate("terrace.dev/adopt", Some("true")).await;
    assert_eq!(stage.settle().await, Vec::<String>::new());
    let message = stage.assert_says(SYNCED, "False", "AwaitingApproval").await;
    let digest = message.split("terrace.dev/approve-plan: ").nth(1).and_then(|rest| rest.split(' ').next());
    let digest = digest.expect("it says what to approve").to_owned();
    stage.annotate("terrace.dev/approve-plan", Some("012345678901")).await;
    assert_eq!(stage.settle().await, Vec::<String>::new(), "another plan was approved");
    // Somebody changes the queue after the approval was given: it is another plan now.
    stage.annotate("terrace.dev/approve-plan", Some(&digest)).await;
    stage.change(json!({ "DelaySeconds": "10" }));
    assert_eq!(stage.settle().await, Vec::<String>::new());
    stage.assert_says(SYNCED, "False", "AwaitingApproval").await;
    stage.change(json!({ "DelaySeconds": "9" }));
    assert_eq!(seen(ground, "orders"), before, "until here nothing was written");
    assert_eq!(stage.settle().await, ["SetQueueAttributes", "TagQueue"]);
    let (attributes, tags) = seen(ground, "orders").expect("it is there");
    assert_eq!((&attributes["DelaySeconds"], &attributes["VisibilityTimeout"]), (&json!("5"), &json!("77")));
    let all = json!({ "team": "shop", "terrace.dev/owner": "default/orders", "theirs": "x" });
    assert_eq!(tags, all);
    stage.assert_says(READY, "True", "Available").await;
    stage.assert_quiet(&name()).await;
    // It is ours now, with or without the annotations.
    stage.annotate("terrace.dev/adopt", None).await;
    stage.annotate("terrace.dev/approve-plan", None).await;
    stage.change(json!({ "DelaySeconds": "11" }));
    assert_eq!(stage.settle().await, ["SetQueueAttributes"]);
}

pub async fn a_strange_queue_without_differences_only_gets_the_mark(ground: &Arc<Ground>) {
    let stage = Stage::new(ground).await;
    stage.strange(json!({ "DelaySeconds": "5" }), json!({ "team": "shop" }));
    let mut asked = queue(&json!({ "delaySeconds": 5 }));
    asked["metadata"]["annotations"] = json!({ "terrace.dev/adopt": "true" });
    stage.bench.create(asked).await;
    assert_eq!(stage.settle().await, ["TagQueue"]);
    assert_as_asked(ground, &json!({ "delaySeconds": 5 }), "default/orders");
    stage.assert_says(READY, "True", "Available").await;
}

pub async fn a_queue_of_another_object_is_left_alone(ground: &Arc<Ground>) {
    let stage = Stage::new(ground).await;
    stage.strange(json!({ "DelaySeconds": "9" }), json!({ "terrace.dev/owner": "shop/orders" }));
    let before = seen(ground, "orders");
    let mut asked = queue(&json!({ "delaySeconds": 5 }));
    asked["metadata"]["annotations"] = json!({ "terrace.dev/adopt": "true" });
    stage.bench.create(asked).await;
    assert_eq!(stage.settle().await, Vec::<String>::new());
    let message = stage.assert_says(READY, "False", "NotOurs").await;
    assert!(message.contains("belongs to shop/orders"), "{message}");
    stage.bench.delete::<SQSQueue>(&name()).await;
    assert_eq!(stage.settle().await, Vec::<String>::new());
    assert!(stage.bench.get::<SQSQueue>("default", "orders").await.is_none(), "the object is let go");
    assert_eq!(seen(ground, "orders"), before);
}

pub async fn every_deletion_policy_of_a_queue_is_kept(ground: &Arc<Ground>) {
    let with = |tags: Value| Some(sorted(tags));
    let all = json!({ "team": "shop", "terrace.dev/owner": "default/orders" });
    let table = [
        ("Delete", vec!["DeleteQueue"], None),
        ("Retain", vec![], with(all)),
        ("Orphan", vec!["UntagQueue"], with(json!({ "team": "shop" }))),
    ];
    for (policy, wrote, left) in table {
        let stage = Stage::new(ground).await;
        stage.bench.create(queue(&json!({ "deletionPolicy": policy }))).await;
        stage.settle().await;
        stage.bench.delete::<SQSQueue>(&name()).await;
        assert_eq!(stage.settle().await, wrote, "{policy}");
        assert!(stage.bench.get::<SQSQueue>("default", "orders").await.is_none(), "{policy}");
        assert_eq!(seen(ground, "orders").map(|(_, tags)| tags), left, "{policy}");
    }
}

pub async fn a_name_can_be_used_again_after_a_minute(ground: &Arc<Ground>) {
    prepare(ground);
    let proxy = Proxy::new(&ground.endpoint).await;
    let stage = Stage::at(ground, &proxy.endpoint).await;
    let again = std::sync::atomic::AtomicBool::new(false);
    proxy.rule(move |heard| {
        // AWS says so for 60 seconds; here, once.
        let first = heard.action == "CreateQueue" && !again.swap(true, std::sync::atomic::Ordering::SeqCst);
        first.then(|| Fate::Answer {
            status: 400,
            headers: "Content-Type: application/x-amz-json-1.0\r\nx-amzn-query-error: AWS.SimpleQueueService.QueueDeletedRecently;Sender\r\n".into(),
            body: json!({
                "__type": "com.amazonaws.sqs#QueueDeletedRecently",
                "message": "You must wait 60 seconds after deleting a queue before you can create another with the same name.",
            })
            .to_string(),
        })
    });
    stage.bench.create(queue(&json!({}))).await;
    let fault = stage.bench.pass(&stage.room, &name()).await.expect_err("the name is still taken");
    assert_eq!(fault.retry(), kit::Retry::Within(Duration::from_secs(60)));
    let message = stage.assert_says(SYNCED, "False", "AWS_SimpleQueueService_QueueDeletedRecently").await;
    assert!(
        message.contains("AWS.SimpleQueueService.QueueDeletedRecently: You must wait 60 seconds"),
        "{message}"
    );
    stage.settle().await;
    stage.assert_says(READY, "True", "Available").await;
    assert!(seen(ground, "orders").is_some());
}

pub async fn an_inventory_of_queues_asks_for_what_is_there(ground: &Arc<Ground>) {
    let stage = Stage::new(ground).await;
    let redrive = json!({ "deadLetterTargetArn": DEAD, "maxReceiveCount": 3 }).to_string();
    stage.strange(
        json!({ "DelaySeconds": "9", "RedrivePolicy": redrive, "KmsMasterKeyId": "alias/orders", "VisibilityTimeout": "7" }),
        json!({ "theirs": "x", "team": "shop" }),
    );
    let attributes = json!({ "FifoQueue": "true", "ContentBasedDeduplication": "true" });
    let other =
        json!({ "QueueName": "Shop_Mails.fifo", "Attributes": attributes, "tags": { "team": "shop" } });
    ground.ask("sqs", "create_queue", other);
    let keys = ("AKIAEXAMPLE".to_owned().into(), "not-a-secret".to_owned().into());
    let login = Login::Keys { id: keys.0, secret: keys.1, token: None };
    let account = Account {
        provider: "default/dev".into(),
        region: REGION.into(),
        endpoint: Some(ground.endpoint.clone()),
        login,
        role: None,
    };
    let provider: ProviderRef = serde_json::from_value(json!({ "name": "dev" })).expect("a reference");
    let found =
        ground.desk(&stage.line).found(&account, &provider, Kind::SQSQueue).await.expect("an inventory");
    let names: Vec<_> = found.iter().map(Found::name).collect();
    assert_eq!(names, ["shop-mails-fifo", "dead", "dead-fifo", "orders"]);
    for queue in &found {
        let called = &queue.resource;
        let before = seen(ground, called).expect("it is there");
        let mut manifest = queue.manifest.clone();
        let of = Name::new("default", queue.name());
        manifest["metadata"]["namespace"] = "default".into();
        assert_eq!(manifest["metadata"]["annotations"]["terrace.dev/mode"], "observe");
        stage.bench.create(manifest).await;
        assert_eq!(stage.settle_of(&of).await, Vec::<String>::new());
        let status = stage.bench.get::<SQSQueue>("default", &of.name).await.and_then(|queue| queue.status);
        let drift = status.expect("a status").drift;
        assert_eq!(drift, [], "{called}");
        let adopt = json!({ "terrace.dev/mode": null, "terrace.dev/adopt": "true" });
        let patch = json!({ "metadata": { "annotations": adopt } });
        stage.bench.patch::<SQSQueue>(&of, patch).await;
        assert_eq!(stage.settle_of(&of).await, ["TagQueue"], "only tags are set on {called}");
        assert_eq!(seen(ground, called).expect("it is there").0, before.0);
    }
}

/// A spec with any of its fields.
fn any_spec(fifo: bool) -> impl Strategy<Value = Value> {
    let maybe = |field: &'static str, values: std::ops::RangeInclusive<i32>| {
        proptest::option::of(values).prop_map(move |value| (field, value.map(Value::from)))
    };
    let numbers = (
        maybe("delaySeconds", 0..=900),
        maybe("maximumMessageSize", 1024..=1_048_576),
        maybe("messageRetentionPeriod", 60..=1_209_600),
        maybe("visibilityTimeout", 0..=43_200),
        maybe("receiveMessageWaitTimeSeconds", 0..=20),
    );
    let dead = proptest::option::of((1..=1000_i32).prop_map(
        move |count| json!({ "targetArn": if fifo { DEAD_FIFO } else { DEAD }, "maxReceiveCount": count }),
    ));
    let key = proptest::option::of(("alias/[a-z]{1,9}", proptest::option::of(60..=86_400_i32)));
    // Values that come back as they were sent: what AWS trims is no business of ours.
    let tags =
        proptest::collection::btree_map("[a-zA-Z0-9:/=+@_.-]{1,20}x", "[a-zA-Z0-9 :/=+@_.-]{0,20}", 0..4);
    (numbers, dead, key, tags, any::<bool>(), Just(fifo)).prop_map(
        |(numbers, dead, key, tags, content, fifo)| {
            let mut spec = json!({});
            let (a, b, c, d, e) = numbers;
            for (field, value) in [a, b, c, d, e] {
                value.into_iter().for_each(|value| spec[field] = value);
            }
            dead.into_iter().for_each(|dead| spec["deadLetterQueue"] = dead);
            if let Some((key, reuse)) = key {
                spec["kmsMasterKeyId"] = key.into();
                reuse.into_iter().for_each(|reuse| spec["kmsDataKeyReusePeriodSeconds"] = reuse.into());
            }
            if !tags.is_empty() {
                spec["tags"] = json!(tags);
            }
            if fifo {
                spec["fifoQueue"] = true.into();
                spec["contentBasedDeduplication"] = content.into();
            }
            spec
        },
    )
}

pub async fn any_spec_of_a_queue_is_met_and_a_further_pass_writes_nothing(ground: &Arc<Ground>) {
    let stage = Stage::new(ground).await;
    let mut runner = TestRunner::deterministic();
    for number in 0..GENERATED {
        let fifo = number % 2 == 1;
        let called = format!("any-{number}{}", if fifo { ".fifo" } else { "" });
        let of = Name::new("default", format!("any-{number}"));
        for life in 0..3 {
            let mut spec = any_spec(fifo).new_tree(&mut runner).expect("a spec").current();
            spec["queueName"] = called.clone().into();
            let mut manifest = queue(&spec);
            manifest["metadata"]["name"] = of.name.clone().into();
            if life == 0 {
                stage.bench.create(manifest).await;
            } else {
                // A merge would keep the tags of before.
                stage.bench.patch::<SQSQueue>(&of, json!({ "spec": { "tags": null } })).await;
                stage.bench.patch::<SQSQueue>(&of, json!({ "spec": replaced(&spec) })).await;
            }
            stage.settle_of(&of).await;
            assert_as_asked(ground, &spec, &of.to_string());
            stage.assert_quiet(&of).await;
        }
    }
}

/// A patch that makes a spec be this one: what it does not name goes.
fn replaced(spec: &Value) -> Value {
    let mut patch = spec.clone();
    let fields = [
        "delaySeconds",
        "maximumMessageSize",
        "messageRetentionPeriod",
        "visibilityTimeout",
        "receiveMessageWaitTimeSeconds",
        "deadLetterQueue",
        "kmsMasterKeyId",
        "kmsDataKeyReusePeriodSeconds",
        "tags",
    ];
    for field in fields {
        if patch.get(field).is_none() {
            patch[field] = Value::Null;
        }
    }
    patch
}
