//! A server that is there already, and a configuration that changes while claims are served.

use serde_json::json;

use crate::claim::{
    Configuration, PATIENCE, apply, clusters, condition, connect, db, key, login, ready, unready, until,
};
use crate::platform::{Platform, wait};
use crate::server::{Server, introduce};

#[test]
fn a_configuration_that_goes_wrong_is_told_and_what_it_said_before_holds() {
    let server = Server::new();
    let good = format!("deletionHoldPeriod: 0\n{}", server.fragment("athena"));
    let configuration = Configuration::new(&good);
    let mut platform = configuration.platform();
    // The password may come after the claim.
    apply(&platform, "orders", &json!({ "instanceLabel": "athena.hostapp" }));
    let said = unready(&platform, "orders", "CredentialsMissing");
    assert!(said.contains("terrace-system/athena-master"), "{said}");
    introduce(&platform, "athena");
    let claim = ready(&platform, "orders");
    assert_eq!(claim["status"]["matchedLabel"], "athena", "the longest that matches");
    assert_eq!(claim["status"]["activeDB"]["DbState"], "using-shared-host", "{claim}");
    assert_eq!(key(&platform, "orders", "port"), server.port.to_string());
    assert_eq!(clusters(&platform), Vec::<String>::new(), "no server is made");
    login(&platform, "orders").ask("create table t (n int)").expect("the owner may");
    whoever_spoils_a_secret_gets_another(&platform);
    // A line without its colon: the claims say so, with file and line, and are served all the same.
    configuration.write(&good.replace("  username: chief", "  username=root"));
    let claim = until(&platform, "orders", "to tell of the mistake", |claim| {
        condition(claim, "Synced")[1] == "InvalidConfiguration"
    });
    let [status, _, message] = condition(&claim, "Synced");
    assert_eq!(status, "False");
    assert!(
        message.contains("claims.yaml:5: `username=root` has no colon; write `username: root`"),
        "{message}"
    );
    assert_eq!(condition(&claim, "Ready")[0], "True", "{claim}");
    let told = db(&platform, &["status", "orders"]);
    assert!(told.contains("claims.yaml:5"), "{told}");
    assert!(db(&platform, &["rotate", "orders"]).contains(" -> "));
    login(&platform, "orders").ask("drop table t").expect("what is served is as good as before");
    configuration.write(&good);
    until(&platform, "orders", "to be as it should", |claim| condition(claim, "Synced")[0] == "True");
    // A claim for a key that is not there waits, and is served when it is.
    apply(&platform, "bills", &json!({ "instanceLabel": "zeus.eu" }));
    let said = unready(&platform, "bills", "LabelNotMatched");
    assert!(said.contains("zeus.eu") && said.contains("athena"), "{said}");
    introduce(&platform, "zeus");
    configuration.write(&format!("{good}{}", server.fragment("zeus")));
    ready(&platform, "bills");
    assert_eq!(login(&platform, "bills").one("select current_user"), "bills");
    // What goes leaves the server as it was.
    platform.kubectl(&["delete", "dbc", "orders", "bills", "--timeout=60s"]);
    let left = "select datname from pg_database where datname in ('orders', 'bills') union select rolname from pg_roles where rolname ~ '^(orders|bills|terrace)'";
    assert_eq!(server.ask(left), Vec::<String>::new());
    platform.stop("-TERM");
}

/// A Secret that is deleted, or holds what gets nobody in, is written anew.
fn whoever_spoils_a_secret_gets_another(platform: &Platform) {
    let works = |before: &str| {
        wait("a Secret that gets in", PATIENCE, || {
            let now = platform.object("secret", "orders")["data"]["password"].as_str()?.to_owned();
            (now != before).then(|| connect(&key(platform, "orders", "uri_dsn.txt")).ok()).flatten()
        });
        ready(platform, "orders");
    };
    let password =
        || platform.object("secret", "orders")["data"]["password"].as_str().expect("it has one").to_owned();
    let before = password();
    platform.kubectl(&["delete", "secret", "orders"]);
    works(&before);
    let patch = json!({ "stringData": { "password": "spoilt" } }).to_string();
    platform.kubectl(&["patch", "secret", "orders", "--type=merge", "-p", &patch]);
    works("c3BvaWx0");
    assert_eq!(login(platform, "orders").one("select count(*) from t"), "0");
}

#[test]
fn a_platform_does_not_begin_with_a_configuration_that_is_wrong() {
    let configuration = Configuration::new("athena:\n  port: 0\n");
    let data = tempfile::tempdir().expect("a directory");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_terrace"))
        .args(["up", "--port", "0", "--http-port", "0", "--agents-port", "0", "--data-dir"])
        .arg(data.path().join("data"))
        .arg("--claims-config")
        .arg(configuration.file())
        .output()
        .expect("the binary starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("claims.yaml:2: `port` is `0`; write a port between 1 and 65535"), "{said}");
}
