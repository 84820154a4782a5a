//! Names and passwords that would be something else to whoever does not quote them.

use api::claims::DatabaseClaim;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::ApiResource;
use ports::admin::{Server, literal};
use serde_json::json;

use crate::ground::{Ground, chief, execute};
use crate::stage::{Stage, asked, assert_ready, manifest, plain, through, word};
use crate::terms::psql;

const NAMES: [&str; 20] = [
    "\"; DROP DATABASE postgres; --",
    "'; DROP ROLE chief; --",
    "Zoë–データ",
    "🐘 and 🔥",
    "select",
    "user",
    "Case",
    "case",
    "it's \"quoted\" ''twice''",
    "back\\slash\\\\",
    "trailing\\",
    "100%41",
    "a=b",
    "a/b?c#d&e",
    "me@home:5432",
    " a space on each side ",
    "line\nfeed\ttab\rreturn",
    "$1 {} $$",
    "[::1]",
    "role=chief",
];

pub async fn names_that_would_be_statements_are_names(ground: &Ground) {
    let mut stage = Stage::new(ground, &plain(ground, ground.port), 0).await;
    let mut names: Vec<(String, String)> =
        NAMES.iter().map(|name| ((*name).to_owned(), (*name).to_owned())).collect();
    names.push(("n".repeat(63), "n".repeat(61)));
    names.push((format!("{}x", "ü".repeat(31)), format!("{}x", "ü".repeat(30))));
    for (row, (database, user)) in names.iter().enumerate() {
        stage.bench.create(manifest(&format!("row-{row}"), database, user)).await;
    }
    stage.settle().await;
    let mut claims: Vec<DatabaseClaim> = Vec::new();
    for (row, (database, user)) in names.iter().enumerate() {
        let claim: DatabaseClaim =
            stage.bench.get("default", &format!("row-{row}")).await.expect("the claim");
        assert_ready(&claim);
        let secret = stage.secret(&claim).await.expect("a Secret");
        for key in ["dsn.txt", "uri_dsn.txt", "ro_uri_dsn.txt"] {
            let who = "SELECT json_build_array(session_user, current_user, current_database())::text";
            let want = json!([format!("{user}_a"), user, database]);
            let program = through(ground.port, &word(&secret, key)).await.expect("it gets in");
            let found: String = asked(&program, who).await;
            assert_eq!(serde_json::from_str::<serde_json::Value>(&found).expect("JSON"), want, "{key}");
            let found = psql(ground, &word(&secret, key), who, None).await;
            assert_eq!(serde_json::from_str::<serde_json::Value>(&found).expect("JSON"), want, "{key}");
        }
        let program = stage.as_program(&claim).await;
        program.batch_execute("CREATE TABLE own (n int)").await.expect("it may");
        let owner: String =
            asked(&program, "SELECT tableowner::text FROM pg_tables WHERE tablename = 'own'").await;
        assert_eq!(owner, *user);
        claims.push(claim);
    }
    for claim in &claims {
        stage.bench.delete::<DatabaseClaim>(&kit::Name::of(claim)).await;
    }
    stage.settle().await;
    stage.nothing_is_left().await;
}

pub async fn names_that_no_server_could_keep_are_refused(ground: &Ground) {
    let stage = Stage::new(ground, &plain(ground, ground.port), 0).await;
    let kind = ApiResource::erase::<DatabaseClaim>(&());
    let claims: Api<DynamicObject> = Api::namespaced_with(stage.bench.client().clone(), "default", &kind);
    let table = [
        ("n".repeat(64), "fits".to_owned(), "databaseName"),
        ("ü".repeat(32), "fits".to_owned(), "databaseName"),
        ("nul\0nul".to_owned(), "fits".to_owned(), "databaseName"),
        (String::new(), "fits".to_owned(), "databaseName"),
        ("fits".to_owned(), "n".repeat(62), "userName"),
        ("fits".to_owned(), "ü".repeat(31), "userName"),
        ("fits".to_owned(), "nul\0nul".to_owned(), "userName"),
        ("fits".to_owned(), String::new(), "userName"),
    ];
    for (database, user, field) in table {
        let claim = serde_json::from_value(manifest("refused", &database, &user)).expect("an object");
        let refused = claims.create(&PostParams::default(), &claim).await.expect_err("it is refused");
        let told = refused.to_string();
        assert!(told.contains(&format!("spec.{field}")), "{told}");
        assert!(matches!(&refused, kube::Error::Api(status) if status.code == 422), "{told}");
    }
    stage.nothing_is_left().await;
}

pub async fn masters_may_have_any_password(ground: &Ground) {
    for password in ["'\"\\%@:/", " spaces on both sides ", "it''s $1 \\\\ #?&=;--", "Zoë データ 🐘"] {
        let sql = format!("CREATE ROLE master SUPERUSER LOGIN PASSWORD {}", literal(password));
        execute(ground, &chief("postgres"), &sql).await.expect("it may");
        let server = Server {
            user: "master".into(),
            password: password.to_owned().into(),
            ..plain(ground, ground.port)
        };
        let mut stage = Stage::new(ground, &server, 0).await;
        let claim = stage.claim(manifest("ruled", "ruled", "ruled")).await;
        assert_ready(&claim);
        stage.as_program(&claim).await.batch_execute("CREATE TABLE own (n int)").await.expect("it may");
        stage.forget(&claim).await;
        stage.nothing_is_left().await;
        drop(stage);
        execute(ground, &chief("postgres"), "DROP ROLE master").await.expect("nothing depends on it");
    }
}
