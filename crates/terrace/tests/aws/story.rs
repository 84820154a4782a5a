//! From a file to resources in an account, what becomes of changes on either side, and the end.

use serde_json::{Value, json};

use crate::account::{Account, CANARY, condition, object};
use crate::web::Browser;

fn bucket() -> Value {
    object(
        "S3Bucket",
        "assets",
        &json!({
            "bucketName": "story-assets", "versioning": { "enabled": true }, "encryption": { "algorithm": "AES256" },
            "tags": { "app": "shop" },
        }),
    )
}

fn queue() -> Value {
    object("SQSQueue", "orders", &json!({ "queueName": "orders", "visibilityTimeout": 40 }))
}

fn machine(image: &Value) -> Value {
    let spec = json!({ "instanceName": "bastion", "instanceType": "t3.micro", "imageID": image });
    object("EC2Instance", "bastion", &spec)
}

fn database() -> Value {
    object(
        "RDSInstance",
        "shop",
        &json!({
            "dbInstanceIdentifier": "shop", "engine": "postgres", "dbInstanceClass": "db.t4g.micro",
            "allocatedStorage": 20, "masterUsername": "chief",
        }),
    )
}

/// Every kind is made, and AWS's own client sees it.
fn made(account: &Account) {
    let images = account.moto.ask("ec2", "describe_images", json!({ "Owners": ["amazon"] }));
    for manifest in [bucket(), queue(), machine(&images["Images"][0]["ImageId"]), database()] {
        account.apply(&manifest);
    }
    for (kind, name) in
        [("s3bucket", "assets"), ("sqsqueue", "orders"), ("ec2instance", "bastion"), ("rdsinstance", "shop")]
    {
        account.ready(kind, name);
    }
    let versioning = account.moto.ask("s3", "get_bucket_versioning", json!({ "Bucket": "story-assets" }));
    assert_eq!(versioning["Status"], "Enabled");
    let tags = account.moto.ask("s3", "get_bucket_tagging", json!({ "Bucket": "story-assets" }));
    let owner = format!("{}/assets", account.platform.namespace);
    for (key, value) in [("team", "shop"), ("app", "shop"), ("terrace.dev/owner", &owner)] {
        let tag = json!({ "Key": key, "Value": value });
        assert!(tags["TagSet"].as_array().is_some_and(|all| all.contains(&tag)), "{tag} in {tags}");
    }
    assert_eq!(timeout(account), "40");
    let servers = account.moto.ask("rds", "describe_db_instances", json!({}));
    assert_eq!(servers["DBInstances"][0]["MasterUsername"], "chief", "{servers}");
    assert_eq!(running(account), 1);
    let shown = account.platform.kubectl(&["get", "s3,sqs,ec2,rds"]);
    assert!(shown.contains("story-assets") && shown.contains("i-"), "{shown}");
}

/// How long a received message is hidden, as AWS's own client sees it.
fn timeout(account: &Account) -> Value {
    let url = account.moto.ask("sqs", "get_queue_url", json!({ "QueueName": "orders" }))["QueueUrl"].clone();
    let asked = json!({ "QueueUrl": url, "AttributeNames": ["All"] });
    account.moto.ask("sqs", "get_queue_attributes", asked)["Attributes"]["VisibilityTimeout"].clone()
}

/// How many machines there are that were not terminated.
fn running(account: &Account) -> usize {
    let all = account.moto.ask("ec2", "describe_instances", json!({}));
    let all = all["Reservations"].as_array().cloned().unwrap_or_default();
    let all = all.iter().flat_map(|one| one["Instances"].as_array().cloned().unwrap_or_default());
    all.filter(|machine| machine["State"]["Name"] != "terminated").count()
}

/// `terrace plan` tells the fields and does nothing.
fn planned(account: &Account) {
    let file = account.platform.path().join("queue.json");
    let mut wanted = queue();
    wanted["spec"]["visibilityTimeout"] = 90.into();
    std::fs::write(&file, wanted.to_string()).expect("it is ours");
    let (code, said) = account.terrace(&["plan", "-f", &file.display().to_string()]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("set VisibilityTimeout of queue orders"), "{said}");
    assert!(said.contains(r#"visibilityTimeout: "40" → "90""#), "{said}");
    assert_eq!(timeout(account), "40", "nothing was done");
    account.apply(&wanted);
    account.until("sqsqueue", "orders", "to be met", |_| timeout(account) == "90");
    account.ready("sqsqueue", "orders");
}

/// What is changed outside is put back and told, or only told.
fn drifted(account: &Account) {
    let url = account.moto.ask("sqs", "get_queue_url", json!({ "QueueName": "orders" }))["QueueUrl"].clone();
    let change = json!({ "QueueUrl": url, "Attributes": { "VisibilityTimeout": "7" } });
    account.moto.ask("sqs", "set_queue_attributes", change.clone());
    account.wake("sqsqueue", "orders");
    let told = account.until("sqsqueue", "orders", "to tell of the change", |it| {
        condition(it, "Synced")[1] == "DriftCorrected"
    });
    assert_eq!(timeout(account), "90");
    let drift = &told["status"]["drift"][0];
    assert_eq!((&drift["field"], &drift["actual"]), (&json!("visibilityTimeout"), &json!("7")), "{drift}");
    let events = account.platform.kubectl(&["get", "events", "-o", "json"]);
    assert!(events.contains("DriftCorrected"), "{events}");
    account.platform.kubectl(&["annotate", "sqs", "orders", "terrace.dev/mode=observe"]);
    account.moto.ask("sqs", "set_queue_attributes", change);
    account.wake("sqsqueue", "orders");
    account.until("sqsqueue", "orders", "to tell only", |it| condition(it, "Synced")[1] == "Drifted");
    assert_eq!(timeout(account), "7", "nothing is written");
    account.platform.kubectl(&["annotate", "sqs", "orders", "terrace.dev/mode-"]);
    account.until("sqsqueue", "orders", "to be put back", |_| timeout(account) == "90");
}

/// A bucket with something in it is not emptied behind anybody's back.
fn blocked(account: &Account) {
    let thing = json!({ "Bucket": "story-assets", "Key": "letter", "Body": "dear" });
    account.moto.ask("s3", "put_object", thing);
    account.platform.kubectl(&["delete", "s3bucket", "assets", "--wait=false"]);
    let held =
        account.until("s3bucket", "assets", "to be held", |it| condition(it, "DeletionBlocked")[0] == "True");
    assert!(condition(&held, "Ready")[2].contains("forceDestroy"), "{held}");
    let patch = json!({ "spec": { "forceDestroy": true } }).to_string();
    account.platform.kubectl(&["patch", "s3bucket", "assets", "--type=merge", "-p", &patch]);
    account.until("s3bucket", "assets", "to be gone", Value::is_null);
    let gone = account.moto.try_ask("s3", "head_bucket", json!({ "Bucket": "story-assets" }));
    assert_eq!(gone, Err("404".to_owned()));
}

/// The key is nowhere but in its Secret.
fn kept_secret(account: &mut Account) {
    let kinds = "awsproviders,s3buckets,sqsqueues,ec2instances,rdsinstances,events,configmaps";
    let mut told = vec![account.platform.kubectl(&["get", kinds, "-A", "-o", "json"])];
    told.push(account.platform.kubectl(&["describe", kinds]));
    told.push(Browser::new(account.platform.gateway).get("127.0.0.1", "/metrics").expect("metrics").body);
    let password = account.platform.kubectl(&[
        "get",
        "secret",
        "-o",
        "go-template={{range .items}}{{with .data.password}}{{. | base64decode}}{{\"\\n\"}}{{end}}{{end}}",
    ]);
    let passwords: Vec<&str> = password.lines().filter(|line| line.len() > 8).collect();
    assert!(!passwords.is_empty(), "a password was made");
    let log = std::fs::read_to_string(account.platform.path().join("stderr")).expect("its words");
    assert!(log.contains("TRACE"), "the platform tells everything");
    told.push(log);
    for text in told {
        for word in passwords.iter().chain([&CANARY]) {
            let place = text.find(word).map(|at| text[at.saturating_sub(300)..at].to_owned());
            assert_eq!(place, None, "a secret is told");
        }
    }
}

#[test]
fn resources_are_made_changed_put_back_and_deleted() {
    let mut account = Account::open();
    made(&account);
    planned(&account);
    drifted(&account);
    blocked(&account);
    kept_secret(&mut account);
    // Everything at once, the credentials included, as `kubectl delete -f` of one file does.
    account.platform.kubectl(&[
        "delete",
        "secret/aws",
        "awsprovider/dev",
        "sqs/orders",
        "ec2/bastion",
        "rds/shop",
        "--timeout=120s",
    ]);
    let queue = account.moto.try_ask("sqs", "get_queue_url", json!({ "QueueName": "orders" }));
    assert!(queue.is_err(), "{queue:?}");
    assert_eq!(running(&account), 0);
    let servers = account.moto.ask("rds", "describe_db_instances", json!({}));
    assert_eq!(servers["DBInstances"], json!([]));
    let kept = account.moto.ask("rds", "describe_db_snapshots", json!({}));
    assert_eq!(kept["DBSnapshots"].as_array().map(Vec::len), Some(1), "a last snapshot is there: {kept}");
    account.platform.stop("-TERM");
}
