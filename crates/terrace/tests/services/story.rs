//! From nothing to rows in a table, and back.

use std::path::Path;

use crate::platform::{Platform, SOON, host, wait};
use crate::service::{PATIENCE, create, ready, until};
use crate::web::Browser;

fn example(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/apps").join(name)
}

/// Stores a note through an application, and reads it again.
fn write_and_read(platform: &Platform, app: &str, note: &str) {
    wait(&format!("{app} to store a row"), SOON, || {
        let answer = Browser::new(platform.gateway).post_to(&host(app), "/notes", note).ok()?;
        (answer.status < 300).then_some(())
    });
    let answer = platform.answer(app, "/notes");
    assert!(answer.body.contains(note), "{app}: {}", answer.body);
}

#[track_caller]
fn ok(platform: &Platform, arguments: &[&str]) -> String {
    let mut all = vec!["service"];
    all.extend(arguments);
    all.extend(["-n", &platform.namespace]);
    let (code, said) = platform.terrace(&all);
    assert_eq!(code, 0, "terrace {all:?}: {said}\n{}", platform.last_words());
    said
}

#[test]
fn a_database_is_created_bound_used_unbound_and_deleted() {
    let mut platform = Platform::start(&[]);
    ok(&platform, &["create", "db"]);
    for (app, source) in [("notes-py", "python-db"), ("notes-rs", "rust-db")] {
        platform.deploy(&example(source), app, &[]);
        let before = Browser::new(platform.gateway).get(&host(app), "/notes").expect("it answers");
        assert_eq!(before.status, 503, "{app} has no database yet");
        ok(&platform, &["bind", "db", app]);
        write_and_read(&platform, app, &format!("written-by-{app}"));
    }
    let shown = platform.answer("notes-rs", "/notes").body;
    assert!(shown.contains("written-by-notes-py"), "both have the same database: {shown}");
    let status = until(&platform, "db", "to name its applications", |service| {
        service["status"]["boundApps"] == serde_json::json!(["notes-py", "notes-rs"])
    });
    assert_eq!(status["status"]["connectionSecretRef"], "db-app");
    // Deleting while bound is refused by the command, and by the platform whoever asks it.
    let (code, said) = platform.terrace(&["service", "delete", "db", "--yes", "-n", &platform.namespace]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("cannot delete: apps still bound: [notes-py, notes-rs]"), "{said}");
    platform.kubectl(&["delete", "managedservice", "db", "--wait=false"]);
    until(&platform, "db", "to refuse its end", |service| {
        service["status"]["message"] == "cannot delete: apps still bound: [notes-py, notes-rs]"
            && service["status"]["phase"] == "Failed"
    });
    write_and_read(&platform, "notes-py", "still-there");
    ok(&platform, &["unbind", "db", "notes-py"]);
    ok(&platform, &["unbind", "db", "notes-rs"]);
    wait("the deletion to go on by itself", PATIENCE, || {
        platform.object("managedservice", "db").is_null().then_some(())
    });
    wait("the server to be gone", PATIENCE, || {
        let running = platform.left_running();
        (!running.iter().any(|line| line.contains("postgres"))).then_some(())
    });
    let env = platform.application("notes-py")["spec"]["env"].clone();
    assert!(env.as_array().is_none_or(Vec::is_empty), "unbinding takes back what binding gave: {env}");
    platform.stop("-TERM");
}

#[test]
fn a_service_grows_in_place_and_keeps_its_rows() {
    let mut platform = Platform::start(&[]);
    create(&platform, "db", "micro");
    ready(&platform, "db");
    let sql = crate::service::connect(&platform, "db");
    sql.ask("create table kept (n int); insert into kept values (7)").expect("the owner may");
    let small: i64 = sql
        .one("select setting::bigint from pg_settings where name = 'max_connections'")
        .parse()
        .expect("a number");
    drop(sql);
    create(&platform, "db", "small");
    wait("the larger plan to be in force", PATIENCE, || {
        let sql = crate::sql::Sql::connect(&crate::service::secret(&platform, "db", "uri")).ok()?;
        let now: i64 = sql.ask("show max_connections").ok()?.first()?.parse().ok()?;
        (now > small).then_some(())
    });
    assert_eq!(crate::service::connect(&platform, "db").one("select n from kept"), "7");
    let refused = platform.try_kubectl(&[
        "patch",
        "managedservice",
        "db",
        "--type=merge",
        "-p",
        r#"{"spec":{"plan":"micro"}}"#,
    ]);
    assert!(refused.expect_err("storage never shrinks").contains("a smaller plan would shrink the storage"));
    platform.stop("-TERM");
}
