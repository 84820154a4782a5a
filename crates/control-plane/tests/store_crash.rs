//! Killed at any instant, the store opens again with every acknowledged write and nothing torn.
//!
//! The test runs itself as a child that writes under load and prints what was acknowledged; the parent
//! kills it, sometimes spoils the end of the log as a power cut would, and opens the directory.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use control_plane::store::{Change, Draft, Expect, Key, Options, Query, Store, Write};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tempfile::TempDir;

const ROUNDS: usize = 320;
/// Rounds in one directory before a new one: creation must survive too.
const ROUNDS_PER_DIRECTORY: usize = 16;
const TASKS: u64 = 6;
const KEYS: u64 = 12;
/// Small, so that segments and snapshots come and go while the child is killed.
const LOG_LIMIT: u64 = 48 << 10;
const DIRECTORY: &str = "STORE_CRASH_DIRECTORY";
const HEADER: usize = 32;
const FRAME_HEAD: usize = 12;
const MARKER: [u8; 4] = [0xF5, 0xFE, 0xC0, 0xFF];

/// What is known of a name: the last acknowledged write, and the one that was under way at the kill.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    revision: u64,
    there: bool,
    /// `Some(true)` for a deletion.
    trying: Option<bool>,
}

type Acknowledged = BTreeMap<String, Known>;

#[test]
fn every_acknowledged_write_survives_every_kill() {
    let seed = seed();
    println!("SEED={seed}");
    let mut dice = StdRng::seed_from_u64(seed);
    let mut spoiled = BTreeMap::new();
    let mut writes = 0;
    for _ in 0..ROUNDS / ROUNDS_PER_DIRECTORY {
        let dir = TempDir::new().expect("a directory");
        let mut known = Acknowledged::new();
        let mut durable = 0;
        for _ in 0..ROUNDS_PER_DIRECTORY {
            writes += run_and_kill(dir.path(), dice.random_range(0..120), &mut known);
            durable = known.values().map(|known| known.revision).fold(durable, u64::max);
            if let Some(log) = last_log(dir.path()).filter(|_| dice.random_bool(0.5)) {
                *spoiled.entry(spoil(&log, durable, &mut dice)).or_insert(0) += 1;
            }
            durable = verify(dir.path(), durable, &mut known);
        }
    }
    println!("{ROUNDS} kills, {writes} writes acknowledged, spoiled: {spoiled:?}");
    assert_eq!(spoiled.len(), 4, "every way to spoil the end was taken");
}

/// The writing side; an ordinary run of the tests has nothing to do here.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(DIRECTORY) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    // The harness has begun a line of its own.
    writeln!(std::io::stdout()).expect("the parent reads");
    runtime.block_on(async {
        let options = Options { dir: Some(dir.into()), log_limit: LOG_LIMIT, ..Options::default() };
        let store = Store::open(options).expect("the child opens the store");
        let tasks = (0..TASKS).map(|task| tokio::spawn(write_forever(store.clone(), task)));
        futures::future::join_all(tasks).await;
    });
}

/// From the environment, to repeat a failure.
fn seed() -> u64 {
    let given = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| rand::rng().random_range(0..1_000_000))
}

fn key(name: &str) -> Key {
    Key::new("things.example.com", "default", name)
}

/// Each task owns its names, so that one write at most is under way for each.
async fn write_forever(store: Store, task: u64) {
    let mut dice = StdRng::seed_from_u64(u64::from(std::process::id()) * TASKS + task);
    loop {
        let name = format!("t{task}-{}", dice.random_range(0..KEYS));
        let now = store.get(&key(&name));
        let expect = now.as_ref().map_or(Expect::Absent, |now| Expect::Revision(now.revision));
        let deleting = now.is_some() && dice.random_bool(0.2);
        let draft = Draft::of(&thing(&name, dice.random_range(0..1_500)));
        let change = if deleting { Change::Delete(draft) } else { Change::Put(draft) };
        let mut out = std::io::stdout();
        writeln!(out, "try {name} {deleting}").expect("the parent reads");
        let write = Write { key: key(&name), expect, change };
        let object = store.commit(write).await.expect("nobody else writes it");
        writeln!(out, "ack {name} {} {deleting}", object.revision).expect("the parent reads");
    }
}

fn thing(name: &str, size: usize) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Thing", "metadata": { "name": name, "namespace": "default" },
        "spec": { "size": size, "text": text(name, size) },
    })
}

/// Text that tells by itself whether it is whole.
fn text(name: &str, size: usize) -> String {
    name.chars().cycle().take(size).collect()
}

/// Runs the child until it has acknowledged so many writes, kills it, and reads what else it had said.
fn run_and_kill(dir: &Path, after: usize, known: &mut Acknowledged) -> usize {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(DIRECTORY, dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the child starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    let mut heard = 0;
    let mut killed = false;
    loop {
        if heard >= after && !killed {
            child.kill().expect("the child was alive");
            killed = true;
        }
        line.clear();
        let read = lines.read_line(&mut line).expect("readable");
        // The last line may be cut: then nobody was told.
        if read == 0 || !line.ends_with('\n') {
            break;
        }
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["try", name, deleting] => {
                known.entry(name.to_owned()).or_default().trying = Some(deleting == "true");
            }
            ["ack", name, revision, deleting] => {
                let revision = revision.parse().expect("a number");
                known.insert(name.to_owned(), Known { revision, there: deleting == "false", trying: None });
                heard += 1;
            }
            // The words of the test harness.
            _ => {}
        }
    }
    child.wait().expect("the child is gone");
    assert!(killed, "the child ended by itself after {heard} writes");
    heard
}

fn last_log(dir: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(dir).expect("readable").map(|entry| entry.expect("readable").path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "log")).max()
}

/// Where frames begin and the first revision in each; then the end of the last.
fn frames(bytes: &[u8]) -> (Vec<(usize, u64)>, usize) {
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
    let mut found = Vec::new();
    let mut at = HEADER;
    while bytes.get(at..at + FRAME_HEAD).is_some_and(|head| head[..4] == MARKER) {
        let end = at + FRAME_HEAD + number(at + 4);
        let sum = [&bytes[at + 4..at + 8], bytes.get(at + FRAME_HEAD..end).unwrap_or_default()].concat();
        if crc32fast::hash(&sum) as usize != number(at + 8) {
            break;
        }
        let first = bytes[at + FRAME_HEAD..at + FRAME_HEAD + 8].try_into().expect("eight bytes");
        found.push((at, u64::from_le_bytes(first)));
        at = end;
    }
    (found, at)
}

/// Does to the end of the log what a power cut may do, and says what. Nothing acknowledged is touched.
fn spoil(log: &Path, durable: u64, dice: &mut StdRng) -> &'static str {
    let mut bytes = std::fs::read(log).expect("readable");
    let (frames, end) = frames(&bytes);
    // Frames that nobody was told of begin here.
    let free = frames.iter().find(|(_, first)| *first > durable).map_or(end, |(at, _)| *at);
    // Of these, only the last may be torn: it is written when those before it are durable.
    let last = frames.last().map_or(end, |(at, _)| *at).max(free);
    let what = match dice.random_range(0..4) {
        0 => {
            bytes.truncate(dice.random_range(free..=bytes.len()));
            "cut"
        }
        1 => {
            bytes.truncate(dice.random_range(last..=end));
            bytes.extend((0..dice.random_range(1..5_000)).map(|_| dice.random::<u8>()));
            "cut, then garbage"
        }
        // Where everything was acknowledged there is nothing to scribble on.
        2 if last < bytes.len() => {
            let start = dice.random_range(last..bytes.len());
            let stop = (start + dice.random_range(1..2_000)).min(bytes.len());
            bytes[start..stop].fill_with(|| dice.random());
            "scribbled"
        }
        _ => {
            bytes.extend((0..dice.random_range(1..500)).map(|_| dice.random::<u8>()));
            "garbage appended"
        }
    };
    std::fs::write(log, bytes).expect("written");
    what
}

/// Opens the store as the next process would. What it shows from then on counts as acknowledged.
fn verify(dir: &Path, durable: u64, known: &mut Acknowledged) -> u64 {
    let options = Options { dir: Some(dir.into()), log_limit: LOG_LIMIT, ..Options::default() };
    let store = Store::open(options).expect("opens after every crash");
    check_revisions(&store, durable);
    for (name, known) in known.iter() {
        let now = store.get(&key(name)).map(|object| object.revision);
        let acknowledged = now == known.there.then_some(known.revision);
        let under_way = match known.trying {
            None => false,
            Some(true) => now.is_none(),
            Some(false) => now > Some(known.revision),
        };
        assert!(acknowledged || under_way, "{name} is at {now:?}, but was {known:?}");
    }
    let page = store.list(&Query { storage: "things.example.com", ..Query::default() }, &mut |_| true);
    known.clear();
    for object in page.expect("the present").items {
        let value = object.value();
        let name = object.key.name.to_string();
        assert_eq!(value["metadata"]["resourceVersion"], object.revision.to_string());
        let size = value["spec"]["size"].as_u64().expect("whole") as usize;
        assert_eq!(value["spec"]["text"], text(&name, size), "{name} is whole");
        known.insert(name, Known { revision: object.revision, there: true, trying: None });
    }
    store.revision()
}

/// Revisions are consecutive up to the last, which is not behind what was durable.
fn check_revisions(store: &Store, durable: u64) {
    let oldest = store.watch(None, 0).err().map_or(0, |compacted| compacted.oldest);
    let mut watcher = store.watch(None, oldest).expect("covered");
    let mut revision = oldest;
    while let Some(event) = watcher.try_next().expect("covered") {
        revision += 1;
        assert_eq!(event.revision, revision, "revisions are consecutive");
    }
    assert_eq!(revision, store.revision());
    assert!(revision >= durable, "{revision} is behind {durable}, which was acknowledged");
}
