//! What is told of services, and the way of a creation on a control plane in this process.

use std::process::ExitCode;
use std::time::Duration;

use agents::services::{Error, backups, provision};
use api::foreign::cnpg::Backup;
use api::services::ManagedService;
use control_plane::ControlPlane;
use jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use super::backup::{rows as backup_rows, seen};
use super::create::Coming;
use super::describe::{described, page, rows};
use super::refused;
use super::stand::stand;
use super::wait::{End, Seen};

fn status(phase: &str, ready: (&str, &str), message: &str) -> Value {
    json!({
        "phase": phase, "message": message,
        "conditions": [{
            "type": "Ready", "status": ready.0, "reason": ready.1, "message": message, "observedGeneration": 2,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
    })
}

fn service(generation: i64, status: Value) -> ManagedService {
    let metadata = json!({
        "name": "db", "namespace": "team", "generation": generation, "creationTimestamp": "2026-01-01T00:00:00Z",
    });
    let spec = json!({ "type": "postgres", "plan": "small", "version": "17" });
    let body = json!({ "apiVersion": "iaf.io/v1alpha1", "kind": "ManagedService", "metadata": metadata, "spec": spec, "status": status });
    serde_json::from_value(body).expect("a service")
}

#[test]
fn a_service_is_waited_for_until_it_is_ready_or_cannot_be() {
    let waiting = |words: &str| Seen::Waiting(format!("db: {words}"));
    let failed = |words: &str| Seen::Failed(words.to_owned());
    let table = [
        (2, json!({}), waiting("waiting for the platform to take it up")),
        (3, status("Ready", ("True", "Available"), "old"), waiting("waiting for the platform to take it up")),
        (
            2,
            status("Provisioning", ("False", "Provisioning"), "Setting up primary"),
            waiting("Provisioning: Setting up primary"),
        ),
        (2, status("Ready", ("True", "Available"), "up"), Seen::Done(())),
        (2, status("Ready", ("False", "Failed"), "a call failed"), waiting("Ready: a call failed")),
        (
            2,
            status("Failed", ("False", "DependencyNotReady"), "failing over"),
            waiting("Failed: failing over"),
        ),
        (2, status("Failed", ("False", "InvalidSpec"), "no such time"), failed("no such time")),
        (2, status("Failed", ("False", "KindMissing"), "not available"), failed("not available")),
        (2, status("Deleting", ("False", "Deleting"), "going"), failed("somebody deletes it")),
    ];
    for (generation, status, want) in table {
        assert_eq!(stand(&service(generation, status.clone())), want, "{status}");
    }
}

fn bound() -> ManagedService {
    let mut status = status("Ready", ("True", "Available"), "the database takes connections");
    status["boundApps"] = json!(["api", "web"]);
    status["connectionSecretRef"] = json!("db-app");
    service(2, status)
}

fn soon() -> Timestamp {
    "2026-01-01T00:00:45Z".parse().expect("a time")
}

#[test]
fn services_are_listed_in_a_table() {
    let text = rows(&[bound(), service(2, json!({}))], true, soon());
    let want = "\
NAMESPACE   NAME   TYPE       PLAN    VERSION   PHASE          APPS      AGE   MESSAGE
team        db     postgres   small   17        Ready          api,web   45s   the database takes connections
team        db     postgres   small   17        Provisioning   -         45s
";
    assert_eq!(text, want);
}

#[test]
fn a_service_is_told_with_names_and_no_values() {
    let want = "\
phase       Ready
message     the database takes connections
plan        small
version     17
database    app
secret      db-app
variables   DATABASE_URL, PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD
bound apps  api, web
age         45s
";
    assert_eq!(page(&bound(), soon()), want);
    let told = described(&bound());
    assert_eq!((&told["phase"], &told["boundApps"]), (&json!("Ready"), &json!(["api", "web"])));
    assert_eq!(described(&service(2, json!({})))["connectionEnvVars"], json!([]));
}

#[test]
fn backups_are_told_with_what_they_reach_back_to() {
    let listed = |name: &str, phase: &str, kept: Option<&str>| backups::Listed {
        name: name.into(),
        service: "db".into(),
        phase: phase.into(),
        created: Some("2026-01-01T00:00:00Z".parse().expect("a time")),
        completed: (phase == "completed").then(|| "2026-01-01T00:00:30.5Z".parse().expect("a time")),
        kept_until: kept.map(str::to_owned),
        error: (phase == "failed").then(|| "no room".to_owned()),
    };
    let all = [
        listed("db-1", "completed", None),
        listed("db-deleted-1", "completed", Some("2026-01-04T00:00:00Z")),
        listed("db-2", "failed", None),
    ];
    let want = "\
NAME           PHASE       AGE   BACK TO                KEPT UNTIL             MESSAGE
db-1           completed   45s   2026-01-01T00:00:30Z   -
db-deleted-1   completed   45s   2026-01-01T00:00:30Z   2026-01-04T00:00:00Z
db-2           failed      45s   -                      -                      no room
";
    assert_eq!(backup_rows(&all, soon()), want);
    let backup = |status: Value| -> Backup {
        serde_json::from_value(json!({ "metadata": { "name": "b" }, "spec": {}, "status": status }))
            .expect("a backup")
    };
    let table = [
        (json!({}), Seen::Waiting("b: pending".to_owned())),
        (json!({ "phase": "running" }), Seen::Waiting("b: running".to_owned())),
        (json!({ "phase": "pending", "error": "waits" }), Seen::Waiting("b: pending: waits".to_owned())),
        (json!({ "phase": "completed" }), Seen::Done(())),
        (json!({ "phase": "failed", "error": "no room" }), Seen::Failed("no room".to_owned())),
        (json!({ "phase": "failed" }), Seen::Failed("it failed, and nobody said why".to_owned())),
    ];
    for (status, want) in table {
        assert_eq!(seen(&backup(status)), want);
    }
}

#[test]
fn a_refusal_says_what_can_be_done() {
    let told = |error| refused(error, "db").expect_err("is told").to_string();
    let bound = Error::StillBound { apps: vec!["api".into(), "web".into()] };
    assert_eq!(
        told(bound),
        "cannot delete: apps still bound: [api, web]; `terrace service unbind db APP` frees one"
    );
    assert_eq!(told(Error::NotAvailable), "managed services are not available on this platform instance");
    let wrong = Error::Invalid { what: "name", why: "it is none".into() };
    assert_eq!(refused(wrong, "db").expect("ends"), ExitCode::from(2));
}

#[tokio::test]
async fn a_creation_ends_when_the_service_is_ready_or_has_failed() {
    let plane = ControlPlane::start().await.expect("starts");
    crate::install::definitions(&plane, crate::install::wanted(None)).await.expect("are installed");
    let client = plane.client();
    let coming = Coming { client: &client, namespace: "default", name: "db", json: true };
    let input =
        provision::Input { name: "db".into(), type_: "postgres".into(), ..provision::Input::default() };
    provision::run(&client, "default", input).await.expect("is asked for");
    let late = coming.ready(Duration::ZERO).await.expect("ends");
    assert!(matches!(&late, End::Failed(why) if why.contains("waiting for the platform")), "{late:?}");
    let services: Api<ManagedService> = Api::default_namespaced(client.clone());
    let say = |status: Value| {
        let patch = Patch::Merge(json!({ "status": status }));
        let services = services.clone();
        async move { services.patch_status("db", &PatchParams::default(), &patch).await.expect("is told") }
    };
    let (ended, ()) = tokio::join!(coming.ready(Duration::from_secs(60)), async {
        say(status("Provisioning", ("False", "Provisioning"), "Setting up primary")).await;
        say(status("Ready", ("True", "Available"), "up")).await;
    });
    assert_eq!(ended.expect("ends"), End::Done(()));
    say(status("Failed", ("False", "CreationFailed"), "no room")).await;
    assert_eq!(coming.ready(Duration::from_secs(60)).await.expect("ends"), End::Failed("no room".into()));
    plane.close().await;
}
