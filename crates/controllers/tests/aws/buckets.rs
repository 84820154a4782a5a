//! `S3Bucket`s, looked at with AWS's own client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use api::conditions::{DELETION_BLOCKED, READY, SYNCED, find};
use api::infra::{ProviderRef, S3Bucket, S3BucketStatus};
use api::secret::Sealed;
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use controllers::infra::{Kind, S3Buckets};
use k8s_openapi::api::events::v1::Event;
use kit::testing::{Bench, Gate, Scenario, converge, sweep};
use kit::{Name, Outcome};
use kube::Api;
use ports::aws::{Account, Login};
use proptest::option::of as perhaps;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use crate::ground::{Ground, PATIENCE, REGION};

/// How many passes an object may need.
const PASSES: usize = 30;
/// How many specs are drawn: each is made, changed into another, and looked at after each.
const CASES: u32 = 32;

/// A spec that names every setting.
fn every_setting() -> Value {
    json!({
        "providerRef": { "name": "dev" }, "bucketName": "assets", "acl": "authenticated-read",
        "versioning": { "enabled": true },
        "encryption": { "algorithm": "aws_kms", "kmsKeyID": "alias/shop" },
        "lifecycleRules": [
            { "id": "logs", "enabled": true, "prefix": "logs/", "expiration": { "days": 365 }, "transitions": [
                { "days": 30, "storageClass": "STANDARD_IA" }, { "days": 90, "storageClass": "GLACIER" },
            ] },
            { "id": "all", "enabled": false, "expiration": { "days": 1000 } },
        ],
        "corsRules": [
            { "allowedOrigins": ["https://a.example.com", "https://b.example.com"], "allowedMethods": ["GET", "HEAD"],
              "allowedHeaders": ["*"], "exposeHeaders": ["ETag"], "maxAgeSeconds": 3600 },
            { "allowedOrigins": ["*"], "allowedMethods": ["GET"] },
        ],
        "publicAccessBlock": { "blockPublicPolicy": true, "restrictPublicBuckets": true },
        "tags": { "app": "shop" },
    })
}

fn object(name: &str, spec: Value) -> Value {
    let mut spec = spec;
    spec["providerRef"] = json!({ "name": "dev" });
    json!({ "metadata": { "name": name, "namespace": "default" }, "spec": spec })
}

/// One bucket on an empty account.
fn one_bucket(ground: &Arc<Ground>, gate: &Gate, spec: Value) -> Scenario<S3Buckets> {
    ground.reset();
    let [secret, provider] = ground.provider();
    let room = S3Buckets::new(ground.desk(gate));
    Scenario::new(room, object("assets", spec)).given(secret).given(provider).patience(PATIENCE).outside({
        let ground = ground.clone();
        move || format!("{:?}", seen(&ground, "assets"))
    })
}

/// All that AWS's own client sees of a bucket.
fn seen(ground: &Ground, bucket: &str) -> Option<Value> {
    let ask = |call: &str| match ground.try_ask("s3", call, json!({ "Bucket": bucket })) {
        Ok(answer) => answer,
        Err(code) => json!(code),
    };
    ground.try_ask("s3", "head_bucket", json!({ "Bucket": bucket })).ok()?;
    let mut tags = ask("get_bucket_tagging")["TagSet"].as_array().cloned().unwrap_or_default();
    tags.sort_by_key(|tag| tag["Key"].to_string());
    let tags: serde_json::Map<String, Value> =
        tags.into_iter().map(|tag| (text(&tag["Key"]), json!(text(&tag["Value"])))).collect();
    Some(json!({
        "tags": tags,
        "location": ask("get_bucket_location")["LocationConstraint"],
        "acl": ask("get_bucket_acl")["Grants"],
        "ownership": ask("get_bucket_ownership_controls"),
        "versioning": ask("get_bucket_versioning")["Status"],
        "encryption": ask("get_bucket_encryption"),
        "lifecycle": ask("get_bucket_lifecycle_configuration"),
        "cors": ask("get_bucket_cors"),
        "block": ask("get_public_access_block"),
        "versions": ask("list_object_versions")["Versions"].as_array().map(Vec::len),
    }))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A server that says of every new bucket that another account was faster.
fn taken(server: SharedHttpConnector) -> SharedHttpConnector {
    SharedHttpConnector::new(Taken(server))
}

#[derive(Debug)]
struct Taken(SharedHttpConnector);

impl HttpConnector for Taken {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        if request.method() != "PUT" || request.uri().contains('?') {
            return self.0.call(request);
        }
        let error = "<Error><Code>BucketAlreadyExists</Code><Message>the name is taken</Message></Error>";
        let conflict = 409.try_into().expect("a status");
        HttpConnectorFuture::ready(Ok(HttpResponse::new(conflict, SdkBody::from(error))))
    }
}

/// A bench beside an account.
struct Yard<'a> {
    ground: &'a Arc<Ground>,
    bench: Bench,
    room: S3Buckets,
}

impl<'a> Yard<'a> {
    /// An empty account, and a provider that is ready.
    async fn new(ground: &'a Arc<Ground>) -> Self {
        Self::with(ground, |_| {}).await
    }

    /// The same, with a provider that is otherwise.
    async fn with(ground: &'a Arc<Ground>, change: impl FnOnce(&mut Value)) -> Self {
        ground.reset();
        let bench = Bench::start().await;
        let [secret, mut provider] = ground.provider();
        change(&mut provider);
        bench.create(secret).await;
        bench.create(provider).await;
        let room = S3Buckets::new(ground.desk(bench.gate()));
        Self { ground, bench, room }
    }

    /// Creates an object with its annotations.
    async fn create(&self, name: &str, spec: Value, annotations: Value) {
        let mut object = object(name, spec);
        object["apiVersion"] = json!("aws-infra-operator.runner.codes/v1alpha1");
        object["kind"] = json!("S3Bucket");
        object["metadata"]["annotations"] = annotations;
        self.bench.create(object).await;
    }

    async fn patch(&self, name: &str, patch: Value) {
        self.bench.patch::<S3Bucket>(&Name::new("default", name), patch).await;
    }

    async fn delete(&self, name: &str) {
        self.bench.delete::<S3Bucket>(&Name::new("default", name)).await;
    }

    /// One pass. Errors of AWS are among the things that happen.
    async fn pass(&self, name: &str) -> Option<Outcome> {
        self.bench.pass(&self.room, &Name::new("default", name)).await.ok()
    }

    /// Runs passes until there is nothing to do but to wait, or nothing left.
    async fn settle(&self, name: &str) {
        for _ in 0..PASSES {
            match self.bench.pass(&self.room, &Name::new("default", name)).await {
                Ok(Outcome::After(delay)) if delay < PATIENCE => self.bench.clock().advance(delay),
                Ok(_) => return,
                Err(fault) => panic!("{name}: {}", fault.story()),
            }
        }
        panic!("{name} does not settle: {:?}", self.status(name).await);
    }

    /// What a further pass writes, to AWS and to the cluster.
    async fn writes(&self, name: &str) -> Vec<String> {
        self.bench.gate().take();
        self.pass(name).await;
        self.bench.gate().writes()
    }

    async fn status(&self, name: &str) -> S3BucketStatus {
        let found = self.bench.get::<S3Bucket>("default", name).await;
        found.and_then(|found| found.status).unwrap_or_default()
    }

    async fn is_gone(&self, name: &str) -> bool {
        self.bench.get::<S3Bucket>("default", name).await.is_none()
    }

    /// The reason and the message of a condition.
    async fn told(&self, name: &str, type_: &str) -> (String, String) {
        let status = self.status(name).await;
        let found = find(&status.conditions, type_);
        found.map(|found| (found.reason.clone(), found.message.clone())).unwrap_or_default()
    }

    fn ask(&self, call: &str, args: Value) -> Value {
        self.ground.ask("s3", call, args)
    }

    /// Makes a bucket, as somebody else does.
    fn make(&self, bucket: &str) {
        let place = json!({ "LocationConstraint": REGION });
        self.ask("create_bucket", json!({ "Bucket": bucket, "CreateBucketConfiguration": place }));
    }

    fn seen(&self, bucket: &str) -> Value {
        seen(self.ground, bucket).unwrap_or_default()
    }
}

pub async fn a_bucket_with_every_setting_converges(ground: &Arc<Ground>) {
    let bench = converge(|gate| one_bucket(ground, gate, every_setting())).await;
    let seen = seen(ground, "assets").expect("the bucket is there");
    let all = json!({ "app": "shop", "team": "shop", "terrace.dev/owner": "default/assets" });
    assert_eq!(seen["tags"], all);
    assert_eq!(seen["location"], REGION);
    agrees(&every_setting(), &seen);
    let status = bench.get::<S3Bucket>("default", "assets").await.and_then(|bucket| bucket.status);
    let status = status.expect("it reports");
    assert!(status.ready);
    assert_eq!(status.arn.as_deref(), Some("arn:aws:s3:::assets"));
    assert_eq!(status.region.as_deref(), Some(REGION));
    assert_eq!(status.bucket_domain_name.as_deref(), Some("assets.s3.eu-central-1.amazonaws.com"));
    assert_eq!(status.drift, Vec::new());
    assert!(status.last_sync_time.is_some());
}

pub async fn a_bucket_survives_any_broken_call(ground: &Arc<Ground>) {
    sweep(|gate| one_bucket(ground, gate, every_setting())).await;
    assert_eq!(seen(ground, "assets"), None, "the bucket is gone");
}

pub async fn a_bucket_with_content_survives_any_broken_call(ground: &Arc<Ground>) {
    let spec = json!({ "bucketName": "assets", "forceDestroy": true });
    sweep(|gate| {
        let (there, outside) = (ground.clone(), ground.clone());
        let play = move |_| {
            let ground = there.clone();
            async move { fill_once(&ground) }
        };
        let list =
            move || outside.ask("s3", "list_buckets", json!({}))["Buckets"].as_array().map_or(0, Vec::len);
        one_bucket(ground, gate, spec.clone()).world(play).outside(move || list().to_string())
    })
    .await;
    assert_eq!(seen(ground, "assets"), None, "the bucket is gone");
}

/// Puts two versions, the mark of a deleted object and half an upload into a bucket that bears our mark and was never filled.
fn fill_once(ground: &Ground) {
    let bucket = json!({ "Bucket": "assets" });
    let marked = ground.try_ask("s3", "get_bucket_tagging", bucket.clone()).is_ok();
    // A sign that this was done, which stays when the objects go.
    if !marked || ground.ask("s3", "get_bucket_versioning", bucket)["Status"] == "Enabled" {
        return;
    }
    let on = json!({ "Status": "Enabled" });
    ground.ask("s3", "put_bucket_versioning", json!({ "Bucket": "assets", "VersioningConfiguration": on }));
    for (key, body) in [("a", "one"), ("a", "two"), ("b", "three")] {
        ground.ask("s3", "put_object", json!({ "Bucket": "assets", "Key": key, "Body": body }));
    }
    ground.ask("s3", "delete_object", json!({ "Bucket": "assets", "Key": "b" }));
    ground.ask("s3", "create_multipart_upload", json!({ "Bucket": "assets", "Key": "c" }));
}

pub async fn a_bucket_in_the_first_region_needs_no_location(ground: &Arc<Ground>) {
    let yard = Yard::with(ground, |provider| provider["spec"]["region"] = json!("us-east-1")).await;
    yard.create("assets", json!({ "bucketName": "assets" }), json!({})).await;
    yard.settle("assets").await;
    assert_eq!(yard.seen("assets")["location"], Value::Null);
    assert_eq!(yard.status("assets").await.region.as_deref(), Some("us-east-1"));
    assert_eq!(yard.writes("assets").await, Vec::<String>::new());
}

/// Each setting: as it is first, as it is then, and whether it stays when the spec says nothing of it any more.
fn changes() -> Vec<(&'static str, Value, Value, bool)> {
    let rule = |days: i32| json!([{ "id": "a", "enabled": true, "expiration": { "days": days } }]);
    let moved = json!([
        { "id": "a", "enabled": false, "prefix": "tmp/", "transitions": [{ "days": 7, "storageClass": "DEEP_ARCHIVE" }] },
        { "id": "b", "enabled": true, "expiration": { "days": 9 } },
    ]);
    let pages = |origin: &str| json!([{ "allowedOrigins": [origin], "allowedMethods": ["GET"] }]);
    let more = json!([
        { "allowedOrigins": ["*"], "allowedMethods": ["PUT", "POST"], "allowedHeaders": ["a"], "exposeHeaders": ["b"],
          "maxAgeSeconds": 60 },
        { "allowedOrigins": ["https://a.example.com"], "allowedMethods": ["DELETE"] },
    ]);
    let key = |key: &str| json!({ "algorithm": "aws_kms", "kmsKeyID": key });
    let block = |acls: bool, policy: bool| {
        json!({ "blockPublicAcls": acls, "ignorePublicAcls": acls, "blockPublicPolicy": policy,
                "restrictPublicBuckets": policy })
    };
    vec![
        ("acl", json!("private"), json!("public-read"), true),
        ("acl", json!("public-read"), json!("authenticated-read"), true),
        ("acl", json!("authenticated-read"), json!("private"), true),
        ("versioning", json!({ "enabled": false }), json!({ "enabled": true }), true),
        ("versioning", json!({ "enabled": true }), json!({ "enabled": false }), true),
        ("encryption", json!({ "algorithm": "AES256" }), json!({ "algorithm": "aws_kms" }), true),
        ("encryption", key("alias/a"), key("1234abcd-12ab-34cd-56ef-1234567890ab"), true),
        ("encryption", key("alias/a"), json!({ "algorithm": "AES256" }), true),
        ("lifecycleRules", rule(3), rule(4), false),
        ("lifecycleRules", rule(3), moved.clone(), false),
        ("lifecycleRules", moved, rule(3), false),
        ("corsRules", pages("*"), pages("https://a.example.com"), false),
        ("corsRules", pages("*"), more.clone(), false),
        ("corsRules", more, pages("*"), false),
        ("publicAccessBlock", block(true, false), block(false, true), true),
        ("publicAccessBlock", block(true, true), block(false, false), true),
        ("tags", json!({ "a": "1", "b": "2" }), json!({ "a": "2", "c": "3" }), false),
    ]
}

pub async fn every_setting_of_a_bucket_follows_the_spec(ground: &Arc<Ground>) {
    let yard = Yard::new(ground).await;
    for (index, (field, from, to, stays)) in changes().into_iter().enumerate() {
        let name = &format!("row-{index}");
        let step = |what: &str| format!("{field}, row {index}, {what}");
        yard.create(name, json!({ "bucketName": name, field: from }), json!({})).await;
        yard.settle(name).await;
        agrees(&json!({ field: from }), &yard.seen(name));
        yard.patch(name, json!({ "spec": { field: null } })).await;
        yard.patch(name, json!({ "spec": { field: to } })).await;
        yard.settle(name).await;
        agrees(&json!({ field: to }), &yard.seen(name));
        let status = yard.status(name).await;
        assert_eq!(status.drift, Vec::new(), "{}: what the owner changed is no drift", step("changed"));
        assert_eq!(yard.writes(name).await, Vec::<String>::new(), "{}", step("changed"));
        yard.patch(name, json!({ "spec": { field: null } })).await;
        yard.settle(name).await;
        if stays {
            agrees(&json!({ field: to }), &yard.seen(name));
        } else {
            let seen = yard.seen(name);
            assert_eq!(seen["lifecycle"], "NoSuchLifecycleConfiguration", "{}", step("removed"));
            assert_eq!(seen["cors"], "NoSuchCORSConfiguration", "{}", step("removed"));
            let tags = json!({ "team": "shop", "terrace.dev/owner": format!("default/{name}") });
            assert_eq!(seen["tags"], tags, "{}", step("removed"));
        }
        assert_eq!(yard.writes(name).await, Vec::<String>::new(), "{}", step("removed"));
    }
}

pub async fn a_bucket_gets_access_lists_only_when_asked_for_one(ground: &Arc<Ground>) {
    let yard = Yard::new(ground).await;
    yard.create("assets", json!({ "bucketName": "assets", "acl": "private" }), json!({})).await;
    yard.settle("assets").await;
    assert_eq!(yard.seen("assets")["ownership"], "OwnershipControlsNotFoundError", "nobody asked");
    let off = json!({ "Rules": [{ "ObjectOwnership": "BucketOwnerEnforced" }] });
    yard.ask("put_bucket_ownership_controls", json!({ "Bucket": "assets", "OwnershipControls": off }));
    assert_eq!(yard.writes("assets").await, Vec::<String>::new());
    yard.patch("assets", json!({ "spec": { "acl": "public-read" } })).await;
    yard.settle("assets").await;
    let seen = yard.seen("assets");
    let rules = &seen["ownership"]["OwnershipControls"]["Rules"];
    assert_eq!(rules[0]["ObjectOwnership"], "BucketOwnerPreferred");
    agrees(&json!({ "acl": "public-read" }), &seen);
}

/// What somebody changes behind our back, and the fields in which it is noticed.
fn harm() -> Vec<(&'static str, Value, &'static [&'static str])> {
    let default = json!({ "SSEAlgorithm": "AES256" });
    let encryption = json!({ "Rules": [{ "ApplyServerSideEncryptionByDefault": default }] });
    let rule = |id: &str, days: i32| json!({ "ID": id, "Status": "Enabled", "Filter": { "Prefix": "" }, "Expiration": { "Days": days } });
    let pages = json!({ "CORSRules": [{ "AllowedOrigins": ["*"], "AllowedMethods": ["PUT"] }] });
    vec![
        ("put_bucket_acl", json!({ "ACL": "public-read" }), &["acl"]),
        (
            "put_bucket_versioning",
            json!({ "VersioningConfiguration": { "Status": "Suspended" } }),
            &["versioning.enabled"],
        ),
        (
            "put_bucket_encryption",
            json!({ "ServerSideEncryptionConfiguration": encryption }),
            &["encryption.algorithm", "encryption.kmsKeyID"],
        ),
        (
            "put_bucket_lifecycle_configuration",
            json!({ "LifecycleConfiguration": { "Rules": [rule("all", 3), rule("theirs", 1)] } }),
            &[
                "lifecycleRules[logs]",
                "lifecycleRules[all].enabled",
                "lifecycleRules[all].expiration.days",
                "lifecycleRules[theirs]",
            ],
        ),
        ("delete_bucket_lifecycle", json!({}), &["lifecycleRules[logs]", "lifecycleRules[all]"]),
        (
            "put_bucket_cors",
            json!({ "CORSConfiguration": pages }),
            &[
                "corsRules[0].allowedOrigins",
                "corsRules[0].allowedMethods",
                "corsRules[0].allowedHeaders",
                "corsRules[0].exposeHeaders",
                "corsRules[0].maxAgeSeconds",
                "corsRules[1]",
            ],
        ),
        ("delete_bucket_cors", json!({}), &["corsRules[0]", "corsRules[1]"]),
        (
            "delete_public_access_block",
            json!({}),
            &["publicAccessBlock.blockPublicPolicy", "publicAccessBlock.restrictPublicBuckets"],
        ),
        (
            "put_bucket_tagging",
            json!({ "Tagging": { "TagSet": [{ "Key": "app", "Value": "bank" }, { "Key": "theirs", "Value": "1" }] } }),
            &["tags[app]", "tags[team]", "tags[terrace.dev/owner]"],
        ),
        ("delete_bucket_tagging", json!({}), &["tags[app]", "tags[team]", "tags[terrace.dev/owner]"]),
    ]
}

pub async fn what_is_changed_on_a_bucket_outside_is_put_back_and_told(ground: &Arc<Ground>) {
    let yard = Yard::new(ground).await;
    yard.create("assets", every_setting(), json!({})).await;
    yard.settle("assets").await;
    for (call, mut args, fields) in harm() {
        args["Bucket"] = json!("assets");
        yard.ask(call, args);
        yard.bench.clock().advance(Duration::from_secs(300));
        yard.settle("assets").await;
        agrees(&every_setting(), &yard.seen("assets"));
        let status = yard.status("assets").await;
        let drift: Vec<&str> = status.drift.iter().map(|drift| drift.field.as_str()).collect();
        assert_eq!(drift, fields, "{call}");
        let (reason, message) = yard.told("assets", SYNCED).await;
        assert_eq!(reason, "DriftCorrected", "{call}");
        assert!(message.contains(fields[0]), "{call}: {message}");
        // What was put back is news until the next comparison.
        yard.bench.clock().advance(Duration::from_secs(300));
        yard.settle("assets").await;
        assert_eq!(yard.status("assets").await.drift, Vec::new(), "{call}");
    }
    assert_eq!(yard.seen("assets")["tags"]["terrace.dev/owner"], "default/assets");
    let events: Api<Event> = Api::namespaced(yard.bench.client().clone(), "default");
    let events = events.list(&kube::api::ListParams::default()).await.expect("events can be listed").items;
    let told = |event: &Event| event.reason.as_deref() == Some("DriftCorrected");
    let notes: Vec<_> =
        events.iter().filter(|event| told(event)).filter_map(|event| event.note.clone()).collect();
    assert!(notes.iter().any(|note| note.contains("versioning.enabled")), "{notes:?}");
}

pub async fn rules_of_others_give_way_to_those_of_the_spec(ground: &Arc<Ground>) {
    let yard = Yard::new(ground).await;
    yard.create("assets", json!({ "bucketName": "assets" }), json!({})).await;
    yard.settle("assets").await;
    // Nothing of them is in the spec, so they stay, and so do tags of others.
    let theirs = json!({ "ID": "theirs", "Status": "Enabled", "Filter": { "Prefix": "" },
                         "NoncurrentVersionExpiration": { "NoncurrentDays": 5 } });
    let rules = json!({ "Bucket": "assets", "LifecycleConfiguration": { "Rules": [theirs] } });
    yard.ask("put_bucket_lifecycle_configuration", rules);
    let tags = json!([
        { "Key": "team", "Value": "shop" }, { "Key": "terrace.dev/owner", "Value": "default/assets" },
        { "Key": "theirs", "Value": "1" },
    ]);
    yard.ask("put_bucket_tagging", json!({ "Bucket": "assets", "Tagging": { "TagSet": tags } }));
    assert_eq!(yard.writes("assets").await, Vec::<String>::new());
    let rules = json!([{ "id": "ours", "enabled": true, "expiration": { "days": 3 } }]);
    yard.patch("assets", json!({ "spec": { "lifecycleRules": rules, "tags": { "app": "shop" } } })).await;
    yard.settle("assets").await;
    let seen = yard.seen("assets");
    agrees(&json!({ "lifecycleRules": rules }), &seen);
    assert_eq!(seen["tags"]["theirs"], "1");
    assert_eq!(seen["tags"]["app"], "shop");
}

pub async fn a_bucket_that_is_only_watched_is_never_written_to(ground: &Arc<Ground>) {
    let yard = Yard::new(ground).await;
    let observe = json!({ "terrace.dev/mode": "observe" });
    let aws = |calls: Vec<String>| -> Vec<String> {
        calls.into_iter().filter(|call| !call.contains("/apis/")).collect()
    };
    yard.create("none", json!({ "bucketName": "none" }), observe.clone()).await;
    yard.bench.gate().take();
    yard.settle("none").await;
    assert_eq!(aws(yard.bench.gate().writes()), Vec::<String>::new(), "nothing is made");
    assert_eq!(yard.told("none", SYNCED).await.0, "Drifted");
    yard.make("assets");
    let before = yard.seen("assets");
    yard.create("assets", every_setting(), observe).await;
    yard.bench.gate().take();
    yard.settle("assets").await;
    yard.delete("assets").await;
    let drift = yard.status("assets").await.drift;
    assert!(drift.iter().any(|drift| drift.field == "versioning.enabled"), "{drift:?}");
    yard.settle("assets").await;
    assert_eq!(aws(yard.bench.gate().writes()), Vec::<String>::new());
    assert!(yard.is_gone("assets").await);
    assert_eq!(yard.seen("assets"), before);
}

pub async fn a_bucket_is_adopted_only_when_asked_and_approved(ground: &Arc<Ground>) {
    let yard = Yard::new(ground).await;
    yard.make("assets");
    let before = yard.seen("assets");
    let spec = json!({ "bucketName": "assets", "versioning": { "enabled": true } });
    yard.create("assets", spec, json!({})).await;
    yard.settle("assets").await;
    assert_eq!(yard.told("assets", READY).await.0, "NotOurs");
    assert_eq!(yard.seen("assets"), before);
    yard.patch("assets", json!({ "metadata": { "annotations": { "terrace.dev/adopt": "true" } } })).await;
    yard.settle("assets").await;
    let (reason, message) = yard.told("assets", READY).await;
    assert_eq!(reason, "AwaitingApproval");
    assert_eq!(yard.seen("assets"), before);
    // Somebody else's approval, or one of another plan, is none.
    let approve =
        |digest: &str| json!({ "metadata": { "annotations": { "terrace.dev/approve-plan": digest } } });
    yard.patch("assets", approve("abcdef")).await;
    yard.settle("assets").await;
    assert_eq!(yard.seen("assets"), before);
    let digest = message.split("approve-plan: ").nth(1).and_then(|rest| rest.split(' ').next());
    yard.patch("assets", approve(digest.expect("the message tells it"))).await;
    yard.settle("assets").await;
    let seen = yard.seen("assets");
    agrees(&json!({ "versioning": { "enabled": true } }), &seen);
    assert_eq!(seen["tags"]["terrace.dev/owner"], "default/assets");
    assert!(yard.status("assets").await.ready);
    assert_eq!(yard.writes("assets").await, Vec::<String>::new());
    // Another object that asks for the same bucket does not get it, whatever it says.
    yard.create("thief", json!({ "bucketName": "assets" }), json!({ "terrace.dev/adopt": "true" })).await;
    yard.settle("thief").await;
    yard.delete("thief").await;
    yard.settle("thief").await;
    assert!(yard.is_gone("thief").await);
    assert_eq!(yard.seen("assets"), seen);
}

pub async fn a_bucket_goes_as_its_policy_says(ground: &Arc<Ground>) {
    let yard = Yard::new(ground).await;
    for policy in ["Delete", "Retain", "Orphan"] {
        let name = &policy.to_lowercase();
        let spec = json!({ "bucketName": name, "tags": { "app": "shop" }, "deletionPolicy": policy });
        yard.create(name, spec, json!({})).await;
        yard.settle(name).await;
        yard.delete(name).await;
        yard.settle(name).await;
        assert!(yard.is_gone(name).await, "{policy}");
    }
    assert_eq!(yard.seen("delete"), Value::Null);
    let kept = json!({ "app": "shop", "team": "shop", "terrace.dev/owner": "default/retain" });
    assert_eq!(yard.seen("retain")["tags"], kept);
    assert_eq!(yard.seen("orphan")["tags"], json!({ "app": "shop", "team": "shop" }));
    // One that was never ours is not ours to delete.
    yard.make("theirs");
    yard.create("theirs", json!({ "bucketName": "theirs", "forceDestroy": true }), json!({})).await;
    yard.settle("theirs").await;
    yard.delete("theirs").await;
    yard.settle("theirs").await;
    assert!(yard.is_gone("theirs").await);
    assert_ne!(yard.seen("theirs"), Value::Null);
}

pub async fn a_bucket_with_content_is_not_deleted_unless_the_spec_says_so(ground: &Arc<Ground>) {
    let yard = Yard::new(ground).await;
    // Of the first, only the mark of a deleted object and an old version are left; of the second, half an upload.
    for name in ["versions", "upload"] {
        let spec = json!({ "bucketName": name, "versioning": { "enabled": true } });
        yard.create(name, spec, json!({})).await;
        yard.settle(name).await;
    }
    yard.ask("put_object", json!({ "Bucket": "versions", "Key": "a", "Body": "one" }));
    yard.ask("delete_object", json!({ "Bucket": "versions", "Key": "a" }));
    yard.ask("create_multipart_upload", json!({ "Bucket": "upload", "Key": "a" }));
    for (name, counted) in [("versions", "2 versions of objects"), ("upload", "1 unfinished uploads")] {
        yard.delete(name).await;
        yard.bench.gate().take();
        assert_eq!(yard.pass(name).await, Some(Outcome::After(Duration::from_secs(60))), "{name}");
        let (reason, message) = yard.told(name, DELETION_BLOCKED).await;
        assert_eq!(reason, "WouldLoseData");
        assert!(message.contains(counted) && message.contains("forceDestroy: true"), "{message}");
        assert_eq!(yard.writes(name).await, Vec::<String>::new(), "{name}: it is said once");
        assert_ne!(yard.seen(name), Value::Null);
        yard.patch(name, json!({ "spec": { "forceDestroy": true } })).await;
        yard.settle(name).await;
        assert!(yard.is_gone(name).await, "{name}");
        assert_eq!(yard.seen(name), Value::Null);
    }
    let events: Api<Event> = Api::namespaced(yard.bench.client().clone(), "default");
    let events = events.list(&kube::api::ListParams::default()).await.expect("events can be listed").items;
    assert!(events.iter().any(|event| event.reason.as_deref() == Some("WouldLoseData")));
}

pub async fn the_bucket_of_another_account_is_told_and_let_go(ground: &Arc<Ground>) {
    let role = json!("arn:aws:iam::111111111111:role/other");
    let yard = Yard::with(ground, |provider| provider["spec"]["assumeRoleARN"] = role).await;
    // The name is taken before we look, and, of the second, after we decided to make it.
    yard.make("first");
    yard.create("first", json!({ "bucketName": "first" }), json!({ "terrace.dev/adopt": "true" })).await;
    yard.create("second", json!({ "bucketName": "second" }), json!({})).await;
    yard.pass("second").await;
    yard.make("second");
    for name in ["first", "second"] {
        let before = yard.seen(name);
        yard.bench.gate().take();
        yard.settle(name).await;
        let (reason, message) = yard.told(name, SYNCED).await;
        assert_eq!(reason, "AccessDenied", "{name}");
        assert!(message.contains("another account"), "{message}");
        yard.delete(name).await;
        yard.settle(name).await;
        assert!(yard.is_gone(name).await, "{name}: its object is not held");
        let wrote = yard.bench.gate().writes();
        assert!(wrote.iter().all(|call| call.contains("/apis/")), "{wrote:?}");
        assert_eq!(yard.seen(name), before, "{name}");
    }
}

pub async fn a_name_that_is_taken_while_we_ask_for_it_is_told_and_not_ours_later(ground: &Arc<Ground>) {
    let mut yard = Yard::new(ground).await;
    yard.room = S3Buckets::new(ground.desk_over(yard.bench.gate(), taken));
    yard.create("assets", json!({ "bucketName": "assets" }), json!({})).await;
    assert_eq!(yard.pass("assets").await, Some(Outcome::After(Duration::from_millis(250))));
    assert_eq!(yard.pass("assets").await, None, "S3 refuses");
    let (reason, message) = yard.told("assets", SYNCED).await;
    assert_eq!(reason, "BucketAlreadyExists");
    assert!(message.contains("the name is taken"), "{message}");
    assert_eq!(yard.status("assets").await.tag_keys, Vec::<String>::new(), "nothing is ours");
    let pause = yard.pass("assets").await;
    assert!(matches!(pause, Some(Outcome::After(pause)) if pause > Duration::from_secs(50)), "{pause:?}");
    // Whoever had the name lets go of it, and somebody in our account takes it.
    yard.make("assets");
    let before = yard.seen("assets");
    yard.settle("assets").await;
    assert_eq!(yard.told("assets", READY).await.0, "NotOurs");
    yard.delete("assets").await;
    yard.settle("assets").await;
    assert!(yard.is_gone("assets").await);
    assert_eq!(yard.seen("assets"), before);
}

pub async fn a_bucket_in_another_region_is_told_and_left_alone(ground: &Arc<Ground>) {
    let yard = Yard::with(ground, |provider| provider["spec"]["region"] = json!("eu-west-1")).await;
    yard.make("assets");
    let before = yard.seen("assets");
    yard.create("assets", every_setting(), json!({ "terrace.dev/adopt": "true" })).await;
    yard.bench.gate().take();
    yard.settle("assets").await;
    let (reason, message) = yard.told("assets", READY).await;
    assert_eq!(reason, "PermanentRedirect");
    assert!(message.contains("eu-central-1") && message.contains("eu-west-1"), "{message}");
    yard.delete("assets").await;
    yard.settle("assets").await;
    assert!(yard.is_gone("assets").await);
    let wrote = yard.bench.gate().writes();
    assert!(wrote.iter().all(|call| call.contains("/apis/")), "{wrote:?}");
    assert_eq!(yard.seen("assets"), before);
}

pub async fn the_inventory_of_buckets_asks_for_what_is_there(ground: &Arc<Ground>) {
    let yard = Yard::with(ground, |provider| provider["spec"]["defaultTags"] = json!({})).await;
    // One that we made with everything in it, a bare one, and one that no spec can describe.
    yard.create("assets", every_setting(), json!({})).await;
    yard.settle("assets").await;
    yard.make("bare.one");
    yard.make("strange");
    let grants = json!({ "Bucket": "strange", "ACL": "log-delivery-write" });
    yard.ask("put_bucket_acl", grants);
    let rule = json!({ "ID": "old", "Status": "Enabled", "Filter": { "Prefix": "a" },
                       "NoncurrentVersionExpiration": { "NoncurrentDays": 5 } });
    let rules = json!({ "Bucket": "strange", "LifecycleConfiguration": { "Rules": [rule] } });
    yard.ask("put_bucket_lifecycle_configuration", rules);
    let account = Account {
        provider: "default/dev".into(),
        region: REGION.into(),
        endpoint: Some(ground.endpoint.clone()),
        login: Login::Keys { id: Sealed::new("a".into()), secret: Sealed::new("b".into()), token: None },
        role: None,
    };
    let provider: ProviderRef = serde_json::from_value(json!({ "name": "dev" })).expect("a reference");
    let found = ground
        .desk(yard.bench.gate())
        .found(&account, &provider, Kind::S3Bucket)
        .await
        .expect("they can be read");
    let names: Vec<&str> = found.iter().map(|bucket| bucket.resource.as_str()).collect();
    assert_eq!(names, ["assets", "bare.one", "strange"]);
    yard.delete("assets").await;
    for bucket in found {
        let name = bucket.name().to_owned();
        let before = (yard.seen(&bucket.resource), bucket.resource);
        let spec = bucket.manifest["spec"].clone();
        let watched = format!("{name}-watched");
        yard.create(&watched, spec, json!({ "terrace.dev/mode": "observe" })).await;
        yard.bench.gate().take();
        yard.settle(&watched).await;
        let status = yard.status(&watched).await;
        let mark = |drift: &api::drift::Drift| drift.field == "tags[terrace.dev/owner]";
        assert!(status.drift.iter().all(mark), "{name}: {:?}", status.drift);
        let wrote = yard.bench.gate().writes();
        assert!(wrote.iter().all(|call| call.contains("/apis/")), "{wrote:?}");
        assert_eq!(yard.seen(&before.1), before.0);
    }
}

/// Whether AWS's own client sees what a spec asks for.
fn agrees(spec: &Value, seen: &Value) {
    if let Some(acl) = spec.get("acl") {
        let group = match text(acl).as_str() {
            "public-read" => Some("AllUsers"),
            "authenticated-read" => Some("AuthenticatedUsers"),
            _ => None,
        };
        let grants = seen["acl"].as_array().expect("a bucket has grants");
        let of = |grant: &Value| text(&grant["Grantee"]["URI"]).rsplit('/').next().map(str::to_owned);
        let groups: Vec<_> =
            grants.iter().filter(|grant| grant["Grantee"]["Type"] == "Group").map(of).collect();
        assert_eq!(
            groups,
            group.map(|group| Some(group.to_owned())).into_iter().collect::<Vec<_>>(),
            "{seen}"
        );
    }
    if let Some(enabled) = spec["versioning"]["enabled"].as_bool() {
        assert_eq!(seen["versioning"] == "Enabled", enabled, "{seen}");
    }
    if let Some(algorithm) = spec["encryption"]["algorithm"].as_str() {
        let rules = &seen["encryption"]["ServerSideEncryptionConfiguration"]["Rules"];
        let default = &rules[0]["ApplyServerSideEncryptionByDefault"];
        assert_eq!(default["SSEAlgorithm"], algorithm.replace("aws_kms", "aws:kms"), "{seen}");
        assert_eq!(default["KMSMasterKeyID"], spec["encryption"]["kmsKeyID"], "{seen}");
    }
    if let Some(rules) = spec.get("lifecycleRules").and_then(Value::as_array) {
        let held = seen["lifecycle"]["Rules"].as_array().expect("there are rules");
        let wanted: Vec<Value> = rules.iter().map(lifecycle).collect();
        assert_eq!(*held, wanted, "{seen}");
    }
    if let Some(rules) = spec.get("corsRules").and_then(Value::as_array) {
        let held = seen["cors"]["CORSRules"].as_array().expect("there are rules");
        let wanted: Vec<Value> = rules.iter().map(cors).collect();
        assert_eq!(*held, wanted, "{seen}");
    }
    if let Some(block) = spec.get("publicAccessBlock") {
        let held = &seen["block"]["PublicAccessBlockConfiguration"];
        for (ours, theirs) in [
            ("blockPublicAcls", "BlockPublicAcls"),
            ("ignorePublicAcls", "IgnorePublicAcls"),
            ("blockPublicPolicy", "BlockPublicPolicy"),
            ("restrictPublicBuckets", "RestrictPublicBuckets"),
        ] {
            assert_eq!(held[theirs] == true, block[ours] == true, "{theirs}: {seen}");
        }
    }
    for (key, value) in spec["tags"].as_object().into_iter().flatten() {
        assert_eq!(seen["tags"][key], *value, "{seen}");
    }
}

/// A rule of a spec, as AWS's own client writes it.
fn lifecycle(rule: &Value) -> Value {
    let status = if rule["enabled"] == true { "Enabled" } else { "Disabled" };
    let prefix = text(&rule["prefix"]);
    let mut wanted = json!({ "ID": rule["id"], "Status": status, "Filter": { "Prefix": prefix } });
    if let Some(days) = rule["expiration"].get("days") {
        wanted["Expiration"] = json!({ "Days": days });
    }
    if let Some(moves) = rule["transitions"].as_array().filter(|moves| !moves.is_empty()) {
        let one = |to: &Value| json!({ "Days": to["days"], "StorageClass": to["storageClass"] });
        wanted["Transitions"] = moves.iter().map(one).collect();
    }
    wanted
}

/// The same of a rule about web pages.
fn cors(rule: &Value) -> Value {
    let names = [
        ("allowedHeaders", "AllowedHeaders"),
        ("allowedMethods", "AllowedMethods"),
        ("allowedOrigins", "AllowedOrigins"),
        ("exposeHeaders", "ExposeHeaders"),
        ("maxAgeSeconds", "MaxAgeSeconds"),
    ];
    let named =
        names.iter().filter_map(|(ours, theirs)| Some(((*theirs).to_owned(), rule.get(*ours)?.clone())));
    let empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
    named.filter(|(_, value)| !empty(value)).collect::<serde_json::Map<_, _>>().into()
}

/// Specs with any of the settings. One list is missing: the server shows of `public-read-write` only that all may read.
fn specs() -> impl Strategy<Value = Value> {
    let acl = proptest::sample::select(&["private", "public-read", "authenticated-read"][..]);
    let key = perhaps("[a-z]{3,8}").prop_map(|key| match key {
        Some(key) => json!({ "algorithm": "aws_kms", "kmsKeyID": format!("alias/{key}") }),
        None => json!({ "algorithm": "aws_kms" }),
    });
    let encryption = prop_oneof![Just(json!({ "algorithm": "AES256" })), key];
    let block = any::<[bool; 3]>().prop_map(|[ignore, policy, restrict]| {
        json!({ "ignorePublicAcls": ignore, "blockPublicPolicy": policy, "restrictPublicBuckets": restrict })
    });
    let tags = proptest::collection::btree_map(
        "[a-zA-Z][a-zA-Z0-9+=._:/@ -]{0,8}[a-z]",
        "[a-zA-Z0-9é<&>\"']{0,9}",
        0..5,
    );
    let settings = (
        perhaps(acl),
        perhaps(any::<bool>()),
        perhaps(encryption),
        perhaps(block),
        perhaps(tags),
        rules(),
        pages(),
    );
    settings.prop_map(|(acl, versioned, encryption, block, tags, rules, pages)| {
        let mut spec = serde_json::Map::new();
        let mut set = |name: &str, value: Option<Value>| value.map(|value| spec.insert(name.into(), value));
        set("acl", acl.map(|acl| json!(acl)));
        set("versioning", versioned.map(|enabled| json!({ "enabled": enabled })));
        set("encryption", encryption);
        set("publicAccessBlock", block);
        set("tags", tags.map(|tags| json!(tags)));
        set("lifecycleRules", Some(rules).filter(|rules| !rules.is_empty()).map(|rules| json!(rules)));
        set("corsRules", Some(pages).filter(|pages| !pages.is_empty()).map(|pages| json!(pages)));
        Value::Object(spec)
    })
}

fn rules() -> impl Strategy<Value = Vec<Value>> {
    let classes = ["GLACIER", "DEEP_ARCHIVE", "INTELLIGENT_TIERING", "STANDARD_IA", "ONEZONE_IA"];
    let moves = proptest::sample::subsequence(classes.to_vec(), 0..=3);
    let moves = moves.prop_flat_map(|classes| {
        let one = |class| (30..400i32).prop_map(move |days| json!({ "days": days, "storageClass": class }));
        classes.into_iter().map(one).collect::<Vec<_>>()
    });
    let rule = (any::<bool>(), perhaps("[a-z]{1,5}/"), perhaps(401..900i32), moves);
    let rule = rule.prop_map(|(enabled, prefix, end, moves)| {
        let mut rule = json!({ "enabled": enabled });
        if let Some(prefix) = prefix {
            rule["prefix"] = json!(prefix);
        }
        // A rule that does nothing is refused at admission.
        if end.is_some() || moves.is_empty() {
            rule["expiration"] = json!({ "days": end.unwrap_or(401) });
        }
        if !moves.is_empty() {
            rule["transitions"] = json!(moves);
        }
        rule
    });
    proptest::collection::vec(rule, 0..4).prop_map(|mut rules| {
        rules.iter_mut().enumerate().for_each(|(index, rule)| rule["id"] = json!(format!("rule-{index}")));
        rules
    })
}

fn pages() -> impl Strategy<Value = Vec<Value>> {
    let methods = proptest::sample::subsequence(vec!["GET", "PUT", "POST", "DELETE", "HEAD"], 1..=5);
    let origins = proptest::collection::vec("https://[a-z]{1,6}\\.example\\.com", 1..3);
    let headers = || proptest::collection::vec("[a-z]{2,6}", 0..3);
    let rule = (origins, methods, headers(), headers(), perhaps(0..9000i32));
    let rule = rule.prop_map(|(origins, methods, allowed, exposed, age)| {
        let mut rule = json!({ "allowedOrigins": origins, "allowedMethods": methods });
        for (name, list) in [("allowedHeaders", allowed), ("exposeHeaders", exposed)] {
            if !list.is_empty() {
                rule[name] = json!(list);
            }
        }
        if let Some(age) = age {
            rule["maxAgeSeconds"] = json!(age);
        }
        rule
    });
    proptest::collection::vec(rule, 0..3)
}

pub async fn any_spec_of_a_bucket_settles_and_is_met(ground: &Arc<Ground>) {
    let yard = Yard::new(ground).await;
    let made = AtomicUsize::new(0);
    let config =
        Config { cases: CASES, failure_persistence: None, max_shrink_iters: 40, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let here = tokio::runtime::Handle::current();
    let one = |(from, to): (Value, Value)| {
        let name = format!("case-{}", made.fetch_add(1, Ordering::Relaxed));
        here.block_on(met(&yard, &name, &from, &to));
        Ok(())
    };
    tokio::task::block_in_place(|| runner.run(&(specs(), specs()), one).expect("every spec is met"));
}

/// Makes a bucket by one spec and changes it into another; after each it is met, and one more pass writes nothing.
async fn met(yard: &Yard<'_>, name: &str, from: &Value, to: &Value) {
    let mut first = from.clone();
    first["bucketName"] = json!(name);
    yard.create(name, first, json!({})).await;
    yard.settle(name).await;
    agrees(from, &yard.seen(name));
    assert_eq!(yard.writes(name).await, Vec::<String>::new(), "{from}");
    let mut patch = to.clone();
    for field in from.as_object().into_iter().flatten().map(|(field, _)| field) {
        patch.as_object_mut().expect("a spec is an object").entry(field).or_insert(Value::Null);
    }
    // A merge patch would merge maps; the spec is to be the second and no more.
    yard.patch(name, json!({ "spec": { "tags": null, "encryption": null, "publicAccessBlock": null } }))
        .await;
    yard.patch(name, json!({ "spec": patch })).await;
    yard.settle(name).await;
    let seen = yard.seen(name);
    agrees(to, &seen);
    let tags = seen["tags"].as_object().map_or(0, serde_json::Map::len);
    assert_eq!(tags, to["tags"].as_object().map_or(0, serde_json::Map::len) + 2, "{seen}");
    assert_eq!(yard.writes(name).await, Vec::<String>::new(), "{from} and then {to}");
}
