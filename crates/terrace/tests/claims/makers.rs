//! Servers that are made, as what the configuration says, and what becomes of them.

use serde_json::json;

use crate::claim::{Configuration, PATIENCE, apply, gone, login, ready, servers, system};
use crate::platform::wait;

/// One server that goes with its last claim, and one that stays; nothing is held.
fn story(maker: &str, kind: &str) {
    let configuration = Configuration::new(&format!(
        "serverMaker: {maker}\ndeletionHoldPeriod: 0\npasses:\n  reclaimPolicy: delete\nstays:\n  reclaimPolicy: retain\n"
    ));
    let mut platform = configuration.platform();
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
    story("cloudDatabaseClaim", "clouddatabaseclaims");
}

#[test]
fn servers_are_made_as_clusters_and_reclaimed() {
    story("cluster", "clusters.postgresql.cnpg.io");
}
