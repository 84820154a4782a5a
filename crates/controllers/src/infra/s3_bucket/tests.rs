use std::sync::Arc;

use api::conditions::{DELETION_BLOCKED, READY, SYNCED, find};
use api::infra::{LifecycleRule, S3Bucket, S3BucketStatus, Tags};
use api::secret::Sealed;
use kit::{Do, Fault, Room};
use ports::aws::{Account, Bucket, Content, Encryption, Error, Grant, LiveRule, Login, Setting};
use serde_json::{Value, json};

use super::S3Buckets;
use super::plan::{Found, Here, asked, canned, plan};
use crate::infra::desk::{Open, Sight, World};

const NOW: &str = "2026-01-01T12:00:00Z";

fn account() -> Account {
    let key = || Sealed::new("key".to_owned());
    Account {
        provider: "default/dev".into(),
        region: "eu-central-1".into(),
        endpoint: None,
        login: Login::Keys { id: key(), secret: key(), token: None },
        role: None,
    }
}

fn world(region: &str, found: Option<Found>) -> World<Found> {
    let account = Account { region: region.into(), ..account() };
    let open = Open { account: Arc::new(account), default_tags: Tags::new(), found, _place: None };
    World { now: NOW.parse().expect("a time"), sight: Sight::Open(open) }
}

fn object(spec: Value, status: Value, change: Value) -> S3Bucket {
    let mut spec = spec;
    spec["providerRef"] = json!({ "name": "dev" });
    spec["bucketName"] = json!("assets");
    let mut metadata = json!({ "name": "assets", "namespace": "default", "generation": 1 });
    for (field, value) in change.as_object().into_iter().flatten() {
        metadata[field] = value.clone();
    }
    let all = json!({
        "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": "S3Bucket",
        "metadata": metadata, "spec": spec, "status": status,
    });
    serde_json::from_value(all).expect("a bucket")
}

/// What is planned: the steps, with the fields that they mend, and why the bucket is or is not ready.
fn told(bucket: &S3Bucket, found: Option<Found>) -> String {
    let plan = plan(bucket, &world("eu-central-1", found)).expect("buckets are never refused");
    let mut words: Vec<String> = plan.steps.iter().map(step).collect();
    words
        .push(find(&plan.status.conditions, READY).map_or("unsaid".to_owned(), |ready| ready.reason.clone()));
    words.push(format!("{:?}", plan.next));
    words.join("; ")
}

fn step(step: &Do<<S3Buckets as Room>::Step>) -> String {
    let Do::Outside(outside) = step else { panic!("a bucket has nothing in the cluster") };
    let fields: Vec<&str> = outside.fields.iter().map(|drift| drift.field.as_str()).collect();
    let fields = if fields.is_empty() { String::new() } else { format!(" ({})", fields.join(", ")) };
    format!("{outside}{fields}")
}

fn owner() -> Grant {
    Grant { grantee: "owner".into(), permission: "FULL_CONTROL".into() }
}

fn world_may(permission: &str) -> Grant {
    let grantee = "http://acs.amazonaws.com/groups/global/AllUsers".into();
    Grant { grantee, permission: permission.into() }
}

/// A bucket of ours that nobody configured.
fn ours() -> Bucket {
    let tags = Tags::from([("terrace.dev/owner".to_owned(), "default/assets".to_owned())]);
    Bucket { tags, grants: vec![owner()], ..Bucket::default() }
}

fn here(bucket: Bucket) -> Option<Found> {
    Some(Found::Here(Box::new(Here { bucket, content: Content::default() })))
}

fn denied() -> Error {
    Error::Refused { operation: "HeadBucket", code: "AccessDenied".into(), message: "no".into() }
}

fn noted() -> Value {
    json!({ "tagKeys": ["terrace.dev/owner"] })
}

const READY_NOW: &str = "Available; After(300s)";

#[test]
fn a_bucket_is_noted_then_made_and_marked_before_it_is_set_up() {
    let spec = json!({ "acl": "private", "versioning": { "enabled": true }, "publicAccessBlock": { "blockPublicAcls": true } });
    let plain = || json!({});
    let announce =
        "note that bucket assets is ours, and create it in the next pass; Provisioning; After(250ms)";
    let create = "create bucket assets; set the tags of bucket assets; set the public access block of bucket assets; keep old versions in bucket assets; Provisioning; After(250ms)";
    let observe = json!({ "annotations": { "terrace.dev/mode": "observe" } });
    let table = [
        (plain(), plain(), announce),
        (noted(), plain(), create),
        (plain(), observe.clone(), "Drifted; After(300s)"),
        (noted(), observe, "Drifted; After(300s)"),
    ];
    for (row, (status, change, want)) in table.into_iter().enumerate() {
        assert_eq!(told(&object(spec.clone(), status, change), None), want, "row {row}");
    }
    let bucket = object(spec, json!({}), json!({}));
    let plan = plan(&bucket, &world("eu-central-1", None)).expect("a plan");
    assert_eq!(plan.status.tag_keys, ["terrace.dev/owner"], "what the first pass is for");
}

#[test]
fn a_bucket_that_s3_refuses_to_make_is_not_ours_and_is_tried_again_after_a_minute() {
    let table = [
        ("CreateBucket", "BucketAlreadyExists", true),
        ("CreateBucket", "AccessDenied", true),
        ("CreateBucket", "TooManyBuckets", true),
        // These may have been made.
        ("CreateBucket", "BucketAlreadyOwnedByYou", false),
        ("CreateBucket", "InternalError", false),
        ("CreateBucket", "OperationAborted", false),
        // This was.
        ("PutBucketTagging", "AccessDenied", false),
    ];
    for (operation, code, withdrawn) in table {
        let mut status: S3BucketStatus = serde_json::from_value(noted()).expect("a status");
        let error = Error::Refused { operation, code: code.into(), message: "no".into() };
        let fault = Fault::from(error);
        S3Buckets::failed(&mut status, fault.reason(), fault.story());
        assert_eq!(status.tag_keys.is_empty(), withdrawn, "{operation} {code}");
        let synced = find(&status.conditions, SYNCED).expect("it is said");
        assert_eq!((synced.status.as_str(), synced.reason.as_str()), ("False", code));
    }
    let refused = |at: &str| json!({ "conditions": [{ "type": "Synced", "status": "False", "reason": "AccessDenied", "message": "", "lastTransitionTime": at }] });
    let bucket = |at: &str| object(json!({}), refused(at), json!({}));
    assert_eq!(told(&bucket("2026-01-01T11:59:40Z"), None), "unsaid; After(40s)");
    assert_eq!(
        told(&bucket("2026-01-01T11:59:00Z"), None),
        "note that bucket assets is ours, and create it in the next pass; Provisioning; After(250ms)"
    );
}

#[test]
fn whose_a_bucket_is_decides_what_is_done() {
    let bare = || Bucket { grants: vec![owner()], ..Bucket::default() };
    let theirs = || {
        let tags = Tags::from([("terrace.dev/owner".to_owned(), "other/assets".to_owned())]);
        Bucket { tags, ..bare() }
    };
    let adopt = || json!({ "annotations": { "terrace.dev/adopt": "true" } });
    let plain = || json!({});
    let mark = "set the tags of bucket assets (tags[terrace.dev/owner]); Available; After(300s)";
    let table = [
        (plain(), plain(), here(ours()), READY_NOW),
        (noted(), plain(), here(bare()), mark),
        (plain(), plain(), here(bare()), "NotOurs; After(300s)"),
        (plain(), adopt(), here(bare()), mark),
        (noted(), adopt(), here(theirs()), "NotOurs; After(300s)"),
        (noted(), plain(), here(theirs()), "NotOurs; After(300s)"),
        (noted(), plain(), Some(Found::Elsewhere("us-east-1".into())), "PermanentRedirect; After(300s)"),
        (noted(), adopt(), Some(Found::Elsewhere(String::new())), "PermanentRedirect; After(300s)"),
        (plain(), plain(), Some(Found::Hidden(denied())), "AccessDenied; After(60s)"),
    ];
    for (row, (status, change, found, want)) in table.into_iter().enumerate() {
        assert_eq!(told(&object(json!({}), status, change), found), want, "row {row}");
    }
}

#[test]
fn each_setting_is_mended_by_its_own_call() {
    let kms = |key: Option<&str>| Encryption { algorithm: "aws:kms".into(), key: key.map(str::to_owned) };
    let with = |change: fn(&mut Bucket)| {
        let mut bucket = ours();
        change(&mut bucket);
        bucket
    };
    let keyed = |key: Option<&str>| Bucket { encryption: Some(kms(key)), ..ours() };
    let key = |key: &str| json!({ "encryption": { "algorithm": "aws_kms", "kmsKeyID": key } });
    let own = || json!({ "encryption": { "algorithm": "aws_kms" } });
    let arn = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd";
    let alias = "arn:aws:kms:eu-central-1:123456789012:alias/aws/s3";
    let other_key = "encrypt bucket assets with aws_kms (encryption.kmsKeyID)";
    let table = [
        (json!({ "acl": "private" }), ours(), ""),
        (
            json!({ "acl": "private" }),
            with(|b| b.grants.push(world_may("READ"))),
            "set the access list of bucket assets to private (acl)",
        ),
        (
            json!({ "acl": "public-read" }),
            ours(),
            "set the access list of bucket assets to public-read (acl)",
        ),
        (
            json!({ "acl": "public-read" }),
            with(|b| b.without_acls = true),
            "let bucket assets have an access list, and set it to public-read (acl)",
        ),
        (
            json!({ "acl": "public-read-write" }),
            with(|b| b.grants.extend([world_may("WRITE"), world_may("READ")])),
            "",
        ),
        (json!({ "versioning": { "enabled": false } }), ours(), ""),
        (
            json!({ "versioning": { "enabled": false } }),
            with(|b| b.versioned = true),
            "keep no more old versions in bucket assets (versioning.enabled)",
        ),
        (json!({}), with(|b| b.versioned = true), ""),
        (
            json!({ "encryption": { "algorithm": "AES256" } }),
            keyed(None),
            "encrypt bucket assets with AES256 (encryption.algorithm)",
        ),
        (own(), keyed(None), ""),
        (own(), keyed(Some(alias)), ""),
        (own(), keyed(Some(arn)), other_key),
        (key("1234abcd"), keyed(Some(arn)), ""),
        (key(arn), keyed(Some("1234abcd")), ""),
        (key("1234"), keyed(Some(arn)), other_key),
        (key("alias/aws/s3"), keyed(Some(alias)), ""),
        (key(arn), keyed(Some("arn:aws:kms:eu-central-1:999999999999:key/1234abcd")), other_key),
        (json!({ "publicAccessBlock": {} }), ours(), ""),
        (
            json!({ "publicAccessBlock": { "ignorePublicAcls": true } }),
            ours(),
            "set the public access block of bucket assets (publicAccessBlock.ignorePublicAcls)",
        ),
    ];
    for (row, (spec, live, want)) in table.into_iter().enumerate() {
        let want = if want.is_empty() { READY_NOW.to_owned() } else { format!("{want}; {READY_NOW}") };
        assert_eq!(told(&object(spec, json!({}), json!({})), here(live)), want, "row {row}");
    }
}

fn rule(text: Value) -> LiveRule {
    let rule: LifecycleRule = serde_json::from_value(text).expect("a rule");
    LiveRule { rule, beyond: Vec::new() }
}

#[test]
fn rules_are_compared_one_by_one_and_written_as_a_whole() {
    let one = || json!({ "id": "a", "enabled": true, "expiration": { "days": 3 } });
    let moved = json!({ "id": "a", "enabled": false, "prefix": "b/", "transitions": [{ "days": 1, "storageClass": "GLACIER" }] });
    let strange = LiveRule { beyond: vec!["noncurrentVersionExpiration".into()], ..rule(one()) };
    let rules = |rules: Vec<LiveRule>| Bucket { lifecycle_rules: rules, ..ours() };
    let pages = |all: Value| Bucket { cors_rules: serde_json::from_value(all).expect("rules"), ..ours() };
    let page = || json!({ "allowedOrigins": ["a", "b"], "allowedMethods": ["GET", "PUT"] });
    let turned = json!({ "allowedOrigins": ["b", "a"], "allowedMethods": ["PUT", "GET"] });
    let aged = json!({ "allowedOrigins": ["a", "b"], "allowedMethods": ["GET"], "maxAgeSeconds": 5 });
    let asks = || json!({ "lifecycleRules": [one()] });
    let held = |lists: Value| json!({ "ruleLists": lists });
    let none = || json!({});
    let table = [
        (asks(), none(), rules(vec![rule(one())]), ""),
        (asks(), none(), rules(vec![]), "set the lifecycle rules of bucket assets (lifecycleRules[a])"),
        (
            asks(),
            none(),
            rules(vec![rule(moved)]),
            "set the lifecycle rules of bucket assets (lifecycleRules[a].enabled, lifecycleRules[a].prefix, lifecycleRules[a].expiration.days, lifecycleRules[a].transitions[GLACIER].days)",
        ),
        (
            asks(),
            none(),
            rules(vec![strange]),
            "set the lifecycle rules of bucket assets (lifecycleRules[a].noncurrentVersionExpiration)",
        ),
        (
            asks(),
            none(),
            rules(vec![
                rule(one()),
                rule(json!({ "id": "theirs", "enabled": true, "expiration": { "days": 1 } })),
            ]),
            "set the lifecycle rules of bucket assets (lifecycleRules[theirs])",
        ),
        (none(), none(), rules(vec![rule(one())]), ""),
        (none(), held(json!(["corsRules"])), rules(vec![rule(one())]), ""),
        (
            none(),
            held(json!(["lifecycleRules"])),
            rules(vec![rule(one())]),
            "take the lifecycle rules off bucket assets (lifecycleRules[a])",
        ),
        (none(), held(json!(["lifecycleRules"])), rules(vec![]), ""),
        (json!({ "corsRules": [page()] }), none(), pages(json!([turned])), ""),
        (
            json!({ "corsRules": [page()] }),
            none(),
            pages(json!([aged])),
            "set the CORS rules of bucket assets (corsRules[0].allowedMethods, corsRules[0].maxAgeSeconds)",
        ),
        (
            json!({ "corsRules": [page()] }),
            none(),
            pages(json!([page(), page()])),
            "set the CORS rules of bucket assets (corsRules[1])",
        ),
        (none(), none(), pages(json!([page()])), ""),
        (
            none(),
            held(json!(["corsRules"])),
            pages(json!([page()])),
            "take the CORS rules off bucket assets (corsRules[0])",
        ),
    ];
    for (row, (spec, status, live, want)) in table.into_iter().enumerate() {
        let want = if want.is_empty() { READY_NOW.to_owned() } else { format!("{want}; {READY_NOW}") };
        assert_eq!(told(&object(spec, status, json!({})), here(live)), want, "row {row}");
    }
}

#[test]
fn only_what_the_spec_names_or_named_is_read() {
    let asked = |spec: Value, status: Value| asked(&object(spec, status, json!({})));
    assert_eq!(asked(json!({}), json!({})), []);
    assert_eq!(asked(json!({ "acl": "private" }), json!({})), [Setting::Acl]);
    assert_eq!(asked(json!({ "acl": "public-read" }), json!({})), [Setting::Acl, Setting::Ownership]);
    assert_eq!(
        asked(json!({}), json!({ "ruleLists": ["lifecycleRules", "corsRules"] })),
        [Setting::LifecycleRules, Setting::CorsRules]
    );
}

#[test]
fn a_bucket_that_goes_takes_nothing_along_unless_the_spec_says_so() {
    let full = Content { versions: 2, uploads: 1, more: false };
    let found = |content: Content| Some(Found::Here(Box::new(Here { bucket: ours(), content })));
    let empty = || found(Content::default());
    let stranger = || here(Bucket { grants: vec![owner()], ..Bucket::default() });
    let seen = || json!({ "tagKeys": ["terrace.dev/owner"], "arn": "arn:aws:s3:::assets" });
    let delete = || json!({});
    let force = || json!({ "forceDestroy": true });
    let gone = "unsaid; Release";
    let emptied = "delete versions of objects in bucket assets; give up unfinished uploads to bucket assets; Deleting; After(100ms)";
    let table = [
        (delete(), noted(), empty(), "delete bucket assets; unsaid; Release"),
        (delete(), noted(), found(full), "WouldLoseData; After(60s)"),
        (force(), noted(), found(full), emptied),
        (
            force(),
            noted(),
            found(Content { uploads: 0, ..full }),
            "delete versions of objects in bucket assets; Deleting; After(100ms)",
        ),
        (force(), noted(), empty(), "delete bucket assets; unsaid; Release"),
        (force(), json!({}), stranger(), gone),
        (delete(), noted(), stranger(), "delete bucket assets; unsaid; Release"),
        (delete(), noted(), None, gone),
        (json!({ "deletionPolicy": "Retain", "forceDestroy": true }), noted(), found(full), gone),
        (
            json!({ "deletionPolicy": "Orphan" }),
            noted(),
            found(full),
            "set the tags of bucket assets; unsaid; Release",
        ),
        (json!({ "deletionPolicy": "Orphan" }), noted(), stranger(), gone),
        (delete(), noted(), Some(Found::Hidden(denied())), gone),
        (delete(), seen(), Some(Found::Hidden(denied())), "AccessDenied; After(60s)"),
        (delete(), seen(), Some(Found::Elsewhere("us-east-1".into())), "PermanentRedirect; After(60s)"),
        (delete(), json!({}), Some(Found::Elsewhere("us-east-1".into())), gone),
    ];
    for (row, (spec, status, found, want)) in table.into_iter().enumerate() {
        let bucket = object(spec, status, json!({ "deletionTimestamp": NOW }));
        assert_eq!(told(&bucket, found), want, "row {row}");
    }
    let bucket = object(delete(), noted(), json!({ "deletionTimestamp": NOW }));
    let many = Content { versions: 100, uploads: 0, more: true };
    let plan = plan(&bucket, &world("eu-central-1", found(many))).expect("a plan");
    let blocked = find(&plan.status.conditions, DELETION_BLOCKED).expect("it is said");
    assert!(blocked.message.contains("at least 100 versions"), "{}", blocked.message);
    assert!(blocked.message.contains("forceDestroy: true"), "{}", blocked.message);
}

#[test]
fn a_bucket_is_named_as_its_part_of_the_world_names_it() {
    let table = [
        ("eu-central-1", "arn:aws:s3:::assets", "assets.s3.eu-central-1.amazonaws.com"),
        ("cn-north-1", "arn:aws-cn:s3:::assets", "assets.s3.cn-north-1.amazonaws.com.cn"),
        ("us-gov-west-1", "arn:aws-us-gov:s3:::assets", "assets.s3.us-gov-west-1.amazonaws.com"),
    ];
    for (region, arn, domain) in table {
        let bucket = object(json!({}), json!({}), json!({}));
        let plan = plan(&bucket, &world(region, here(ours()))).expect("a plan");
        assert_eq!(plan.status.arn.as_deref(), Some(arn));
        assert_eq!(plan.status.region.as_deref(), Some(region));
        assert_eq!(plan.status.bucket_domain_name.as_deref(), Some(domain));
    }
}

#[test]
fn grants_that_are_no_canned_list_are_none() {
    assert_eq!(canned(&[]), None);
    assert_eq!(canned(&[owner(), world_may("FULL_CONTROL")]), None);
    assert_eq!(canned(&[owner(), owner()]), None);
}
