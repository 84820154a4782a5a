//! A claim that comes back gets its database back.

use api::claims::DatabaseClaim;
use api::conditions::READY;
use kit::Name;
use kit::testing::Trouble;
use ports::admin::{Act, Admin};
use serde_json::{Value, json};

use super::{DYNAMIC, STATIC, SYSTEM, Stage, server, title, value, with};

const ORDERS: (&str, &str) = ("public", "orders");

fn keeping(text: &str) -> String {
    text.replace("Period: 0", "Period: 60")
}

/// A claim that had a table, and is deleted.
async fn deleted(stage: &Stage, spec: Value) -> (Name, String) {
    let name = stage.served("shop", with(spec)).await;
    let host = value(&stage.secret(&name).await, "hostname");
    let login = stage.login(&name).await;
    stage.fake.create_table(&server(&host), &login, ORDERS).expect("a table");
    stage.gone(&name).await;
    (name, host)
}

/// Whether it has its table, can change it, and leaves nothing aside.
async fn has_its_table(stage: &Stage, name: &Name, host: &str) {
    assert_eq!(stage.told(name, READY).await, "True Available", "{}", stage.words(name, READY).await);
    let login = stage.login(name).await;
    stage.fake.use_table(&server(host), &login, ORDERS, "DELETE").expect("its table is its own");
    no_records(stage, name).await;
    let held: Vec<String> = [stage.fake.databases(&server(host)), stage.fake.roles(&server(host))].concat();
    assert!(held.iter().all(|name| !name.starts_with("terrace-held")), "{held:?}");
    assert_eq!(stage.status(name).await.drift, Vec::new());
}

#[tokio::test]
async fn a_claim_that_comes_back_takes_its_database_back() {
    let rows = [
        (STATIC, json!({ "instanceLabel": "athena" })),
        (DYNAMIC, json!({ "instanceLabel": "shared" })),
        (DYNAMIC, json!({})),
    ];
    for (text, spec) in rows {
        let stage = Stage::new(&keeping(text)).await;
        let other = match text {
            DYNAMIC => Some(stage.served("other", with(json!({ "instanceLabel": "shared" }))).await),
            _ => None,
        };
        let (name, host) = deleted(&stage, spec.clone()).await;
        stage.served("shop", with(spec)).await;
        stage.pass(&name).await.expect("a pass");
        has_its_table(&stage, &name, &host).await;
        if let Some(other) = other {
            stage.pass(&other).await.expect("a pass");
            assert_eq!(
                stage.told(&other, READY).await,
                "True Available",
                "who shares the server minds nothing"
            );
        }
    }
}

#[tokio::test]
async fn a_claim_that_comes_and_goes_often_keeps_its_data() {
    let stage = Stage::new(&keeping(STATIC)).await;
    let spec = json!({ "instanceLabel": "athena" });
    let (name, host) = deleted(&stage, spec.clone()).await;
    for _ in 0..3 {
        stage.served("shop", with(spec.clone())).await;
        has_its_table(&stage, &name, &host).await;
        stage.gone(&name).await;
    }
    stage.served("shop", with(spec)).await;
    has_its_table(&stage, &name, &host).await;
}

#[tokio::test]
async fn a_database_that_is_dropped_by_hand_while_it_is_kept_is_made_anew() {
    let stage = Stage::new(&keeping(STATIC)).await;
    let (name, host) = deleted(&stage, json!({ "instanceLabel": "athena" })).await;
    let held = stage.fake.databases(&server(&host)).remove(0);
    let dropped = Act::DropDatabase { database: held, title: title(&name) };
    stage.fake.act(&server(&host), &dropped).await.expect("it goes");
    stage.served("shop", with(json!({ "instanceLabel": "athena" }))).await;
    no_records(&stage, &name).await;
    assert_eq!(stage.fake.databases(&server(&host)), ["shop"]);
}

#[tokio::test]
async fn a_claim_that_comes_back_elsewhere_begins_anew() {
    let text =
        format!("{}atlas: {{ host: atlas.example, passwordSecretRef: athena-master }}\n", keeping(STATIC));
    let stage = Stage::new(&text).await;
    let (name, host) = deleted(&stage, json!({ "instanceLabel": "athena" })).await;
    stage.served("shop", with(json!({ "instanceLabel": "atlas" }))).await;
    let login = stage.login(&name).await;
    assert!(stage.fake.use_table(&server("atlas.example"), &login, ORDERS, "SELECT").is_err());
    assert!(stage.fake.databases(&server(&host))[0].starts_with("terrace-held-"));
    assert_eq!(stage.names::<DatabaseClaim>().await.len(), 1, "it is still kept");
}

/// The calls of a return, up to where it is served.
async fn returned(stage: &Stage, name: &Name) -> usize {
    stage.make("shop", with(json!({ "instanceLabel": "athena" }))).await;
    stage.bench.gate().take();
    stage.settle(name).await;
    stage.bench.gate().take().len()
}

#[tokio::test]
async fn whatever_breaks_on_the_way_back_the_data_come_back() {
    let stage = Stage::new(&keeping(STATIC)).await;
    let (name, host) = deleted(&stage, json!({ "instanceLabel": "athena" })).await;
    let calls = returned(&stage, &name).await;
    has_its_table(&stage, &name, &host).await;
    stage.gone(&name).await;
    for nth in 1..=calls {
        for trouble in Trouble::ALL {
            stage.make("shop", with(json!({ "instanceLabel": "athena" }))).await;
            stage.bench.gate().arm(nth, trouble);
            for _ in 0..4 {
                let _ = stage.bench.attempt(&stage.room, &name).await;
            }
            assert_eq!(stage.told(&name, READY).await, "True Available", "call {nth} {trouble:?}");
            let login = stage.login(&name).await;
            let used = stage.fake.use_table(&server(&host), &login, ORDERS, "DELETE");
            assert_eq!(used, Ok(()), "call {nth} {trouble:?}");
            no_records(&stage, &name).await;
            stage.gone(&name).await;
        }
    }
}

#[tokio::test]
async fn whatever_breaks_on_the_way_out_the_data_come_back() {
    let stage = Stage::new(&keeping(STATIC)).await;
    let (name, host) = deleted(&stage, json!({ "instanceLabel": "athena" })).await;
    returned(&stage, &name).await;
    stage.bench.delete::<DatabaseClaim>(&name).await;
    stage.bench.gate().take();
    stage.settle(&name).await;
    let calls = stage.bench.gate().take().len();
    for nth in 1..=calls {
        for trouble in Trouble::ALL {
            returned(&stage, &name).await;
            no_records(&stage, &name).await;
            stage.bench.delete::<DatabaseClaim>(&name).await;
            stage.bench.gate().arm(nth, trouble);
            for _ in 0..3 {
                let _ = stage.bench.attempt(&stage.room, &name).await;
            }
            assert_eq!(stage.get(&name).await, None, "call {nth} {trouble:?}");
            assert_eq!(stage.names::<DatabaseClaim>().await.len(), 1, "call {nth} {trouble:?}");
        }
    }
    returned(&stage, &name).await;
    has_its_table(&stage, &name, &host).await;
}

#[tokio::test]
async fn a_claim_that_is_deleted_on_its_way_back_loses_nothing() {
    let stage = Stage::new(&keeping(STATIC)).await;
    let (name, host) = deleted(&stage, json!({ "instanceLabel": "athena" })).await;
    let calls = returned(&stage, &name).await;
    stage.gone(&name).await;
    for nth in 1..=calls {
        stage.make("shop", with(json!({ "instanceLabel": "athena" }))).await;
        stage.bench.gate().arm(nth, Trouble::Kill);
        for _ in 0..3 {
            if stage.bench.attempt(&stage.room, &name).await.is_none() {
                break;
            }
        }
        stage.bench.gate().take();
        stage.gone(&name).await;
        returned(&stage, &name).await;
        assert_eq!(stage.told(&name, READY).await, "True Available", "cut off at call {nth}");
        let login = stage.login(&name).await;
        let used = stage.fake.use_table(&server(&host), &login, ORDERS, "DELETE");
        assert_eq!(used, Ok(()), "cut off at call {nth}");
        no_records(&stage, &name).await;
        stage.gone(&name).await;
    }
}

/// Records that a pass which was cut off left behind keep nothing: they go by themselves, and nothing with them.
async fn no_records(stage: &Stage, name: &Name) {
    stage.pass(name).await.expect("a pass");
    for record in stage.names::<DatabaseClaim>().await {
        stage.settle(&Name::new(SYSTEM, record)).await;
    }
    assert_eq!(stage.names::<DatabaseClaim>().await, Vec::<String>::new());
}
