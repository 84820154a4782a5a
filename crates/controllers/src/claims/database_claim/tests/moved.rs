//! A change that would need another server changes nothing.

use api::conditions::{READY, SYNCED};
use api::foreign::cnpg::Cluster;
use api::infra::RDSInstance;
use kit::Name;
use serde_json::{Value, json};

use super::{PERIOD, Stage, server, value, with};

/// Servers of both kinds.
const BEFORE: &str = "
deletionHoldPeriod: 0
serverMaker: cluster
defaultReclaimPolicy: delete
athena: { host: db.example, passwordSecretRef: athena-master }
atlas: { host: atlas.example, passwordSecretRef: athena-master }
guest: { passwordSecretRef: athena-master }
made: { sslMode: require }
";

/// A change, and what is said of it. Nothing is said of what changes nothing.
struct Row {
    row: &'static str,
    spec: Value,
    change: Value,
    after: String,
    want: &'static str,
}

fn table() -> Vec<Row> {
    let row = |row, spec, change, after: (&str, &str), want| {
        let after = BEFORE.replace(after.0, after.1);
        Row { row, spec, change, after, want }
    };
    let same = ("", "");
    let athena = || json!({ "instanceLabel": "athena.x" });
    let guest = || json!({ "instanceLabel": "guest", "host": "db.example" });
    let made = || json!({ "instanceLabel": "made" });
    let source = json!({ "useExistingSource": true, "sourceDataFrom": { "type": "database", "database": { "dsn": "postgres://u:p@h/d" } } });
    let copied =
        json!({ "sourceDataFrom": { "type": "database", "database": { "dsn": "postgres://u:p@h/d" } } });
    vec![
        row(
            "label",
            athena(),
            json!({ "instanceLabel": "atlas" }),
            same,
            "the instance label from athena to atlas",
        ),
        row("unknown label", athena(), json!({ "instanceLabel": "nobody" }), same, "no server is configured"),
        row(
            "another key",
            athena(),
            json!({}),
            ("guest:", "athena.x: { host: x.example, passwordSecretRef: athena-master }\nguest:"),
            "the instance label from athena to athena.x",
        ),
        row(
            "host of the key",
            athena(),
            json!({}),
            ("{ host: db.example", "{ host: new.example"),
            "the server from db.example:5432 to new.example:5432",
        ),
        row(
            "port of the key",
            athena(),
            json!({}),
            ("{ host: db.example", "{ port: 5433, host: db.example"),
            "the server from db.example:5432 to db.example:5433",
        ),
        row("key without host", athena(), json!({}), ("{ host: db.example, ", "{ "), "the kind of server"),
        row(
            "host of the claim",
            guest(),
            json!({ "host": "new.example" }),
            same,
            "the server from db.example:5432 to new.example:5432",
        ),
        row("no host in the claim", guest(), json!({ "host": null }), same, "the kind of server"),
        row("source of a known one", athena(), source.clone(), same, "the kind of server"),
        row("copy to a known one", athena(), copied, same, "sourceDataFrom copies data"),
        row("label of a made one", made(), json!({ "instanceLabel": "athena" }), same, "the kind of server"),
        row("shape", made(), json!({ "shape": "big" }), same, "the shape from none to big"),
        row("version", made(), json!({ "dbVersion": "17" }), same, "the version from none to 17"),
        row("type", made(), json!({ "type": "aurora-postgresql" }), same, "the type"),
        row("source of a made one", made(), source, same, "the kind of server"),
        row(
            "made, and a host since",
            made(),
            json!({}),
            ("made: {", "made: { host: new.example, passwordSecretRef: athena-master,"),
            "the kind of server",
        ),
        row("made, and no key since", made(), json!({}), ("made: {", "other: {"), "no server is configured"),
        row(
            "made by another maker since",
            made(),
            json!({}),
            ("serverMaker: cluster", "serverMaker: rdsInstance\nawsProvider: aws"),
            "",
        ),
        row("shape of the key", made(), json!({}), ("made: {", "made: { shape: big,"), ""),
        row("empty wishes", made(), json!({ "shape": "", "dbVersion": "" }), same, ""),
        row("the same shape", json!({ "shape": "big" }), json!({ "shape": null }), same, ""),
    ]
}

#[tokio::test]
async fn a_change_that_would_migrate_is_told_and_the_claim_is_served_where_it_is() {
    let mut stage = Stage::new(BEFORE).await;
    for (number, row) in table().into_iter().enumerate() {
        stage.configure(BEFORE);
        let name = stage.served(&format!("shop{number}"), with(row.spec)).await;
        let before = stage.secret(&name).await;
        let (host, servers) = (value(&before, "hostname"), stage.names::<Cluster>().await);
        stage.patch(&name, with(row.change)).await;
        stage.configure(&row.after);
        let first = stage.pass(&name).await;
        assert!(first.is_ok(), "{}: {first:?}", row.row);
        said(&stage, &name, row.row, row.want).await;
        assert_eq!(stage.secret(&name).await.data, before.data, "{}", row.row);
        stage.bench.gate().take();
        stage.pass(&name).await.expect("a pass");
        assert_eq!(stage.bench.gate().writes(), Vec::<String>::new(), "{}: it is settled", row.row);
        // It goes on being mended and rotated where it is.
        stage.fake.alter_role(&server(&host), &name.name, |role| role.create_db = true);
        stage.bench.clock().advance(PERIOD);
        stage.pass(&name).await.expect("a pass");
        said(&stage, &name, row.row, row.want).await;
        assert!(
            !stage.seen(&host, &name.name).await.roles[&name.name].create_db,
            "{}: it is mended",
            row.row
        );
        let login = stage.login(&name).await;
        assert_eq!(login.role, format!("{}_b", name.name), "{}: it is rotated", row.row);
        assert!(stage.gets_in(&host, &login).await, "{}", row.row);
        assert_eq!(value(&stage.secret(&name).await, "hostname"), host, "{}", row.row);
        assert_eq!(stage.names::<Cluster>().await, servers, "{}: no server is made", row.row);
        assert_eq!(stage.names::<RDSInstance>().await, Vec::<String>::new(), "{}", row.row);
    }
}

async fn said(stage: &Stage, name: &Name, row: &str, want: &str) {
    assert_eq!(stage.told(name, READY).await, "True Available", "{row}: {}", stage.words(name, READY).await);
    let (told, words) = (stage.told(name, SYNCED).await, stage.words(name, SYNCED).await);
    match want {
        "" => assert_eq!(told, "True Available", "{row}: {words}"),
        want => {
            assert_eq!(told, "False MigrationNeeded", "{row}: {words}");
            assert!(words.contains(want), "{row}: {words}");
        }
    }
}

#[tokio::test]
async fn the_login_of_one_server_is_never_sent_to_another_when_a_key_is_taken_out() {
    let more = "athena.x: { host: x.example, passwordSecretRef: athena-master }\n";
    let mut stage = Stage::new(&format!("{BEFORE}{more}")).await;
    let name = stage.served("shop", with(json!({ "instanceLabel": "athena.x" }))).await;
    stage.configure(BEFORE);
    stage.bench.gate().take();
    stage.pass(&name).await.expect("a pass");
    let calls = stage.bench.gate().take();
    let asked: Vec<String> =
        calls.into_iter().map(|call| call.what).filter(|what| what.starts_with("admin")).collect();
    assert_eq!(asked, Vec::<String>::new(), "nobody logs in to x.example with the login of athena");
    assert_eq!(stage.told(&name, READY).await, "False LabelNotMatched");
    let words = stage.words(&name, READY).await;
    assert!(words.contains("athena.x") && words.contains("x.example"), "{words}");
}

#[tokio::test]
async fn a_moved_claim_takes_only_its_own_server_along_when_it_goes() {
    let mut stage = Stage::new(BEFORE).await;
    let name = stage.served("shop", with(json!({ "instanceLabel": "made" }))).await;
    stage.configure(
        &BEFORE.replace("made: {", "made: { host: new.example, passwordSecretRef: athena-master,"),
    );
    stage.gone(&name).await;
    assert_eq!(stage.names::<Cluster>().await, Vec::<String>::new());
}
