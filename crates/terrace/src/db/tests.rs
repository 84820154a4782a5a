//! What is told of claims, and what the platform writes down, on a control plane in this process.

use std::time::Duration;

use agents::audit::{Head, Link, head_beside, verify};
use agents::{Agents, Settings};
use api::claims::{DatabaseClaim, DbRoleClaim};
use api::connection::{Connection, SslMode};
use api::secret::Sealed;
use control_plane::ControlPlane;
use control_plane::gates::rbac::User;
use control_plane::wire::Identified;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::ServiceExt;

use super::claim::{Claim, Kind};
use super::describe::{described, described_whole, page, rows};
use super::dsn::{connection, masked};
use super::find::nearest;
use super::rotate::{ask, rotated};
use super::witness;
use crate::services::wait::{End, Seen};

const SOON: Duration = Duration::from_secs(60);

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": message, "observedGeneration": 2,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

fn status(login: &str, issued: &str, ready: Value) -> Value {
    json!({
        "matchedLabel": "athena", "conditions": [ready],
        "connectionInfo": {
            "userName": login, "hostName": "db.example.com", "port": "5432", "databaseName": "orders",
            "sslMode": "require", "userUpdatedAt": issued,
        },
    })
}

fn up() -> Value {
    condition("Ready", "True", "Available", "the login is valid")
}

fn body(generation: i64, status: Value) -> Value {
    json!({
        "apiVersion": "persistance.atlas.infoblox.com/v1", "kind": "DatabaseClaim",
        "metadata": {
            "name": "orders", "namespace": "team", "generation": generation,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": { "userName": "orders", "databaseName": "orders", "instanceLabel": "athena.hostapp" },
        "status": status,
    })
}

fn claim(body: Value) -> Claim {
    serde_json::from_value::<DatabaseClaim>(body).expect("a claim").into()
}

fn orders() -> Claim {
    claim(body(2, status("orders_a", "2026-01-01T00:00:15Z", up())))
}

fn role() -> Claim {
    let spec =
        json!({ "sourceDatabaseClaim": { "name": "orders" }, "schemarolemap": { "public": "readonly" } });
    let status = json!({
        "username": "reports_b", "userUpdatedAt": "2026-01-01T00:00:30Z",
        "conditions": [condition("Ready", "False", "ConsentMissing", "team has not agreed")],
    });
    let body = json!({
        "apiVersion": "persistance.atlas.infoblox.com/v1", "kind": "DbRoleClaim",
        "metadata": { "name": "reports", "namespace": "team", "generation": 1 }, "spec": spec, "status": status,
    });
    serde_json::from_value::<DbRoleClaim>(body).expect("a role").into()
}

fn soon() -> Timestamp {
    "2026-01-01T00:00:45Z".parse().expect("a time")
}

#[test]
fn claims_are_listed_with_their_servers_and_logins() {
    let mut held = body(2, status("old_a", "2026-01-01T00:00:15Z", up()));
    held["metadata"]["annotations"] = json!({ "terrace.dev/kept-until": "2026-01-04T00:00:00Z" });
    let mut reports = role();
    assert!(orders().is_source_of(&reports) && !reports.is_source_of(&reports));
    reports.found_in(&orders());
    let text = rows(&[orders(), reports, claim(held), claim(body(2, json!({})))], true, soon());
    let want = "\
NAMESPACE   NAME      KIND    DATABASE   SERVER                LOGIN       READY                             ROTATED   AGE
team        orders    claim   orders     db.example.com:5432   orders_a    True                              30s       45s
team        reports   role    orders     db.example.com:5432   reports_b   False: ConsentMissing             15s       -
team        orders    claim   orders     db.example.com:5432   old_a       held until 2026-01-04T00:00:00Z   30s       45s
team        orders    claim   orders     -                     -           not taken up                      -         45s
";
    assert_eq!(text, want);
}

#[test]
fn a_claim_is_told_with_all_that_its_status_says() {
    let mut told = status("orders_a", "2026-01-01T00:00:15Z", up());
    let moved = "moving is refused: the new server is older";
    told["conditions"] = json!([up(), condition("Synced", "False", "Drifted", "a grant was missing")]);
    told["drift"] = json!([
        { "field": "owner", "expected": "orders", "actual": "eve", "severity": "high" },
    ]);
    told["error"] = json!(moved);
    told["migrationState"] = json!("Failed");
    told["newDB"] =
        json!({ "DbState": "in-progress", "dbversion": "15", "connectionInfo": { "hostName": "new" } });
    let claim = claim(body(2, told.clone()));
    let want = "\
kind        claim
ready       True
server      db.example.com:5432 (sslmode require)
database    orders
login       orders_a
issued      2026-01-01T00:00:15Z, 30s ago
secret      orders
label       athena (for athena.hostapp)
migration   Failed
moving to   in-progress, on new, version 15
condition   Synced False: Drifted: a grant was missing
drift       owner was eve, and should be orders (high)
error       moving is refused: the new server is older
class       default
age         45s
";
    assert_eq!(page(&claim, soon()), want);
    let object = described_whole(&claim);
    assert_eq!(object["status"]["drift"], told["drift"]);
    assert_eq!((&object["ready"], &object["host"]), (&json!(true), &json!("db.example.com")));
    assert_eq!(described(&claim)["status"], Value::Null, "a list is short");
    let want = "\
kind        role
ready       False: ConsentMissing: team has not agreed
server      -
database    -
login       reports_b
issued      2026-01-01T00:00:30Z, 15s ago
secret      reports
source      team/orders
rights      readonly in schema public
class       default
age         -
";
    assert_eq!(page(&role(), soon()), want);
}

#[test]
fn a_claim_is_waited_for_until_it_is_ready_or_cannot_be() {
    let at = "2026-01-01T00:00:15Z";
    let down = condition("Ready", "False", "DependencyNotReady", "the server does not answer");
    let stalled = |mut status: Value| {
        let said = condition("Stalled", "True", "LabelNotMatched", "no key is athena");
        status["conditions"].as_array_mut().expect("a list").push(said);
        status
    };
    let waiting = |words: &str| Seen::Waiting(format!("orders: {words}"));
    let early = "waiting for the controller of class default to take it up";
    let table = [
        (2, json!({}), waiting(early)),
        (3, status("a", at, up()), waiting(early)),
        (2, status("a", at, up()), Seen::Done(())),
        (2, status("a", at, down.clone()), waiting("False: DependencyNotReady: the server does not answer")),
        (
            2,
            stalled(status("a", at, down.clone())),
            Seen::Failed("LabelNotMatched: no key is athena".to_owned()),
        ),
        (3, stalled(status("a", at, down)), waiting(early)),
    ];
    for (generation, status, want) in table {
        assert_eq!(claim(body(generation, status.clone())).stand(), want, "{generation} {status}");
    }
    let mut going = body(2, json!({}));
    going["metadata"]["deletionTimestamp"] = json!(at);
    assert_eq!(claim(going).stand(), Seen::Failed("somebody deletes it".to_owned()));
}

#[test]
fn a_rotation_is_done_when_another_login_is_issued_and_ready() {
    let before = orders();
    let down = condition("Ready", "False", "Failed", "no login");
    let waiting = |words: &str| Seen::Waiting(format!("orders: {words}"));
    let same = "waiting for the controller of class default to issue a login";
    let (then, later) = ("2026-01-01T00:00:15Z", "2026-01-01T00:00:16Z");
    let table = [
        ("orders_a", then, up(), waiting(same)),
        ("orders_b", "2026-01-01T00:00:14Z", up(), waiting(same)),
        ("orders_a", then, down.clone(), waiting("False: Failed: no login")),
        ("orders_b", later, down, waiting("orders_b is issued: False: Failed: no login")),
        ("orders_b", later, up(), Seen::Done(())),
        ("orders_b", then, up(), Seen::Done(())),
        ("orders_a", later, up(), Seen::Done(())),
    ];
    for (login, issued, ready, want) in table {
        let now = claim(body(2, status(login, issued, ready)));
        assert_eq!(now.rotated(&before), want, "{login} {issued}");
    }
}

#[test]
fn the_names_that_are_most_alike_are_told_first() {
    let names = ["billing", "orders", "order-history", "a", "bord", "zzzzzzzzzz"].map(String::from).to_vec();
    assert_eq!(nearest("ordrs", names.clone()), ["orders", "bord", "a", "billing", "order-history"]);
    assert_eq!(nearest("billing", names)[0], "billing");
    assert!(nearest("x", Vec::new()).is_empty());
}

fn kept(username: &str, password: &str) -> Secret {
    let connection = Connection {
        host: "::1".into(),
        read_only_host: None,
        port: 5432,
        database: "or'ders".into(),
        username: username.into(),
        password: Sealed::new(password.into()),
        ssl_mode: SslMode::VerifyFull,
    };
    let data = connection.secret_data("dsn.txt");
    let data = data.into_iter().map(|(key, value)| (key, k8s_openapi::ByteString(value.into_open().into())));
    Secret { data: Some(data.collect()), ..Secret::default() }
}

#[test]
fn a_connection_is_masked_whatever_its_words_are() {
    let table = [
        ("orders_a", "pass"),
        ("password=''", "password=''"),
        ("a:@b", ":@"),
        ("'", "\\'"),
        ("o", "o"),
        ("o", "'"),
    ];
    for (username, password) in table {
        let secret = kept(username, password);
        let read = connection(&secret).expect("it is whole");
        let (dsn, uri) = (masked(&read, false), masked(&read, true));
        // The same as with the mask for a password, but for the letters that a URI would encode.
        let with_mask = Connection { password: Sealed::new("********".into()), ..read.clone() };
        assert_eq!(dsn, *with_mask.dsn().open());
        assert_eq!(uri, with_mask.uri().open().replacen(&"%2A".repeat(8), "********", 1));
        let data = secret.data.expect("it has some");
        let said = |key: &str| String::from_utf8(data[key].0.clone()).expect("text");
        assert_eq!((said("dsn.txt"), said("uri_dsn.txt")), (read.dsn().into_open(), read.uri().into_open()));
    }
    let read = connection(&kept("orders_a", "pass")).expect("it is whole");
    assert_eq!(
        masked(&read, false),
        r"host='::1' port='5432' user='orders_a' password='********' dbname='or\'ders' sslmode='verify-full'"
    );
    assert_eq!(masked(&read, true), "postgres://orders_a:********@[::1]:5432/or%27ders?sslmode=verify-full");
}

#[test]
fn a_secret_that_cannot_be_used_is_told_by_its_keys() {
    let told = |key: &str, value: Option<&[u8]>| {
        let mut secret = kept("orders_a", "pass");
        let data = secret.data.as_mut().expect("it has some");
        match value {
            Some(value) => data.insert(key.into(), k8s_openapi::ByteString(value.to_vec())),
            None => data.remove(key),
        };
        connection(&secret).expect_err("it is not whole").to_string()
    };
    assert_eq!(told("password", None), "it has no key \"password\"");
    assert_eq!(told("hostname", Some(b"\x1b[2J")), "its key \"hostname\" holds control characters");
    assert_eq!(told("username", Some(b"\xff")), "its key \"username\" is not text");
    assert_eq!(told("port", Some(b"many")), "its key \"port\" is no port: \"many\"");
    assert_eq!(told("sslmode", Some(b"never")), "its key \"sslmode\" is none that PostgreSQL has: \"never\"");
}

/// A control plane with the claim `orders` and its Secret, and a trail.
struct Stage {
    plane: ControlPlane,
    dir: TempDir,
    _stop: DropGuard,
}

impl Stage {
    async fn new(burst: u32) -> Self {
        let plane = ControlPlane::start().await.expect("starts");
        crate::install::definitions(&plane, crate::install::wanted(None)).await.expect("are installed");
        let dir = tempfile::tempdir().expect("a directory");
        let stop = CancellationToken::new();
        let settings = Settings {
            burst,
            // None comes back while the test runs.
            rate: 0.000_001,
            ..Settings::new(dir.path().join("audit.log"), "http://127.0.0.1:7070".into())
        };
        let agents = Agents::open(plane.client(), settings, stop.clone()).await.expect("opens");
        witness::mount(&plane, agents);
        let stage = Self { plane, dir, _stop: stop.drop_guard() };
        let claims: Api<DatabaseClaim> = Api::default_namespaced(stage.plane.client());
        let spec =
            json!({ "class": "other", "userName": "orders", "databaseName": "orders", "secretName": "db" });
        let claim = json!({ "metadata": { "name": "orders" }, "spec": spec });
        let claim: DatabaseClaim = serde_json::from_value(claim).expect("a claim");
        claims.create(&PostParams::default(), &claim).await.expect("is made");
        let secrets: Api<Secret> = Api::default_namespaced(stage.plane.client());
        let mut secret = kept("orders_a", "pass");
        secret.metadata.name = Some("db".into());
        secrets.create(&PostParams::default(), &secret).await.expect("is made");
        for (user, plurals) in
            [("ann", json!(["databaseclaims", "secrets"])), ("eve", json!(["databaseclaims"]))]
        {
            stage.allow(user, plurals).await;
        }
        stage
    }

    async fn allow(&self, user: &str, plurals: Value) {
        let group = "rbac.authorization.k8s.io";
        let rules = json!([{ "apiGroups": ["*"], "resources": plurals, "verbs": ["get"] }]);
        let meta = json!({ "name": user, "namespace": "default" });
        let version = format!("{group}/v1");
        let role = json!({ "apiVersion": version, "kind": "Role", "metadata": meta, "rules": rules });
        let binding = json!({
            "apiVersion": version, "kind": "RoleBinding", "metadata": meta,
            "roleRef": { "apiGroup": group, "kind": "Role", "name": user },
            "subjects": [{ "apiGroup": group, "kind": "User", "name": user }],
        });
        for object in [role, binding] {
            agents::identity::rights::apply(&self.plane.client(), &object).await.expect("is written");
        }
    }

    /// What a user is answered: the code, and the words of a refusal.
    async fn asked(&self, user: &str, method: Method, path: &str) -> (u16, String) {
        let groups = vec!["system:authenticated".to_owned()];
        let user = User { name: user.into(), groups, ..User::default() };
        let request = Request::builder().method(method).uri(path).extension(Identified(user));
        let request = request.body(Full::<bytes::Bytes>::default()).expect("a request");
        let response = self.plane.guarded_service().oneshot(request).await.expect("never fails");
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.expect("is whole").to_bytes();
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        (code, body["message"].as_str().unwrap_or_default().to_owned())
    }

    /// What is written down: who, what, about what, what came of it.
    fn trail(&self) -> Vec<String> {
        let path = self.dir.path().join("audit.log");
        let text = std::fs::read_to_string(&path).expect("there is a trail");
        let head = Head::read(&head_beside(&path)).expect("can be read").expect("there is one");
        verify(text.as_bytes(), &head, None).expect("it is unbroken");
        let told = |line: &str| {
            let Link { record, .. } = serde_json::from_str(line).expect("a record");
            let reason = record.reason.unwrap_or_default();
            let told =
                format!("{} {} {} {:?} {reason}", record.name, record.action, record.subject, record.outcome);
            told.trim_end().to_owned()
        };
        text.lines().map(told).collect()
    }
}

#[tokio::test]
async fn the_platform_writes_down_who_has_a_password_shown() {
    let stage = Stage::new(100).await;
    let path = |name: &str| witness::path("default", Kind::Database, name);
    assert_eq!(stage.asked("ann", Method::POST, &path("orders")).await, (200, String::new()));
    let (code, words) = stage.asked("eve", Method::POST, &path("orders")).await;
    assert_eq!(code, 403);
    assert!(words.contains("User \"eve\" cannot get resource \"secrets\""), "{words}");
    assert_eq!(stage.asked("ann", Method::POST, &path("billing")).await.0, 404);
    let role = witness::path("default", Kind::Role, "orders");
    assert_eq!(stage.asked("ann", Method::POST, &role).await.0, 403, "she may not see roles");
    assert_eq!(stage.asked("ann", Method::GET, &path("orders")).await.0, 405);
    for bad in ["..", "a%2fb", "A", ""] {
        assert_eq!(stage.asked("ann", Method::POST, &path(bad)).await.0, 404, "{bad}");
    }
    let want = [
        "user:ann db dsn --show default/orders Done",
        "user:eve db dsn --show default/orders Refused Forbidden",
        "user:ann db dsn --show default/billing Failed NotFound",
        "user:ann db dsn --role --show default/orders Refused Forbidden",
    ];
    assert_eq!(stage.trail(), want);
    stage.plane.close().await;
}

#[tokio::test]
async fn nobody_fills_the_trail_or_goes_on_without_it() {
    let stage = Stage::new(2).await;
    let path = witness::path("default", Kind::Database, "orders");
    for _ in 0..2 {
        assert_eq!(stage.asked("eve", Method::POST, &path).await.0, 403);
    }
    for _ in 0..20 {
        assert_eq!(stage.asked("eve", Method::POST, &path).await.0, 429);
    }
    assert!(stage.trail().len() <= 4, "{:?}", stage.trail());
    assert_eq!(stage.asked("ann", Method::POST, &path).await.0, 200, "others are not held up");
    let head = head_beside(&stage.dir.path().join("audit.log"));
    std::fs::remove_file(&head).expect("it is ours");
    std::fs::create_dir_all(head.join("in-the-way")).expect("it is ours");
    let (code, words) = stage.asked("ann", Method::POST, &path).await;
    assert_eq!(code, 500);
    assert!(words.contains("the audit trail cannot be written"), "{words}");
    stage.plane.close().await;
}

#[tokio::test]
async fn a_rotation_is_asked_for_with_a_new_value_each_time() {
    let stage = Stage::new(100).await;
    let client = stage.plane.client();
    let claims: Api<DatabaseClaim> = Api::default_namespaced(client.clone());
    let say = async |login: &str, issued: &str| {
        let mut said = status(login, issued, up());
        said["conditions"][0]["observedGeneration"] = json!(1);
        let patch = Patch::Merge(json!({ "status": said }));
        claims.patch_status("orders", &PatchParams::default(), &patch).await.expect("is told");
    };
    say("orders_a", "2026-01-01T00:00:15Z").await;
    let claim: Claim = claims.get("orders").await.expect("is there").into();
    let mut values = Vec::new();
    for moment in ["2026-01-01T00:00:45Z", "2026-01-01T00:00:45.25Z"] {
        let before = ask(&client, &claim, moment.parse().expect("a time")).await.expect("is asked");
        assert_eq!(before.login.as_deref(), Some("orders_a"));
        let claim = claims.get("orders").await.expect("is there");
        values.extend(claim.metadata.annotations.and_then(|mut all| all.remove("terrace.dev/rotate")));
    }
    assert_eq!(values, ["2026-01-01T00:00:45.000000Z", "2026-01-01T00:00:45.250000Z"]);
    let late = rotated(&client, &claim, Duration::ZERO).await.expect("ends");
    assert!(matches!(&late, End::Failed(why) if why.contains("of class other to issue")), "nobody serves it");
    let (ended, ()) = tokio::join!(rotated(&client, &claim, SOON), say("orders_b", "2026-01-01T00:01:00Z"));
    match ended.expect("ends") {
        End::Done(now) => assert_eq!(now.login.as_deref(), Some("orders_b")),
        End::Failed(why) => panic!("it is not rotated: {why}"),
        End::Interrupted => panic!("nobody interrupted it"),
    }
    stage.plane.close().await;
}
