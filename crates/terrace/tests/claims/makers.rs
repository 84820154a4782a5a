//! Servers that are made, as what the configuration says, and what becomes of them.

use serde_json::json;

use crate::claim::{Configuration, PATIENCE, SYSTEM, apply, gone, login, ready, servers, system, system_key};
use crate::platform::{Platform, wait};
use crate::sql::Sql;

/// One server that goes with its last claim, and one that stays; nothing is held.
fn story(maker: &str, kind: &str, before: fn(&Platform)) {
    let configuration = Configuration::new(&format!(
        "serverMaker: {maker}\nawsProvider: here\ndeletionHoldPeriod: 0\npasses:\n  reclaimPolicy: delete\nstays:\n  reclaimPolicy: retain\n"
    ));
    let mut platform = configuration.platform();
    before(&platform);
    for (name, label) in [("one", "passes.eu"), ("two", "passes"), ("three", "stays"), ("four", "passes")] {
        apply(&platform, name, &json!({ "instanceLabel": label }));
    }
    for (name, label) in [("one", "passes"), ("two", "passes"), ("three", "stays"), ("four", "passes")] {
        let claim = ready(&platform, name);
        assert_eq!(claim["status"]["matchedLabel"], label, "{claim}");
        login(&platform, name).ask("create table t (n int)").expect("the owner may");
    }
    let made = system(&platform, kind);
    assert_eq!(made.len(), 2, "{made:?}");
    let leave = |name: &str| {
        platform.kubectl(&["delete", "dbc", name, "--timeout=60s"]);
        gone(&platform, name);
        assert!(platform.object("secret", name).is_null());
    };
    leave("one");
    leave("three");
    // What is claimed by another stays, and so does what is to be retained; of the claims themselves nothing does.
    let sql = login(&platform, "two");
    let rest = "select datname from pg_database where datname in ('one', 'two', 'three') union select rolname from pg_roles where rolname like 'one%' or rolname like 'three%'";
    assert_eq!(sql.ask(rest).expect("anybody may look"), ["two"]);
    drop(sql);
    assert_eq!(system(&platform, kind), made);
    // Of two that go at once, one takes the server along, and the other does not wait for it.
    platform.kubectl(&["delete", "dbc", "two", "four", "--timeout=60s"]);
    wait("the server of the last claim to be gone", PATIENCE, || {
        let left = system(&platform, kind);
        let clusters = system(&platform, "clusters.postgresql.cnpg.io");
        (left.len() == 1 && left[0].contains("stays") && clusters.len() == 1).then_some(())
    });
    assert!(!servers(&platform).is_empty(), "the other runs");
    // Whoever comes back finds the server that was kept, with an empty database.
    apply(&platform, "three", &json!({ "instanceLabel": "stays" }));
    ready(&platform, "three");
    let sql = login(&platform, "three");
    assert_eq!(sql.one("select count(*) from pg_tables where tablename = 't'"), "0");
    drop(sql);
    platform.stop("-TERM");
}

#[test]
fn servers_are_made_as_cloud_database_claims_and_reclaimed() {
    story("cloudDatabaseClaim", "clouddatabaseclaims", |_| {});
}

#[test]
fn servers_are_made_as_clusters_and_reclaimed() {
    story("cluster", "clusters.postgresql.cnpg.io", |_| {});
}

/// A provider in the platform's own namespace that is this machine.
fn provider(platform: &Platform) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let manifest = json!({
        "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": "AWSProvider",
        "metadata": { "name": "here" }, "spec": { "region": "eu-central-1", "endpoint": "local" },
    });
    std::fs::write(file.path(), manifest.to_string()).expect("it is ours");
    platform.kubectl(&["-n", SYSTEM, "apply", "-f", &file.path().display().to_string()]);
}

#[test]
fn servers_are_made_as_rds_instances_and_reclaimed() {
    story("rdsInstance", "rdsinstances", provider);
}

#[test]
fn the_administrator_of_an_rds_instance_on_this_machine_is_no_superuser_and_its_password_rotates() {
    let configuration = Configuration::new("serverMaker: rdsInstance\nawsProvider: here\n");
    let mut platform = configuration.platform();
    provider(&platform);
    apply(&platform, "shop", &json!({}));
    ready(&platform, "shop");
    let [server] = &system(&platform, "rdsinstances")[..] else { panic!("one server") };
    let (connection, master) = (format!("{server}-connection"), format!("{server}-master"));
    let enter = || {
        Sql::connect(&system_key(&platform, &connection, "uri").replace("sslmode=require", "sslmode=prefer"))
    };
    let rights = "select concat_ws(' ', rolsuper, rolcreatedb, rolcreaterole) from pg_roles where rolname = current_user";
    let told = enter().expect("the connection gets in").ask(rights).expect("anybody may look");
    assert_eq!(told, ["f t t"], "{told:?}");
    let before = system_key(&platform, &connection, "password");
    let patch = json!({ "stringData": { "password": "another-word-for-the-master" } }).to_string();
    platform.kubectl(&["-n", SYSTEM, "patch", "secret", &master, "--type=merge", "-p", &patch]);
    wait("the connection to have the new password", PATIENCE, || {
        (system_key(&platform, &connection, "password") != before).then_some(())
    });
    enter().expect("the new password gets in");
    // The claim goes on, with the new one.
    ready(&platform, "shop");
    login(&platform, "shop").ask("create table t (n int)").expect("the owner may");
    platform.stop("-TERM");
}
