//! What goes wrong is told, each in its own word, and forgotten when it is over.

use std::time::Duration;

use api::conditions::{READY, SYNCED};
use k8s_openapi::api::core::v1::Secret;
use kit::Name;
use ports::admin::Error;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Book, STATIC, SYSTEM, Stage, room, server, well, with};

const HOST: &str = "db.example";

fn errors() -> Vec<(Error, &'static str)> {
    let (place, story) = (|| "db.example:5432".to_owned(), || "it said so".to_owned());
    let name = || "shop".to_owned();
    vec![
        (Error::Unreachable { server: place(), story: story() }, "ServerUnreachable"),
        (Error::Denied { server: place(), user: "root".into(), story: story() }, "CredentialsInvalid"),
        (Error::TooManyConnections { server: place(), story: story() }, "TooManyConnections"),
        (Error::ReadOnly { server: place(), story: story() }, "ServerReadOnly"),
        (Error::Privilege { server: place(), story: story() }, "PermissionMissing"),
        (Error::Timeout { server: place(), what: "a look", limit: Duration::from_secs(5) }, "ServerSlow"),
        (Error::Busy { server: place(), story: story() }, "ServerBusy"),
        (Error::TlsRefused { server: place() }, "TlsRefused"),
        (Error::Certificate { server: place(), story: story() }, "CertificateUntrusted"),
        (Error::NotOurs { server: place(), what: "role", name: name() }, "NotOurs"),
        (Error::Missing { server: place(), what: "role", name: name() }, "MissingOnServer"),
        (Error::Name { name: name(), rule: "it is too long" }, "InvalidSpec"),
        (Error::Statement { server: place(), sqlstate: "XX000".into(), message: story() }, "StatementFailed"),
    ]
}

#[tokio::test]
async fn every_trouble_has_its_word_and_is_forgotten_when_it_is_over() {
    let stage = Stage::new(STATIC).await;
    let name = stage.served("shop", with(json!({ "instanceLabel": "athena" }))).await;
    let secret = stage.secret(&name).await;
    for (error, reason) in errors() {
        let words = error.to_string();
        stage.fake.break_down(&server(HOST), Some(error));
        let fault = stage.pass(&name).await.expect_err(reason);
        assert!(fault.story().contains(&words), "{reason}: {}", fault.story());
        let want = format!("False {reason}");
        assert_eq!(well(&stage, &name).await, (want.clone(), want));
        let status = stage.status(&name).await;
        assert!(status.error.expect("an error").contains(&words), "{reason}");
        assert!(status.active_db.is_some(), "{reason}: what was served is not forgotten");
        assert_eq!(stage.secret(&name).await, secret, "{reason}: the Secret stays as it is");
        stage.fake.break_down(&server(HOST), None);
        stage.pass(&name).await.expect("it is over");
        assert_eq!(well(&stage, &name).await, ("True Available".into(), "True Available".into()), "{reason}");
        assert_eq!(stage.status(&name).await.error, None, "{reason}");
    }
}

#[tokio::test]
async fn a_standby_is_told_and_left_alone() {
    let stage = Stage::new(STATIC).await;
    let name = stage.served("shop", with(json!({ "instanceLabel": "athena" }))).await;
    stage.fake.set_standby(&server(HOST), true);
    stage.pass(&name).await.expect("a pass");
    assert_eq!(well(&stage, &name).await, ("False ServerReadOnly".into(), "False ServerReadOnly".into()));
    stage.fake.set_standby(&server(HOST), false);
    stage.pass(&name).await.expect("a pass");
    assert_eq!(well(&stage, &name).await, ("True Available".into(), "True Available".into()));
}

#[tokio::test]
async fn the_login_of_the_administrator_is_waited_for() {
    let stage = Stage::new(STATIC).await;
    let master = Name::new(SYSTEM, "athena-master");
    let name = stage.make("shop", with(json!({ "instanceLabel": "athena" }))).await;
    stage.bench.patch::<Secret>(&master, json!({ "data": { "password": null } })).await;
    stage.pass(&name).await.expect("a pass");
    assert_eq!(stage.told(&name, READY).await, "False CredentialsMissing");
    assert!(stage.words(&name, READY).await.contains("has no key password"));
    stage.bench.delete::<Secret>(&master).await;
    stage.pass(&name).await.expect("a pass");
    assert!(stage.words(&name, READY).await.contains("Secret terrace-system/athena-master does not exist"));
    stage.bench.create(super::master()).await;
    stage.pass(&name).await.expect("a pass");
    assert_eq!(stage.told(&name, READY).await, "True Available");
}

#[tokio::test]
async fn a_configuration_that_cannot_be_read_is_told_while_the_last_good_one_holds() {
    let mut stage = Stage::new(STATIC).await;
    let dir = tempfile::tempdir().expect("a directory");
    let (file, stop) = (dir.path().join("config.yaml"), CancellationToken::new());
    std::fs::write(&file, STATIC).expect("a file");
    let book = Book::open(file.clone(), stop.clone()).await.expect("it can be read");
    let _end = stop.drop_guard();
    stage.room = room(&stage.fake, stage.bench.gate(), book.clone());
    let name = stage.served("shop", with(json!({ "instanceLabel": "athena" }))).await;
    for (text, want) in
        [("athena:\n  host=db.example\n", "False InvalidConfiguration"), (STATIC, "True Available")]
    {
        let mut changes = book.changes();
        let next = dir.path().join("next");
        std::fs::write(&next, text).expect("a file");
        std::fs::rename(next, &file).expect("it is put in place");
        changes.changed().await.expect("it is read");
        stage.pass(&name).await.expect("a pass");
        assert_eq!(well(&stage, &name).await, ("True Available".to_owned(), want.to_owned()));
        let words = stage.words(&name, SYNCED).await;
        assert_eq!(words.contains("config.yaml:2"), text != STATIC, "{words}");
        assert!(stage.gets_in(HOST, &stage.login(&name).await).await);
    }
}
