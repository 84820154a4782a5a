use std::sync::Arc;
use std::time::Duration;

use api::annotations::{HELD_FOR, ISSUED_AT, KEPT_UNTIL, ROTATE};
use api::claims::{DatabaseClaim, DbState};
use api::conditions::{READY, SYNCED, find};
use api::connection::SslMode;
use api::foreign::cnpg::Cluster;
use api::secret::Sealed;
use k8s_openapi::api::core::v1::Secret;
use kit::testing::{Bench, Gate, Scenario, converge, sweep};
use kit::{Name, Outcome};
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams, PostParams};
use ports::admin::{Act, Admin, Asked, Fake, Login, Server, Title};
use serde_json::{Value, json};

use super::DatabaseClaims;
use crate::claims::config::Config;
use crate::claims::gated::Gated;
use crate::claims::secret::text;
use crate::claims::book::Book;
use crate::claims::{Office, Settings};

const ONE_SERVER: &str = "
deletionHoldPeriod: 0
athena:
  username: root
  host: db.example
  port: 5432
  passwordSecretRef: athena-master
";

fn config(text: &str) -> Config {
    Config::parse("test", text).unwrap_or_else(|problems| panic!("{problems}"))
}

fn server() -> Server {
    Server {
        host: "db.example".into(),
        port: 5432,
        user: "root".into(),
        password: Sealed::new("t0p-Secr3t!@".into()),
        ssl_mode: SslMode::Require,
        ca: None,
        database: "postgres".into(),
    }
}

fn master() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "athena-master", "namespace": "terrace-system" },
        "stringData": { "password": "t0p-Secr3t!@" },
    })
}

fn claim(more: Value) -> Value {
    let mut claim = json!({
        "apiVersion": "persistance.atlas.infoblox.com/v1", "kind": "DatabaseClaim",
        "metadata": { "name": "shop" },
        "spec": { "instanceLabel": "athena.hostapp", "userName": "shop", "databaseName": "shop" },
    });
    merge(&mut claim, more);
    claim
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

type Room = DatabaseClaims<Gated<Fake>>;

fn room(fake: &Fake, gate: &Gate, text: &str) -> Room {
    let config = if text.is_empty() { Config::unconfigured() } else { config(text) };
    let admin = Arc::new(Gated { admin: fake.clone(), gate: gate.clone() });
    DatabaseClaims::new(Office::new(admin, Book::fixed(config), Settings::default()))
}

fn dump(fake: &Fake, server: &Server) -> String {
    let asked = Asked {
        database: Some("shop".into()),
        content: true,
        roles: ["shop", "shop_a", "shop_b"].map(String::from).into(),
    };
    let seen = futures::executor::block_on(fake.look(server, &asked));
    format!("{seen:#?}")
}

fn on_one_server(gate: &Gate) -> Scenario<Room> {
    let fake = Fake::default();
    let seen = fake.clone();
    Scenario::new(room(&fake, gate, ONE_SERVER), claim(json!({})))
        .given(master())
        .draws_passwords()
        .patience(Duration::from_secs(60))
        .outside(move || dump(&seen, &server()))
}

/// Plays CloudNativePG: a Cluster becomes healthy, and its superuser gets a Secret.
async fn clusters_come_up(client: kube::Client) {
    let clusters: Api<Cluster> = Api::namespaced(client.clone(), "terrace-system");
    let secrets: Api<Secret> = Api::namespaced(client, "terrace-system");
    for cluster in clusters.list(&Default::default()).await.expect("a list") {
        let name = cluster.name_any();
        let login = json!({
            "metadata": {
                "name": format!("{name}-superuser"),
                "ownerReferences": [{
                    "apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster", "name": name, "uid": cluster.uid(),
                }],
            },
            "stringData": { "username": "root", "password": "t0p-Secr3t!@", "host": "db.example", "port": "5432" },
        });
        let login: Secret = serde_json::from_value(login).expect("a Secret");
        let _ = secrets.create(&PostParams::default(), &login).await;
        if cluster.status.is_none() {
            let status = json!({ "status": { "phase": "Cluster in healthy state", "readyInstances": 1 } });
            let patched = clusters.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await;
            patched.expect("a status");
        }
    }
}

fn on_a_server_of_its_own(gate: &Gate) -> Scenario<Room> {
    let fake = Fake::default();
    let seen = fake.clone();
    let text = "deletionHoldPeriod: 0\nserverMaker: cluster\ndefaultReclaimPolicy: delete\n";
    let mut claim = claim(json!({}));
    claim["spec"].as_object_mut().expect("a spec").remove("instanceLabel");
    Scenario::new(room(&fake, gate, text), claim)
        .given(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "terrace-system" } }))
        .world(clusters_come_up)
        .draws_passwords()
        .patience(Duration::from_secs(60))
        .outside(move || dump(&seen, &server()))
}

fn secret_of(secret: &Secret, key: &str) -> String {
    text(secret, key).unwrap_or_else(|| panic!("{key} is in the Secret"))
}

fn login(secret: &Secret) -> Login {
    Login {
        database: secret_of(secret, "database"),
        role: secret_of(secret, "username"),
        password: Sealed::new(secret_of(secret, "password")),
    }
}

#[tokio::test]
async fn a_claim_on_a_server_that_is_there_converges() {
    let bench = converge(on_one_server).await;
    let claim = bench.get::<DatabaseClaim>("default", "shop").await.expect("the claim");
    let status = claim.status.expect("a status");
    let ready = find(&status.conditions, READY).expect("it says how it stands");
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("True", "Available"), "{}", ready.message);
    assert_eq!(find(&status.conditions, SYNCED).expect("it says so").status, "True");
    assert_eq!(status.matched_label.as_deref(), Some("athena"));
    let active = status.active_db.expect("a database");
    assert_eq!(active.db_state, Some(DbState::UsingSharedHost));
    let info = status.connection_info.expect("a connection");
    assert_eq!(info.user_name.as_deref(), Some("shop_a"));
    let secret = bench.get::<Secret>("default", "shop").await.expect("the Secret");
    assert!(secret_of(&secret, "uri_dsn.txt").starts_with("postgres://shop_a:"));
    assert!(!serde_json::to_string(&claim.spec).expect("JSON").contains(&secret_of(&secret, "password")));
}

#[tokio::test]
async fn a_claim_survives_any_broken_call() {
    sweep(on_one_server).await;
}

#[tokio::test]
async fn a_claim_on_a_server_of_its_own_survives_any_broken_call() {
    sweep(on_a_server_of_its_own).await;
}
