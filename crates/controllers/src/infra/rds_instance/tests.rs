//! Every rule by table, and servers beside their objects through the two tests of every kind.

use std::sync::Arc;

use api::annotations::{ADOPT, MODE};
use api::conditions::{DELETION_BLOCKED, READY, SYNCED, find};
use api::foreign::cnpg::{Backup, Cluster};
use api::infra::RDSInstance;
use api::secret::Sealed;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kit::Next;
use kit::testing::{Gate, Scenario, converge, sweep};
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt};
use ports::aws::{Account, Aws, Database, DatabaseSettings, Login};
use serde_json::{Value, json};

use super::RDSInstances;
use super::plan::{Here, Password, Site, World, plan};
use crate::infra::Desk;
use crate::infra::desk::{self, Open, Sight};

const FIRST: &str = "first-canary";
const SECOND: &str = "second-canary";

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().expect("a time")
}

/// A server in the words of its spec, which was met before.
fn instance(more: Value) -> RDSInstance {
    let mut value = json!({
        "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": "RDSInstance",
        "metadata": { "name": "orders", "namespace": "team", "uid": "u", "generation": 2 },
        "spec": {
            "providerRef": { "name": "dev" }, "dbInstanceIdentifier": "Orders", "engine": "postgres",
            "engineVersion": "15.4", "dbInstanceClass": "db.small", "allocatedStorage": 20,
            "masterUsername": "root", "masterUserPasswordSecretRef": { "name": "master", "key": "word" },
        },
        "status": {
            "ready": true, "observedGeneration": 2, "tagKeys": ["terrace.dev/owner"],
            "lastSyncTime": "2026-01-01T11:59:00Z", "connectionSecretRef": "orders-connection",
        },
    });
    merge(&mut value, &more);
    serde_json::from_value(value).expect("an RDSInstance")
}

fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            more.iter().for_each(|(key, value)| merge(into.entry(key).or_insert(Value::Null), value));
        }
        (into, more) => *into = more.clone(),
    }
}

fn live() -> Database {
    Database {
        id: "orders".into(),
        arn: "arn:aws:rds:eu:1:db:orders".into(),
        status: "available".into(),
        engine: "postgres".into(),
        master_username: "root".into(),
        host: Some("orders.example".into()),
        minor_upgrades: true,
        settings: DatabaseSettings {
            engine_version: Some("15.4".into()),
            class: Some("db.small".into()),
            storage_gib: Some(20),
            port: Some(5432),
            multi_az: Some(false),
            public: Some(false),
            backup_days: Some(1),
            backup_window: Some("01:00-02:00".into()),
        },
        tags: [("terrace.dev/owner".to_owned(), "team/orders".to_owned())].into(),
        ..Database::default()
    }
}

fn changed(change: impl FnOnce(&mut Database)) -> Option<Database> {
    let mut live = live();
    change(&mut live);
    Some(live)
}

fn word(status: &str) -> Option<Database> {
    changed(|live| live.status = status.to_owned())
}

fn world(found: Option<Database>, password: Password, applied: Option<&str>) -> World {
    let account = Account {
        provider: "team/dev".into(),
        region: "eu".into(),
        endpoint: None,
        login: Login::WebIdentity { role: "role".into() },
        role: None,
    };
    let open = Open { account: Arc::new(account), default_tags: [].into(), found, _place: None };
    World {
        now: now(),
        site: Site::Cloud(Box::new(desk::World { now: now(), sight: Sight::Open(open) })),
        password,
        drawn: false,
        applied: applied.map(|applied| Sealed::new(applied.to_owned())),
        spare: Sealed::new("drawn-canary".into()),
    }
}

/// A world in which the password is where it should be.
fn seen(found: Option<Database>) -> World {
    world(found, known(FIRST), Some(FIRST))
}

fn known(word: &str) -> Password {
    Password::Known(Sealed::new(word.into()))
}

/// The plan in words: its steps, what `Ready` says, and when to look again. It never holds a password.
fn told(instance: &RDSInstance, world: &World) -> String {
    let plan = match plan(instance, world) {
        Ok(plan) => plan,
        Err(refusal) => return format!("refused: {}", refusal.message),
    };
    let mut words: Vec<String> = plan.steps.iter().map(ToString::to_string).collect();
    let ready = find(&plan.status.conditions, READY).map(|ready| match ready.message.as_str() {
        "" => ready.reason.clone(),
        message => format!("{}: {message}", ready.reason),
    });
    words.extend(ready);
    words.push(match plan.next {
        Next::After(delay) => format!("{delay:?}"),
        other => format!("{other:?}"),
    });
    let all = format!("{} {plan:?}", words.join("; "));
    assert!(!all.contains("canary"), "a password is told: {all}");
    words.join("; ")
}

const PUBLISHED: &str = "apply Secret team/orders-connection; Available; 300s";

#[test]
fn a_server_is_waited_for_in_every_state_of_aws() {
    let table = [
        ("available", PUBLISHED),
        ("backing-up", PUBLISHED),
        ("storage-optimization", PUBLISHED),
        ("creating", "Provisioning: database server orders is creating; 10s"),
        ("modifying", "Provisioning: database server orders is modifying; 10s"),
        ("rebooting", "Provisioning: database server orders is rebooting; 10s"),
        ("something-new", "Provisioning: database server orders is something-new; 10s"),
        (
            "deleting",
            "Provisioning: database server orders is being deleted, and is made anew when it is gone; 10s",
        ),
        ("failed", "failed: database server orders is failed: restore it from a backup; 60s"),
        ("storage-full", "storage_full: database server orders is storage-full: raise allocatedStorage; 60s"),
        (
            "stopped",
            "stopped: database server orders is stopped: start it; nothing is changed until then; 60s",
        ),
        (
            "incompatible-parameters",
            "incompatible_parameters: database server orders is incompatible-parameters: its parameter group does not fit; AWS's events tell why; 60s",
        ),
    ];
    for (status, want) in table {
        assert_eq!(told(&instance(json!({})), &seen(word(status))), want, "{status}");
    }
}

#[test]
fn changes_are_asked_for_only_where_they_are_taken() {
    let larger = || instance(json!({ "spec": { "dbInstanceClass": "db.large", "allocatedStorage": 40 } }));
    let change = "change dbInstanceClass, allocatedStorage of database server orders";
    let held = |word: &str| {
        format!("Provisioning: database server orders is {word}, and takes changes after that: {change}; 10s")
    };
    let table = [
        (
            "available",
            format!("{change}; apply Secret team/orders-connection; Provisioning: database server orders is being changed; 10s"),
        ),
        ("backing-up", held("backing-up")),
        ("modifying", held("modifying")),
        ("stopped", held("stopped")),
        (
            "storage-full",
            "change allocatedStorage of database server orders; storage_full: database server orders is storage-full: raise allocatedStorage; 60s"
                .into(),
        ),
    ];
    for (status, want) in table {
        assert_eq!(told(&larger(), &seen(word(status))), want, "{status}");
    }
}

#[test]
fn what_aws_is_about_to_change_is_not_asked_for_again() {
    let larger = || instance(json!({ "spec": { "dbInstanceClass": "db.large" } }));
    let soon = |class: &str| changed(|live| live.pending.class = Some(class.to_owned()));
    let waits = |class: &str| {
        format!(
            "apply Secret team/orders-connection; Provisioning: database server orders waits for AWS to change it: dbInstanceClass becomes {class}; 60s"
        )
    };
    assert_eq!(told(&larger(), &seen(soon("db.large"))), waits("db.large"));
    assert_eq!(told(&larger(), &seen(soon("db.huge"))), waits("db.huge"), "one change after the other");
    assert_eq!(told(&instance(json!({})), &seen(soon("db.huge"))), PUBLISHED, "it is as asked until then");
}

#[test]
fn versions_are_compared_as_precisely_as_they_are_written() {
    let change = |version: &str| {
        format!(
            "change engineVersion of database server orders; apply Secret team/orders-connection; Provisioning: database server orders is being changed; 10s{version}"
        )
    };
    let back = |asked: &str| {
        format!(
            "refused: database server orders runs version 15.4, and there is no way back to {asked}; write 15.4, or restore a backup into another server"
        )
    };
    // The wanted version, the generation that was met, and what is done.
    let table = [
        ("15", 1, PUBLISHED.to_owned()),
        ("15.4", 1, PUBLISHED.to_owned()),
        ("15.5", 1, change("")),
        ("15.40", 1, change("")),
        ("16", 1, change("")),
        ("15.3", 1, back("15.3")),
        ("14", 1, back("14")),
        // AWS went ahead on its own.
        ("15.3", 2, PUBLISHED.to_owned()),
        ("14", 2, back("14")),
    ];
    for (version, met, want) in table {
        let more = json!({ "spec": { "engineVersion": version }, "status": { "observedGeneration": met } });
        assert_eq!(told(&instance(more), &seen(Some(live()))), want, "{version} {met}");
    }
    let major = |engine: &str, wanted: &str, held: &str| {
        let spec = json!({ "spec": { "engineVersion": wanted, "engine": engine } });
        let found = changed(|live| {
            live.engine = engine.to_owned();
            live.settings.engine_version = Some(held.to_owned());
        });
        let plan = plan(&instance(spec), &seen(found)).expect("a plan");
        format!("{:?}", plan.steps[0]).contains("major: true")
    };
    assert!(
        major("postgres", "16", "15.4")
            && major("mysql", "8.4", "8.0.35")
            && major("postgres", "10", "9.6.1")
    );
    assert!(!major("postgres", "15.5", "15.4") && !major("mysql", "8.0.36", "8.0.35"));
}

#[test]
fn what_cannot_change_is_refused_in_words() {
    let table = [
        (
            json!({ "engine": "mysql" }),
            "engine of database server orders is \"postgres\" and cannot become \"mysql\"",
        ),
        (
            json!({ "masterUsername": "boss" }),
            "masterUsername of database server orders is \"root\" and cannot become \"boss\"",
        ),
        (json!({ "dbName": "shop" }), "dbName of database server orders is \"\" and cannot become \"shop\""),
        (
            json!({ "storageEncrypted": true }),
            "storageEncrypted of database server orders is \"false\" and cannot become \"true\"",
        ),
    ];
    for (spec, want) in table {
        let words = told(&instance(json!({ "spec": spec })), &seen(Some(live())));
        assert!(words.starts_with(&format!("refused: {want}")), "{words}");
    }
    // Storage that grew on its own is no difference.
    let grown = changed(|live| live.settings.storage_gib = Some(100));
    assert_eq!(told(&instance(json!({})), &seen(grown)), PUBLISHED);
}

#[test]
fn a_password_is_set_once_and_known_ever_after() {
    let table = [
        (Some(live()), known(FIRST), Some(FIRST), PUBLISHED),
        (
            Some(live()),
            known(SECOND),
            Some(FIRST),
            "change the password of database server orders; apply Secret team/orders-connection; Available; 300s",
        ),
        // It was published, and is not there any more.
        (
            Some(live()),
            known(FIRST),
            None,
            "change the password of database server orders; apply Secret team/orders-connection; Available; 300s",
        ),
        (
            word("backing-up"),
            known(SECOND),
            Some(FIRST),
            "Provisioning: database server orders is backing-up, and gets its new password after that; 10s",
        ),
        (
            changed(|live| live.password_pending = true),
            known(SECOND),
            Some(FIRST),
            "Provisioning: database server orders is available, and gets its new password after that; 10s",
        ),
        (Some(live()), Password::Missing("no Secret".into()), Some(FIRST), "Available; 300s"),
        (Some(live()), Password::Missing("no Secret".into()), None, "CredentialsMissing: no Secret; 300s"),
        (None, Password::Missing("no Secret".into()), None, "CredentialsMissing: no Secret; 60s"),
        (
            None,
            known(FIRST),
            None,
            "apply Secret team/orders-connection; create database server orders; Provisioning: database server orders is being made; 10s",
        ),
        (
            None,
            Password::Undrawn,
            None,
            "create Secret team/orders-master-password; Provisioning: a password for database server orders is drawn into Secret orders-master-password; 250ms",
        ),
        // The Secret that it was drawn into is gone, and comes back from the connection.
        (
            Some(live()),
            Password::Undrawn,
            Some(FIRST),
            "create Secret team/orders-master-password; Available; 250ms",
        ),
    ];
    for (row, (found, password, applied, want)) in table.into_iter().enumerate() {
        assert_eq!(told(&instance(json!({})), &world(found, password, applied)), want, "row {row}");
    }
    // One call for all that changes: a server that is being changed takes no other change.
    let larger = instance(json!({ "spec": { "dbInstanceClass": "db.large" } }));
    let words = told(&larger, &world(Some(live()), known(SECOND), Some(FIRST)));
    assert!(
        words.starts_with("change dbInstanceClass, the password of database server orders; apply"),
        "{words}"
    );
}

#[test]
fn passwords_that_rds_does_not_take_are_refused_without_being_told() {
    let long = "x".repeat(129);
    let table = [
        ("short", "has 5 characters, and RDS takes 8 to 128"),
        (long.as_str(), "has 129 characters, and RDS takes 8 to 128"),
        ("with/a/slash", "has a /, a \", an @ or a space"),
        ("with a space", "has a /, a \", an @ or a space"),
        ("mit-Umläuten", "has characters beside the printable ones of ASCII"),
    ];
    for (password, want) in table {
        let words = told(&instance(json!({})), &world(Some(live()), known(password), Some(FIRST)));
        assert!(words.contains(want) && !words.contains(password), "{words}");
    }
}

#[test]
fn a_server_of_others_is_left_alone() {
    let theirs = || changed(|live| live.tags.clear());
    let fresh = |notes: Value| {
        instance(
            json!({ "metadata": { "annotations": notes }, "status": { "tagKeys": [], "connectionSecretRef": null } }),
        )
    };
    let words = told(&fresh(json!({})), &world(theirs(), known(FIRST), None));
    assert!(words.starts_with("NotOurs"), "{words}");
    // Adopted without a password: nothing is drawn, and no connection is told.
    let words = told(&fresh(json!({ ADOPT: "true" })), &world(theirs(), Password::Undrawn, None));
    assert!(
        words.starts_with(
            "tag database server orders with terrace.dev/owner; Available: its password is not known"
        ),
        "{words}"
    );
    // With one, it is trusted: nothing is set.
    let words = told(&fresh(json!({ ADOPT: "true" })), &world(theirs(), known(FIRST), None));
    assert_eq!(
        words,
        "tag database server orders with terrace.dev/owner; apply Secret team/orders-connection; Available; 300s"
    );
    let words = told(&fresh(json!({ MODE: "observe" })), &world(theirs(), Password::Undrawn, None));
    assert_eq!(words, "Available; 300s");
    let words = told(&fresh(json!({ MODE: "observe" })), &world(None, Password::Undrawn, None));
    assert!(words.starts_with("Drifted: database server orders does not exist, and is not made"), "{words}");
}

#[test]
fn a_server_goes_only_when_it_can_and_may() {
    let going = |spec: Value| {
        instance(json!({ "metadata": { "deletionTimestamp": "2026-01-01T12:00:00Z" }, "spec": spec }))
    };
    let snapshot = "delete database server orders after snapshot orders-final-20260101-120000; Deleting: database server orders goes, after snapshot orders-final-20260101-120000; 10s";
    let whole =
        "delete database server orders without a snapshot; Deleting: database server orders goes; 10s";
    let skip = || json!({ "skipFinalSnapshot": true });
    let table = [
        (json!({}), Some(live()), snapshot),
        (json!({}), word("backing-up"), snapshot),
        (skip(), Some(live()), whole),
        (skip(), word("failed"), whole),
        (
            json!({}),
            word("creating"),
            "Deleting: database server orders is creating, and is deleted after that; 10s",
        ),
        (json!({}), word("deleting"), "Deleting: database server orders is being deleted; 10s"),
        (json!({ "deletionPolicy": "Retain" }), Some(live()), "Release"),
        (
            json!({ "deletionPolicy": "Orphan" }),
            Some(live()),
            "take tags terrace.dev/owner off database server orders; Release",
        ),
        (json!({}), None, "Release"),
    ];
    for (row, (spec, found, want)) in table.into_iter().enumerate() {
        assert_eq!(told(&going(spec), &seen(found)), want, "row {row}");
    }
    let blocked = |spec: Value, found: Option<Database>| {
        let plan = plan(&going(spec), &seen(found)).expect("a plan");
        assert_eq!((plan.steps.len(), plan.next), (0, Next::After(desk::RETRY)));
        let told = find(&plan.status.conditions, DELETION_BLOCKED).expect("it is said");
        format!("{} {}", told.reason, told.message)
    };
    let words = blocked(json!({}), changed(|live| live.deletion_protection = true));
    assert!(words.starts_with("DeletionProtection database server orders is protected"), "{words}");
    let words = blocked(json!({}), word("failed"));
    assert!(words.contains("set skipFinalSnapshot: true"), "{words}");
    let drawn = World { drawn: true, ..seen(None) };
    assert_eq!(told(&going(json!({})), &drawn), "delete Secret team/orders-master-password; Release");
    let kept = going(json!({ "deletionPolicy": "Retain" }));
    assert_eq!(told(&kept, &drawn), "Release", "whoever keeps the server can still log in");
}

fn here(more: Value) -> RDSInstance {
    instance(json!({ "spec": more, "status": { "connectionSecretRef": null, "tagKeys": [] } }))
}

fn beside(cluster: Option<Value>) -> World {
    let cluster = cluster.map(|more| {
        let mut value = json!({
            "apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster", "spec": { "instances": 1 },
            "metadata": { "name": "orders", "namespace": "team", "annotations": { "terrace.dev/owner": "team/orders" } },
        });
        merge(&mut value, &more);
        serde_json::from_value::<Cluster>(value).expect("a Cluster")
    });
    let address = cluster.as_ref().map(|_| "127.96.0.1".to_owned());
    let site = Site::Here(Here {
        served: true,
        cluster: cluster.map(Arc::new),
        address,
        login_version: Some("7".into()),
        backup: None,
    });
    World { site, ..seen(None) }
}

/// A Cluster that takes connections, whose administrator has the password in this version of its Secret.
fn up(version: &str) -> Value {
    json!({ "status": {
        "currentPrimary": "orders-1",
        "conditions": [{ "type": "Ready", "status": "True" }],
        "managedRolesStatus": {
            "byStatus": { "reconciled": ["root"] },
            "passwordStatus": { "root": { "resourceVersion": version } },
        },
    } })
}

const MADE: &str = "apply Secret team/orders-login; apply Cluster team/orders";

#[test]
fn a_server_beside_its_object_is_a_cluster() {
    let table = [
        (json!({}), None, format!("{MADE}; Provisioning: database server orders is being made; 10s")),
        (
            json!({}),
            Some(json!({ "status": { "phase": "Setting up primary" } })),
            format!("{MADE}; Provisioning: database server orders is not ready: Setting up primary; 10s"),
        ),
        (json!({}), Some(up("7")), format!("{MADE}; {PUBLISHED}")),
        // The password in the Secret is not the server's yet.
        (
            json!({}),
            Some(up("6")),
            format!("{MADE}; Provisioning: database server orders is not ready: the database cluster has not been taken up yet; 10s"),
        ),
        (json!({ "masterUsername": "postgres" }), Some(up("6")), format!("{MADE}; {PUBLISHED}")),
        (
            json!({ "engine": "mysql" }),
            None,
            "refused: there are servers of postgres only where the provider's endpoint is local, and the engine is mysql".into(),
        ),
        (
            json!({ "masterUsername": "pg_boss" }),
            None,
            "refused: masterUsername pg_boss is kept for the server itself; choose another".into(),
        ),
        (
            json!({ "engineVersion": "16" }),
            Some(json!({ "spec": { "imageName": "ghcr.io/cloudnative-pg/postgresql:15.4" } })),
            "refused: the server runs version 15.4, which cannot be changed to 16 in place; make another server and move the data".into(),
        ),
    ];
    for (row, (spec, cluster, want)) in table.into_iter().enumerate() {
        assert_eq!(told(&here(spec), &beside(cluster)), want, "row {row}");
    }
    for theirs in [
        json!({ "metadata": { "annotations": { "terrace.dev/owner": "team/other" } } }),
        json!({ "metadata": { "ownerReferences": [
            { "apiVersion": "v1", "kind": "Service", "name": "s", "uid": "s", "controller": true },
        ] } }),
    ] {
        let words = told(&here(json!({})), &beside(Some(theirs)));
        assert!(words.starts_with("NotOurs: Cluster orders exists"), "{words}");
    }
}

#[test]
fn a_server_beside_its_object_goes_as_its_policy_says() {
    let going = |spec: Value| {
        let mut object = here(spec);
        let gone = "2026-01-01T12:00:00Z".parse().expect("a time");
        object.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(gone));
        object
    };
    let copied = |phase: &str| {
        let mut world = beside(Some(up("7")));
        let status = json!({ "phase": phase, "error": "no room" });
        let backup = json!({
            "apiVersion": "postgresql.cnpg.io/v1", "kind": "Backup", "metadata": { "name": "b" },
            "spec": { "cluster": { "name": "orders" } }, "status": status,
        });
        if let Site::Here(here) = &mut world.site {
            here.backup = Some(Arc::new(serde_json::from_value::<Backup>(backup).expect("a Backup")));
        }
        world
    };
    let waits = "Deleting: database server orders goes after its last snapshot, Backup orders-final-20260101-120000; 10s";
    let deletes = "delete Cluster team/orders; Deleting: database server orders goes; 10s";
    let table = [
        (
            json!({}),
            beside(Some(up("7"))),
            format!("create Backup team/orders-final-20260101-120000; {waits}"),
        ),
        (json!({}), copied("running"), waits.to_owned()),
        (json!({}), copied("completed"), deletes.to_owned()),
        (json!({ "skipFinalSnapshot": true }), beside(Some(up("7"))), deletes.to_owned()),
        // It never had data.
        (json!({}), beside(Some(json!({}))), deletes.to_owned()),
        (json!({ "deletionPolicy": "Retain" }), beside(Some(up("7"))), "Release".to_owned()),
        (
            json!({ "deletionPolicy": "Orphan" }),
            beside(Some(up("7"))),
            "patch Cluster team/orders; Release".to_owned(),
        ),
        (json!({}), beside(None), "delete Secret team/orders-login; Release".to_owned()),
    ];
    for (row, (spec, world, want)) in table.into_iter().enumerate() {
        assert_eq!(told(&going(spec), &world), want, "row {row}");
    }
    let plan = plan(&going(json!({})), &copied("failed")).expect("a plan");
    assert!(plan.steps.is_empty());
    let blocked = find(&plan.status.conditions, DELETION_BLOCKED).expect("it is said");
    assert!(blocked.message.contains("failed: no room; set skipFinalSnapshot: true"), "{}", blocked.message);
}

/// Plays the operator: Clusters come up at once, and their administrators have what their Secrets say.
async fn operator(client: Client) {
    let clusters = Api::<Cluster>::namespaced(client.clone(), "default");
    let all = clusters.list(&kube::api::ListParams::default()).await.expect("they can be listed");
    for cluster in all {
        let secret = Api::<Secret>::namespaced(client.clone(), "default").get("orders-login").await;
        let Ok(secret) = secret else { continue };
        let status = up(&secret.resource_version().unwrap_or_default());
        let params = PatchParams::default();
        let patched = clusters.patch_status(&cluster.name_any(), &params, &Patch::Merge(status)).await;
        patched.expect("a status can be written");
        let services = Api::<k8s_openapi::api::core::v1::Service>::namespaced(client.clone(), "default");
        let service = json!({
            "metadata": { "name": format!("{}-rw", cluster.name_any()), "ownerReferences": [{
                "apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster", "name": cluster.name_any(),
                "uid": cluster.uid(), "controller": true,
            }] },
            "spec": { "clusterIP": "10.96.7.7", "ports": [{ "port": 5432 }] },
        });
        let service = serde_json::from_value(service).expect("a Service");
        // It may be there already.
        let _ = services.create(&kube::api::PostParams::default(), &service).await;
    }
}

fn local() -> Scenario<RDSInstances> {
    let provider = json!({
        "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": "AWSProvider",
        "metadata": { "name": "dev", "namespace": "default" },
        "spec": { "region": "eu-central-1", "endpoint": "local" }, "status": { "ready": true },
    });
    let object = json!({
        "metadata": { "name": "orders", "namespace": "default" },
        "spec": {
            "providerRef": { "name": "dev" }, "dbInstanceIdentifier": "orders", "engine": "postgres",
            "dbInstanceClass": "db.small", "allocatedStorage": 20, "masterUsername": "root", "dbName": "shop",
            "skipFinalSnapshot": true,
        },
    });
    let room = RDSInstances::new(Desk::new(Arc::new(Aws::default())));
    let patience = std::time::Duration::from_secs(60);
    Scenario::new(room, object).given(provider).world(operator).patience(patience).draws_passwords()
}

#[tokio::test]
async fn a_server_beside_its_object_converges() {
    let bench = converge(|_: &Gate| local()).await;
    let object = bench.get::<RDSInstance>("default", "orders").await.expect("it is there");
    let status = object.status.expect("a status");
    assert!(status.ready, "{:?}", status.conditions);
    assert_eq!((status.endpoint.as_deref(), status.port), (Some("10.96.7.7"), Some(5432)));
    let synced = find(&status.conditions, SYNCED).expect("it is said");
    assert_eq!((synced.status.as_str(), status.status.as_deref()), ("True", Some("available")));
    let cluster = bench.get::<Cluster>("default", "orders").await.expect("it is there");
    assert!(cluster.owner_references().is_empty(), "it may have to stay");
    let role = &cluster.spec.managed.expect("roles").roles[0];
    assert_eq!((role.name.as_str(), role.login, role.createdb, role.createrole), ("root", true, true, true));
    let secret = bench.get::<Secret>("default", "orders-connection").await.expect("it is there");
    let uri = String::from_utf8(secret.data.expect("data")["uri"].0.clone()).expect("text");
    assert!(
        uri.starts_with("postgres://root:") && uri.ends_with("@10.96.7.7:5432/shop?sslmode=require"),
        "{uri}"
    );
}

#[tokio::test]
async fn a_server_beside_its_object_survives_any_broken_call() {
    sweep(|_: &Gate| local()).await;
}
