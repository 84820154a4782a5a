//! A primary that is killed again and again while clients write.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::platform::{Platform, wait};
use crate::service::{PATIENCE, connect, create, postmaster, primary, ready, secret};
use crate::sql::Sql;

/// How often the primary is killed.
const KILLS: u32 = 10;

/// A program of PostgreSQL: on the PATH, or where Debian puts it.
pub fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let places = std::env::split_paths(&path).chain(debian.map(|entry| entry.path().join("bin")));
    places.map(|place| place.join(name)).find(|file| file.is_file()).expect("PostgreSQL is on this machine")
}

/// `pgbench` with four clients that insert, each transaction written down once it is acknowledged.
fn load(place: &Path, uri: &str, round: u32) -> std::process::Child {
    let script = place.join("insert.sql");
    std::fs::write(&script, "insert into written (round, client) values (:round, :client_id);\n")
        .expect("a file");
    Command::new(program("pgbench"))
        .args(["--no-vacuum", "--client=4", "--jobs=2", "--time=60", "--log"])
        .arg(format!("--log-prefix={}", place.join(format!("round-{round}")).display()))
        .args(["--define", &format!("round={round}")])
        .arg("--file")
        .arg(&script)
        .arg("app")
        // The password goes by the environment: arguments can be seen by everybody.
        .envs(environment(uri))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("pgbench starts")
}

fn environment(uri: &str) -> BTreeMap<&'static str, String> {
    let rest = uri.split_once("://").expect("a URI").1;
    let (login, place) = rest.split_once('@').expect("a login");
    let (user, password) = login.split_once(':').expect("a password");
    let (host, port) = place.split(['/', '?']).next().expect("a host").split_once(':').expect("a port");
    [("PGUSER", user), ("PGPASSWORD", password), ("PGHOST", host), ("PGPORT", port)]
        .map(|(key, value)| (key, value.to_owned()))
        .into()
}

/// How many transactions of a round were acknowledged.
fn acknowledged(place: &Path, round: u32) -> usize {
    let prefix = format!("round-{round}.");
    let files = std::fs::read_dir(place).expect("it is there").flatten().map(|entry| entry.path());
    let logs =
        files.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)));
    logs.map(|log| std::fs::read_to_string(log).unwrap_or_default().lines().count()).sum()
}

fn rows(sql: &Sql, round: u32) -> usize {
    sql.one(&format!("select count(*) from written where round = {round}")).parse().expect("a number")
}

#[test]
#[allow(clippy::print_stderr, reason = "the time to the next write is reported, not judged")]
fn no_acknowledged_commit_is_lost_when_the_primary_is_killed_ten_times() {
    let mut platform = Platform::start(&[]);
    create(&platform, "db", "ha");
    ready(&platform, "db");
    let uri = secret(&platform, "db", "uri");
    let sql = connect(&platform, "db");
    sql.ask("create table written (round int, client int)").expect("the owner may");
    assert_eq!(sql.one("show synchronous_commit"), "on");
    drop(sql);
    let place = platform.path().join("bench");
    std::fs::create_dir(&place).expect("a directory");
    let mut times = Vec::new();
    for round in 0..KILLS {
        let mut last = String::new();
        wait(&format!("all three instances in round {round}"), PATIENCE, || {
            let status = platform.object("cluster.postgresql.cnpg.io", "db")["status"].clone();
            let told = format!("{} {} {}", status["phase"], status["phaseReason"], status["readyInstances"]);
            if told != last {
                eprintln!("round {round}: {told}");
                last = told;
            }
            (status["readyInstances"] == 3 && status["phase"] == "Cluster in healthy state").then_some(())
        });
        let sql = connect(&platform, "db");
        assert_ne!(sql.one("show synchronous_standby_names"), "", "commits wait for a standby");
        let mut bench = load(&place, &uri, round);
        wait("rows under way", PATIENCE, || (rows(&sql, round) > 50).then_some(()));
        let old = primary(&platform, "db");
        let pid = postmaster(&old).expect("the primary runs");
        let killed = Instant::now();
        Command::new("kill").args(["-9", &pid.to_string()]).status().expect("kill is there");
        let next = wait("the next successful write", PATIENCE, || {
            let again = Sql::connect(&uri).ok()?;
            again.ask("insert into written (round, client) values (-1, 0)").ok()?;
            Some(killed.elapsed())
        });
        times.push(next);
        bench.wait().expect("it is ours");
        assert_ne!(primary(&platform, "db"), old, "another instance is the primary");
        let (sure, there) = (acknowledged(&place, round), rows(&connect(&platform, "db"), round));
        assert!(sure > 0, "something was acknowledged in round {round}");
        assert!(there >= sure, "round {round}: {sure} were acknowledged, {there} are there");
    }
    let sql = connect(&platform, "db");
    for round in 0..KILLS {
        let (sure, there) = (acknowledged(&place, round), rows(&sql, round));
        assert!(there >= sure, "in the end, of round {round}: {sure} were acknowledged, {there} are there");
    }
    times.sort();
    let middle = times.get(times.len() / 2).copied().unwrap_or(Duration::ZERO);
    eprintln!("kill to the next write: median {middle:?}, longest {:?}", times.last().expect("ten of them"));
    platform.stop("-TERM");
}
