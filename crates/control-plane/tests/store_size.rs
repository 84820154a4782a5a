//! What ten thousand objects cost.
#![cfg(target_os = "linux")]

use control_plane::store::{Change, Draft, Expect, Key, Options, Query, Store, Write};
use serde_json::json;

const OBJECTS: usize = 10_000;
/// The store's share of the 150 MiB that a server with ten thousand objects may take.
const LIMIT: usize = 60 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_objects_of_a_kibibyte_take_less_than_sixty_mebibytes() {
    let before = resident();
    let dir = tempfile::TempDir::new().expect("a directory");
    let options = Options { dir: Some(dir.path().into()), ..Options::default() };
    let store = Store::open(options).expect("opens");
    let start = std::time::Instant::now();
    let writers = (0..64).map(|writer| tokio::spawn(create(store.clone(), writer)));
    for writer in writers.collect::<Vec<_>>() {
        writer.await.expect("a writer ends well");
    }
    let written = start.elapsed();
    let mut watcher = store.watch(Some("things"), store.revision() - 1_000).expect("covered");
    while let Some(event) = watcher.try_next().expect("covered") {
        assert!(event.line().len() > 1024);
    }
    let start = std::time::Instant::now();
    let page =
        store.list(&Query { storage: "things", ..Query::default() }, &mut |_| true).expect("the present");
    let listed = start.elapsed();
    assert_eq!(page.items.len(), OBJECTS);
    assert!(page.items.iter().all(|item| item.facts().label("app").is_some()));
    let cost = resident().saturating_sub(before);
    println!("{OBJECTS} written in {written:?}, listed in {listed:?}, {} KiB", cost >> 10);
    assert!(cost < LIMIT, "{} MiB", cost >> 20);
}

async fn create(store: Store, writer: usize) {
    for index in (writer..OBJECTS).step_by(64) {
        let name = format!("thing-{index}");
        let object = json!({
            "apiVersion": "example.com/v1", "kind": "Thing",
            "metadata": { "name": name, "namespace": "default", "labels": { "app": name } },
            "spec": { "text": "x".repeat(900) },
        });
        let key = Key::new("things", "default", &name);
        let write = Write { key, expect: Expect::Absent, change: Change::Put(Draft::of(&object)) };
        store.commit(write).await.expect("created");
    }
}

/// Bytes of memory this process occupies.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("readable");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("there");
    let kib = line.trim().strip_suffix(" kB").and_then(|kib| kib.parse::<usize>().ok());
    kib.expect("a number") << 10
}
