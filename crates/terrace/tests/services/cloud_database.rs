//! A claim for a server, as those write it who have Crossplane in a cloud.

use std::process::Command;

use serde_json::json;

use crate::failover::program;
use crate::platform::{Platform, wait};
use crate::service::PATIENCE;

/// One key of a Secret.
fn key(platform: &Platform, secret: &str, key: &str) -> String {
    let template = format!("go-template={{{{index .data {key:?} | base64decode}}}}");
    platform.kubectl(&["get", "secret", secret, "-o", &template])
}

#[test]
fn a_claim_for_a_server_is_fulfilled_used_and_gone_without_a_trace() {
    let mut platform = Platform::start(&[]);
    let applied = platform.try_apply_object(&json!({
        "apiVersion": "database.infobloxopen.github.com/v1alpha1", "kind": "CloudDatabaseClaim",
        "metadata": { "name": "orders" },
        "spec": {
            "parameters": { "type": "postgres", "minStorage": "20GB" },
            "compositionRef": { "name": "cloud.database.infobloxopen.github.com" },
            "writeConnectionSecretToRef": { "name": "orders-conn" },
        },
    }));
    applied.expect("anybody may claim a server");
    platform.kubectl(&["wait", "clouddatabaseclaim/orders", "--for=condition=Ready", "--timeout=120s"]);
    let claim = platform.object("clouddatabaseclaim", "orders");
    let said = |type_: &str| {
        let all = claim["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = all.into_iter().find(|condition| condition["type"] == type_).unwrap_or_default();
        format!("{} {}", found["status"], found["reason"])
    };
    assert_eq!(said("Ready"), r#""True" "Available""#);
    assert_eq!(said("Synced"), r#""True" "ReconcileSuccess""#);

    let of = |name: &str| key(&platform, "orders-conn", name);
    let password = of("password");
    let output = Command::new(program("psql"))
        .args(["-w", "-tA", "-c", "create database shop owner postgres"])
        .args(["-c", "select ssl, usesuper from pg_stat_ssl, pg_user where pid = pg_backend_pid() and usename = current_user"])
        // The password goes by the environment: arguments can be seen by everybody.
        .envs([("PGHOST", of("endpoint")), ("PGPORT", of("port")), ("PGUSER", of("username"))])
        .envs([("PGPASSWORD", password.as_str()), ("PGDATABASE", "postgres"), ("PGSSLMODE", "require")])
        .env("HOME", platform.path())
        .output()
        .expect("psql is there");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&output.stdout), "CREATE DATABASE\nt|t\n", "{}", text(&output.stderr));
    for kind in ["clouddatabaseclaims", "clusters.postgresql.cnpg.io", "events"] {
        let told = platform.kubectl(&["get", kind, "-o", "json"]);
        assert!(!told.contains(&password), "the password is in {kind}");
    }

    platform.kubectl(&["delete", "clouddatabaseclaim", "orders"]);
    wait("everything of it to be gone", PATIENCE, || {
        let left =
            ["clouddatabaseclaims", "clusters.postgresql.cnpg.io", "secrets", "services", "endpointslices"]
                .map(|kind| platform.kubectl(&["get", kind, "-o", "name"]));
        let servers = platform.left_running().iter().any(|line| line.contains("postgres"));
        (!left.concat().contains("orders") && !servers).then_some(())
    });
    platform.stop("-TERM");
}
