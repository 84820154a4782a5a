//! Killed at any instant, the trail has every record that somebody was told of, and verifies.
//!
//! The test runs itself as a child that writes records and prints those it was told of; the parent kills it and looks.

use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use agents::audit::{Head, Link, Outcome, Record, Trail, digest, head_beside, verify};
use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tempfile::TempDir;

const ROUNDS: usize = 24;
const TASKS: usize = 6;
const DIRECTORY: &str = "AUDIT_KILLS_DIRECTORY";

#[test]
fn every_record_that_somebody_was_told_of_survives_every_kill() {
    let given = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = given.unwrap_or_else(|| rand::rng().random_range(0..1_000_000));
    println!("SEED={seed}");
    let mut dice = StdRng::seed_from_u64(seed);
    let dir = TempDir::new().expect("a directory");
    let (log, mut told, mut behind) = (dir.path().join("audit.log"), Vec::new(), 0);
    for _ in 0..ROUNDS {
        run_and_kill(dir.path(), dice.random_range(0..60), &mut told);
        let head = Head::read(&head_beside(&log)).expect("readable").expect("a head");
        let text = std::fs::read(&log).expect("a log");
        let verified = verify(text.as_slice(), &head, None).unwrap_or_else(|finding| panic!("{finding}"));
        behind += u64::from(verified.count > head.count || verified.torn);
        let whole =
            text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Link>(line).ok());
        let there: std::collections::HashSet<String> = whole.map(|link| link.record.action).collect();
        let missing: Vec<&String> = told.iter().filter(|action| !there.contains(*action)).collect();
        assert!(missing.is_empty(), "not there: {missing:?}");
    }
    println!("{ROUNDS} kills, {} records told of, {behind} times the log was ahead of its head", told.len());
    assert!(told.len() > ROUNDS, "the child has written: {}", told.len());
}

/// The writing side; an ordinary run of the tests has nothing to do here.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(DIRECTORY) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    // The harness has begun a line of its own.
    writeln!(std::io::stdout()).expect("the parent reads");
    runtime.block_on(async {
        let trail = Trail::open(&Path::new(&dir).join("audit.log")).expect("the child opens the trail");
        let tasks = (0..TASKS).map(|task| tokio::spawn(write_forever(trail.clone(), task)));
        futures::future::join_all(tasks).await;
    });
}

async fn write_forever(trail: Trail, task: usize) {
    for number in 0.. {
        let action = format!("{}-{task}-{number}", std::process::id());
        trail.write(record(&action)).await.expect("is written");
        writeln!(std::io::stdout(), "told {action}").expect("the parent reads");
    }
}

fn record(action: &str) -> Record {
    Record {
        time: Timestamp::now(),
        token: String::new(),
        name: String::new(),
        agent: "x".repeat(150),
        action: action.into(),
        subject: String::new(),
        arguments: digest(&serde_json::Map::new()),
        plan: None,
        outcome: Outcome::Done,
        reason: None,
    }
}

/// Runs the child until it has told of so many records, kills it, and reads what else it had said.
fn run_and_kill(dir: &Path, after: usize, told: &mut Vec<String>) {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(DIRECTORY, dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the child starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"));
    let (mut line, mut heard, mut killed) = (String::new(), 0, false);
    loop {
        // The first words of the harness come before the trail is open.
        if heard > after && !killed {
            child.kill().expect("the child was alive");
            killed = true;
        }
        line.clear();
        let read = lines.read_line(&mut line).expect("readable");
        // The last line may be cut: then nobody was told.
        if read == 0 || !line.ends_with('\n') {
            break;
        }
        if let Some(action) = line.strip_prefix("told ") {
            told.push(action.trim_end().to_owned());
            heard += 1;
        }
    }
    child.wait().expect("the child is gone");
    assert!(killed, "the child ended by itself after {heard} records");
}
