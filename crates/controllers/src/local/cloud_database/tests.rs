//! Every rule by table, and claims through the two tests of every kind.

use std::sync::Arc;

use api::conditions::{READY, SYNCED};
use api::foreign::cloud_database::{CloudDatabaseClaim, CloudDatabaseClaimStatus};
use api::foreign::cnpg::Cluster;
use api::foreign::find;
use api::secret::Sealed;
use k8s_openapi::api::core::v1::Secret;
use kit::testing::{self, Bench, Gate, Scenario};
use kit::{Do, Name, Next, Outcome};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};

use super::CloudDatabases;
use super::plan::{Held, Login, World, plan};
use crate::services::Config;

const PASSWORD: &str = "canary";

fn config() -> Config {
    Config { default_version: "17".into() }
}

fn manifest(spec: Value) -> Value {
    let mut whole = json!({
        "parameters": { "type": "postgres", "minStorage": "20GB" },
        "writeConnectionSecretToRef": { "name": "conn" },
    });
    merge(&mut whole, spec);
    json!({
        "apiVersion": "database.infobloxopen.github.com/v1alpha1", "kind": "CloudDatabaseClaim",
        "metadata": { "name": "db", "namespace": "team" }, "spec": whole,
    })
}

/// Merges one document into another; a null takes a field away.
fn merge(into: &mut Value, from: Value) {
    let Value::Object(fields) = from else {
        *into = from;
        return;
    };
    for (key, value) in fields {
        match value {
            Value::Null => drop(into.as_object_mut().and_then(|held| held.remove(&key))),
            value => merge(&mut into[key], value),
        }
    }
}

fn claim(spec: Value) -> CloudDatabaseClaim {
    let mut claim: CloudDatabaseClaim = serde_json::from_value(manifest(spec)).expect("a claim");
    claim.metadata.uid = Some("u".into());
    claim
}

fn parameters(of: Value) -> Value {
    json!({ "parameters": of })
}

/// A Cluster that belongs to somebody of this uid, or to nobody, in this state.
fn cluster(owner: Option<&str>, ready: &str, phase: &str) -> Cluster {
    let owners = owner.map(
        |uid| json!([{ "apiVersion": "x/v1", "kind": "X", "name": "db", "uid": uid, "controller": true }]),
    );
    let value = json!({
        "apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster",
        "metadata": { "name": "db", "namespace": "team", "uid": "c", "ownerReferences": owners,
            "annotations": { "database.infobloxopen.github.com/claim": "db" } },
        "spec": { "imageName": "registry/postgresql:15.3", "storage": { "size": "20G" } },
        "status": { "phase": phase, "conditions": [{ "type": "Ready", "status": ready }] },
    });
    serde_json::from_value(value).expect("a Cluster")
}

fn nothing() -> World {
    World { cluster: None, login: None, secret: Held::Nothing }
}

fn with(cluster: Cluster) -> World {
    World { cluster: Some(Arc::new(cluster)), ..nothing() }
}

fn login() -> Option<Login> {
    Some(Login {
        username: "postgres".into(),
        password: Sealed::new(PASSWORD.into()),
        endpoint: "127.96.0.1".into(),
        port: "5432".into(),
    })
}

const HEALTHY: &str = "Cluster in healthy state";

/// A claim whose server takes connections.
fn running() -> World {
    World { login: login(), secret: Held::Ours, ..with(cluster(Some("u"), "True", HEALTHY)) }
}

/// What is said of one type: status, reason, and why.
fn said(status: &CloudDatabaseClaimStatus, type_: &str) -> String {
    let Some(found) = find(&status.conditions, type_) else { return "-".into() };
    let why = found.message.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    format!("{} {}{why}", found.status, found.reason.as_deref().unwrap_or_default())
}

/// The plan in one line: steps, whether others go, both conditions, when it is looked again.
fn told(claim: &CloudDatabaseClaim, world: &World) -> String {
    let plan = match plan(claim, world, &config()) {
        Ok(plan) => plan,
        Err(refusal) => return format!("refused: {}", refusal.message),
    };
    let steps: Vec<String> = plan.steps.iter().map(step).collect();
    let others = if plan.whole { "others go" } else { "others stay" };
    let (synced, ready) = (said(&plan.status, SYNCED), said(&plan.status, READY));
    let next = match plan.next {
        Next::After(delay) => format!("{}s", delay.as_secs()),
        other => format!("{other:?}"),
    };
    format!("{}, {others} | {synced} | {ready} | {next}", steps.join(", "))
}

fn step(step: &Do<std::convert::Infallible>) -> String {
    match step {
        Do::Apply(child) if !child.owned => format!("{step}, unowned"),
        Do::Patch(_, patch) => format!("{step} {}", patch["metadata"]["ownerReferences"][0]["uid"]),
        _ => step.to_string(),
    }
}

const SYNC: &str = "True ReconcileSuccess";

#[test]
fn every_situation_has_its_plan() {
    let apply = "apply Cluster team/db";
    let plain = || claim(json!({}));
    let orphan = || claim(json!({ "deletionPolicy": "orphan" }));
    let coming = "Setting up primary: the first server is made";
    let foreign = "Cluster db exists and was not made for this claim; delete it, or choose another name";
    let taken = "Secret conn exists and was not made for this claim; delete it, or name another in spec.writeConnectionSecretToRef";
    let goes = "Cluster db is being deleted, and is made anew as soon as it is gone";
    let mut leaving = cluster(Some("u"), "True", HEALTHY);
    leaving.metadata.deletion_timestamp = Some(now());
    let mut strange = cluster(None, "True", HEALTHY);
    strange.metadata.annotations = None;
    let waits = |why: &str| format!("{SYNC} | False Creating ({why}) | 10s");
    let blocked = |why: &str| format!("False ReconcileError ({why}) | False Creating ({why}) | 10s");
    let table = vec![
        (
            "nothing is there",
            plain(),
            nothing(),
            format!("{apply}, others stay | {}", waits("the database cluster is being created")),
        ),
        (
            "it comes",
            plain(),
            with(cluster(Some("u"), "False", coming)),
            format!("{apply}, others stay | {}", waits(coming)),
        ),
        (
            "it runs, and nobody knows the login",
            plain(),
            with(cluster(Some("u"), "True", HEALTHY)),
            format!(
                "{apply}, others stay | {}",
                waits("the database runs; waiting for Secret db-superuser with the login of its superuser")
            ),
        ),
        (
            "the login is there before it runs",
            plain(),
            World { login: login(), ..with(cluster(Some("u"), "False", coming)) },
            format!("{apply}, others stay | {}", waits(coming)),
        ),
        (
            "it runs",
            plain(),
            World { secret: Held::Nothing, ..running() },
            format!("{apply}, apply Secret team/conn, others go | {SYNC} | True Available | OnChange"),
        ),
        (
            "it ran, and comes back",
            plain(),
            World { cluster: with(cluster(Some("u"), "False", coming)).cluster, ..running() },
            format!("{apply}, apply Secret team/conn, others go | {}", waits(coming)),
        ),
        (
            "its login is lost",
            plain(),
            World { login: None, ..running() },
            format!(
                "{apply}, others stay | {}",
                waits("the database runs; waiting for Secret db-superuser with the login of its superuser")
            ),
        ),
        (
            "it wants no Secret",
            claim(json!({ "writeConnectionSecretToRef": null })),
            World { secret: Held::Nothing, ..running() },
            format!("{apply}, others go | {SYNC} | True Available | OnChange"),
        ),
        (
            "the Secret is somebody else's",
            plain(),
            World { secret: Held::Foreign, ..running() },
            format!("{apply}, others stay | {}", blocked(taken)),
        ),
        (
            "the Cluster is somebody else's",
            plain(),
            with(cluster(Some("v"), "True", HEALTHY)),
            format!(", others stay | {}", blocked(foreign)),
        ),
        (
            "the Cluster is nobody's, and was not made for a claim",
            orphan(),
            with(strange),
            format!(", others stay | {}", blocked(foreign)),
        ),
        ("the Cluster goes", plain(), with(leaving), format!(", others stay | {}", waits(goes))),
        (
            "the server is to stay",
            orphan(),
            nothing(),
            format!("{apply}, unowned, others stay | {}", waits("the database cluster is being created")),
        ),
        (
            "the server is to stay from now on",
            orphan(),
            running(),
            format!(
                "patch Cluster team/db null, {apply}, unowned, apply Secret team/conn, others go | {SYNC} | True Available | OnChange"
            ),
        ),
        (
            "a server that stayed is found again",
            plain(),
            World { cluster: with(cluster(None, "True", HEALTHY)).cluster, ..running() },
            format!(
                "patch Cluster team/db \"u\", {apply}, apply Secret team/conn, others go | {SYNC} | True Available | OnChange"
            ),
        ),
    ];
    for (what, claim, world, want) in table {
        assert_eq!(told(&claim, &world), want, "{what}");
    }
}

fn now() -> k8s_openapi::apimachinery::pkg::apis::meta::v1::Time {
    k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH)
}

#[test]
fn a_claim_that_ran_says_that_it_does_no_more_and_why() {
    let mut held = claim(json!({}));
    held.status = Some(plan(&held, &running(), &config()).expect("a plan").status);
    let words = "Cluster is unrecoverable and needs manual intervention";
    let broken = with(cluster(Some("u"), "False", words));
    for _ in 0..2 {
        let status = plan(&held, &broken, &config()).expect("a plan").status;
        assert_eq!(said(&status, READY), format!("False Unavailable ({words})"));
        assert_eq!(said(&status, SYNCED), SYNC);
        held.status = Some(status);
    }
    let status = plan(&held, &running(), &config()).expect("a plan").status;
    assert_eq!(said(&status, READY), "True Available");
}

#[test]
fn what_belongs_to_a_claim_goes_with_it_and_a_server_that_stays_is_let_go_of() {
    let end = |policy: Option<&str>, owner: Option<&str>| {
        let mut claim = claim(json!({ "deletionPolicy": policy }));
        claim.metadata.deletion_timestamp = Some(now());
        let plan = plan(&claim, &with(cluster(owner, "True", HEALTHY)), &config()).expect("a plan");
        assert_eq!(plan.next, Next::Release);
        plan.steps.iter().map(step).collect::<Vec<_>>().join(", ")
    };
    let table = [
        (None, Some("u"), "delete Cluster team/db"),
        (Some("Delete"), Some("u"), "delete Cluster team/db"),
        (Some("delete"), None, "delete Cluster team/db"),
        (Some("Delete"), Some("v"), ""),
        (Some("Orphan"), Some("u"), "patch Cluster team/db null"),
        (Some("orphan"), None, ""),
        (Some("Orphan"), Some("v"), ""),
        // Nobody knows what was meant: data stays.
        (Some("Recycle"), Some("u"), "patch Cluster team/db null"),
    ];
    for (policy, owner, want) in table {
        assert_eq!(end(policy, owner), want, "{policy:?} {owner:?}");
    }
}

#[test]
fn a_server_is_as_the_claim_asks() {
    let image = |version: &str| format!("ghcr.io/cloudnative-pg/postgresql:{version}");
    let of = |asked: Value, there: Option<Cluster>| {
        let world = World { cluster: there.map(Arc::new), ..nothing() };
        let plan = plan(&claim(parameters(asked)), &world, &config()).map_err(|refusal| refusal.message)?;
        let child = plan.steps.into_iter().find_map(|step| match step {
            Do::Apply(child) => Some(child),
            _ => None,
        });
        let spec = child.expect("a Cluster").body["spec"].clone();
        assert_eq!((&spec["instances"], &spec["enableSuperuserAccess"]), (&json!(1), &json!(true)));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok::<_, String>((text(&spec["imageName"]), text(&spec["storage"]["size"])))
    };
    let there = || Some(cluster(Some("u"), "True", HEALTHY));
    let good = [
        (json!({}), None, "17", "20G"),
        (json!({ "type": "aurora-postgresql", "engineVersion": "15" }), None, "15", "20G"),
        (json!({ "engineVersion": "15.3", "minStorage": "5 GiB" }), None, "15.3", "5Gi"),
        (json!({ "minStorage": null }), None, "17", "1Gi"),
        (json!({ "minStorage": "0GB" }), None, "17", "1Gi"),
        (json!({ "minStorage": "512MB" }), None, "17", "512M"),
        // What runs stays, and a disk never shrinks.
        (json!({}), there(), "15.3", "20G"),
        (json!({ "engineVersion": "15.4", "minStorage": "5GB" }), there(), "15.4", "20G"),
        (json!({ "minStorage": "40GB" }), there(), "15.3", "40G"),
    ];
    for (asked, there, version, size) in good {
        assert_eq!(of(asked.clone(), there), Ok((image(version), size.to_owned())), "{asked}");
    }
    let sizes =
        |written: &str| format!("spec.parameters.minStorage is `{written}`; write a size such as 20GB");
    let bad = [
        (json!({ "type": "mysql" }), "spec.parameters.type is `mysql`, and there are no such servers here; write postgres or aurora-postgresql".to_owned()),
        (json!({ "minStorage": "much" }), sizes("much")),
        (json!({ "minStorage": "20" }), sizes("20")),
        (json!({ "minStorage": "GB" }), sizes("GB")),
        (json!({ "minStorage": "20XB" }), sizes("20XB")),
        (json!({ "minStorage": "-1GB" }), sizes("-1GB")),
        (json!({ "engineVersion": "latest" }), "spec.parameters.engineVersion is `latest`; write a version such as 15 or 15.3".to_owned()),
        (json!({ "engineVersion": "16" }), "the server runs version 15.3, which cannot be changed to 16 in place; make a claim of another name for 16 and copy the data".to_owned()),
    ];
    for (asked, want) in bad {
        assert_eq!(of(asked, there()), Err(want));
    }
    let policy = plan(&claim(json!({ "deletionPolicy": "Recycle" })), &nothing(), &config());
    let refusal = policy.expect_err("it is refused").message;
    assert_eq!(refusal, "spec.deletionPolicy is `Recycle`; write Delete or Orphan");
}

#[test]
fn the_password_is_in_the_secret_alone_under_the_keys_of_crossplane() {
    let plan = plan(&claim(json!({})), &running(), &config()).expect("a plan");
    let (secrets, others): (Vec<_>, Vec<_>) = plan
        .steps
        .iter()
        .partition(|step| matches!(step, Do::Apply(child) if child.resource().kind == "Secret"));
    let [Do::Apply(child)] = secrets.as_slice() else { panic!("one Secret: {}", secrets.len()) };
    let secret: Secret = serde_json::from_value(child.body.clone()).expect("a Secret");
    let data = secret.data.unwrap_or_default();
    let text: Vec<_> =
        data.iter().map(|(key, value)| format!("{key}={}", String::from_utf8_lossy(&value.0))).collect();
    assert_eq!(text.join(" "), "endpoint=127.96.0.1 password=canary port=5432 username=postgres");
    assert_eq!((secret.type_.as_deref(), child.owned), (Some("connection.crossplane.io/v1alpha1"), true));
    let words: Vec<String> = plan.steps.iter().map(ToString::to_string).collect();
    assert!(!format!("{words:?} {others:?} {:?} {:?}", plan.status, running()).contains(PASSWORD));
}

/// What CloudNativePG does about the Cluster.
async fn operator(client: Client) {
    let clusters = Api::<Cluster>::namespaced(client.clone(), "team");
    let Ok(Some(cluster)) = clusters.get_opt("db").await else { return };
    let data = [("username", "postgres"), ("password", PASSWORD), ("host", "127.96.0.1"), ("port", "5432")];
    let mut secret = Secret {
        string_data: Some(data.map(|(key, value)| (key.to_owned(), value.to_owned())).into()),
        ..Secret::default()
    };
    secret.metadata.name = Some("db-superuser".into());
    secret.metadata.owner_references = cluster.controller_owner_ref(&()).map(|owner| vec![owner]);
    match Api::<Secret>::namespaced(client.clone(), "team").create(&PostParams::default(), &secret).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        Err(error) => panic!("{error}"),
    }
    let status = json!({ "phase": HEALTHY, "conditions": [{ "type": "Ready", "status": "True" }] });
    let patch = Patch::Merge(json!({ "status": status }));
    clusters.patch_status("db", &PatchParams::default(), &patch).await.expect("it is told");
}

fn room() -> CloudDatabases {
    CloudDatabases::new(config())
}

fn scenario(_: &Gate) -> Scenario<CloudDatabases> {
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "team" } });
    Scenario::new(room(), manifest(json!({}))).given(space).world(operator)
}

fn name() -> Name {
    Name::new("team", "db")
}

async fn status(bench: &Bench) -> CloudDatabaseClaimStatus {
    let claim = bench.get::<CloudDatabaseClaim>("team", "db").await.expect("the claim");
    claim.status.unwrap_or_default()
}

#[tokio::test]
async fn a_claim_converges() {
    let bench = testing::converge(scenario).await;
    let status = status(&bench).await;
    assert_eq!((said(&status, SYNCED).as_str(), said(&status, READY).as_str()), (SYNC, "True Available"));
    let secret = bench.get::<Secret>("team", "conn").await.expect("the Secret");
    assert_eq!(secret.data.unwrap_or_default()["password"].0, PASSWORD.as_bytes());
    let cluster = bench.get::<Cluster>("team", "db").await.expect("the Cluster");
    let owner = &cluster.owner_references()[0];
    assert_eq!((owner.kind.as_str(), owner.controller), ("CloudDatabaseClaim", Some(true)));
}

#[tokio::test]
async fn no_broken_call_changes_what_becomes_of_a_claim() {
    testing::sweep(scenario).await;
}

#[tokio::test]
async fn no_broken_call_loses_a_server_that_stays() {
    let stays = |_: &Gate| {
        let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "team" } });
        let orphan = manifest(json!({ "deletionPolicy": "Orphan" }));
        Scenario::new(room(), orphan).given(space).world(operator).keeps_something()
    };
    testing::sweep(stays).await;
}

/// Passes with the operator between them.
async fn settled(bench: &Bench) -> Outcome {
    let mut outcome = Outcome::OnChange;
    for _ in 0..4 {
        operator(bench.client().clone()).await;
        outcome = bench.pass(&room(), &name()).await.expect("a pass");
    }
    outcome
}

#[tokio::test]
async fn a_server_outlives_its_claim_and_the_next_of_its_name_takes_it_over() {
    let bench = Bench::start().await;
    let uid = async || bench.get::<Cluster>("team", "db").await.and_then(|cluster| cluster.uid());
    let owners = async || {
        let cluster = bench.get::<Cluster>("team", "db").await.expect("the Cluster");
        cluster.owner_references().iter().map(|owner| owner.kind.clone()).collect::<Vec<_>>()
    };
    bench.create(manifest(json!({}))).await;
    assert_eq!(settled(&bench).await, Outcome::OnChange);
    let first = uid().await;
    for (policy, want) in [("Orphan", 0), ("Delete", 1), ("orphan", 0)] {
        let patch = json!({ "spec": { "deletionPolicy": policy } });
        bench.patch::<CloudDatabaseClaim>(&name(), patch).await;
        settled(&bench).await;
        assert_eq!(owners().await.len(), want, "{policy}");
    }
    bench.delete::<CloudDatabaseClaim>(&name()).await;
    assert_eq!(bench.pass(&room(), &name()).await.expect("a pass"), Outcome::Gone);
    bench.state("").await;
    assert!(bench.get::<Secret>("team", "conn").await.is_none(), "its Secret goes with it");
    assert_eq!(uid().await, first, "the server stays");
    bench.create(manifest(json!({}))).await;
    assert_eq!(settled(&bench).await, Outcome::OnChange);
    assert_eq!((uid().await, owners().await), (first, vec!["CloudDatabaseClaim".to_owned()]));
}

#[tokio::test]
async fn what_somebody_else_made_is_left_alone_and_told() {
    let bench = Bench::start().await;
    let theirs = json!({ "apiVersion": "v1", "kind": "Secret", "stringData": { "password": "theirs" },
        "metadata": { "name": "conn", "namespace": "team" } });
    bench.create(theirs).await;
    bench.create(manifest(json!({}))).await;
    settled(&bench).await;
    let words = said(&status(&bench).await, READY);
    assert!(words.contains("Secret conn exists and was not made for this claim"), "{words}");
    let secret = bench.get::<Secret>("team", "conn").await.expect("the Secret");
    assert_eq!(secret.data.unwrap_or_default()["password"].0, b"theirs");
    bench.delete::<Secret>(&Name::new("team", "conn")).await;
    settled(&bench).await;
    assert_eq!(said(&status(&bench).await, READY), "True Available");
    // What cannot be is told, and a server that runs goes on.
    let patch = json!({ "spec": { "parameters": { "minStorage": "much" } } });
    bench.patch::<CloudDatabaseClaim>(&name(), patch).await;
    assert_eq!(settled(&bench).await, Outcome::Refused);
    let told = status(&bench).await;
    assert_eq!(said(&told, READY), "True Available");
    assert!(said(&told, SYNCED).starts_with("False ReconcileError (spec.parameters.minStorage is `much`;"));
}
