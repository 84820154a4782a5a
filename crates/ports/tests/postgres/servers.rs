//! What only real servers show.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use jiff::{SignedDuration, Timestamp};
use nix::sys::signal::{Signal, kill};
use ports::authority::{self, Authority as _};
use ports::postgres::{Backup, Certificate, Instance, Key, Postgres as _, Run, Seen, Source, Stop};

use crate::machine::{
    self, Machine, PASSWORD, client, execute, facts, instance, key, login, numbers, settings, streaming,
    superuser, there, until, up,
};

pub async fn an_owner_logs_in_over_tls_and_nobody_without_the_password(machine: &Machine) {
    let (live, key) = (&machine.live, key("tls"));
    let (port, certificate) = certified(machine, &key).await;
    live.grant(&key, 1, &login()).await.expect("it is granted");
    let root = machine.dir.path().join("root.crt");
    fs::write(&root, &certificate.root_pem).expect("a file");
    let ask = |password: &str| {
        let mode = format!("verify-full sslrootcert={}", root.display());
        psql(machine, &format!("host=127.0.0.1 port={port} user=app dbname=app sslmode={mode}"), password)
    };
    let (said, complaint) = ask(PASSWORD);
    assert_eq!(said, "t\n", "{complaint}");
    assert!(ask("wrong").1.contains("password authentication failed"));
    execute(port, "CREATE TABLE t (n int)").await;
}

/// A server that shows a certificate: where it listens, and what it shows.
pub async fn certified(machine: &Machine, key: &Key) -> (u16, Certificate) {
    let (live, now) = (&machine.live, Timestamp::now());
    let authority = authority::Live::open(&machine.dir.path().join("ca"), now).expect("an authority");
    let names = BTreeSet::from(["127.0.0.1".to_owned()]);
    let not_after = now.checked_add(SignedDuration::from_hours(24)).expect("a day");
    let issued = authority.issue(&authority::Order { names, not_before: now, not_after }).expect("it signs");
    let root_pem = authority.root_pem().to_owned();
    let certificate = Certificate { chain_pem: issued.chain_pem, key_pem: issued.key_pem, root_pem };
    live.make(key, 1, machine.major()).await.expect("it is made");
    live.certify(key, &certificate).await.expect("it is kept");
    assert_eq!(live.look(key).await.expect("a look").certificate, Some(certificate.clone()));
    live.configure(key, 1, &settings("one", false)).await.expect("it is configured");
    live.start(key, 1).await.expect("it starts");
    (up(live, key, 1).await.port, certificate)
}

/// Whether a real client gets in over TLS, and what it complains of.
pub fn psql(machine: &Machine, words: &str, password: &str) -> (String, String) {
    let program = machine.live.builds()[&machine.major()].bin.join("psql");
    let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let output = Command::new(program)
        .args(["-w", "-tA", "-c", sql, words])
        .env("PGPASSWORD", password)
        .env("HOME", machine.dir.path())
        .output();
    let output = output.expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

pub async fn a_restart_keeps_data_and_tells_what_needs_one(machine: &Machine) {
    let live = &machine.live;
    let key = machine.one("restart", &settings("one", false)).await;
    let before = up(live, &key, 1).await;
    execute(before.port, "CREATE TABLE t (n int); INSERT INTO t VALUES (1)").await;
    let mut more = settings("two", false);
    more.parameters.insert("max_connections".into(), "40".into());
    live.configure(&key, 1, &more).await.expect("it is configured");
    let waiting = up(live, &key, 1).await;
    assert_eq!((waiting.settings.as_deref(), waiting.restart_needed), (Some("two"), true));
    live.stop(&key, 1, Stop::Fast).await.expect("it stops");
    live.start(&key, 1).await.expect("it starts");
    let after = up(live, &key, 1).await;
    assert_eq!((after.port, after.restart_needed), (before.port, false));
    assert_eq!(numbers(after.port).await, [1]);

    machine.signal(&key, 1, Signal::SIGKILL);
    let ended = |seen: &Seen| match instance(seen, 1)?.run {
        Run::Ended { failures, story, .. } => Some((failures, story)),
        _ => None,
    };
    let (failures, story) = until(live, &key, "it has ended", ended).await;
    assert_eq!((failures, story.as_str()), (0, "it was ended by signal 9"));
    more.parameters.insert("work_mem".into(), "banana".into());
    live.configure(&key, 1, &more).await.expect("it is written");
    for count in 1..=2 {
        live.start(&key, 1).await.expect("it is tried");
        let (failures, story) = until(live, &key, "it has ended", ended).await;
        assert_eq!(failures, count);
        assert!(story.contains("work_mem"), "{story}");
    }
    live.configure(&key, 1, &settings("three", false)).await.expect("it is configured");
    live.start(&key, 1).await.expect("it starts");
    let after = up(live, &key, 1).await;
    assert_eq!(numbers(after.port).await, [1]);
}

pub async fn a_killed_primary_is_replaced_by_the_standby_that_has_most(machine: &Machine) {
    let (live, wanted) = (&machine.live, settings("one", false));
    let key = machine.one("failover", &wanted).await;
    machine.standby(&key, 2, &wanted).await;
    machine.standby(&key, 3, &wanted).await;
    let port = up(live, &key, 1).await.port;
    execute(port, "CREATE TABLE t (n int); INSERT INTO t VALUES (1)").await;
    let both = BTreeSet::from([2, 3]);
    until(live, &key, "1 serves both", |seen| (facts(seen, 1)?.serves.len() == 2).then_some(())).await;
    while live.look(&key).await.expect("a look").synchronous != both {
        live.wait_for(&key, 1, &both).await.expect("it waits");
    }
    let receiver = machine.receiver(&key, 3);
    kill(receiver, Signal::SIGSTOP).expect("it is ours");
    execute(port, "INSERT INTO t SELECT generate_series(2, 500)").await;
    machine.signal(&key, 1, Signal::SIGKILL);
    let ended = |seen: &Seen| matches!(instance(seen, 1)?.run, Run::Ended { .. }).then(|| seen.clone());
    let seen = until(live, &key, "the primary has ended", ended).await;
    assert_eq!(seen.synchronous, both);
    let (two, three) = (up(live, &key, 2).await, up(live, &key, 3).await);
    assert!(two.lsn > three.lsn, "{} and {}", two.lsn, three.lsn);
    live.fence(&key, 1).await.expect("it is put aside");
    live.promote(&key, 2).await.expect("it is promoted");
    kill(receiver, Signal::SIGCONT).expect("it is ours");
    live.follow(&key, 3, 2).await.expect("it follows");
    let promoted = up(live, &key, 2).await;
    assert_eq!(numbers(promoted.port).await.len(), 500, "nothing that was acknowledged is lost");
    let follows = |seen: &Seen| {
        let facts = facts(seen, 3)?;
        (facts.streaming && instance(seen, 3)?.follows == Some(promoted.port)).then_some(())
    };
    until(live, &key, "3 follows 2", follows).await;
    live.rejoin(&key, 1, 2).await.expect("it begins");
    until(live, &key, "1 is back", |seen| instance(seen, 1).filter(|there| !there.fenced)).await;
    live.start(&key, 1).await.expect("it starts");
    let back = streaming(live, &key, 1).await;
    execute(promoted.port, "INSERT INTO t VALUES (501)").await;
    let has_all = |seen: &Seen| (facts(seen, 1)?.lsn >= facts(seen, 2)?.lsn).then_some(());
    until(live, &key, "1 has everything", has_all).await;
    assert_eq!(numbers(back.port).await.len(), 501);
}

pub async fn a_primary_that_cannot_be_rewound_is_copied_anew(machine: &Machine) {
    let (live, wanted) = (&machine.live, settings("one", false));
    let key = machine.one("torn", &wanted).await;
    machine.standby(&key, 2, &wanted).await;
    // A standby that asks for less than its primary had starts all the same.
    let mut fewer = settings("fewer", false);
    fewer.parameters.insert("max_connections".into(), "20".into());
    live.configure(&key, 2, &fewer).await.expect("it is configured");
    live.stop(&key, 2, Stop::Fast).await.expect("it stops");
    live.start(&key, 2).await.expect("it starts");
    streaming(live, &key, 2).await;
    live.fence(&key, 1).await.expect("it is put aside");
    live.promote(&key, 2).await.expect("it is promoted");
    let port = up(live, &key, 2).await.port;
    execute(port, "CREATE TABLE t (n int); INSERT INTO t VALUES (1)").await;
    fs::remove_file(machine.data(&key, 1).join("global/pg_control")).expect("it is there");
    live.rejoin(&key, 1, 2).await.expect("it begins");
    until(live, &key, "1 is back", |seen| instance(seen, 1).filter(|there| !there.fenced)).await;
    live.start(&key, 1).await.expect("it starts");
    let back = streaming(live, &key, 1).await;
    let has_all = |seen: &Seen| (facts(seen, 1)?.lsn >= facts(seen, 2)?.lsn).then_some(());
    until(live, &key, "1 has everything", has_all).await;
    assert_eq!(numbers(back.port).await, [1]);
    let left = fs::read_dir(machine.dir.path().join("clusters/torn")).expect("a directory").flatten();
    let left: Vec<_> = left.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    assert!(!left.iter().any(|name| name.ends_with(".new") || name.ends_with(".old")), "{left:?}");
}

pub async fn a_frozen_server_does_not_answer(machine: &Machine) {
    let live = &machine.live;
    let key = machine.one("frozen", &settings("one", false)).await;
    machine.signal(&key, 1, Signal::SIGSTOP);
    let mute = |seen: &Seen| match instance(seen, 1)?.run {
        Run::Starting { story: None, since, .. } => Some(since),
        _ => None,
    };
    until(live, &key, "it is silent", mute).await;
    live.fence(&key, 1).await.expect("it is put aside");
    assert_eq!(there(live, &key, 1).await.run, Run::Stopped);
    live.unfence(&key, 1).await.expect("it may run again");
    live.start(&key, 1).await.expect("it starts");
    assert!(!up(live, &key, 1).await.in_recovery);
}

pub async fn a_backup_goes_back_to_a_moment(machine: &Machine) {
    let live = &machine.live;
    let key = machine.one("source", &settings("one", true)).await;
    let port = up(live, &key, 1).await.port;
    execute(port, "CREATE TABLE t (n int); INSERT INTO t VALUES (1)").await;
    live.back_up(&key, 1, "backup-1").await.expect("it begins");
    let mut changes = live.changes();
    let copied = loop {
        match live.backup("backup-1").await.expect("a look") {
            Some(Backup::Done(copied)) => break copied,
            Some(Backup::Running { .. }) => drop(changes.recv().await),
            other => panic!("{other:?}"),
        }
    };
    assert!(copied.first.is_some() && copied.first < copied.last && copied.bytes > 0, "{copied:?}");
    execute(port, "INSERT INTO t VALUES (2)").await;
    let moment = Timestamp::now();
    execute(port, "INSERT INTO t VALUES (3)").await;

    let table = [
        ("to-the-moment", Some(moment), Ok(vec![1, 2])),
        ("to-the-end", None, Ok(vec![1, 2, 3])),
        ("before", Some(copied.began), Err("before the end of the backup")),
        ("after", Some(Timestamp::now() + SignedDuration::from_hours(1)), Err("nothing was committed")),
    ];
    for (uid, until_when, want) in table {
        let new = machine::key(uid);
        let source = Source { backup: "backup-1".into(), until: until_when };
        live.restore(&new, 1, &source).await.expect("it begins");
        let over = |seen: &Seen| match seen.instances.get(&1)? {
            Instance::Coming { .. } => None,
            Instance::Broken { story, .. } => Some(Err(story.clone())),
            Instance::There(_) => Some(Ok(())),
        };
        match (until(live, &new, "it is over", over).await, want) {
            (Ok(()), Ok(rows)) => {
                live.configure(&new, 1, &settings("one", true)).await.expect("it is configured");
                live.start(&new, 1).await.expect("it starts");
                let port = up(live, &new, 1).await.port;
                live.grant(&new, 1, &login()).await.expect("it is granted");
                assert_eq!(numbers(port).await, rows, "{uid}");
            }
            (Err(story), Err(words)) => assert!(story.contains(words), "{uid}: {story}"),
            (got, want) => panic!("{uid}: {got:?} instead of {want:?}"),
        }
    }
    assert_eq!(numbers(port).await, [1, 2, 3], "the source is as it was");
}

pub async fn a_retired_cluster_comes_back(machine: &Machine) {
    let live = &machine.live;
    let key = machine.one("retired", &settings("one", false)).await;
    machine.standby(&key, 2, &settings("one", false)).await;
    let port = up(live, &key, 1).await.port;
    execute(port, "CREATE TABLE t (n int); INSERT INTO t VALUES (7)").await;
    live.retire(&key, "kept-1").await.expect("it goes");
    assert!(!machine.dir.path().join("clusters/retired").exists());
    assert!(client(port, PASSWORD).await.is_err(), "nothing listens");
    let new = machine::key("again");
    let source = Source { backup: "kept-1".into(), until: None };
    live.restore(&new, 1, &source).await.expect("it begins");
    there(live, &new, 1).await;
    live.start(&new, 1).await.expect("it starts");
    let port = up(live, &new, 1).await.port;
    live.grant(&new, 1, &login()).await.expect("it is granted");
    assert_eq!(numbers(port).await, [7]);
    live.discard("kept-1").await.expect("it goes");
    assert!(!machine.dir.path().join("wal/retired").exists(), "nobody needs its history");
}

pub async fn data_of_another_version_is_told_and_left_alone(machine: &Machine) {
    let (live, key) = (&machine.live, key("old"));
    live.make(&key, 1, machine.major()).await.expect("it is made");
    let file = machine.data(&key, 1).join("PG_VERSION");
    fs::write(&file, "9\n").expect("a file");
    assert_eq!(there(live, &key, 1).await.major, Some(9));
    let refused = live.start(&key, 1).await.expect_err("there is no such version").to_string();
    assert!(refused.contains("`terrace postgres install 9`"), "{refused}");
    fs::remove_file(&file).expect("it is there");
    assert_eq!(there(live, &key, 1).await.major, None);
    assert!(live.start(&key, 1).await.is_err());
}

pub async fn secrets_are_in_no_argument_no_log_and_no_open_file(machine: &Machine) {
    let key = machine.one("secrets", &settings("one", false)).await;
    machine.standby(&key, 2, &settings("one", false)).await;
    let place = machine.dir.path().join("clusters/secrets");
    let passfile = fs::read_to_string(place.join("passfile")).expect("it is there");
    let replica = passfile.trim().rsplit(':').next().expect("a password").to_owned();
    let administrator = fs::read_to_string(machine.dir.path().join("superuser")).expect("it is there");
    // A superuser of its own begins with the owner's password, so that is found with it.
    machine.live.superuser(&key, 1, Some(&superuser("first"))).await.expect("it is let in");
    let secrets = [PASSWORD, &replica, administrator.trim()];
    let processes = fs::read_dir("/proc").expect("proc").flatten();
    let arguments: Vec<String> = processes
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .collect();
    assert!(arguments.iter().any(|words| words.contains("clusters/secrets/1")), "it runs");
    for secret in secrets {
        assert!(!arguments.iter().any(|words| words.contains(secret)));
        for log in ["1.log", "2.log"] {
            let text = fs::read_to_string(place.join(log)).expect("a log");
            assert!(!text.is_empty() && !text.contains(secret), "{log}");
        }
    }
    let mut open = Vec::new();
    readable_by_others(machine.dir.path(), &mut open);
    assert_eq!(open, Vec::<String>::new());
    if nix::unistd::geteuid().is_root() {
        let pid = machine.postmaster(&key, 1);
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
        assert!(!status.contains("Uid:\t0\t"), "{status}");
    }
}

/// Files that others than their owner could reach and read.
fn readable_by_others(directory: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let Ok(meta) = entry.metadata() else { continue };
        let mode = meta.permissions().mode();
        if meta.is_dir() && mode & 0o011 != 0 {
            assert_eq!(mode & 0o066, 0, "{}", entry.path().display());
            readable_by_others(&entry.path(), found);
        } else if meta.is_file() && mode & 0o077 != 0 {
            found.push(entry.path().display().to_string());
        }
    }
}

pub async fn servers_outlive_the_platform_and_are_adopted(machine: &Machine) {
    let key = machine.one("adopted", &settings("one", false)).await;
    let before = up(&machine.live, &key, 1).await;
    let pid = machine.postmaster(&key, 1);
    let next = machine::open(machine.dir.path()).await;
    let after = up(&next, &key, 1).await;
    assert_eq!((after.port, machine.postmaster(&key, 1)), (before.port, pid));
    assert_eq!(next.look(&key).await.expect("a look").granted.as_deref(), Some("login"));
    let mut changes = next.changes();
    machine.signal(&key, 1, Signal::SIGKILL);
    assert_eq!(changes.recv().await.expect("it is told"), key.name);
    next.start(&key, 1).await.expect("it starts");
    up(&next, &key, 1).await;
    next.stop_all(std::time::Duration::from_secs(30)).await.expect("all end");
}
