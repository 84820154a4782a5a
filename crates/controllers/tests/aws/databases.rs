//! `RDSInstance`s, looked at with AWS's own client.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::annotations::{ADOPT, APPROVE_PLAN, MODE};
use api::conditions::{DELETION_BLOCKED, READY, SYNCED, find};
use api::infra::RDSInstance;
use api::secret::Sealed;
use controllers::infra::{Kind, RDSInstances};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use kit::testing::{Bench, Gate, Scenario, converge, sweep};
use kit::{Name, Outcome, entered};
use ports::aws::{Account, Login};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::ground::{Ground, PATIENCE, REGION};

/// A password that must be seen nowhere but in Secrets.
const CANARY: &str = "Canary0Of0The0Master7Q";
/// How many passes something may take.
const PASSES: usize = 20;
/// How many specs are tried.
const SPECS: u32 = 8;

fn orders() -> Name {
    Name::new("default", "orders")
}

/// A server for which the spec says everything that it can.
fn every_field() -> Value {
    json!({
        "providerRef": { "name": "dev" }, "dbInstanceIdentifier": "Orders-DB", "engine": "postgres",
        "engineVersion": "15.4", "dbInstanceClass": "db.t4g.micro", "allocatedStorage": 20,
        "masterUsername": "root", "masterUserPasswordSecretRef": { "name": "master", "key": "word" },
        "dbName": "shop", "port": 5433, "multiAZ": true, "publiclyAccessible": true, "storageEncrypted": true,
        "backupRetentionPeriod": 7, "preferredBackupWindow": "03:00-04:00", "tags": { "app": "shop" },
        "deletionPolicy": "Delete",
    })
}

/// A server for which the spec says as little as it can.
fn few_fields() -> Value {
    json!({
        "providerRef": { "name": "dev" }, "dbInstanceIdentifier": "orders-db", "engine": "postgres",
        "dbInstanceClass": "db.t4g.micro", "allocatedStorage": 20, "masterUsername": "root",
        "skipFinalSnapshot": true,
    })
}

fn with(mut spec: Value, more: Value) -> Value {
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    spec
}

fn password(word: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "master", "namespace": "default" },
        "stringData": { "word": word },
    })
}

/// One server in an account as it is.
fn beside(ground: &Arc<Ground>, gate: &Gate, spec: Value, notes: Value) -> Scenario<RDSInstances> {
    let [secret, provider] = ground.provider();
    let object = json!({ "metadata": { "name": "orders", "namespace": "default", "annotations": notes }, "spec": spec });
    Scenario::new(RDSInstances::new(ground.desk(gate)), object)
        .given(secret)
        .given(provider)
        .given(password(CANARY))
        .patience(PATIENCE)
        .outside({
            let ground = ground.clone();
            move || format!("{:?}\n{:?}", seen(&ground), snapshots(&ground).len())
        })
}

/// One server in an empty account.
fn alone(ground: &Arc<Ground>, gate: &Gate, spec: &Value) -> Scenario<RDSInstances> {
    empty(ground);
    beside(ground, gate, spec.clone(), json!({}))
}

/// Removes the server and its snapshots. To forget everything takes longer: the network has to be made anew.
fn empty(ground: &Ground) {
    if seen(ground).is_some() {
        modify(ground, json!({ "DeletionProtection": false }));
        let gone = json!({ "DBInstanceIdentifier": "orders-db", "SkipFinalSnapshot": true });
        ground.ask("rds", "delete_db_instance", gone);
    }
    for name in snapshots(ground) {
        ground.ask("rds", "delete_db_snapshot", json!({ "DBSnapshotIdentifier": name }));
    }
}

/// The server, as AWS's own client sees it.
fn seen(ground: &Ground) -> Option<BTreeMap<String, Value>> {
    let asked = json!({ "DBInstanceIdentifier": "orders-db" });
    let found = ground.try_ask("rds", "describe_db_instances", asked).ok()?["DBInstances"][0].take();
    let mut found: BTreeMap<String, Value> = serde_json::from_value(found).expect("an object");
    // No two servers were made at the same time.
    found.retain(|key, _| {
        !["InstanceCreateTime", "LatestRestorableTime", "VpcSecurityGroups"].contains(&key.as_str())
    });
    Some(found)
}

fn tags(ground: &Ground) -> BTreeMap<String, String> {
    let list = seen(ground).expect("it is there")["TagList"].clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    list.as_array().into_iter().flatten().map(|tag| (text(&tag["Key"]), text(&tag["Value"]))).collect()
}

/// Snapshots that somebody asked for.
fn snapshots(ground: &Ground) -> Vec<String> {
    let all = ground.ask("rds", "describe_db_snapshots", json!({ "SnapshotType": "manual" }));
    let all = all["DBSnapshots"].as_array().cloned().unwrap_or_default();
    all.iter().map(|one| one["DBSnapshotIdentifier"].as_str().unwrap_or_default().to_owned()).collect()
}

fn modify(ground: &Ground, change: Value) {
    let asked = with(json!({ "DBInstanceIdentifier": "orders-db", "ApplyImmediately": true }), change);
    ground.ask("rds", "modify_db_instance", asked);
}

/// A settled server, and the room that goes on with it.
async fn settled(ground: &Arc<Ground>, spec: &Value) -> (Bench, RDSInstances) {
    let bench = converge(|gate| alone(ground, gate, spec)).await;
    let room = RDSInstances::new(ground.desk(bench.gate()));
    (bench, room)
}

/// Runs passes until nothing is left to do, and returns what they wrote.
async fn passes(bench: &Bench, room: &RDSInstances) -> Vec<String> {
    bench.gate().take();
    for _ in 0..PASSES {
        match bench.pass(room, &orders()).await {
            Ok(Outcome::After(delay)) if delay < PATIENCE => bench.clock().advance(delay),
            Ok(_) => return bench.gate().writes(),
            Err(fault) => panic!("{}", fault.story()),
        }
    }
    panic!("there is still something to do: {:?}", bench.gate().writes());
}

async fn object(bench: &Bench) -> RDSInstance {
    bench.get::<RDSInstance>("default", "orders").await.expect("it is there")
}

/// A condition: its status, its reason and its message.
async fn condition(bench: &Bench, type_: &str) -> (String, String, String) {
    let status = object(bench).await.status.unwrap_or_default();
    let found = find(&status.conditions, type_).cloned().unwrap_or_else(|| panic!("{type_} is not said"));
    (found.status, found.reason, found.message)
}

async fn key(bench: &Bench, secret: &str, key: &str) -> Option<String> {
    let secret = bench.get::<Secret>("default", secret).await?;
    let value = secret.data?.remove(key)?;
    Some(String::from_utf8(value.0).expect("text"))
}

/// What AWS was asked to change, without what was written to the cluster.
fn asked(writes: &[String]) -> Vec<&String> {
    writes.iter().filter(|write| !write.contains('/')).collect()
}

pub async fn a_database_converges_with_every_field(ground: &Arc<Ground>) {
    let (bench, _) = settled(ground, &every_field()).await;
    let found = seen(ground).expect("it is there");
    let rows = [
        ("Engine", json!("postgres")),
        ("EngineVersion", json!("15.4")),
        ("DBInstanceClass", json!("db.t4g.micro")),
        ("AllocatedStorage", json!(20)),
        ("MasterUsername", json!("root")),
        ("DBName", json!("shop")),
        ("MultiAZ", json!(true)),
        ("PubliclyAccessible", json!(true)),
        ("StorageEncrypted", json!(true)),
        ("BackupRetentionPeriod", json!(7)),
        ("PreferredBackupWindow", json!("03:00-04:00")),
    ];
    for (name, want) in rows {
        assert_eq!(found[name], want, "{name}");
    }
    let host = found["Endpoint"]["Address"].as_str().expect("a host");
    assert_eq!(found["Endpoint"]["Port"], 5433);
    let all = [("app", "shop"), ("team", "shop"), ("terrace.dev/owner", "default/orders")];
    assert_eq!(tags(ground), all.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
    assert_eq!(ground.last_password().as_deref(), Some(CANARY));
    let status = object(&bench).await.status.expect("a status");
    assert!(status.ready);
    assert_eq!((status.endpoint.as_deref(), status.port), (Some(host), Some(5433)));
    assert_eq!((status.status.as_deref(), status.allocated_storage), (Some("available"), Some(20)));
    assert_eq!(status.engine_version.as_deref(), Some("15.4"));
    let secret = status.connection_secret_ref.expect("a connection");
    let uri = format!("postgres://root:{CANARY}@{host}:5433/shop?sslmode=require");
    let rows = [
        ("uri", uri.as_str()),
        ("uri_dsn.txt", &uri),
        ("host", host),
        ("hostname", host),
        ("port", "5433"),
        ("database", "shop"),
        ("dbname", "shop"),
        ("username", "root"),
        ("password", CANARY),
        ("sslmode", "require"),
    ];
    for (name, want) in rows {
        assert_eq!(key(&bench, secret.as_str(), name).await.as_deref(), Some(want), "{name}");
    }
}

pub async fn a_database_survives_any_broken_call(ground: &Arc<Ground>) {
    let spec = with(few_fields(), json!({ "skipFinalSnapshot": false }));
    sweep(|gate| alone(ground, gate, &spec).draws_passwords().keeps_something()).await;
    assert_eq!(seen(ground), None, "the server is gone");
    assert_eq!(snapshots(ground).len(), 1, "its last snapshot is not");
}

pub async fn every_field_of_a_database_that_can_change_is_changed(ground: &Arc<Ground>) {
    let (bench, room) = settled(ground, &every_field()).await;
    let rows = [
        ("engineVersion", json!("16.2"), "EngineVersion", json!("16.2")),
        ("dbInstanceClass", json!("db.m6g.large"), "DBInstanceClass", json!("db.m6g.large")),
        ("allocatedStorage", json!(40), "AllocatedStorage", json!(40)),
        ("multiAZ", json!(false), "MultiAZ", json!(false)),
        ("publiclyAccessible", json!(false), "PubliclyAccessible", json!(false)),
        ("backupRetentionPeriod", json!(0), "BackupRetentionPeriod", json!(0)),
        ("preferredBackupWindow", json!("01:00-02:00"), "PreferredBackupWindow", json!("01:00-02:00")),
    ];
    for (field, value, name, want) in rows {
        bench.patch::<RDSInstance>(&orders(), json!({ "spec": { field: value } })).await;
        assert_eq!(asked(&passes(&bench, &room).await), ["ModifyDBInstance"], "{field}");
        assert_eq!(seen(ground).expect("it is there")[name], want, "{field}");
        assert_eq!(object(&bench).await.status.unwrap_or_default().drift, [], "{field} was asked for");
    }
    bench.patch::<RDSInstance>(&orders(), json!({ "spec": { "tags": { "app": null, "tier": "" } } })).await;
    let writes = passes(&bench, &room).await;
    assert_eq!(asked(&writes), ["AddTagsToResource", "RemoveTagsFromResource"]);
    let keys: Vec<String> = tags(ground).into_keys().collect();
    assert_eq!(keys, ["team", "terrace.dev/owner", "tier"]);
    // Several at once are one call; `16` is met by what runs.
    let many = json!({ "allocatedStorage": 60, "multiAZ": true, "engineVersion": "16" });
    bench.patch::<RDSInstance>(&orders(), json!({ "spec": many })).await;
    assert_eq!(asked(&passes(&bench, &room).await), ["ModifyDBInstance"]);
    assert_eq!(seen(ground).expect("it is there")["EngineVersion"], "16.2");
    for (version, want) in [("15", "no way back to 15"), ("16.1", "no way back to 16.1")] {
        bench.patch::<RDSInstance>(&orders(), json!({ "spec": { "engineVersion": version } })).await;
        assert_eq!(asked(&passes(&bench, &room).await), Vec::<&String>::new());
        let (status, reason, message) = condition(&bench, READY).await;
        assert_eq!((status.as_str(), reason.as_str()), ("False", "InvalidSpec"));
        assert!(message.contains(want), "{message}");
    }
}

pub async fn what_was_changed_outside_is_put_back_and_told(ground: &Arc<Ground>) {
    let (bench, room) = settled(ground, &every_field()).await;
    modify(ground, json!({ "DBInstanceClass": "db.x2.huge", "BackupRetentionPeriod": 1 }));
    let arn = seen(ground).expect("it is there")["DBInstanceArn"].clone();
    let theirs = json!([{ "Key": "app", "Value": "theirs" }, { "Key": "cost", "Value": "17" }]);
    ground.ask("rds", "add_tags_to_resource", json!({ "ResourceName": arn, "Tags": theirs }));
    let writes = passes(&bench, &room).await;
    assert_eq!(asked(&writes), ["ModifyDBInstance", "AddTagsToResource"]);
    let found = seen(ground).expect("it is there");
    assert_eq!(
        (&found["DBInstanceClass"], &found["BackupRetentionPeriod"]),
        (&json!("db.t4g.micro"), &json!(7))
    );
    let all = tags(ground);
    assert_eq!((all["app"].as_str(), all["cost"].as_str()), ("shop", "17"), "tags of others stay");
    let status = object(&bench).await.status.expect("a status");
    let told: Vec<_> =
        status.drift.iter().map(|drift| (drift.field.as_str(), drift.actual.as_str())).collect();
    let want = [("dbInstanceClass", "db.x2.huge"), ("backupRetentionPeriod", "1"), ("tags[app]", "theirs")];
    assert_eq!(told, want);
    let (status, reason, message) = condition(&bench, SYNCED).await;
    assert_eq!((status.as_str(), reason.as_str()), ("True", "DriftCorrected"));
    assert!(message.contains("dbInstanceClass was \"db.x2.huge\", is \"db.t4g.micro\""), "{message}");
    // Somebody deletes it: it is made anew.
    let gone = json!({ "DBInstanceIdentifier": "orders-db", "SkipFinalSnapshot": true });
    ground.ask("rds", "delete_db_instance", gone);
    assert_eq!(asked(&passes(&bench, &room).await), ["CreateDBInstance"]);
    assert!(object(&bench).await.status.expect("a status").ready);
}

pub async fn a_database_that_is_only_watched_is_never_changed(ground: &Arc<Ground>) {
    let (bench, room) = settled(ground, &every_field()).await;
    modify(ground, json!({ "DBInstanceClass": "db.x2.huge" }));
    let watch = json!({ "metadata": { "annotations": { MODE: "observe" } } });
    bench.patch::<RDSInstance>(&orders(), watch).await;
    assert_eq!(asked(&passes(&bench, &room).await), Vec::<&String>::new());
    let (status, reason, message) = condition(&bench, SYNCED).await;
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Drifted"));
    assert!(message.contains("differs in dbInstanceClass"), "{message}");
    assert_eq!(object(&bench).await.status.expect("a status").drift[0].actual, "db.x2.huge");
    bench.delete::<RDSInstance>(&orders()).await;
    assert_eq!(asked(&passes(&bench, &room).await), Vec::<&String>::new());
    assert_eq!(seen(ground).expect("it stays")["DBInstanceClass"], "db.x2.huge");
}

/// A server that somebody else made.
fn made_by_others(ground: &Ground) {
    empty(ground);
    let made = json!({
        "DBInstanceIdentifier": "orders-db", "Engine": "postgres", "EngineVersion": "15.4", "AllocatedStorage": 20,
        "DBInstanceClass": "db.m6g.large", "MasterUsername": "root", "MasterUserPassword": "theirs-alone",
        "PubliclyAccessible": false, "Tags": [{ "Key": "cost", "Value": "17" }],
    });
    ground.ask("rds", "create_db_instance", made);
}

pub async fn a_database_of_others_is_taken_over_only_when_asked_and_approved(ground: &Arc<Ground>) {
    made_by_others(ground);
    let before = seen(ground);
    let bench = converge(|gate| beside(ground, gate, few_fields(), json!({}))).await;
    let room = RDSInstances::new(ground.desk(bench.gate()));
    let (status, reason, _) = condition(&bench, SYNCED).await;
    assert_eq!((status.as_str(), reason.as_str()), ("False", "NotOurs"));
    let adopt = json!({ "metadata": { "annotations": { ADOPT: "true" } } });
    bench.patch::<RDSInstance>(&orders(), adopt).await;
    assert_eq!(asked(&passes(&bench, &room).await), Vec::<&String>::new());
    assert_eq!(seen(ground), before, "nothing is written before somebody approves");
    let (_, reason, message) = condition(&bench, SYNCED).await;
    assert_eq!(reason, "AwaitingApproval");
    let digest = message.rsplit(&format!("{APPROVE_PLAN}: ")).next().and_then(|rest| rest.split(' ').next());
    let approve = json!({ "metadata": { "annotations": { APPROVE_PLAN: digest.expect("a digest") } } });
    bench.patch::<RDSInstance>(&orders(), approve).await;
    assert_eq!(asked(&passes(&bench, &room).await), ["ModifyDBInstance", "AddTagsToResource"]);
    assert_eq!(seen(ground).expect("it is there")["DBInstanceClass"], "db.t4g.micro");
    assert_eq!(tags(ground)["terrace.dev/owner"], "default/orders");
    // Its password is theirs: none is drawn, and no connection is told.
    let (status, _, message) = condition(&bench, READY).await;
    assert_eq!(status, "True");
    assert!(message.contains("masterUserPasswordSecretRef"), "{message}");
    for name in ["orders-connection", "orders-master-password"] {
        assert!(bench.get::<Secret>("default", name).await.is_none(), "{name}");
    }
    let named = json!({ "spec": { "masterUserPasswordSecretRef": { "name": "master", "key": "word" } } });
    bench.patch::<RDSInstance>(&orders(), named).await;
    assert_eq!(asked(&passes(&bench, &room).await), Vec::<&String>::new(), "whoever brings it knows it");
    assert_eq!(key(&bench, "orders-connection", "password").await.as_deref(), Some(CANARY));
}

pub async fn a_database_goes_as_its_policy_says(ground: &Arc<Ground>) {
    let rows = [
        (json!({ "deletionPolicy": "Delete", "skipFinalSnapshot": false }), vec!["DeleteDBInstance"], 1),
        (json!({ "deletionPolicy": "Delete", "skipFinalSnapshot": true }), vec!["DeleteDBInstance"], 0),
        (json!({ "deletionPolicy": "Retain" }), vec![], 0),
        (json!({ "deletionPolicy": "Orphan" }), vec!["RemoveTagsFromResource"], 0),
    ];
    for (policy, want, kept) in rows {
        let (bench, room) = settled(ground, &with(few_fields(), policy.clone())).await;
        let drawn = key(&bench, "orders-master-password", "password").await.expect("it was drawn");
        assert_eq!(ground.last_password().as_ref(), Some(&drawn), "{policy}");
        bench.delete::<RDSInstance>(&orders()).await;
        assert_eq!(asked(&passes(&bench, &room).await), want, "{policy}");
        assert!(bench.get::<RDSInstance>("default", "orders").await.is_none(), "{policy}");
        let goes = policy["deletionPolicy"] == "Delete";
        assert_eq!(seen(ground).is_none(), goes, "{policy}");
        let taken = snapshots(ground);
        assert_eq!(taken.len(), kept, "{policy}");
        assert!(taken.iter().all(|name| name.starts_with("orders-db-final-20")), "{taken:?}");
        if !goes {
            let marked = tags(ground).contains_key("terrace.dev/owner");
            assert_eq!(marked, policy["deletionPolicy"] == "Retain", "{policy}");
        }
        // Whoever keeps the server can still log in.
        let left = key(&bench, "orders-master-password", "password").await;
        assert_eq!(left, (!goes).then_some(drawn), "{policy}");
    }
}

pub async fn a_protected_database_stays(ground: &Arc<Ground>) {
    let (bench, room) = settled(ground, &few_fields()).await;
    modify(ground, json!({ "DeletionProtection": true }));
    bench.delete::<RDSInstance>(&orders()).await;
    assert_eq!(asked(&passes(&bench, &room).await), Vec::<&String>::new());
    let (status, reason, message) = condition(&bench, DELETION_BLOCKED).await;
    assert_eq!((status.as_str(), reason.as_str()), ("True", "DeletionProtection"));
    assert!(message.contains("take DeletionProtection off"), "{message}");
    modify(ground, json!({ "DeletionProtection": false }));
    assert_eq!(asked(&passes(&bench, &room).await), ["DeleteDBInstance"]);
    assert_eq!(seen(ground), None);
}

pub async fn a_password_changes_with_its_secret_and_is_told_nowhere(ground: &Arc<Ground>) {
    let (bench, room) = settled(ground, &every_field()).await;
    let next = format!("{CANARY}again");
    let secret = Name::new("default", "master");
    bench.patch::<Secret>(&secret, json!({ "stringData": { "word": next } })).await;
    let drafted = entered(RDSInstances::new(ground.desk(bench.gate())))
        .draft(bench.tools(), serde_json::to_value(object(&bench).await).expect("an object"))
        .await;
    let drafted = serde_json::to_string(&drafted.expect("a plan")).expect("JSON");
    assert!(drafted.contains("change the password of database server orders-db"), "{drafted}");
    // Neither as it is nor as a Secret writes it.
    assert!(!drafted.contains("Canary") && !drafted.contains("Q2FuYXJ5"), "{drafted}");
    assert_eq!(asked(&passes(&bench, &room).await), ["ModifyDBInstance"]);
    assert_eq!(ground.last_password().as_ref(), Some(&next));
    assert_eq!(key(&bench, "orders-connection", "password").await.as_ref(), Some(&next));
    assert_eq!(object(&bench).await.status.unwrap_or_default().drift, [], "nobody changed it outside");
    assert_eq!(asked(&passes(&bench, &room).await), Vec::<&String>::new());
    // Nobody knows what was set last once the connection is gone: it is set again.
    bench.delete::<Secret>(&Name::new("default", "orders-connection")).await;
    assert_eq!(asked(&passes(&bench, &room).await), ["ModifyDBInstance"]);
    assert_eq!(key(&bench, "orders-connection", "password").await.as_ref(), Some(&next));
    // In plain text it works, and is warned of.
    let plain = format!("{CANARY}plain");
    let spec = json!({ "masterUserPassword": plain, "masterUserPasswordSecretRef": null });
    bench.patch::<RDSInstance>(&orders(), json!({ "spec": spec })).await;
    assert_eq!(asked(&passes(&bench, &room).await), ["ModifyDBInstance"]);
    assert_eq!(ground.last_password().as_ref(), Some(&plain));
    let (status, _, message) = condition(&bench, READY).await;
    assert_eq!(status, "True");
    assert!(message.contains("put it into a Secret"), "{message}");
    let bad = format!("{CANARY}@");
    bench.patch::<RDSInstance>(&orders(), json!({ "spec": { "masterUserPassword": bad } })).await;
    assert_eq!(asked(&passes(&bench, &room).await), Vec::<&String>::new());
    assert!(condition(&bench, READY).await.2.contains("which RDS does not take"));
    let state = bench.state("").await.to_string();
    let written = |line: &&str| !line.starts_with("Secret ") && !line.contains(" spec masterUserPassword ");
    let told: Vec<&str> = state.lines().filter(written).filter(|line| line.contains("Canary")).collect();
    assert_eq!(told, Vec::<&str>::new());
    let events = kube::Api::<Event>::namespaced(bench.client().clone(), "default");
    let events = events.list(&kube::api::ListParams::default()).await.expect("they can be listed");
    assert!(!events.items.is_empty(), "conditions changed, and that is told");
    assert!(!format!("{events:?}").contains("Canary"));
}

pub async fn a_database_without_its_password_is_not_made(ground: &Arc<Ground>) {
    let rows = [
        (
            json!({ "name": "nowhere", "key": "word" }),
            "Secret default/nowhere with the administrator's password does not exist",
        ),
        (
            json!({ "name": "master", "key": "none" }),
            "Secret default/master with the administrator's password has no key none",
        ),
    ];
    for (named, want) in rows {
        let spec = with(every_field(), json!({ "masterUserPasswordSecretRef": named }));
        let (bench, room) = settled(ground, &spec).await;
        assert_eq!(seen(ground), None);
        let (status, reason, message) = condition(&bench, READY).await;
        assert_eq!((status.as_str(), reason.as_str()), ("False", "CredentialsMissing"));
        assert_eq!(message, want);
        bench.delete::<RDSInstance>(&orders()).await;
        assert_eq!(asked(&passes(&bench, &room).await), Vec::<&String>::new());
        assert!(bench.get::<RDSInstance>("default", "orders").await.is_none());
    }
}

pub async fn an_inventory_asks_for_what_is_there(ground: &Arc<Ground>) {
    made_by_others(ground);
    let account = Account {
        provider: "default/dev".into(),
        region: REGION.into(),
        endpoint: Some(ground.endpoint.clone()),
        login: Login::Keys { id: Sealed::new("a".into()), secret: Sealed::new("b".into()), token: None },
        role: None,
    };
    let provider = serde_json::from_value(json!({ "name": "dev" })).expect("a reference");
    let desk = ground.desk(&Gate::default());
    let found = desk.found(&account, &provider, Kind::RDSInstance).await.expect("it is read");
    let [one] = found.as_slice() else { panic!("one server: {found:?}") };
    assert_eq!((one.name(), one.resource.as_str(), &one.owner), ("orders-db", "orders-db", &None));
    let spec = one.manifest["spec"].clone();
    assert_eq!(spec["tags"], json!({ "cost": "17" }));
    assert_eq!(spec["deletionPolicy"], "Retain");
    let before = seen(ground);
    let provided = with(spec, json!({ "providerRef": { "name": "plain" } }));
    let watched = json!({ MODE: "observe" });
    let bench = converge(|gate| plain(ground, beside(ground, gate, provided.clone(), watched.clone()))).await;
    assert_eq!(condition(&bench, SYNCED).await.1, "Available", "{:?}", object(&bench).await.status);
    assert_eq!(seen(ground), before, "nothing differs");
    let adopted = json!({ ADOPT: "true" });
    let bench = converge(|gate| plain(ground, beside(ground, gate, provided.clone(), adopted.clone()))).await;
    let status = object(&bench).await.status.expect("a status");
    assert!(status.ready && status.drift.is_empty() && status.connection_secret_ref.is_none(), "{status:?}");
    // Only the mark came, and nobody had to approve anything.
    let mut after = seen(ground).expect("it is there");
    assert_eq!(tags(ground)["terrace.dev/owner"], "default/orders");
    after.insert("TagList".to_owned(), json!([{ "Key": "cost", "Value": "17" }]));
    assert_eq!(Some(after), before);
}

/// The same, with a provider that has no tags of its own.
fn plain(ground: &Ground, scenario: Scenario<RDSInstances>) -> Scenario<RDSInstances> {
    let [_, mut provider] = ground.provider();
    provider["metadata"]["name"] = "plain".into();
    provider["spec"]["defaultTags"] = json!({});
    scenario.given(provider)
}

fn any_spec() -> impl Strategy<Value = Value> {
    let version = prop::option::of(prop::sample::select(vec!["14", "15.4", "16.2"]));
    let few = (version, 20..200_i32, any::<[bool; 4]>(), prop::option::of(0..=35_i32));
    // Not where the server of the tests has its window for maintenance: AWS refuses both at once.
    let window = prop::option::of((8..23_u8).prop_map(|hour| format!("{hour:02}:10-{hour:02}:50")));
    let tags = prop::collection::btree_map("[a-z]{1,8}", "[a-zA-Z0-9 ]{0,8}", 0..4);
    let more = (window, tags, prop::option::of(1150..9999_i32), prop::option::of("[a-z]{3,12}"));
    (few, more).prop_map(|((version, storage, [multi, public, encrypted, given], days), more)| {
        let (window, tags, port, database) = more;
        let mut spec = with(
            few_fields(),
            json!({
                "allocatedStorage": storage, "multiAZ": multi, "publiclyAccessible": public,
                "storageEncrypted": encrypted, "tags": tags,
            }),
        );
        let mut optional = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                spec[name] = value;
            }
        };
        optional("engineVersion", version.map(Value::from));
        optional("backupRetentionPeriod", days.map(Value::from));
        optional("preferredBackupWindow", window.map(Value::from));
        optional("port", port.map(Value::from));
        optional("dbName", database.map(Value::from));
        optional("masterUserPasswordSecretRef", given.then(|| json!({ "name": "master", "key": "word" })));
        spec
    })
}

/// Whether AWS's own client sees what the spec says.
fn agrees(ground: &Ground, spec: &Value) {
    let found = seen(ground).expect("it is there");
    let rows = [
        ("engineVersion", found["EngineVersion"].clone()),
        ("dbInstanceClass", found["DBInstanceClass"].clone()),
        ("allocatedStorage", found["AllocatedStorage"].clone()),
        ("multiAZ", found["MultiAZ"].clone()),
        ("publiclyAccessible", found["PubliclyAccessible"].clone()),
        ("storageEncrypted", found["StorageEncrypted"].clone()),
        ("backupRetentionPeriod", found["BackupRetentionPeriod"].clone()),
        ("preferredBackupWindow", found["PreferredBackupWindow"].clone()),
        ("port", found["Endpoint"]["Port"].clone()),
        ("dbName", found.get("DBName").cloned().unwrap_or_default()),
        ("masterUsername", found["MasterUsername"].clone()),
    ];
    for (name, held) in rows {
        assert!(spec[name].is_null() || spec[name] == held, "{name}: {held} in {spec}");
    }
    let all = tags(ground);
    for (name, value) in spec["tags"].as_object().into_iter().flatten() {
        assert_eq!(Some(all[name].as_str()), value.as_str(), "{name} in {spec}");
    }
}

pub async fn any_database_converges_and_is_as_its_spec_says(ground: &Arc<Ground>) {
    let mut runner = TestRunner::new(Config { cases: SPECS, failure_persistence: None, ..Config::default() });
    let outcome = tokio::task::block_in_place(|| {
        runner.run(&any_spec(), |spec| {
            let work = async {
                // It asserts that one more pass writes nothing.
                converge(|gate| alone(ground, gate, &spec)).await;
                agrees(ground, &spec);
            };
            tokio::runtime::Handle::current().block_on(work);
            Ok(())
        })
    });
    outcome.expect("any spec is met");
}
