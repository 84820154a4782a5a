//! From a claim to rows in a table, through rotations, and back to nothing. Nobody configured anything.

use std::fs::File;
use std::io::Read as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::claim::{
    PATIENCE, SYSTEM, apply, clusters, connect, db, gone, key, login, manifest, ready, secret, servers,
    system,
};
use crate::platform::{Platform, host, wait};
use crate::server::program;
use crate::web::Browser;

/// Asks with psql, which speaks TLS and knows what is in a Secret.
fn psql(platform: &Platform, arguments: &[&str], environment: &[(&str, String)]) -> String {
    let output = Command::new(program("psql"))
        .args(["-w", "-X", "-q", "-tA", "-c", "select session_user || ' ' || current_user"])
        // Only the login itself sees how it is protected.
        .args(["-c", "set role none", "-c", "select ssl from pg_stat_ssl where pid = pg_backend_pid()"])
        .args(arguments)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .env("HOME", platform.path())
        .output()
        .expect("psql is there");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "psql: {}", text(&output.stderr));
    text(&output.stdout).trim().to_owned()
}

/// Every form in which the Secret says how to get in, gets in.
fn every_form_gets_in(platform: &Platform, name: &str) {
    let secret = secret(platform, name);
    let want = format!("{} {}\nt", secret["username"], secret["database"]);
    for form in ["dsn.txt", "uri_dsn.txt", "ro_uri_dsn.txt", "own", "uri_own"] {
        let dsn = &secret[form];
        assert_eq!(psql(platform, &[dsn], &[]), want, "{form}");
        let sql = connect(dsn).unwrap_or_else(|error| panic!("{form}: {error}"));
        assert_eq!(sql.one("select session_user"), secret["username"], "{form}");
    }
    let parts = [
        ("PGHOST", "hostname"),
        ("PGPORT", "port"),
        ("PGDATABASE", "database"),
        ("PGUSER", "username"),
        ("PGPASSWORD", "password"),
        ("PGSSLMODE", "sslmode"),
    ];
    let environment = parts.map(|(variable, part)| (variable, secret[part].clone()));
    assert_eq!(psql(platform, &[], &environment), want);
}

/// Two rotations: what each login may, and how long each password lasts.
fn rotates(platform: &Platform) {
    let first = key(platform, "orders", "uri_dsn.txt");
    login(platform, "orders")
        .ask("create table made_by_a (n int); insert into made_by_a values (7)")
        .expect("the owner may");
    let said = db(platform, &["rotate", "orders"]);
    assert!(said.contains("orders_a -> orders_b"), "{said}");
    let second = key(platform, "orders", "uri_dsn.txt");
    assert_ne!(first, second);
    let b = login(platform, "orders");
    assert_eq!(b.one("select session_user || ' ' || current_user"), "orders_b orders");
    assert_eq!(b.one("select n from made_by_a"), "7");
    b.ask("create table made_by_b (n int); alter table made_by_a add column m int").expect("it may");
    let owners = b.ask("select tableowner from pg_tables where tablename like 'made_by_%'").expect("rows");
    assert_eq!(owners, ["orders", "orders"]);
    // Whoever has not read the Secret yet gets in until the next rotation, and whoever is in stays.
    let a = connect(&first).expect("the password of before is still good");
    a.ask("drop table made_by_b; create table kept as select * from made_by_a").expect("each may drop");
    let said = db(platform, &["rotate", "orders"]);
    assert!(said.contains("orders_b -> orders_a"), "{said}");
    let refused = connect(&first).err().expect("its time is over");
    assert!(refused.contains("password authentication failed"), "{refused}");
    assert_eq!(a.one("select n from kept"), "7", "nothing that is connected is cut");
    assert!(connect(&second).is_ok(), "the one of before still gets in");
    assert_eq!(login(platform, "orders").one("select session_user"), "orders_a");
}

fn counts(platform: &Platform) {
    let metrics = Browser::new(platform.gateway).get("127.0.0.1", "/metrics").expect("metrics").body;
    for line in [
        "terrace_database_users_created_total 1",
        "terrace_database_user_errors_total 0",
        "terrace_database_passwords_rotated_total 2",
        "terrace_database_rotation_errors_total 0",
        "terrace_database_user_create_seconds_count 1",
        "terrace_database_rotation_seconds_count 2",
    ] {
        assert!(metrics.lines().any(|told| told == line), "{line} is not in {metrics}");
    }
    for name in ["provisioning_errors_total", "claims_loaded_total", "claim_load_errors_total"] {
        assert!(metrics.contains(&format!("terrace_database_{name} ")), "{name} is not in {metrics}");
    }
    let stands = r#"terrace_objects{room="database_claim",ready="True""#;
    assert!(metrics.contains(stands), "how claims stand is told, too: {metrics}");
}

/// Runs `terrace db` at a terminal, and returns what is seen there.
fn at_terminal(platform: &Platform, arguments: &[&str]) -> String {
    let nix::pty::OpenptyResult { master, slave } = nix::pty::openpty(None, None).expect("a terminal");
    let mut command = platform.command(env!("CARGO_BIN_EXE_terrace"));
    command.arg("db").args(arguments).args(["-n", &platform.namespace]);
    command.stdin(Stdio::from(slave.try_clone().expect("a second one"))).stdout(Stdio::from(slave));
    let mut child = command.stderr(Stdio::null()).spawn().expect("the binary is there");
    // The terminal ends when nobody holds its other end any more.
    drop(command);
    let (mut bytes, mut master) = (Vec::new(), File::from(master));
    // It ends with an error: that is how Linux says that the other end is closed.
    let _ = master.read_to_end(&mut bytes);
    assert!(child.wait().expect("it is ours").success());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Every command that the documentation names.
fn commands(platform: &Platform) {
    let password = key(platform, "orders", "password");
    let listed = db(platform, &["list"]);
    let row = listed.lines().find(|line| line.starts_with("orders ")).expect("it is listed");
    for word in ["claim", "orders", "orders_a", "True"] {
        assert!(row.split_whitespace().any(|found| found == word), "{word}: {row}");
    }
    let (code, all) = platform.terrace(&["db", "list", "-A", "-o", "json"]);
    let all: Value = serde_json::from_str(&all).unwrap_or_else(|error| panic!("{code}: {error}: {all}"));
    assert_eq!(all[0]["ready"], true, "{all}");
    let status = db(platform, &["status", "orders", "--wait"]);
    assert!(status.contains("orders_a") && status.contains("Synced True"), "{status}");
    let status: Value =
        serde_json::from_str(&db(platform, &["status", "orders", "-o", "json"])).expect("JSON");
    assert_eq!(status["status"]["activeDB"]["DbState"], "ready", "{status}");
    let dsn = db(platform, &["dsn", "orders"]);
    assert!(dsn.contains("password='********'") && !dsn.contains(&password), "{dsn}");
    let uri = db(platform, &["dsn", "orders", "--uri"]);
    assert!(uri.contains("orders_a:********@") && !uri.contains(&password), "{uri}");
    let (code, said) = platform.terrace(&["db", "dsn", "orders", "--show", "-n", &platform.namespace]);
    assert!(code == 2 && !said.contains(&password), "{code}: {said}");
    assert!(at_terminal(platform, &["dsn", "orders", "--show"]).contains(&password));
    let (code, said) = platform.terrace(&["audit", "--tool", "db dsn --show"]);
    assert!(code == 0 && said.contains(&format!("{}/orders", platform.namespace)), "{code}: {said}");
}

#[test]
fn a_claim_is_made_used_rotated_deleted_taken_back_and_gone_without_a_trace() {
    let mut platform = Platform::start(&[]);
    apply(&platform, "orders", &json!({ "dsnName": "own" }));
    platform.kubectl(&["wait", "dbc/orders", "--for=condition=Ready", "--timeout=120s"]);
    assert_eq!(clusters(&platform).len(), 1, "its server");
    every_form_gets_in(&platform, "orders");
    rotates(&platform);
    every_form_gets_in(&platform, "orders");
    counts(&platform);
    commands(&platform);
    // Its server and its rows outlive the claim for a day.
    platform.kubectl(&["delete", "dbc", "orders", "--timeout=60s"]);
    gone(&platform, "orders");
    assert!(platform.object("secret", "orders").is_null());
    let held = system(&platform, "databaseclaims");
    assert_eq!(held.len(), 1, "{held:?}");
    let (code, listed) = platform.terrace(&["db", "list", "-A"]);
    assert!(code == 0 && listed.contains("held until 20"), "{code}: {listed}");
    let (code, said) = platform.terrace(&["db", "rotate", &held[0], "-n", SYSTEM]);
    assert!(code == 1 && said.contains("being deleted"), "{code}: {said}");
    apply(&platform, "orders", &json!({ "dsnName": "own" }));
    ready(&platform, "orders");
    assert_eq!(login(&platform, "orders").one("select n from kept"), "7");
    every_form_gets_in(&platform, "orders");
    wait("the keeper to be gone", PATIENCE, || system(&platform, "databaseclaims").is_empty().then_some(()));
    // Deleted again, and dropped by hand: nothing is left.
    platform.kubectl(&["delete", "dbc", "orders", "--timeout=60s"]);
    let held = system(&platform, "databaseclaims").pop().expect("it is kept");
    assert!(!servers(&platform).is_empty(), "the server of what is kept runs");
    platform.kubectl(&["-n", SYSTEM, "delete", "dbc", &held, "--timeout=60s"]);
    nothing_left(&platform);
    platform.stop("-TERM");
}

#[track_caller]
fn nothing_left(platform: &Platform) {
    wait("everything to be gone", PATIENCE, || {
        let kinds = "databaseclaims,clusters.postgresql.cnpg.io,services,endpointslices";
        let objects = system(platform, kinds);
        let secrets: Vec<String> =
            system(platform, "secrets").into_iter().filter(|name| name.starts_with("db-")).collect();
        let place = platform.path().join("shared/databases/clusters");
        let directories = std::fs::read_dir(place).into_iter().flatten().count();
        (objects.is_empty() && secrets.is_empty() && servers(platform).is_empty() && directories == 0)
            .then_some(())
    });
    let own = platform.kubectl(&["get", "databaseclaims,secrets", "-o", "name"]);
    assert_eq!(own, "");
}

#[test]
fn claims_with_one_label_share_a_server_and_others_have_their_own() {
    let mut platform = Platform::start(&[]);
    let label = json!({ "instanceLabel": "shop.eu" });
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": [
        manifest("orders", &label), manifest("bills", &label), manifest("alone", &json!({})), manifest("other", &json!({})),
    ] });
    platform.try_apply_object(&list).expect("anybody may claim");
    let host = |name: &str| ready(&platform, name)["status"]["connectionInfo"]["hostName"].clone();
    let hosts = ["orders", "bills", "alone", "other"].map(host);
    assert_eq!(hosts[0], hosts[1]);
    assert_eq!(clusters(&platform).len(), 3, "{:?}", clusters(&platform));
    for (one, other) in [(1, 2), (1, 3), (2, 3)] {
        assert_ne!(hosts[one], hosts[other]);
    }
    // One that goes takes nothing of the other along.
    platform.kubectl(&["delete", "dbc", "orders", "--timeout=60s"]);
    assert_eq!(
        login(&platform, "bills").one("select count(*) from pg_database where datname = 'orders'"),
        "0"
    );
    assert_eq!(clusters(&platform).len(), 3);
    platform.stop("-TERM");
}

#[test]
fn a_program_in_python_keeps_its_notes_in_a_claimed_database() {
    let mut platform = Platform::start(&[]);
    apply(&platform, "notes", &json!({}));
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/apps/python-db");
    platform.deploy(&source, "notes-py", &[]);
    ready(&platform, "notes");
    let variable =
        json!({ "name": "DATABASE_URL", "secretKeyRef": { "name": "notes", "key": "uri_dsn.txt" } });
    let patch = json!({ "spec": { "env": [variable] } }).to_string();
    platform.kubectl(&["patch", "application", "notes-py", "--type=merge", "-p", &patch]);
    wait("a note to be kept", PATIENCE, || {
        let answer = Browser::new(platform.gateway).post_to(&host("notes-py"), "/notes", "kept").ok()?;
        (answer.status == 201).then_some(())
    });
    let owner = login(&platform, "notes").one("select tableowner from pg_tables where tablename = 'notes'");
    assert_eq!(owner, "notes", "what a program makes belongs to the owner");
    platform.stop("-TERM");
}
