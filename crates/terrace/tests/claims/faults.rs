//! What can be wrong with a server, what its claims say of it, and that they recover by themselves.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::claim::{
    Configuration, PATIENCE, SYSTEM, apply, condition, db, gone, key, login, manifest, ready, unready,
};
use crate::platform::{Platform, wait};
use crate::server::{PASSWORD, Server, introduce};
use crate::sql::Sql;

/// How long a claim may take while another server hangs; it takes less than a second on a machine that is not busy.
const SOON: Duration = Duration::from_secs(10);

/// A platform with one claim that is served, whose login is about to rotate when things go wrong.
struct Scene {
    platform: Platform,
    server: Server,
}

impl Scene {
    /// Waits until a new claim and one that was served both tell of what is wrong.
    fn told(&self, name: &str, reason: &str) {
        apply(&self.platform, name, &json!({ "instanceLabel": "athena" }));
        db(&self.platform, &["rotate", "steady", "--no-wait"]);
        for claim in [name, "steady"] {
            let said = unready(&self.platform, claim, reason);
            let place = format!("127.0.0.1:{}", self.server.port);
            assert!(said.contains(&place), "{claim} names the server: {said}");
        }
    }

    /// Waits until both are ready, and get in.
    fn recovered(&self, name: &str) {
        for claim in [name, "steady"] {
            let told = ready(&self.platform, claim);
            assert_eq!(told["status"]["error"], Value::Null, "{told}");
            login(&self.platform, claim).ask("select 1").expect("it answers");
        }
    }
}

#[test]
fn every_fault_of_a_server_has_its_reason_and_passes_by_itself() {
    let server = Server::new();
    let configuration = Configuration::new(&server.fragment("athena"));
    let platform = configuration.platform();
    introduce(&platform, "athena");
    apply(&platform, "steady", &json!({ "instanceLabel": "athena" }));
    ready(&platform, "steady");
    let mut scene = Scene { platform, server };
    unreachable(&mut scene);
    slow(&scene);
    full(&scene);
    set_to_read(&scene);
    locked_out(&scene);
    scene.platform.stop("-TERM");
}

fn unreachable(scene: &mut Scene) {
    scene.server.stop();
    scene.told("unreached", "ServerUnreachable");
    scene.server.start();
    scene.recovered("unreached");
}

fn slow(scene: &Scene) {
    scene.server.freeze();
    scene.told("slowed", "ServerSlow");
    scene.server.thaw();
    scene.recovered("slowed");
}

fn full(scene: &Scene) {
    let mut crowd = Vec::new();
    let fill = |crowd: &mut Vec<Sql>| {
        while let Ok(one) = Sql::connect(&scene.server.uri("postgres")) {
            crowd.push(one);
        }
    };
    fill(&mut crowd);
    apply(&scene.platform, "crowded", &json!({ "instanceLabel": "athena" }));
    db(&scene.platform, &["rotate", "steady", "--no-wait"]);
    for name in ["crowded", "steady"] {
        wait(&format!("{name} to find no room"), PATIENCE, || {
            // The platform lets a connection go from time to time.
            fill(&mut crowd);
            let claim = scene.platform.object("databaseclaim", name);
            (condition(&claim, "Ready")[1] == "TooManyConnections").then_some(())
        });
    }
    drop(crowd);
    scene.recovered("crowded");
}

fn set_to_read(scene: &Scene) {
    scene.server.ask("alter system set default_transaction_read_only = on");
    scene.server.ask("select pg_reload_conf()");
    scene.told("unwritten", "ServerReadOnly");
    let sql = Sql::connect(&scene.server.uri("postgres")).expect("the administrator gets in");
    sql.ask("set default_transaction_read_only = off").expect("anybody may");
    sql.ask("alter system reset default_transaction_read_only").expect("the administrator may");
    sql.ask("select pg_reload_conf()").expect("the administrator may");
    scene.recovered("unwritten");
}

fn locked_out(scene: &Scene) {
    let set = |password: &str| {
        let patch = json!({ "stringData": { "password": password } }).to_string();
        scene.platform.kubectl(&[
            "-n",
            SYSTEM,
            "patch",
            "secret",
            "athena-master",
            "--type=merge",
            "-p",
            &patch,
        ]);
    };
    set("not-the-password-any-more");
    scene.told("locked", "CredentialsInvalid");
    set(PASSWORD);
    scene.recovered("locked");
}

#[test]
fn a_claim_leaves_a_server_that_is_gone_for_good_if_it_leaves_nothing_to_be_done() {
    let mut server = Server::new();
    let configuration = Configuration::new(&server.fragment("athena"));
    let mut platform = configuration.platform();
    introduce(&platform, "athena");
    apply(&platform, "recycled", &json!({ "instanceLabel": "athena", "deletePolicy": "recycle" }));
    apply(&platform, "held", &json!({ "instanceLabel": "athena" }));
    ready(&platform, "recycled");
    ready(&platform, "held");
    server.stop();
    apply(&platform, "never", &json!({ "instanceLabel": "athena" }));
    unready(&platform, "never", "ServerUnreachable");
    // Of the one there is nothing yet, and of the other everything stays.
    platform.kubectl(&["delete", "dbc", "never", "recycled", "--timeout=60s"]);
    // A database that is to be put aside is waited for.
    platform.kubectl(&["delete", "dbc", "held", "--wait=false"]);
    unready(&platform, "held", "ServerUnreachable");
    server.start();
    gone(&platform, "held");
    let left = server.ask("select datname from pg_database where datname in ('recycled', 'held', 'never') or datname like 'terrace-held-%' order by 1");
    assert!(left.len() == 2 && left[0] == "recycled", "{left:?}");
    for name in ["never", "recycled", "held"] {
        assert!(platform.object("secret", name).is_null(), "{name}");
    }
    platform.stop("-TERM");
}

#[test]
fn a_standby_and_an_administrator_without_rights_are_told_apart_and_mended() {
    let server = Server::new();
    server.ask("create role helper login createrole password 'Canary-of-the-master-7Q'");
    let standby = server.standby();
    let limited = server.fragment("limited").replace("chief", "helper");
    let configuration = Configuration::new(&format!("{}{limited}", standby.fragment("standby")));
    let mut platform = configuration.platform();
    introduce(&platform, "standby");
    introduce(&platform, "limited");
    apply(&platform, "follower", &json!({ "instanceLabel": "standby" }));
    apply(&platform, "beggar", &json!({ "instanceLabel": "limited" }));
    let said = unready(&platform, "follower", "ServerReadOnly");
    assert!(said.contains("standby"), "{said}");
    let said = unready(&platform, "beggar", "PermissionMissing");
    assert!(said.contains("permission denied to create database"), "{said}");
    // Nobody tells the platform: it sees for itself.
    standby.ask("select pg_promote()");
    server.ask("alter role helper createdb");
    for (name, on) in [("follower", &standby), ("beggar", &server)] {
        ready(&platform, name);
        assert_eq!(key(&platform, name, "port"), on.port.to_string());
        login(&platform, name).ask("create table t (n int)").expect("the owner may");
    }
    platform.stop("-TERM");
}

#[test]
fn a_server_that_hangs_delays_no_claim_on_another() {
    let (hangs, answers) = (Server::new(), Server::new());
    let configuration =
        Configuration::new(&format!("{}{}", hangs.fragment("hangs"), answers.fragment("answers")));
    let mut platform = configuration.platform();
    introduce(&platform, "hangs");
    introduce(&platform, "answers");
    hangs.freeze();
    let names: Vec<String> = (0..30).map(|number| format!("stuck-{number}")).collect();
    let items: Vec<Value> =
        names.iter().map(|name| manifest(name, &json!({ "instanceLabel": "hangs" }))).collect();
    platform
        .try_apply_object(&json!({ "apiVersion": "v1", "kind": "List", "items": items }))
        .expect("they may");
    wait("the server to be felt", PATIENCE, || {
        let all = platform.kubectl(&["get", "dbc", "-o", "json"]);
        all.contains("ServerSlow").then_some(())
    });
    for name in ["first", "second", "third"] {
        let asked = Instant::now();
        apply(&platform, name, &json!({ "instanceLabel": "answers" }));
        ready(&platform, name);
        let took = asked.elapsed();
        assert!(took < SOON, "{name} took {took:?}");
        login(&platform, name).ask("select 1").expect("it answers");
    }
    hangs.thaw();
    for name in &names {
        ready(&platform, name);
        login(&platform, name).ask("select 1").expect("it answers");
    }
    platform.stop("-TERM");
}
