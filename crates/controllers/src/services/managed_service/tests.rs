//! The table, and the trips on a plane in memory. The tests that seed 000 names for `internal/k8s` and
//! `internal/controller` stand here, each with its name in a comment.

use std::sync::Arc;

use api::annotations::{ADOPT, RESTORE_BACKUP, RESTORE_TIME, SERVICE_SPEC};
use api::apps::Application;
use api::conditions::{DELETION_BLOCKED, READY, find};
use api::foreign::cnpg::Cluster;
use api::services::{ManagedService, ManagedServiceSpec};
use k8s_openapi::api::core::v1::Secret;
use kit::testing::{Bench, Gate, Scenario};
use kit::{Do, Name, Next, Outcome};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Client, Resource, ResourceExt};
use serde_json::{Value, json};

use super::plan::{World, plan};
use super::{ManagedServices, services_of};
use crate::services::Config;

fn service_with(spec: Value, metadata: Value, status: Value) -> ManagedService {
    let mut body = json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "ManagedService",
        "metadata": { "name": "db", "namespace": "team", "uid": "u1", "generation": 3 },
        "spec": { "type": "postgres" }, "status": status,
    });
    for (field, more) in [("spec", spec), ("metadata", metadata)] {
        for (key, value) in more.as_object().expect("fields") {
            body[field][key] = value.clone();
        }
    }
    serde_json::from_value(body).expect("a service")
}

fn service(spec: Value) -> ManagedService {
    service_with(spec, json!({}), json!({}))
}

/// A service that was ready before.
fn old() -> ManagedService {
    service_with(json!({}), json!({}), json!({ "phase": "Ready", "connectionSecretRef": "db-app" }))
}

fn restored(annotations: Value) -> ManagedService {
    service_with(json!({}), json!({ "annotations": annotations }), json!({}))
}

fn going() -> ManagedService {
    service_with(json!({}), json!({ "deletionTimestamp": "2026-01-01T12:00:00Z" }), json!({}))
}

/// The Cluster `team/db` of the service with uid `u1`, as plan micro makes it.
fn cluster_with(metadata: Value, spec: Value, status: Value) -> World {
    let owner = json!([{
        "apiVersion": "iaf.io/v1alpha1", "kind": "ManagedService", "name": "db", "uid": "u1", "controller": true,
    }]);
    let mut body = json!({
        "metadata": { "name": "db", "namespace": "team", "uid": "c1", "ownerReferences": owner },
        "spec": {
            "instances": 1, "imageName": "ghcr.io/cloudnative-pg/postgresql:17",
            "bootstrap": { "initdb": { "database": "app", "owner": "app" } }, "storage": { "size": "1Gi" },
        },
        "status": status,
    });
    for (field, more) in [("spec", spec), ("metadata", metadata)] {
        for (key, value) in more.as_object().expect("fields") {
            body[field][key] = value.clone();
        }
    }
    let cluster: Cluster = serde_json::from_value(body).expect("a cluster");
    World { served: true, cluster: Some(Arc::new(cluster)), secret_there: true, bound_apps: Vec::new() }
}

fn cluster(status: Value) -> World {
    cluster_with(json!({}), json!({}), status)
}

/// What a Cluster says that is ready, or not, with more beside it.
fn said(ready: &str, more: Value) -> Value {
    let mut status = more;
    let mut conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    conditions.push(json!({ "type": "Ready", "status": ready }));
    status["conditions"] = conditions.into();
    status
}

fn nothing() -> World {
    World { served: true, ..World::default() }
}

fn without_secret(world: World) -> World {
    World { secret_there: false, ..world }
}

fn bound(world: World) -> World {
    World { bound_apps: vec!["api".into(), "web".into()], ..world }
}

/// A plan in one line: steps; phase; Ready and its reason; the Secret; the message; when next.
fn told(service: &ManagedService, world: &World) -> String {
    let plan = match plan(service, world, &Config::default()) {
        Ok(plan) => plan,
        Err(refusal) => return format!("refused {}: {}", refusal.reason.as_str(), refusal.message),
    };
    let steps: Vec<String> = plan.steps.iter().map(ToString::to_string).collect();
    let status = plan.status;
    let ready = find(&status.conditions, READY);
    assert!(
        ready.is_none_or(|ready| Some(&ready.message) == status.message.as_ref()),
        "the message and the condition say the same"
    );
    let ready = ready.map(|ready| format!("{} {}", ready.status, ready.reason)).unwrap_or_default();
    let phase = status.phase.map(|phase| format!("{phase:?}")).unwrap_or_default();
    let secret = status.connection_secret_ref.map(|name| name.to_string()).unwrap_or_default();
    let message = status.message.unwrap_or_default();
    let next = match plan.next {
        Next::OnChange => "on change".to_owned(),
        Next::After(delay) => format!("{}s", delay.as_secs()),
        Next::Release => "release".to_owned(),
    };
    format!("{}|{phase}|{ready}|{secret}|{message}|{next}", steps.join("; "))
}

const APPLY: &str = "apply Cluster team/db";
const UP: &str = "the database takes connections";
const AWAY: &str = "the database takes no connections at the moment, and is being brought back";

// TestGetCNPGClusterStatus_Ready, TestManagedServiceReconcile_StatusMirrored
#[test]
fn a_service_says_what_its_cluster_says() {
    let healthy = json!({ "phase": "Cluster in healthy state", "readyInstances": 1 });
    let provisioning = |words: &str| format!("{APPLY}|Provisioning|False Provisioning||{words}|10s");
    let ready = |words: &str, next: &str| format!("{APPLY}|Ready|True Available|db-app|{words}|{next}");
    let lost = json!({ "phase": "Failing over", "instances": 3, "readyInstances": 2, "currentPrimary": "db-1", "targetPrimary": "db-2" });
    let degraded = json!({ "phase": "Creating a new replica", "instances": 3, "readyInstances": 2, "currentPrimary": "db-1", "targetPrimary": "db-1" });
    let full = json!({ "phase": "Not enough disk space", "phaseReason": "pod db-1" });
    let low = json!({ "phase": "Cluster in healthy state", "readyInstances": 1, "conditions": [
        { "type": "StorageSufficient", "status": "False", "message": "0.9 of 1Gi" },
        { "type": "ContinuousArchiving", "status": "False", "message": "no room" },
        { "type": "LastBackupSucceeded", "status": "False" },
        { "type": "ConsistentSystemID", "status": "True", "message": "fine" },
    ]});
    let table = [
        ("nothing is there", service(json!({})), nothing(), provisioning("the database cluster is being created")),
        ("nobody looked", service(json!({})), cluster(json!({})), provisioning("the database cluster has not been taken up yet")),
        (
            "it is being made",
            service(json!({})),
            cluster(said("False", json!({ "phase": "Setting up primary", "phaseReason": "initdb" }))),
            provisioning("Setting up primary: initdb"),
        ),
        ("it is ready", service(json!({})), cluster(said("True", healthy.clone())), ready(UP, "on change")),
        (
            "its Secret is missing, or somebody else's",
            service(json!({})),
            without_secret(cluster(said("True", healthy.clone()))),
            provisioning("the database runs; waiting for Secret db-app with its login"),
        ),
        (
            "it is ready and resizes",
            old(),
            cluster(said("True", json!({ "phase": "Upgrading cluster", "readyInstances": 1 }))),
            ready("the database takes connections; Upgrading cluster", "10s"),
        ),
        (
            "a disk and an archive that fail, and two conditions that say nothing bad",
            old(),
            cluster(said("True", low)),
            ready(
                "the database takes connections; StorageSufficient: 0.9 of 1Gi; ContinuousArchiving: no room",
                "on change",
            ),
        ),
        (
            "a failover",
            old(),
            cluster(said("False", lost.clone())),
            format!("{APPLY}|Failed|False DependencyNotReady|db-app|{AWAY}: Failing over|10s"),
        ),
        ("the same before it was ready", service(json!({})), cluster(said("False", lost)), provisioning("Failing over")),
        (
            "a standby is lost",
            old(),
            cluster(said("False", degraded)),
            ready("the database takes connections; Creating a new replica", "10s"),
        ),
        (
            "it grows, and its only instance serves meanwhile",
            old(),
            cluster(said(
                "False",
                json!({ "phase": "Creating a new replica", "instances": 1, "readyInstances": 1, "currentPrimary": "db-1" }),
            )),
            ready("the database takes connections; Creating a new replica", "10s"),
        ),
        (
            "its only instance is down",
            old(),
            cluster(said(
                "False",
                json!({ "phase": "Waiting for the instances to become active", "instances": 1, "currentPrimary": "db-1" }),
            )),
            format!("{APPLY}|Failed|False DependencyNotReady|db-app|{AWAY}: Waiting for the instances to become active|10s"),
        ),
        (
            "the Secret goes while it is away",
            old(),
            without_secret(cluster(said("False", json!({ "phase": "Setting up primary" })))),
            provisioning("Setting up primary"),
        ),
        (
            "the disk is full from the start",
            service(json!({})),
            cluster(said("False", full.clone())),
            format!("{APPLY}|Failed|False CreationFailed||Not enough disk space: pod db-1 (the disk is full: take a larger plan)|10s"),
        ),
        (
            "the disk has run full",
            old(),
            cluster(said("False", full)),
            format!("{APPLY}|Failed|False DependencyNotReady|db-app|Not enough disk space: pod db-1 (the disk is full: take a larger plan)|10s"),
        ),
        (
            "nobody runs databases",
            service(json!({})),
            World::default(),
            "|Failed|False KindMissing||managed services are not available on this platform instance|on change".into(),
        ),
    ];
    for (rule, service, world, want) in table {
        assert_eq!(told(&service, &world), want, "{rule}");
    }
}

#[test]
fn what_is_not_ours_stays_and_what_cannot_be_is_refused() {
    let foreign = json!({ "ownerReferences": [] });
    let adopted = json!({ "ownerReferences": [], "annotations": { ADOPT: "true" } });
    let going = json!({ "deletionTimestamp": "2026-01-01T12:00:00Z" });
    let held = |metadata: Value| cluster_with(metadata, json!({}), json!({}));
    let sized = |size: &str| cluster_with(json!({}), json!({ "storage": { "size": size } }), json!({}));
    let shrinks = |held: &str| {
        format!(
            "refused WouldLoseData: db has {held} of storage, and plan micro has 1Gi: storage cannot shrink in place; take a larger plan, or provision a second service and copy the data"
        )
    };
    let fresh = format!(
        "{APPLY}|Provisioning|False Provisioning||the database cluster has not been taken up yet|10s"
    );
    let table = [
        (
            "a Cluster of somebody else",
            service(json!({})),
            held(foreign),
            "|Failed|False NotOurs||Cluster db exists and was not made for this service; choose another name, or let Terrace have it with the annotation terrace.dev/adopt: \"true\"|10s".to_owned(),
        ),
        ("one that we may have", service(json!({})), held(adopted), fresh.clone()),
        (
            "one on its way out",
            service(json!({})),
            held(going),
            "|Provisioning|False Provisioning||Cluster db is being deleted; the database is made anew as soon as it is gone|10s".into(),
        ),
        ("a larger disk", service(json!({})), sized("5Gi"), shrinks("5Gi")),
        ("a slightly larger disk", service(json!({})), sized("1074Mi"), shrinks("1074Mi")),
        ("the same disk", service(json!({})), sized("1024Mi"), fresh.clone()),
        ("a disk that cannot be read", service(json!({})), sized("much"), fresh.clone()),
        ("a larger plan", service(json!({ "plan": "ha" })), sized("5Gi"), fresh.clone()),
        (
            "another version",
            service(json!({ "version": "18" })),
            held(json!({})),
            "refused InvalidSpec: db runs version 17, which cannot be changed to 18 in place: provision a second service of the new version, copy the data, and bind the applications to it".into(),
        ),
        ("the same version", service(json!({ "version": "17" })), held(json!({})), fresh),
        (
            "a time that is none",
            restored(json!({ RESTORE_BACKUP: "b", RESTORE_TIME: "yesterday" })),
            nothing(),
            "refused InvalidSpec: \"yesterday\" in terrace.dev/restore-time is not a time such as 2026-01-31T12:00:00Z".into(),
        ),
        (
            "a time without a backup",
            restored(json!({ RESTORE_TIME: "2026-01-31T12:00:00Z" })),
            nothing(),
            "refused InvalidSpec: terrace.dev/restore-time says when, and terrace.dev/restore-backup does not say from which Backup".into(),
        ),
    ];
    for (rule, service, world, want) in table {
        assert_eq!(told(&service, &world), want, "{rule}");
    }
}

#[test]
fn a_service_goes_when_nobody_uses_it_and_its_cluster_is_gone() {
    let blocked = "|Failed|False StillBound||cannot delete: apps still bound: [api, web]|on change";
    let deleting =
        |steps: &str| format!("{steps}|Deleting|False Deleting||the database is being deleted|10s");
    let leaving = json!({ "deletionTimestamp": "2026-01-01T12:00:00Z" });
    let table = [
        ("bound", bound(cluster(json!({}))), blocked.to_owned()),
        ("bound, and nobody runs databases", bound(World::default()), blocked.to_owned()),
        ("unbound", cluster(json!({})), deleting("delete Cluster team/db")),
        ("its Cluster goes", cluster_with(leaving, json!({}), json!({})), deleting("")),
        ("its Cluster is gone", nothing(), "|||||release".to_owned()),
        ("nobody runs databases", World::default(), "|||||release".to_owned()),
        (
            "a Cluster of somebody else",
            cluster_with(json!({ "ownerReferences": [] }), json!({}), json!({})),
            "|||||release".to_owned(),
        ),
    ];
    for (rule, world, want) in table {
        assert_eq!(told(&going(), &world), want, "{rule}");
    }
    let plan = plan(&going(), &bound(nothing()), &Config::default()).expect("a plan");
    let held = find(&plan.status.conditions, DELETION_BLOCKED).expect("it is said");
    assert_eq!((held.status.as_str(), held.reason.as_str()), ("True", "StillBound"));
    assert_eq!(plan.status.bound_apps, ["api", "web"]);
}

/// The Cluster that a plan asks for.
fn wanted(service: &ManagedService, world: &World) -> Value {
    let config = Config { default_version: "16".into() };
    let plan = plan(service, world, &config).expect("a plan");
    let applied = plan.steps.into_iter().find_map(|step| match step {
        Do::Apply(child) => Some(child.body),
        _ => None,
    });
    applied.expect("a Cluster")
}

// TestBuildCNPGCluster_Micro
#[test]
fn plan_micro_is_one_instance_with_one_gibibyte() {
    let cluster = wanted(&service(json!({ "version": "17" })), &nothing());
    let want = json!({
        "instances": 1,
        "imageName": "ghcr.io/cloudnative-pg/postgresql:17",
        "bootstrap": { "initdb": { "database": "app", "owner": "app" } },
        "storage": { "size": "1Gi" },
        "resources": {
            "requests": { "cpu": "100m", "memory": "256Mi" },
            "limits": { "memory": "256Mi" },
        },
    });
    assert_eq!(cluster["spec"], want);
    assert_eq!(
        (&cluster["metadata"]["name"], &cluster["metadata"]["namespace"]),
        (&json!("db"), &json!("team"))
    );
}

// TestBuildCNPGCluster_HA
#[test]
fn plan_ha_is_three_instances_that_wait_for_each_other() {
    let cluster = wanted(&service(json!({ "plan": "ha", "database": "shop" })), &nothing());
    assert_eq!(cluster["spec"]["instances"], 3);
    assert_eq!(cluster["spec"]["storage"]["size"], "10Gi");
    assert_eq!(cluster["spec"]["resources"]["requests"], json!({ "cpu": "1", "memory": "1Gi" }));
    assert_eq!(cluster["spec"]["bootstrap"]["initdb"]["database"], "shop");
    let synchronous = json!({ "method": "any", "number": 1, "dataDurability": "preferred" });
    assert_eq!(cluster["spec"]["postgresql"]["synchronous"], synchronous);
    let small = wanted(&service(json!({ "plan": "small" })), &nothing());
    assert_eq!((&small["spec"]["instances"], &small["spec"]["storage"]["size"]), (&json!(1), &json!("5Gi")));
    assert_eq!(small["spec"]["resources"]["requests"], json!({ "cpu": "500m", "memory": "512Mi" }));
    assert!(small["spec"]["postgresql"].is_null());
}

#[test]
fn a_version_is_what_is_asked_for_or_runs_or_is_usual() {
    let image = |service: &ManagedService, world: &World| wanted(service, world)["spec"]["imageName"].clone();
    let tagged = |image: &str| cluster_with(json!({}), json!({ "imageName": image }), json!({}));
    let table = [
        (json!({}), nothing(), "16"),
        (json!({ "version": "17.2" }), nothing(), "17.2"),
        (json!({}), tagged("ghcr.io/cloudnative-pg/postgresql:17"), "17"),
        (json!({}), tagged("registry.example:5000/postgresql"), "16"),
        (json!({}), tagged("registry.example:5000/postgresql:15.1@sha256:0"), "15.1"),
        (json!({ "version": "17.4" }), tagged("ghcr.io/cloudnative-pg/postgresql:17.2-bookworm"), "17.4"),
    ];
    for (spec, world, want) in table {
        let want = format!("ghcr.io/cloudnative-pg/postgresql:{want}");
        assert_eq!(image(&service(spec.clone()), &world), want, "{spec}");
    }
}

#[test]
fn a_cluster_tells_which_service_it_is_of_with_the_version_it_has() {
    let cluster = wanted(&service(json!({ "plan": "small" })), &nothing());
    let told = cluster["metadata"]["annotations"][SERVICE_SPEC].as_str().expect("it is told");
    let spec: ManagedServiceSpec = serde_json::from_str(told).expect("a spec");
    assert_eq!(
        (spec.plan.as_str(), spec.version.as_deref(), spec.database.as_str()),
        ("small", Some("16"), "app")
    );
}

#[test]
fn a_restore_says_where_from_once_and_for_all() {
    let moment = "2026-01-31T12:00:00Z";
    let marks = json!({ RESTORE_BACKUP: "db-1", RESTORE_TIME: moment });
    let fresh = wanted(&restored(marks.clone()), &nothing())["spec"]["bootstrap"].clone();
    let want = json!({ "recovery": {
        "backup": { "name": "db-1" }, "recoveryTarget": { "targetTime": moment }, "database": "app", "owner": "app",
    }});
    assert_eq!(fresh, want);
    let latest = wanted(&restored(json!({ RESTORE_BACKUP: "db-1" })), &nothing());
    assert!(latest["spec"]["bootstrap"]["recovery"]["recoveryTarget"].is_null());
    let initdb = json!({ "initdb": { "database": "app", "owner": "app" } });
    assert_eq!(
        wanted(&restored(marks), &cluster(json!({})))["spec"]["bootstrap"],
        initdb,
        "it is there already"
    );
}

#[test]
fn an_application_wakes_the_services_whose_secrets_it_names() {
    let app: Application = serde_json::from_value(json!({
        "metadata": { "name": "web", "namespace": "team" },
        "spec": {
            "image": "nginx:1",
            "env": [
                { "name": "A", "secretKeyRef": { "name": "db-app", "key": "uri" } },
                { "name": "B", "secretKeyRef": { "name": "db-app", "key": "host" } },
                { "name": "C", "secretKeyRef": { "name": "other", "key": "host" } },
                { "name": "D", "value": "x-app" },
            ],
            "boundManagedServices": [{ "serviceName": "second", "secretName": "second-app" }],
        },
    }))
    .expect("an application");
    assert_eq!(services_of(&app), [Name::new("team", "db"), Name::new("team", "second")]);
}

fn room() -> ManagedServices {
    ManagedServices::new(Config::default())
}

fn db() -> Name {
    Name::new("team", "db")
}

fn manifest() -> Value {
    json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "ManagedService",
        "metadata": { "name": "db", "namespace": "team" },
        "spec": { "type": "postgres", "plan": "small" },
    })
}

fn app_manifest(name: &str) -> Value {
    let env = json!([{ "name": "DATABASE_URL", "secretKeyRef": { "name": "db-app", "key": "uri" } }]);
    json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "Application",
        "metadata": { "name": name, "namespace": "team" },
        "spec": { "image": "nginx:1", "env": env },
    })
}

/// What an operator of databases does next: the Secret, then the status.
async fn operator(client: Client) {
    let clusters = Api::<Cluster>::namespaced(client.clone(), "team");
    let Ok(Some(cluster)) = clusters.get_opt("db").await else { return };
    if cluster.metadata.deletion_timestamp.is_some() {
        return;
    }
    let mut secret = Secret {
        string_data: Some([("password".to_owned(), "canary".to_owned())].into()),
        ..Secret::default()
    };
    secret.metadata.name = Some("db-app".into());
    secret.metadata.owner_references = cluster.controller_owner_ref(&()).map(|owner| vec![owner]);
    match Api::<Secret>::namespaced(client.clone(), "team").create(&PostParams::default(), &secret).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        Err(error) => panic!("{error}"),
    }
    let status = said("True", json!({ "phase": "Cluster in healthy state", "readyInstances": 1 }));
    let patch = Patch::Merge(json!({ "status": status }));
    clusters.patch_status("db", &PatchParams::default(), &patch).await.expect("is told");
}

fn scenario(_: &Gate) -> Scenario<ManagedServices> {
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "team" } });
    Scenario::new(room(), manifest()).given(space).world(operator)
}

async fn status(bench: &Bench) -> Value {
    let service = bench.get::<ManagedService>("team", "db").await.expect("the service");
    serde_json::to_value(service.status).expect("a status")
}

// TestManagedServiceReconcile_CreatesCluster
#[tokio::test]
async fn a_service_converges() {
    let bench = kit::testing::converge(scenario).await;
    let status = status(&bench).await;
    assert_eq!((&status["phase"], &status["connectionSecretRef"]), (&json!("Ready"), &json!("db-app")));
    assert_eq!(status["message"], UP);
    assert!(!status.to_string().contains("canary"), "no secret is told");
    let cluster = bench.get::<Cluster>("team", "db").await.expect("the Cluster");
    let owner = &cluster.owner_references()[0];
    assert_eq!((owner.kind.as_str(), owner.controller), ("ManagedService", Some(true)));
    let service = bench.get::<ManagedService>("team", "db").await.expect("the service");
    assert_eq!(service.finalizers(), ["iaf.io/managed-service-protection"]);
}

#[tokio::test]
async fn a_service_survives_any_broken_call() {
    kit::testing::sweep(scenario).await;
}

#[tokio::test]
async fn a_service_says_where_nobody_runs_databases_and_goes_all_the_same() {
    let bench =
        kit::testing::converge(|_| Scenario::new(room(), manifest()).lacking("clusters.postgresql.cnpg.io"))
            .await;
    let status = status(&bench).await;
    let message = "managed services are not available on this platform instance";
    assert_eq!((&status["phase"], &status["message"]), (&json!("Failed"), &json!(message)));
    bench.delete::<ManagedService>(&db()).await;
    assert_eq!(bench.pass(&room(), &db()).await.expect("a pass"), Outcome::Gone);
    assert!(bench.get::<ManagedService>("team", "db").await.is_none());
}

/// Passes with the operator between them.
async fn settled(bench: &Bench) -> Outcome {
    let mut outcome = Outcome::OnChange;
    for _ in 0..4 {
        operator(bench.client().clone()).await;
        outcome = bench.pass(&room(), &db()).await.expect("a pass");
    }
    outcome
}

// TestManagedServiceReconcile_DeletionBlocked, TestManagedServiceReconcile_DeletionAllowed
#[tokio::test]
async fn a_deletion_waits_for_the_last_application_and_then_for_the_cluster() {
    let bench = Bench::start().await;
    bench.create(manifest()).await;
    for app in ["web", "api"] {
        bench.create(app_manifest(app)).await;
    }
    settled(&bench).await;
    assert_eq!(status(&bench).await["boundApps"], json!(["api", "web"]));

    bench.delete::<ManagedService>(&db()).await;
    assert_eq!(settled(&bench).await, Outcome::OnChange);
    let blocked = status(&bench).await;
    let want = "cannot delete: apps still bound: [api, web]";
    assert_eq!((&blocked["phase"], &blocked["message"]), (&json!("Failed"), &json!(want)));
    let conditions = blocked["conditions"].as_array().expect("conditions");
    assert!(conditions.iter().any(|told| told["type"] == DELETION_BLOCKED && told["status"] == "True"));
    assert!(bench.get::<Cluster>("team", "db").await.is_some(), "nothing is lost");

    // One goes by hand, the other is freed of its variable.
    bench.delete::<Application>(&Name::new("team", "web")).await;
    settled(&bench).await;
    assert_eq!(status(&bench).await["message"], "cannot delete: apps still bound: [api]");
    bench.patch::<Application>(&Name::new("team", "api"), json!({ "spec": { "env": null } })).await;
    // Whoever runs the Cluster has something to do before it is gone.
    bench.patch::<Cluster>(&db(), json!({ "metadata": { "finalizers": ["example.org/data"] } })).await;
    bench.pass(&room(), &db()).await.expect("a pass");
    bench.pass(&room(), &db()).await.expect("a pass");
    let going = status(&bench).await;
    assert_eq!(going["phase"], "Deleting");
    assert!(
        going["conditions"]
            .as_array()
            .is_some_and(|all| all.iter().all(|told| told["type"] != DELETION_BLOCKED))
    );
    bench.patch::<Cluster>(&db(), json!({ "metadata": { "finalizers": null } })).await;
    assert_eq!(bench.pass(&room(), &db()).await.expect("a pass"), Outcome::Gone);
    assert!(bench.get::<ManagedService>("team", "db").await.is_none());
}

#[tokio::test]
async fn a_secret_of_somebody_else_is_not_handed_out() {
    let bench = Bench::start().await;
    bench.create(manifest()).await;
    bench
        .create(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "db-app", "namespace": "team" },
            "stringData": { "uri": "postgres://elsewhere" },
        }))
        .await;
    settled(&bench).await;
    let waiting = status(&bench).await;
    assert_eq!((&waiting["phase"], &waiting["connectionSecretRef"]), (&json!("Provisioning"), &Value::Null));
    let secrets = Api::<Secret>::namespaced(bench.client().clone(), "team");
    secrets.delete("db-app", &DeleteParams::default()).await.expect("is deleted");
    settled(&bench).await;
    assert_eq!(status(&bench).await["connectionSecretRef"], "db-app");
}

#[tokio::test]
async fn a_plan_grows_in_place_and_a_refusal_is_told_as_failed() {
    let bench = Bench::start().await;
    bench.create(manifest()).await;
    settled(&bench).await;
    bench.patch::<ManagedService>(&db(), json!({ "spec": { "plan": "ha" } })).await;
    settled(&bench).await;
    let cluster = bench.get::<Cluster>("team", "db").await.expect("the Cluster");
    assert_eq!((cluster.spec.instances, cluster.spec.storage.size.as_deref()), (3, Some("10Gi")));
    // Somebody gave it more than any plan has.
    bench.patch::<Cluster>(&db(), json!({ "spec": { "storage": { "size": "20Gi" } } })).await;
    assert_eq!(settled(&bench).await, Outcome::Refused);
    let refused = status(&bench).await;
    assert_eq!(refused["phase"], "Failed");
    assert!(refused["message"].as_str().is_some_and(|message| message.contains("20Gi")), "{refused}");
    assert_eq!(refused["connectionSecretRef"], "db-app", "bound applications go on");
    let cluster = bench.get::<Cluster>("team", "db").await.expect("the Cluster");
    assert_eq!(cluster.spec.storage.size.as_deref(), Some("20Gi"));
}
