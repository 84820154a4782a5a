//! Who the administrator is, and how the line to the server is protected.

use std::fs;
use std::path::Path;

use api::conditions::{READY, find};
use api::connection::SslMode;
use ports::admin::Server;
use tokio::process::Command;

use crate::ground::{Ground, authority, chief, execute};
use crate::stage::{PERIOD, Stage, asked, assert_ready, manifest, plain, word};

pub async fn an_administrator_without_all_power_serves_a_whole_life(ground: &Ground) {
    let sql = "CREATE ROLE deputy LOGIN CREATEROLE CREATEDB PASSWORD 'deputy'";
    execute(ground, &chief("postgres"), sql).await.expect("it may");
    let deputy =
        Server { user: "deputy".into(), password: "deputy".to_owned().into(), ..plain(ground, ground.port) };
    for hold in [0, crate::cuts::HOLD] {
        let mut stage = Stage::new(ground, &deputy, hold).await;
        let claim = stage.claim(manifest("modest", "modest", "modest")).await;
        assert_ready(&claim);
        let program = stage.as_program(&claim).await;
        let owner: String = asked(&program, "SELECT current_user::text").await;
        assert_eq!(owner, "modest");
        program
            .batch_execute("CREATE TABLE kept (n int); INSERT INTO kept VALUES (42)")
            .await
            .expect("it may");
        stage.bench.clock().advance(PERIOD);
        stage.settle().await;
        let program = stage.as_program(&claim).await;
        assert_eq!(asked::<i32>(&program, "SELECT n FROM kept").await, 42);
        assert_eq!(asked::<String>(&program, "SELECT session_user::text").await, "modest_b");
        stage.forget(&claim).await;
        if hold > 0 {
            crate::cuts::assert_held(&stage).await;
            let claim = stage.claim(manifest("modest", "modest", "modest")).await;
            assert_ready(&claim);
            assert_eq!(asked::<i32>(&stage.as_program(&claim).await, "SELECT n FROM kept").await, 42);
            stage.forget(&claim).await;
            stage.bench.clock().advance(crate::cuts::HELD);
            stage.settle().await;
        }
        stage.nothing_is_left().await;
    }
    execute(ground, &chief("postgres"), "DROP ROLE deputy").await.expect("nothing depends on it");
}

pub async fn certificates_are_checked_as_the_configuration_says(ground: &Ground) {
    let dir = tempfile::tempdir().expect("a directory");
    let root = dir.path().join("root.crt");
    fs::write(&root, &ground.ca).expect("it can be written");
    let server = ground.server();
    for ssl_mode in [SslMode::Require, SslMode::VerifyCa, SslMode::VerifyFull] {
        let ca = (ssl_mode != SslMode::Require).then(|| ground.ca.clone());
        let server = Server { ssl_mode, ca, ..server.clone() };
        let mut stage = Stage::new(ground, &server, 0).await;
        let claim = stage.claim(manifest("guarded", "guarded", "guarded")).await;
        assert_ready(&claim);
        let secret = stage.secret(&claim).await.expect("a Secret");
        assert_eq!(word(&secret, "sslmode"), ssl_mode.as_str());
        for key in ["dsn.txt", "uri_dsn.txt"] {
            // As itself: who stands for somebody else does not see its own session.
            let sql = "SET ROLE NONE; SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
            assert_eq!(psql(ground, &word(&secret, key), sql, Some(&root)).await, "t", "{ssl_mode:?} {key}");
        }
        stage.forget(&claim).await;
        stage.nothing_is_left().await;
    }
    let stranger = Server { ca: Some(authority().0), ..server };
    let stage = Stage::new(ground, &stranger, 0).await;
    stage.bench.create(manifest("guarded", "guarded", "guarded")).await;
    let name = kit::Name::new("default", "guarded");
    let refused = stage.pass(&name).await.expect("nobody kills it");
    assert!(refused.is_err(), "{refused:?}");
    let claim: api::claims::DatabaseClaim = stage.bench.get("default", "guarded").await.expect("the claim");
    let status = claim.status.expect("a status");
    let ready = find(&status.conditions, READY).expect("it says how it stands");
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("False", "CertificateUntrusted"));
    assert!(stage.made().await.is_empty());
}

/// What libpq itself makes of a DSN or URI: logs in, and asks.
pub async fn psql(ground: &Ground, dsn: &str, sql: &str, root: Option<&Path>) -> String {
    let mut command = Command::new(ground.bin.join("psql"));
    command.env_clear().args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-w", "-d", dsn, "-c", sql]);
    if let Some(root) = root {
        command.env("PGSSLROOTCERT", root);
    }
    let answer = command.kill_on_drop(true).output().await.expect("psql runs");
    let (said, complaint) =
        (String::from_utf8_lossy(&answer.stdout), String::from_utf8_lossy(&answer.stderr));
    assert!(answer.status.success(), "{dsn}: {complaint}");
    said.trim_end_matches('\n').to_owned()
}
