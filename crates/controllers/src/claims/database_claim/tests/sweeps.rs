//! Every call breaks in every way, and a settled claim writes nothing.

use std::time::Duration;

use api::claims::{DatabaseClaim, DbState};
use api::conditions::{READY, SYNCED, find};
use k8s_openapi::api::core::v1::Secret;
use kit::Name;
use kit::testing::{Gate, Scenario, converge, sweep};
use ports::admin::{Admin, Asked, Fake, Server};
use serde_json::{Value, json};

use super::{
    Book, DYNAMIC, Room, STATIC, SYSTEM, Stage, claim, config, master, room, server, servers_come_up, value,
    with,
};
use crate::claims::target::{Place, wanted};

fn dump(fake: &Fake, server: &Server) -> String {
    let asked = Asked {
        database: Some("shop".into()),
        content: true,
        roles: ["shop", "shop_a", "shop_b"].map(String::from).into(),
    };
    let seen = futures::executor::block_on(fake.look(server, &asked));
    format!("{seen:#?}\n{:?}\n{:?}", fake.databases(server), fake.roles(server))
}

fn scenario(gate: &Gate, text: &str, spec: Value, host: &str) -> Scenario<Room> {
    let fake = Fake::default();
    let (seen, place) = (fake.clone(), server(host));
    Scenario::new(room(&fake, gate, Book::fixed(config(text))), claim("shop", with(spec)))
        .given(master())
        .world(servers_come_up)
        .draws_passwords()
        .patience(Duration::from_secs(60))
        .outside(move || dump(&seen, &place))
}

fn on_one_server(gate: &Gate) -> Scenario<Room> {
    scenario(gate, STATIC, json!({ "instanceLabel": "athena.hostapp" }), "db.example")
}

fn on_a_server_of_its_own(gate: &Gate) -> Scenario<Room> {
    scenario(gate, DYNAMIC, json!({}), &own_host())
}

fn in_its_source(gate: &Gate) -> Scenario<Room> {
    let dsn = "postgres://root:t0p-Secr3t!%40@db.example:5432/legacy?sslmode=require";
    let source = json!({ "type": "database", "database": { "dsn": dsn } });
    scenario(gate, STATIC, json!({ "useExistingSource": true, "sourceDataFrom": source }), "db.example")
}

/// The host of the server that is made for `default/shop`.
fn own_host() -> String {
    let claim: DatabaseClaim = serde_json::from_value(claim("shop", json!({}))).expect("a claim");
    let target = wanted(&claim, &Name::new("default", "shop"), &config(DYNAMIC)).expect("a server");
    let Place::Made(made) = target.place else { panic!("it is made") };
    format!("{}.example", made.name)
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
    assert!(value(&secret, "uri_dsn.txt").starts_with("postgres://shop_a:"));
    assert!(!serde_json::to_string(&claim.spec).expect("JSON").contains(&value(&secret, "password")));
}

#[tokio::test]
async fn a_claim_on_a_server_of_its_own_converges() {
    let bench = converge(on_a_server_of_its_own).await;
    let claim = bench.get::<DatabaseClaim>("default", "shop").await.expect("the claim");
    let active = claim.status.expect("a status").active_db.expect("a database");
    assert_eq!(active.db_state, Some(DbState::Ready));
}

#[tokio::test]
async fn a_claim_in_its_source_converges() {
    let bench = converge(in_its_source).await;
    let claim = bench.get::<DatabaseClaim>("default", "shop").await.expect("the claim");
    let active = claim.status.expect("a status").active_db.expect("a database");
    assert_eq!(active.db_state, Some(DbState::UsingExistingDb));
    assert_eq!(active.connection_info.expect("a connection").database_name.as_deref(), Some("legacy"));
}

#[tokio::test]
async fn a_claim_survives_any_broken_call() {
    sweep(on_one_server).await;
}

#[tokio::test]
async fn a_claim_on_a_server_of_its_own_survives_any_broken_call() {
    sweep(on_a_server_of_its_own).await;
}

#[tokio::test]
async fn a_record_that_keeps_a_database_writes_nothing_while_it_waits() {
    let stage = Stage::new(&STATIC.replace("Period: 0", "Period: 60")).await;
    let name = stage.served("shop", with(json!({ "instanceLabel": "athena" }))).await;
    stage.gone(&name).await;
    let records = stage.names::<DatabaseClaim>().await;
    let record = Name::new(SYSTEM, records.first().expect("a record").clone());
    stage.settle(&record).await;
    stage.bench.gate().take();
    stage.pass(&record).await.expect("a pass");
    assert_eq!(stage.bench.gate().writes(), Vec::<String>::new());
}
