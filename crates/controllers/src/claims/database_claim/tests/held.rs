//! Databases of deleted claims, while they are kept.

use std::time::Duration;

use api::annotations::{HELD_AS, HELD_FOR, KEPT_UNTIL};
use api::claims::DatabaseClaim;
use api::conditions::READY;
use api::foreign::cnpg::Cluster;
use kit::Name;
use kube::ResourceExt;
use ports::admin::{Act, Admin};
use serde_json::json;

use super::{DYNAMIC, STATIC, SYSTEM, Stage, server, title, with};

/// An hour longer than they are kept.
const LONG: Duration = Duration::from_secs(2 * 60 * 60);

async fn record(stage: &Stage) -> Name {
    match stage.names::<DatabaseClaim>().await.as_slice() {
        [only] => Name::new(SYSTEM, only.clone()),
        other => panic!("there is not one record, but {other:?}"),
    }
}

fn keeping(text: &str) -> String {
    text.replace("Period: 0", "Period: 60")
}

#[tokio::test]
async fn a_held_database_says_for_whom_and_until_when_and_nobody_gets_in() {
    let stage = Stage::new(&keeping(STATIC)).await;
    let name = stage.served("shop", with(json!({ "instanceLabel": "athena.x" }))).await;
    let login = stage.login(&name).await;
    let session = stage.fake.connect(&server("db.example"), &login).expect("a session");
    stage.gone(&name).await;
    assert!(!session.is_open() && !stage.gets_in("db.example", &login).await);
    let record = record(&stage).await;
    let kept = stage.settle(&record).await.expect("the record");
    assert_eq!(kept.annotations()[HELD_FOR], "default/shop");
    assert_eq!(kept.annotations()[HELD_AS], record.name);
    assert!(kept.annotations()[KEPT_UNTIL].parse::<jiff::Timestamp>().is_ok());
    assert_eq!(stage.told(&record, READY).await, "False Deleting");
    assert_eq!(stage.status(&record).await.error, None, "nothing is wrong with it");
    let words = stage.words(&record, READY).await;
    assert!(words.contains("default/shop") && words.contains("make the claim again"), "{words}");
    let held = [record.name.clone()];
    assert_eq!(stage.fake.databases(&server("db.example")), held);
    let roles = [record.name.clone(), format!("{}_a", record.name), format!("{}_b", record.name)];
    assert_eq!(stage.fake.roles(&server("db.example")), roles);
}

#[tokio::test]
async fn a_record_that_is_due_drops_everything_and_the_server_with_it() {
    for (text, spec) in [
        (STATIC, json!({ "instanceLabel": "athena" })),
        (DYNAMIC, json!({ "instanceLabel": "shared" })),
        (DYNAMIC, json!({})),
    ] {
        let stage = Stage::new(&keeping(text)).await;
        let name = stage.served("shop", with(spec)).await;
        let host = super::value(&stage.secret(&name).await, "hostname");
        stage.gone(&name).await;
        let record = record(&stage).await;
        stage.settle(&record).await;
        assert_eq!(
            stage.names::<Cluster>().await.len(),
            usize::from(text == DYNAMIC),
            "it is kept with its server"
        );
        stage.bench.clock().advance(LONG);
        assert_eq!(stage.settle(&record).await, None);
        assert_eq!(stage.fake.databases(&server(&host)), Vec::<String>::new());
        assert_eq!(stage.fake.roles(&server(&host)), Vec::<String>::new());
        assert_eq!(stage.names::<Cluster>().await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_record_that_is_deleted_drops_at_once() {
    let stage = Stage::new(&keeping(STATIC)).await;
    let name = stage.served("shop", with(json!({ "instanceLabel": "athena" }))).await;
    stage.gone(&name).await;
    stage.gone(&record(&stage).await).await;
    assert_eq!(stage.fake.databases(&server("db.example")), Vec::<String>::new());
}

#[tokio::test]
async fn a_record_without_a_readable_end_is_kept_and_says_so() {
    let stage = Stage::new(&keeping(STATIC)).await;
    let name = stage.served("shop", with(json!({ "instanceLabel": "athena" }))).await;
    stage.gone(&name).await;
    let record = record(&stage).await;
    stage.patch(&record, json!({ "metadata": { "annotations": { KEPT_UNTIL: "soon" } } })).await;
    stage.bench.clock().advance(LONG);
    stage.settle(&record).await.expect("it is kept");
    assert_eq!(stage.told(&record, READY).await, "False InvalidSpec");
    assert_eq!(stage.fake.databases(&server("db.example")).len(), 1);
}

#[tokio::test]
async fn a_record_stays_on_its_server_whatever_the_configuration_says_since() {
    let mut stage = Stage::new(&keeping(DYNAMIC)).await;
    let name = stage.served("shop", with(json!({ "instanceLabel": "shared" }))).await;
    let host = stage.only_host().await;
    stage.gone(&name).await;
    let record = record(&stage).await;
    stage.configure(
        &keeping(DYNAMIC).replace("sslMode: require", "host: db.example\n  passwordSecretRef: athena-master"),
    );
    stage.bench.clock().advance(LONG);
    assert_eq!(stage.settle(&record).await, None);
    assert_eq!(stage.fake.databases(&server(&host)), Vec::<String>::new(), "it was dropped where it was");
    assert_eq!(stage.names::<Cluster>().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_note_outside_the_platforms_namespace_means_nothing() {
    let stage = Stage::new(&keeping(STATIC)).await;
    let victim = stage.served("victim", with(json!({ "instanceLabel": "athena" }))).await;
    let mut more = with(json!({ "instanceLabel": "athena", "userName": "victim", "databaseName": "victim" }));
    let notes = json!({ HELD_FOR: "default/victim", HELD_AS: "victim", KEPT_UNTIL: "2020-01-01T00:00:00Z" });
    super::merge(&mut more, json!({ "metadata": { "namespace": "evil", "annotations": notes } }));
    let thief = stage.make("thief", more).await;
    stage.settle(&thief).await;
    assert_eq!(stage.told(&thief, READY).await, "False NotOurs");
    stage.bench.delete::<DatabaseClaim>(&thief).await;
    stage.settle(&thief).await;
    assert!(stage.gets_in("db.example", &stage.login(&victim).await).await);
}

#[tokio::test]
async fn a_database_that_lost_its_mark_is_never_dropped() {
    let stage = Stage::new(STATIC).await;
    let place = server("db.example");
    stage.fake.add_database(&place, "shop");
    let name = stage.make("shop", with(json!({ "instanceLabel": "athena" }))).await;
    stage.settle(&name).await;
    assert_eq!(stage.told(&name, READY).await, "False NotOurs");
    stage.gone(&name).await;
    assert_eq!(stage.fake.databases(&place), ["shop"]);
    let stolen = Act::DropDatabase { database: "shop".into(), title: title(&name) };
    assert!(stage.fake.act(&place, &stolen).await.is_err(), "the server itself would refuse");
}
