//! Several claims on one server.

use api::conditions::{READY, find};
use serde_json::json;
use tokio_postgres::error::SqlState;

use crate::ground::{Ground, client};
use crate::stage::{Stage, asked, assert_ready, login, manifest, plain, word};

pub async fn two_claims_share_a_server_and_see_nothing_of_each_other(ground: &Ground) {
    let mut stage = Stage::new(ground, &plain(ground, ground.port), 0).await;
    let mine = stage.claim(manifest("mine", "mine", "mine")).await;
    let yours = stage.claim(manifest("yours", "yours", "yours")).await;
    for (claim, other) in [(&mine, &yours), (&yours, &mine)] {
        assert_ready(claim);
        let program = stage.as_program(claim).await;
        program.batch_execute("CREATE TABLE own (n int); INSERT INTO own VALUES (1)").await.expect("it may");
        let own = login(&stage.secret(claim).await.expect("a Secret"));
        let theirs = word(&stage.secret(other).await.expect("a Secret"), "database");
        let trespass = ports::admin::Login { database: theirs.clone(), ..own.clone() };
        let refused = client(ground.port, &trespass).await.map(drop).expect_err("it is not let in");
        assert_eq!(refused.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{refused:?}");
        for sql in [
            format!("SET ROLE \"{theirs}\""),
            format!("DROP DATABASE \"{theirs}\""),
            format!("ALTER ROLE \"{theirs}_a\" PASSWORD 'mine'"),
            "CREATE ROLE more".to_owned(),
            "CREATE DATABASE more".to_owned(),
        ] {
            let refused = program.batch_execute(&sql).await.expect_err(&sql);
            assert_eq!(refused.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{sql}: {refused:?}");
        }
    }
    stage.forget(&mine).await;
    assert_eq!(asked::<i32>(&stage.as_program(&yours).await, "SELECT n FROM own").await, 1);
    stage.forget(&yours).await;
    stage.nothing_is_left().await;
}

pub async fn a_name_that_is_taken_is_left_alone(ground: &Ground) {
    let mut stage = Stage::new(ground, &plain(ground, ground.port), 0).await;
    let first = stage.claim(manifest("first", "wanted", "first")).await;
    assert_ready(&first);
    let program = stage.as_program(&first).await;
    program.batch_execute("CREATE TABLE own (n int); INSERT INTO own VALUES (1)").await.expect("it may");
    let before = stage.made().await;
    // The same database, the same roles, and the same claim's name, each of another namespace.
    for (database, user, told) in [
        ("wanted", "second", "database `wanted`"),
        ("other", "first", "role `first_a`"),
        ("wanted", "first", "`first_a`"),
    ] {
        let mut second = manifest("first", database, user);
        second["metadata"]["namespace"] = json!("elsewhere");
        stage.bench.create(second).await;
        let name = kit::Name::new("elsewhere", "first");
        for _ in 0..2 {
            stage.pass(&name).await.expect("nobody kills it").expect("it waits");
        }
        let second: api::claims::DatabaseClaim =
            stage.bench.get("elsewhere", "first").await.expect("the claim");
        let status = second.status.clone().expect("a status");
        let ready = find(&status.conditions, READY).expect("it says how it stands");
        assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("False", "NotOurs"), "{}", ready.message);
        assert!(ready.message.contains(told), "{}", ready.message);
        assert_eq!(stage.secret(&second).await, None, "it gets nothing");
        assert_eq!(stage.made().await, before, "nothing was made for it");
        stage.forget(&second).await;
        assert_eq!(stage.made().await, before, "nothing was taken when it went");
        assert_eq!(asked::<i32>(&stage.as_program(&first).await, "SELECT n FROM own").await, 1);
    }
    stage.forget(&first).await;
    stage.nothing_is_left().await;
}
