//! What can be wrong with a machine, what a service says of it, and that it recovers by itself.

use std::net::TcpListener;
use std::process::Command;

use serde_json::json;

use crate::platform::{Platform, wait};
use crate::service::{PATIENCE, connect, create, directories, postmaster, primary, ready, until};

/// Waits until a service says this of itself, and is not ready.
#[track_caller]
fn says(platform: &Platform, name: &str, words: &[&str]) {
    until(platform, name, &format!("to say {words:?}"), |service| {
        let told = service["status"].to_string();
        service["status"]["phase"] != "Ready" && words.iter().all(|word| told.contains(word))
    });
}

#[test]
fn a_version_that_is_not_there_is_named_with_those_that_are() {
    let mut platform = Platform::start(&[]);
    let made = platform.try_apply_object(&json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "ManagedService",
        "metadata": { "name": "old" }, "spec": { "type": "postgres", "version": "9" },
    }));
    made.expect("any version may be asked for");
    says(&platform, "old", &["PostgreSQL 9 is not on this machine", "terrace postgres install 9"]);
    platform.stop("-TERM");
}

#[test]
fn a_server_that_cannot_start_says_why_and_starts_when_it_can() {
    let mut platform = Platform::start(&[]);
    create(&platform, "db", "micro");
    ready(&platform, "db");
    connect(&platform, "db")
        .ask("create table kept (n int); insert into kept values (1)")
        .expect("the owner may");
    platform.stop("-TERM");
    // Somebody's hand in the directory.
    let file = primary_of_stopped(&platform).join("postgresql.auto.conf");
    let before = std::fs::read(&file).expect("it is there");
    std::fs::write(&file, "max_connections = 'many'\n").expect("it is written");
    platform.rise();
    says(&platform, "db", &["max_connections"]);
    std::fs::write(&file, before).expect("it is written");
    ready(&platform, "db");
    assert_eq!(connect(&platform, "db").one("select n from kept"), "1");
    platform.stop("-TERM");
}

/// The only data directory there is.
fn primary_of_stopped(platform: &Platform) -> std::path::PathBuf {
    let place = platform.path().join("shared/databases/clusters");
    let cluster =
        std::fs::read_dir(place).expect("it is there").flatten().next().expect("one service").path();
    cluster.join("1")
}

#[test]
fn data_of_another_version_is_not_touched() {
    let mut platform = Platform::start(&[]);
    create(&platform, "db", "micro");
    ready(&platform, "db");
    platform.stop("-TERM");
    let file = primary_of_stopped(&platform).join("PG_VERSION");
    let before = std::fs::read_to_string(&file).expect("it is there");
    std::fs::write(&file, "11\n").expect("it is written");
    platform.rise();
    says(&platform, "db", &["11"]);
    std::fs::write(&file, before).expect("it is written");
    ready(&platform, "db");
    platform.stop("-TERM");
}

#[test]
fn a_port_that_is_taken_is_told_and_left_to_whoever_has_it() {
    let mut platform = Platform::start(&[]);
    create(&platform, "db", "micro");
    ready(&platform, "db");
    let directory = primary(&platform, "db");
    let port = |directory: &std::path::Path| -> u16 {
        let text = std::fs::read_to_string(directory.join("postmaster.pid")).expect("it runs");
        text.lines().nth(3).and_then(|line| line.trim().parse().ok()).expect("the fourth line is the port")
    };
    let first = port(&directory);
    let address = crate::service::secret(&platform, "db", "host");
    platform.stop("-TERM");
    // The server's own port: it takes another.
    let own = TcpListener::bind(("127.0.0.1", first)).expect("it is free now");
    // The service's address: nobody else has the right to it, so the service says who is in the way.
    let door = TcpListener::bind((address.as_str(), 5432)).expect("it is free now");
    platform.rise();
    says(&platform, "db", &["5432", "cannot be listened on"]);
    drop(door);
    ready(&platform, "db");
    assert_ne!(port(&directory), first);
    drop(own);
    connect(&platform, "db").ask("select 1").expect("it answers");
    platform.stop("-TERM");
}

/// A small disk of its own, gone when it is dropped.
struct Disk(std::path::PathBuf);

impl Disk {
    fn new(place: &std::path::Path, megabytes: u32) -> Option<Self> {
        std::fs::create_dir_all(place).expect("a directory");
        let size = format!("size={megabytes}m,mode=0711");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(place).status();
        mounted.is_ok_and(|status| status.success()).then(|| Self(place.to_owned()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "what is left out on a machine is said aloud")]
fn a_full_disk_is_told_and_nothing_is_lost_when_there_is_room_again() {
    let mut platform = Platform::start(&[]);
    create(&platform, "db", "micro");
    ready(&platform, "db");
    connect(&platform, "db")
        .ask("create table kept (n int); insert into kept values (1)")
        .expect("the owner may");
    platform.stop("-TERM");
    let shared = platform.path().join("shared/databases");
    let aside = platform.path().join("shared/aside");
    std::fs::rename(&shared, &aside).expect("it is moved");
    let Some(disk) = Disk::new(&shared, 120) else {
        eprintln!("SKIPPED: no disk of its own can be made without root");
        std::fs::remove_dir(&shared).expect("it is empty");
        std::fs::rename(&aside, &shared).expect("it is moved back");
        return;
    };
    let copied = Command::new("cp").arg("-a").arg(format!("{}/.", aside.display())).arg(&shared).status();
    assert!(copied.is_ok_and(|status| status.success()));
    platform.rise();
    ready(&platform, "db");
    let sql = connect(&platform, "db");
    // Whatever the database does not take is taken by somebody else.
    let filler = shared.join("filler");
    let _ = Command::new("dd")
        .args(["if=/dev/zero", "bs=1M"])
        .arg(format!("of={}", filler.display()))
        .stderr(std::process::Stdio::null())
        .status();
    let mut last = String::new();
    wait("the disk to be felt", PATIENCE, || {
        let uri = crate::service::secret(&platform, "db", "uri");
        let sql = crate::sql::Sql::connect(&uri).ok()?;
        let wrote = sql.ask("insert into kept select 2 from generate_series(1, 100000)");
        last = wrote.err()?;
        Some(())
    });
    drop(sql);
    until(&platform, "db", "to tell of the full disk", |service| {
        service["status"].to_string().to_lowercase().contains("space")
    });
    std::fs::remove_file(&filler).expect("it is ours");
    ready(&platform, "db");
    wait("writes to be taken again", PATIENCE, || {
        let sql = connect(&platform, "db");
        sql.ask("insert into kept values (3)").ok()
    });
    let sql = connect(&platform, "db");
    assert_eq!(sql.one("select count(*) from kept where n = 1"), "1");
    assert_eq!(directories(&platform, "db").len(), 1);
    assert!(postmaster(&primary(&platform, "db")).is_some());
    drop(sql);
    platform.stop("-TERM");
    drop(disk);
}
