//! Sessions from their beginning to their end, on a control plane in memory.

use std::time::Duration;

use api::apps::Application;
use api::claims::{DatabaseClaim, DbRoleClaim};
use api::foreign::cnpg::Backup;
use api::services::ManagedService;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use super::ending::{Kind, Thing};
use super::stage::{Stage, refused};
use super::sweep::{Step, World, is_overdue, pass, plan};
use super::{ENDED, EXPIRED, LAST_ACTIVITY, OWNER, TTL, unregister};
use crate::identity::Role;
use crate::tool::{Call, Progress, Question, Stop};

fn thing(kind: Kind, goes: bool) -> Thing {
    Thing { kind, name: "x".into(), uid: None, goes }
}

fn told(step: &Step) -> String {
    match step {
        Step::Delete(things) => {
            let names: Vec<&str> = things.iter().map(|thing| thing.kind.word()).collect();
            format!("delete {}", names.join(", "))
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn every_situation_has_its_next_step() {
    use Kind::{App, Backup, Claim, Database, Role, Service};
    let world = |marks: &str, things: &[(Kind, bool)]| World {
        ended: marks.contains("ended"),
        expired: marks.contains("expired"),
        overdue: marks.contains("overdue"),
        goes: marks.contains("goes"),
        things: things.iter().map(|(kind, goes)| thing(*kind, *goes)).collect(),
    };
    let table = [
        ("", vec![(App, false), (Service, false)], "Rest"),
        ("ended", vec![(App, false), (Service, false), (Backup, false)], "delete app"),
        ("ended", vec![(App, true), (Service, false)], "Wait"),
        ("ended", vec![(Role, false), (Claim, false), (Service, false)], "delete role claim"),
        ("ended", vec![(Role, true), (Claim, false)], "Wait"),
        ("ended", vec![(Claim, false), (Service, false)], "delete database claim"),
        ("ended", vec![(Service, false), (Database, false), (Backup, false)], "delete service"),
        ("ended", vec![(Service, true), (Database, true), (Backup, false)], "Wait"),
        ("ended", vec![(Database, false), (Backup, false)], "delete database"),
        ("ended", vec![(Backup, false), (Backup, false), (Backup, true)], "delete backup, backup"),
        ("ended", vec![(Backup, true)], "Wait"),
        ("ended", vec![], "DeleteNamespace"),
        ("ended goes", vec![(App, true)], "Wait"),
        ("overdue", vec![], "End"),
        ("overdue", vec![(App, false)], "End"),
        ("overdue", vec![(App, false), (Service, false)], "Expire"),
        ("overdue", vec![(Backup, false)], "Expire"),
        ("overdue", vec![(Claim, false)], "Expire"),
        ("overdue", vec![(Role, false)], "End"),
        ("overdue expired", vec![(App, false), (App, true), (Service, false)], "delete app"),
        ("overdue expired", vec![(App, true), (Service, false)], "Rest"),
        ("overdue expired", vec![(Backup, false)], "Rest"),
        ("overdue expired", vec![], "End"),
        ("expired", vec![(App, false), (Service, false)], "Rest"),
    ];
    for (row, (marks, things, want)) in table.into_iter().enumerate() {
        assert_eq!(told(&plan(&world(marks, &things))), want, "row {row}");
    }
}

#[test]
fn a_session_runs_out_of_time_after_its_last_use() {
    let now: Timestamp = "2026-01-01T12:00:00Z".parse().expect("a time");
    let table = [
        (json!({ LAST_ACTIVITY: "2026-01-01T11:00:00Z", TTL: "3600" }), false),
        (json!({ LAST_ACTIVITY: "2026-01-01T10:59:59Z", TTL: "3600" }), true),
        (json!({ LAST_ACTIVITY: "2026-01-01T00:00:00Z" }), false),
        (json!({ LAST_ACTIVITY: "2026-01-01T00:00:00Z", TTL: "long" }), false),
        (json!({ LAST_ACTIVITY: "yesterday", TTL: "3600" }), true),
    ];
    for (row, (annotations, want)) in table.into_iter().enumerate() {
        let meta = json!({ "annotations": annotations, "creationTimestamp": "2026-01-01T01:00:00Z" });
        let namespace: Namespace = serde_json::from_value(json!({ "metadata": meta })).expect("a namespace");
        assert_eq!(is_overdue(&namespace, now), want, "row {row}");
    }
}

#[tokio::test]
async fn a_session_begins_as_a_namespace_that_says_whose_it_is() {
    let stage = Stage::start().await;
    let (one, other) = (stage.caller("one", Role::Session), stage.caller("other", Role::Session));
    let made = stage.ask(&one, "register", json!({ "name": "shop" })).await.expect("begins");
    let id = made["session_id"].as_str().expect("an id");
    assert_eq!(
        (made["namespace"].as_str(), made["ttl_seconds"].as_u64()),
        (Some(&*format!("iaf-{id}")), Some(3600))
    );
    let namespace = stage.namespace(id).await.expect("is there");
    assert_eq!(namespace.annotations().get(OWNER), Some(&one.fingerprint));
    assert_eq!(namespace.annotations().get(super::NAME).map(String::as_str), Some("shop"));
    assert_ne!(stage.session(&one).await, id, "each is another");
    // Its owner works in it with rights of its own, and nobody else does.
    let listed = stage.ask(&one, "list_git_credentials", json!({ "session_id": id })).await.expect("may");
    assert_eq!(listed, json!({ "credentials": [] }));
    for foreign in [id, "", "default", "../x", &"a".repeat(80)] {
        let told = refused(stage.ask(&other, "list_git_credentials", json!({ "session_id": foreign })).await);
        assert!(told.contains("there is no session"), "{told}");
    }
    let reader = stage.caller("reader", Role::ReadOnly);
    assert!(refused(stage.ask(&reader, "register", json!({})).await).contains("may not begin sessions"));
    let told = refused(stage.ask(&one, "register", json!({ "namme": "x" })).await);
    assert!(told.contains("register takes no namme; it takes: name"), "{told}");
}

/// The question that a call ends with.
async fn asked(stage: &Stage, caller: &crate::identity::Caller, id: &str) -> Question {
    match stage.ask(caller, "unregister", json!({ "session_id": id })).await {
        Err(Stop::Ask(question)) => question,
        other => panic!("a person is asked: {other:?}"),
    }
}

fn app() -> Value {
    json!({ "spec": { "image": "nginx:1" } })
}

fn service(finalizers: &[&str]) -> Value {
    json!({ "metadata": { "finalizers": finalizers }, "spec": { "type": "postgres", "plan": "small" } })
}

fn backup() -> Value {
    json!({
        "metadata": { "annotations": { "terrace.dev/kept-until": "2099-01-01T00:00:00Z" } },
        "spec": { "cluster": { "name": "db" } },
    })
}

#[tokio::test]
async fn a_session_ends_when_a_person_agrees_and_leaves_nothing() {
    let stage = Stage::start().await;
    let owner = stage.caller("owner", Role::Session);
    let id = stage.session(&owner).await;
    stage.create::<Application>(&id, "shop", app()).await;
    stage.create::<ManagedService>(&id, "db", service(&[])).await;
    stage.create::<Backup>(&id, "db-deleted-1", backup()).await;
    let question = asked(&stage, &owner, &id).await;
    let want = [
        "delete app shop".to_owned(),
        "delete database db with all its data".into(),
        "discard backup db-deleted-1".into(),
        format!("delete namespace iaf-{id} with everything else in it"),
    ];
    assert_eq!(question.plan, want);
    assert_eq!(question.command, format!("terrace session delete {id}"));
    // What was agreed to was another plan.
    let stale = stage.answer(&owner, "unregister", json!({ "session_id": id }), Some("0".repeat(64))).await;
    assert!(matches!(stale, Err(Stop::Ask(_))), "{stale:?}");
    let told = stage.answer(&owner, "unregister", json!({ "session_id": id }), Some(question.hash())).await;
    let want = json!({ "session_id": id, "phase": "Deleted", "left": [] });
    assert_eq!(told.expect("it ends"), want);
    assert!(stage.namespace(&id).await.is_none());
    let told = refused(stage.ask(&owner, "unregister", json!({ "session_id": id })).await);
    assert!(told.contains("there is no session"), "{told}");
}

#[tokio::test]
async fn claimed_databases_and_logins_in_them_end_with_the_session_and_a_person_is_told() {
    let stage = Stage::start().await;
    let owner = stage.caller("owner", Role::Session);
    let id = stage.session(&owner).await;
    let spec = json!({ "spec": { "userName": "shop", "databaseName": "shop" } });
    stage.create::<DatabaseClaim>(&id, "shop", spec).await;
    let spec = json!({ "spec": { "sourceDatabaseClaim": { "name": "shop" } } });
    stage.create::<DbRoleClaim>(&id, "reports", spec).await;
    let question = asked(&stage, &owner, &id).await;
    let want = [
        "remove the logins of role claim reports".to_owned(),
        "delete database claim shop and its data, as its deletePolicy says".into(),
        format!("delete namespace iaf-{id} with everything else in it"),
    ];
    assert_eq!(question.plan, want);
    let told = stage.answer(&owner, "unregister", json!({ "session_id": id }), Some(question.hash())).await;
    assert_eq!(told.expect("it ends")["phase"], "Deleted");
    assert!(stage.namespace(&id).await.is_none());
}

#[tokio::test]
async fn what_does_not_go_at_once_is_told_and_carried_on() {
    let stage = Stage::start().await;
    let owner = stage.caller("owner", Role::Session);
    let id = stage.session(&owner).await;
    let namespace = format!("iaf-{id}");
    stage.create::<ManagedService>(&id, "db", service(&["test/held"])).await;
    stage.create::<Backup>(&id, "copy", backup()).await;
    let hash = asked(&stage, &owner, &id).await.hash();
    let mut call = Call {
        agents: &stage.agents,
        caller: &owner,
        client: owner.client(&stage.client),
        namespace: namespace.clone(),
        session: id.clone(),
        answered: Some(crate::tool::Answered { hash }),
        led: false,
        progress: Progress::default(),
    };
    let told = unregister::end(&call, Duration::ZERO).await.expect("it begins");
    assert_eq!(told.phase, unregister::Phase::Deleting);
    assert_eq!(told.left, ["service db", "backup copy", &format!("namespace {namespace}")]);
    assert!(told.poll_seconds.is_some());
    // Nothing else works in it, and it is not asked about again.
    let told = refused(stage.ask(&owner, "list_git_credentials", json!({ "session_id": id })).await);
    assert!(told.contains("has ended, and is being removed"), "{told}");
    call.answered = None;
    let told = unregister::end(&call, Duration::ZERO).await.expect("it goes on");
    assert_eq!(told.left.len(), 3, "the data waits for its service: {:?}", told.left);
    let services: Api<ManagedService> = Api::namespaced(stage.client.clone(), &namespace);
    let free = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    services.patch("db", &PatchParams::default(), &free).await.expect("is let go");
    let told = unregister::end(&call, Duration::from_secs(25)).await.expect("it ends");
    assert_eq!(told.phase, unregister::Phase::Deleted);
    assert!(stage.namespace(&id).await.is_none());
}

#[tokio::test]
async fn only_a_session_is_ended_and_only_by_those_who_may() {
    let stage = Stage::start().await;
    let owner = stage.caller("owner", Role::Session);
    let id = stage.session(&owner).await;
    let arguments = json!({ "session_id": id });
    let stranger = stage.caller("stranger", Role::Session);
    assert!(
        refused(stage.ask(&stranger, "unregister", arguments.clone()).await).contains("there is no session")
    );
    let reader = stage.caller("reader", Role::ReadOnly);
    assert!(refused(stage.ask(&reader, "unregister", arguments).await).contains("may not end session"));
    let admin = stage.caller("admin", Role::Admin);
    asked(&stage, &admin, &id).await;
    let told = refused(stage.ask(&admin, "unregister", json!({ "session_id": "default" })).await);
    assert!(told.contains("there is no session"), "{told}");
    assert!(stage.namespace(&id).await.expect("is there").annotations().get(ENDED).is_none());
}

#[tokio::test]
async fn time_ends_what_holds_no_data_and_only_stops_what_does() {
    let stage = Stage::start().await;
    let owner = stage.caller("owner", Role::Session);
    let (bare, full, busy) =
        (stage.session(&owner).await, stage.session(&owner).await, stage.session(&owner).await);
    for id in [&bare, &full, &busy] {
        stage.create::<Application>(id, "shop", app()).await;
    }
    stage.create::<ManagedService>(&full, "db", service(&[])).await;
    let now = Timestamp::now();
    let long_ago = json!({ LAST_ACTIVITY: (now - SignedDuration::from_hours(2)).to_string() });
    stage.note(&bare, long_ago.clone()).await;
    stage.note(&full, long_ago).await;
    while pass(&stage.client, now).await.expect("it looks") {}
    assert!(stage.namespace(&bare).await.is_none(), "it ended");
    let apps = async |id: &str| {
        let api: Api<Application> = Api::namespaced(stage.client.clone(), &format!("iaf-{id}"));
        api.list(&Default::default()).await.expect("answers").items.len()
    };
    assert_eq!((apps(&full).await, apps(&busy).await), (0, 1));
    let services: Api<ManagedService> = Api::namespaced(stage.client.clone(), &format!("iaf-{full}"));
    let service = services.get("db").await.expect("data outlives mistakes");
    assert!(service.metadata.deletion_timestamp.is_none());
    let marked = async || stage.namespace(&full).await.expect("stays").annotations().contains_key(EXPIRED);
    assert!(marked().await);
    stage.ask(&owner, "list_git_credentials", json!({ "session_id": full })).await.expect("it is back");
    assert!(!marked().await);
    assert!(!pass(&stage.client, now).await.expect("it looks"), "nothing is overdue any more");
    assert!(services.get_opt("db").await.expect("answers").is_some());
}

#[tokio::test]
async fn an_ended_session_is_carried_on_after_a_restart() {
    let stage = Stage::start().await;
    let owner = stage.caller("owner", Role::Session);
    let id = stage.session(&owner).await;
    stage.create::<Application>(&id, "shop", app()).await;
    stage.create::<Backup>(&id, "copy", backup()).await;
    // All that an earlier life left behind is the mark.
    stage.note(&id, json!({ ENDED: "2026-01-01T00:00:00Z" })).await;
    while pass(&stage.client, Timestamp::now()).await.expect("it looks") {}
    assert!(stage.namespace(&id).await.is_none());
}
