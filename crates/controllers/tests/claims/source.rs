//! A database that somebody made by hand.

use serde_json::json;

use crate::ground::{Ground, chief, client, execute};
use crate::stage::{PERIOD, Stage, asked, assert_ready, manifest, plain, word};

pub async fn a_database_made_by_hand_is_used_and_left(ground: &Ground) {
    let by_hand = chief("postgres");
    execute(ground, &by_hand, "CREATE ROLE legacy_owner").await.expect("it may");
    execute(ground, &by_hand, "CREATE DATABASE legacy OWNER legacy_owner").await.expect("it may");
    let inside = client(ground.port, &chief("legacy")).await.expect("the administrator gets in");
    let tables =
        "CREATE TABLE old (n serial PRIMARY KEY, word text); INSERT INTO old (word) VALUES ('before');
        ALTER TABLE old OWNER TO legacy_owner; CREATE SCHEMA more AUTHORIZATION legacy_owner;
        CREATE TABLE more.things (n int); ALTER TABLE more.things OWNER TO legacy_owner";
    inside.batch_execute(tables).await.expect("it may");

    let server = plain(ground, ground.port);
    let mut stage = Stage::new(ground, &server, 0).await;
    let connection = api::connection::Connection {
        host: server.host.clone(),
        read_only_host: None,
        port: server.port,
        database: "legacy".into(),
        username: server.user.clone(),
        password: server.password.clone(),
        ssl_mode: server.ssl_mode,
    };
    let mut wanted = manifest("guest", "ignored", "guest");
    wanted["spec"]["instanceLabel"] = json!(null);
    wanted["spec"]["useExistingSource"] = json!(true);
    wanted["spec"]["sourceDataFrom"] =
        json!({ "type": "database", "database": { "dsn": connection.uri().open() } });
    let claim = stage.claim(wanted).await;
    assert_ready(&claim);
    assert_eq!(word(&stage.secret(&claim).await.expect("a Secret"), "database"), "legacy");
    for (user, later) in [("guest_a", "made_by_a"), ("guest_b", "made_by_b")] {
        let program = stage.as_program(&claim).await;
        assert_eq!(asked::<String>(&program, "SELECT session_user::text").await, user);
        let work = format!(
            "UPDATE old SET word = word || '+'; INSERT INTO old (word) VALUES ('{user}');
             INSERT INTO more.things VALUES (1); DELETE FROM more.things;
             CREATE TABLE {later} (n int); INSERT INTO {later} VALUES (7)"
        );
        program.batch_execute(&work).await.expect("it may");
        let owner = format!("SELECT tableowner::text FROM pg_tables WHERE tablename = '{later}'");
        assert_eq!(asked::<String>(&inside, &owner).await, "guest");
        // What the owner makes later can be used, too.
        let more = format!("SET ROLE legacy_owner; CREATE TABLE later_{user} (n int); RESET ROLE");
        inside.batch_execute(&more).await.expect("it may");
        program.batch_execute(&format!("INSERT INTO later_{user} VALUES (1)")).await.expect("it may");
        drop(program);
        stage.bench.clock().advance(PERIOD);
        stage.settle().await;
    }
    stage.forget(&claim).await;
    let count: i64 = asked(&inside, "SELECT count(*) FROM old").await;
    assert_eq!(count, 3, "what was there is there");
    assert_eq!(asked::<String>(&inside, "SELECT word FROM old WHERE n = 1").await, "before++");
    for later in ["made_by_a", "made_by_b"] {
        assert_eq!(asked::<i32>(&inside, &format!("SELECT n FROM {later}")).await, 7);
        let owner = format!("SELECT tableowner::text FROM pg_tables WHERE tablename = '{later}'");
        assert_eq!(asked::<String>(&inside, &owner).await, "legacy_owner");
    }
    stage.nothing_is_left().await;
    drop(inside);
    execute(ground, &by_hand, "DROP DATABASE legacy WITH (FORCE)").await.expect("it may");
    execute(ground, &by_hand, "DROP ROLE legacy_owner").await.expect("it may");
}
