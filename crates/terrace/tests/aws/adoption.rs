//! What an account holds already becomes objects, and nothing is touched before somebody says so.

use serde_json::{Value, json};

use crate::account::{Account, condition, object};
use crate::moto::REGION;

/// What somebody made by hand before.
fn furnish(account: &Account) {
    let location = json!({ "LocationConstraint": REGION });
    let bucket = json!({ "Bucket": "old.assets", "CreateBucketConfiguration": location });
    account.moto.ask("s3", "create_bucket", bucket);
    let on = json!({ "Bucket": "old.assets", "VersioningConfiguration": { "Status": "Enabled" } });
    account.moto.ask("s3", "put_bucket_versioning", on);
    let settings = json!({ "VisibilityTimeout": "33", "FifoQueue": "true" });
    account.moto.ask(
        "sqs",
        "create_queue",
        json!({ "QueueName": "old.fifo", "Attributes": settings, "tags": { "by": "hand" } }),
    );
    account.moto.ask(
        "rds",
        "create_db_instance",
        json!({
            "DBInstanceIdentifier": "ledger", "Engine": "postgres", "DBInstanceClass": "db.t4g.micro",
            "AllocatedStorage": 30, "MasterUsername": "books", "MasterUserPassword": "made-by-hand",
        }),
    );
    let images = account.moto.ask("ec2", "describe_images", json!({ "Owners": ["amazon"] }));
    let image = &images["Images"][0]["ImageId"];
    let run = json!({ "ImageId": image, "InstanceType": "t3.small", "MinCount": 1, "MaxCount": 1 });
    account.moto.ask("ec2", "run_instances", run);
}

/// Everything that AWS's own client says of it.
fn seen(account: &Account) -> Vec<Value> {
    let url =
        account.moto.ask("sqs", "get_queue_url", json!({ "QueueName": "old.fifo" }))["QueueUrl"].clone();
    let bucket = json!({ "Bucket": "old.assets" });
    let machines = account.moto.ask("ec2", "describe_instances", json!({}));
    let mut server = account.moto.ask("rds", "describe_db_instances", json!({}))["DBInstances"][0].clone();
    // It moves on by itself.
    server.as_object_mut().and_then(|fields| fields.remove("LatestRestorableTime")).expect("a server");
    vec![
        account.moto.ask("s3", "get_bucket_versioning", bucket.clone()),
        account.moto.try_ask("s3", "get_bucket_tagging", bucket).unwrap_or_default(),
        account.moto.ask(
            "sqs",
            "get_queue_attributes",
            json!({ "QueueUrl": url, "AttributeNames": ["All"] }),
        ),
        account.moto.ask("sqs", "list_queue_tags", json!({ "QueueUrl": url })),
        server,
        machines["Reservations"][0]["Instances"][0].clone(),
    ]
}

#[test]
fn what_is_there_is_written_down_watched_and_then_had() {
    let mut account = Account::open();
    furnish(&account);
    account.apply(&object("SQSQueue", "new", &json!({ "queueName": "new" })));
    account.ready("sqsqueue", "new");
    let before = seen(&account);
    let directory = account.platform.path().join("adopted");
    let place = directory.display().to_string();
    let (code, said) = account.terrace(&["adopt", "--provider", "dev", "-o", &place]);
    assert_eq!(code, 0, "{said}");
    for word in ["old.assets", "old.fifo", "ledger", "i-"] {
        assert!(said.contains(word), "{word} in {said}");
    }
    let held = format!("{}/new", account.platform.namespace);
    assert!(said.contains(&held) && said.contains("4 manifests"), "{said}");
    let files = std::fs::read_dir(&directory).expect("it is there").map(|file| file.expect("a file").path());
    let files: Vec<_> = files.collect();
    assert_eq!(files.len(), 4, "{files:?}");
    for file in &files {
        let (_, said) = account.terrace(&["plan", "-f", &file.display().to_string(), "-o", "json"]);
        let plan: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
        assert_eq!(plan[0]["draft"]["steps"], json!([]), "{plan:#}");
        assert!(!plan[0]["draft"]["status"].to_string().contains("drift"), "{plan:#}");
    }
    account.platform.kubectl(&["apply", "-f", &place]);
    let objects = ["s3bucket/old-assets", "sqsqueue/old-fifo", "rdsinstance/ledger"];
    let machine = account.platform.kubectl(&["get", "ec2", "-o", "name"]).trim().to_owned();
    let machine = machine.rsplit('/').next().expect("it has a name").to_owned();
    let machine = format!("ec2instance/{machine}");
    let all = objects.iter().copied().chain([machine.as_str()]);
    let all: Vec<(&str, &str)> = all.filter_map(|object| object.split_once('/')).collect();
    for (kind, name) in &all {
        let watched = account.ready(kind, name);
        assert_eq!(condition(&watched, "Synced")[0], "True", "{watched:#}");
    }
    assert_eq!(seen(&account), before, "nothing is written while they watch");
    account.platform.kubectl(&["annotate", "-f", &place, "terrace.dev/mode-"]);
    for (kind, name) in &all {
        let had = account.until(kind, name, "to be marked", |it| {
            it["status"]["tagKeys"]
                .as_array()
                .is_some_and(|keys| keys.iter().any(|key| key == "terrace.dev/owner"))
        });
        assert_eq!(condition(&had, "Synced")[0], "True", "{had:#}");
    }
    let tags = account.moto.ask("s3", "get_bucket_tagging", json!({ "Bucket": "old.assets" })).to_string();
    assert!(tags.contains("terrace.dev/owner"), "{tags}");
    // What somebody else made stays when its object goes.
    account.platform.kubectl(&["delete", "-f", &place, "--timeout=120s"]);
    let now = seen(&account);
    assert_eq!(now[0], before[0], "the bucket is as it was");
    assert_eq!(now[2]["Attributes"]["VisibilityTimeout"], "33");
    assert_eq!(now[5]["State"], before[5]["State"]);
    account.platform.stop("-TERM");
}

#[test]
fn a_provider_that_is_not_there_is_told_in_words() {
    let mut account = Account::open();
    let (code, said) = account.terrace(&["adopt", "--provider", "nobody"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("nobody does not exist"), "{said}");
    let (code, said) = account.terrace(&["adopt", "--provider", "Not A Name"]);
    assert_eq!(code, 2, "{said}");
    let (code, said) = account.terrace(&["adopt", "--provider", "dev", "--kinds", "dog"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("s3bucket"), "the kinds are named: {said}");
    account.platform.stop("-TERM");
}
