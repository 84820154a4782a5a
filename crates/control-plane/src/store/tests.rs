//! What the store holds, on disk and off it. Watches, lists and crashes under load are in `tests/store_*`.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::format::{self, Header, Kind};
use super::log::Medium;
use super::*;

fn config_map(name: &str, value: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "value": value } })
}

fn key(name: &str) -> Key {
    Key::new("configmaps", "default", name)
}

fn create(name: &str, value: &str) -> Write {
    Write { key: key(name), expect: Expect::Absent, change: Change::Put(Draft::of(&config_map(name, value))) }
}

fn update(name: &str, seen: u64, value: &str) -> Write {
    Write { expect: Expect::Revision(seen), ..create(name, value) }
}

fn delete(name: &str, seen: u64, value: &str) -> Write {
    let change = Change::Delete(Draft::of(&config_map(name, value)));
    Write { key: key(name), expect: Expect::Revision(seen), change }
}

fn on(dir: &Path) -> Options {
    Options { dir: Some(dir.into()), ..Options::default() }
}

fn memory() -> Store {
    Store::open(Options::default()).expect("memory is always there")
}

/// Names and revisions in a store, and where it stands: `a@1 b@2 | 2`.
fn told(store: &Store) -> String {
    let query = Query { storage: "configmaps", ..Query::default() };
    let page = store.list(&query, &mut |_| true).expect("the present is always covered");
    let names = page.items.iter().map(|item| format!("{}@{}", item.key.name, item.revision));
    format!("{} | {}", names.collect::<Vec<_>>().join(" "), page.revision)
}

/// Every event of a storage behind a revision: `ADDED a 1 was -`.
fn history(store: &Store, storage: Option<&str>, after: u64) -> Result<Vec<String>, Compacted> {
    let mut watcher = store.watch(storage, after)?;
    let mut lines = Vec::new();
    while let Some(event) = watcher.try_next()? {
        let was = event.previous.as_ref().map_or("-".into(), |previous| previous.revision.to_string());
        lines.push(format!(
            "{} {} {} was {was}",
            event.happening.word(),
            event.object.key.name,
            event.revision
        ));
    }
    Ok(lines)
}

mod objects {
    use super::*;

    fn stored(object: &Value, revision: u64) -> Stored {
        Stored::new(key("x"), revision, Draft::of(object).at(revision))
    }

    #[test]
    fn a_draft_puts_the_revision_first_and_keeps_the_order_of_the_rest() {
        let table = [
            (
                "fields are put in front",
                json!({ "data": { "b": "1", "a": "2" }, "metadata": { "name": "x", "labels": {} }, "kind": "K", "apiVersion": "v1" }),
                r#"{"apiVersion":"v1","kind":"K","metadata":{"resourceVersion":"7","name":"x","labels":{}},"data":{"b":"1","a":"2"}}"#,
            ),
            (
                "a given revision is dropped",
                json!({ "apiVersion": "a/v1", "kind": "K", "metadata": { "name": "x", "resourceVersion": "3" } }),
                r#"{"apiVersion":"a/v1","kind":"K","metadata":{"resourceVersion":"7","name":"x"}}"#,
            ),
            (
                "no metadata at all",
                json!({ "apiVersion": "v1", "kind": "K" }),
                r#"{"apiVersion":"v1","kind":"K","metadata":{"resourceVersion":"7"}}"#,
            ),
            (
                "text is escaped",
                json!({ "apiVersion": "v1", "kind": "K", "metadata": { "na\"me": "é\n" } }),
                r#"{"apiVersion":"v1","kind":"K","metadata":{"resourceVersion":"7","na\"me":"é\n"}}"#,
            ),
        ];
        for (rule, object, want) in table {
            assert_eq!(Draft::of(&object).at(7), want, "{rule}");
        }
    }

    #[test]
    fn another_version_swaps_the_head_and_the_same_version_shares_the_bytes() {
        let object =
            stored(&json!({ "apiVersion": "a.b/v1beta1", "kind": "K", "metadata": { "name": "x" } }), 7);
        let swapped = object.json_as("a.b/v1");
        assert_eq!(
            swapped,
            r#"{"apiVersion":"a.b/v1","kind":"K","metadata":{"resourceVersion":"7","name":"x"}}"#
        );
        assert_eq!(object.json_as("a.b/v1beta1").as_ptr(), object.json.as_ptr());
    }

    #[test]
    fn facts_come_from_the_metadata_alone() {
        let object = stored(
            &json!({ "apiVersion": "v1", "kind": "K", "metadata": {
                "name": "x", "uid": "u-1", "labels": { "b": "2", "a": "1" }, "finalizers": ["f"],
                "creationTimestamp": "2026-01-01T12:00:00Z", "deletionTimestamp": "2026-01-01T13:00:00Z",
                "ownerReferences": [{ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u-2",
                                      "controller": true, "blockOwnerDeletion": null }],
            }, "spec": { "metadata": { "uid": "not this one" } } }),
            7,
        );
        let facts = object.facts();
        assert_eq!(&*facts.uid, "u-1");
        assert_eq!((facts.label("a"), facts.label("b"), facts.label("c")), (Some("1"), Some("2"), None));
        assert_eq!(facts.finalizers, ["f"]);
        assert!(facts.deleting);
        assert_eq!(facts.creation, "2026-01-01T12:00:00Z".parse().ok());
        let owner = Owner {
            uid: "u-2".into(),
            kind: "Pod".into(),
            api_version: "v1".into(),
            name: "p".into(),
            controller: true,
            block: false,
        };
        assert_eq!(facts.owners, [owner]);
        assert_eq!(object.value()["metadata"]["resourceVersion"], "7");
    }

    #[test]
    fn absent_and_null_metadata_are_no_facts() {
        let bare = json!({ "apiVersion": "v1", "kind": "K", "metadata": { "labels": null, "deletionTimestamp": null } });
        assert_eq!(stored(&bare, 1).facts(), &Facts::default());
    }
}

mod writes {
    use super::*;

    #[tokio::test]
    async fn every_expectation_has_its_answer() {
        let store = memory();
        let absent = |write: Write| Write { expect: Expect::Absent, ..write };
        let table = [
            ("a new name is created", create("a", "1"), "1"),
            ("a taken name is refused", create("a", "2"), "the object exists already"),
            ("the revision seen is updated", update("a", 1, "2"), "2"),
            (
                "an older revision is refused",
                update("a", 1, "3"),
                "the object was changed: it is at revision 2",
            ),
            ("what is absent is not updated", update("b", 1, "3"), "the object does not exist"),
            (
                "deleting needs the revision too",
                delete("a", 1, "2"),
                "the object was changed: it is at revision 2",
            ),
            ("deleting nothing is refused", absent(delete("b", 0, "2")), "the object does not exist"),
            ("a deletion has a revision", delete("a", 2, "2"), "3"),
            ("a freed name is created again", create("a", "4"), "4"),
        ];
        for (rule, write, want) in table {
            let told = match store.commit(write).await {
                Ok(object) => object.revision.to_string(),
                Err(error) => error.to_string(),
            };
            assert_eq!(told, want, "{rule}");
        }
        let events = history(&store, Some("configmaps"), 0).expect("nothing is compacted");
        assert_eq!(events, ["ADDED a 1 was -", "MODIFIED a 2 was 1", "DELETED a 3 was 2", "ADDED a 4 was -"]);
        assert_eq!(store.storages(), [("configmaps".into(), 1)]);
    }

    #[tokio::test]
    async fn a_batch_sees_its_own_writes_and_one_of_two_equals_wins() {
        let store = memory();
        let answers = futures::future::join_all((0..50).map(|_| store.commit(create("a", "1")))).await;
        assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
        assert_eq!(told(&store), "a@1 | 1");
    }

    #[tokio::test]
    async fn an_event_is_one_line_shared_by_all() {
        let store = memory();
        store.commit(create("a", "1")).await.expect("created");
        store.commit(delete("a", 1, "1")).await.expect("deleted");
        let mut watcher = store.watch(None, 1).expect("covered");
        let event = watcher.next().await.expect("covered");
        let object = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"resourceVersion":"2","name":"a"},"data":{"value":"1"}}"#;
        assert_eq!(event.line(), format!("{{\"type\":\"DELETED\",\"object\":{object}}}\n"));
        assert_eq!(event.line().as_ptr(), event.line().as_ptr());
    }

    #[tokio::test]
    async fn a_closed_store_takes_no_writes_and_still_reads() {
        let store = memory();
        store.commit(create("a", "1")).await.expect("created");
        store.close();
        store.close();
        let refused = store.commit(create("b", "1")).await.expect_err("closed");
        assert_eq!(refused.to_string(), "the store takes no writes: it is closed");
        assert_eq!(told(&store), "a@1 | 1");
    }
}

mod watches {
    use super::*;

    #[tokio::test]
    async fn a_quiet_storage_is_not_compacted_by_a_busy_one() {
        let store = Store::open(Options { history: 4, ..Options::default() }).expect("opens");
        let mut quiet = store.watch(Some("secrets"), 0).expect("covered");
        let mut slow = store.watch(Some("configmaps"), 0).expect("covered");
        for index in 0..10 {
            store.commit(create(&format!("a{index}"), "1")).await.expect("created");
        }
        assert_eq!(slow.try_next().expect_err("fell behind"), Compacted { oldest: 6, current: 10 });
        assert!(quiet.try_next().expect("nothing was lost").is_none());
        assert_eq!(quiet.position(), 10, "a bookmark may name what others wrote");
        assert!(store.watch(Some("secrets"), 0).is_ok(), "no secret was ever forgotten");
        assert_eq!(store.watch(None, 5).err(), Some(Compacted { oldest: 6, current: 10 }));
        assert_eq!(history(&store, Some("configmaps"), 6).map(|events| events.len()), Ok(4));
    }

    #[tokio::test]
    async fn a_watch_from_the_future_begins_there() {
        let store = memory();
        let mut watcher = store.watch(Some("configmaps"), 2).expect("allowed");
        for name in ["a", "b", "c"] {
            store.commit(create(name, "1")).await.expect("created");
        }
        assert_eq!(watcher.next().await.expect("covered").revision, 3);
    }

    #[tokio::test]
    async fn compacting_refuses_the_past_and_spares_who_is_up_to_date() {
        let store = memory();
        for name in ["a", "b", "c"] {
            store.commit(create(name, "1")).await.expect("created");
        }
        let mut current = store.watch(None, 3).expect("covered");
        store.compact(2);
        let gone = Compacted { oldest: 2, current: 3 };
        assert_eq!(store.watch(Some("secrets"), 1).err(), Some(gone));
        let past = Query { storage: "configmaps", at: Some(1), ..Query::default() };
        assert_eq!(store.list(&past, &mut |_| true).err(), Some(gone));
        let future = Query { at: Some(4), ..past };
        assert_eq!(store.list(&future, &mut |_| true).err(), Some(gone));
        store.compact(99);
        assert_eq!(history(&store, None, 3), Ok(vec![]));
        store.commit(create("d", "1")).await.expect("created");
        assert_eq!(current.next().await.expect("nothing was lost").revision, 4);
    }

    #[tokio::test]
    async fn the_newest_event_is_kept_whatever_the_bounds() {
        let store = Store::open(Options { history: 0, ..Options::default() }).expect("opens");
        let mut watcher = store.watch(None, 0).expect("covered");
        store.commit(create("a", &"x".repeat(20 << 20))).await.expect("created");
        assert_eq!(watcher.next().await.expect("covered").revision, 1);
    }

    #[tokio::test]
    async fn history_is_bounded_by_bytes_too() {
        let store = memory();
        let large = "x".repeat(1 << 20);
        for index in 0..20 {
            store.commit(create(&format!("a{index:02}"), &large)).await.expect("created");
        }
        assert_eq!(store.watch(None, 0).err(), Some(Compacted { oldest: 13, current: 20 }));
    }
}

/// A medium whose failures are chosen while it runs.
#[derive(Default)]
struct Faults {
    write: AtomicUsize,
    sync: AtomicUsize,
    cut: AtomicUsize,
    syncs: AtomicUsize,
    gate: Mutex<Option<mpsc::Receiver<()>>>,
}

struct Faulty {
    file: File,
    faults: Arc<Faults>,
}

/// Counts a failure down; true while one is due.
fn due(counter: &AtomicUsize) -> bool {
    counter.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

impl Medium for Faulty {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if due(&self.faults.write) {
            Medium::write_at(&mut self.file, offset, &bytes[..bytes.len() / 2])?;
            return Err(io::ErrorKind::StorageFull.into());
        }
        Medium::write_at(&mut self.file, offset, bytes)
    }
    fn sync(&mut self) -> io::Result<()> {
        if let Some(gate) = self.faults.gate.lock().take() {
            gate.recv().expect("the test opens the gate");
        }
        self.faults.syncs.fetch_add(1, Ordering::SeqCst);
        if due(&self.faults.sync) { Err(io::Error::other("the disk is on fire")) } else { self.file.sync() }
    }
    fn set_len(&mut self, length: u64) -> io::Result<()> {
        if due(&self.faults.cut) {
            Err(io::Error::other("not now"))
        } else {
            Medium::set_len(&mut self.file, length)
        }
    }
}

fn faulty(dir: &Path) -> (Store, Arc<Faults>) {
    let faults = Arc::new(Faults::default());
    let given = faults.clone();
    let wrap = Arc::new(move |file| Box::new(Faulty { file, faults: given.clone() }) as Box<dyn Medium>);
    (Store::open_on(on(dir), wrap).expect("opens"), faults)
}

mod disk {
    use super::*;

    #[tokio::test]
    async fn what_was_written_is_there_again_and_watchers_go_on() {
        let dir = TempDir::new().expect("a directory");
        {
            let store = Store::open(on(dir.path())).expect("opens");
            store.commit(create("a", "1")).await.expect("created");
            store.commit(create("b", "1")).await.expect("created");
            store.commit(update("a", 1, "2")).await.expect("updated");
            store.commit(delete("b", 2, "1")).await.expect("deleted");
        }
        let store = Store::open(on(dir.path())).expect("opens again");
        assert_eq!(told(&store), "a@3 | 4");
        assert_eq!(store.get(&key("a")).expect("there").value()["data"]["value"], "2");
        assert_eq!(
            history(&store, None, 1),
            Ok(vec!["ADDED b 2 was -".into(), "MODIFIED a 3 was 1".into(), "DELETED b 4 was 2".into()])
        );
        assert_eq!(store.commit(create("c", "1")).await.map(|object| object.revision), Ok(5));
    }

    #[tokio::test]
    async fn nothing_is_visible_before_it_is_durable_and_one_sync_serves_all_who_wait() {
        let dir = TempDir::new().expect("a directory");
        let (store, faults) = faulty(dir.path());
        let (open, gate) = mpsc::channel();
        *faults.gate.lock() = Some(gate);
        let commits = futures::future::join_all((0..64).map(|index| {
            let (store, name) = (store.clone(), format!("a{index}"));
            async move { store.commit(create(&name, "1")).await }
        }));
        let look = async {
            assert_eq!(told(&store), " | 0");
            assert_eq!(history(&store, None, 0), Ok(vec![]));
            open.send(()).expect("the committer waits");
        };
        let (answers, ()) = futures::join!(commits, look);
        assert!(answers.iter().all(Result::is_ok));
        assert_eq!(store.revision(), 64);
        assert!(
            faults.syncs.load(Ordering::SeqCst) <= 2,
            "the first batch and one for all who came meanwhile"
        );
    }

    #[tokio::test]
    async fn a_failed_append_shows_nothing_and_the_next_one_is_tried() {
        let dir = TempDir::new().expect("a directory");
        let (store, faults) = faulty(dir.path());
        store.commit(create("a", "1")).await.expect("created");
        faults.write.store(1, Ordering::SeqCst);
        let failed = store.commit(create("b", "1")).await.expect_err("the disk is full");
        assert!(
            failed.to_string().starts_with("the store takes no writes: the log cannot be written: "),
            "{failed}"
        );
        assert_eq!((told(&store).as_str(), history(&store, None, 1)), ("a@1 | 1", Ok(vec![])));
        store.commit(create("c", "1")).await.expect("there is room again");
        drop(store);
        assert_eq!(told(&Store::open(on(dir.path())).expect("opens")), "a@1 c@2 | 2");
    }

    #[tokio::test]
    async fn a_failed_append_that_cannot_be_taken_back_ends_all_writing() {
        let dir = TempDir::new().expect("a directory");
        let (store, faults) = faulty(dir.path());
        store.commit(create("a", "1")).await.expect("created");
        faults.write.store(1, Ordering::SeqCst);
        faults.cut.store(1, Ordering::SeqCst);
        store.commit(create("b", "1")).await.expect_err("the disk is full");
        let later = store.commit(create("b", "1")).await.expect_err("the log is in an unknown state");
        assert!(later.to_string().ends_with("what was written cannot be taken back: not now"), "{later}");
        drop(store);
        assert_eq!(told(&Store::open(on(dir.path())).expect("opens")), "a@1 | 1");
    }

    #[tokio::test]
    async fn a_failed_sync_ends_all_writing_until_it_is_opened_again() {
        let dir = TempDir::new().expect("a directory");
        let (store, faults) = faulty(dir.path());
        store.commit(create("a", "1")).await.expect("created");
        faults.sync.store(1, Ordering::SeqCst);
        for round in 0..3 {
            let refused = store.commit(create("b", "1")).await.expect_err("refused");
            let want = "the store takes no writes: the log cannot be synced: the disk is on fire; \
                        nothing is written until it is opened again";
            assert_eq!(refused.to_string(), want, "round {round}");
            assert_eq!(told(&store), "a@1 | 1");
        }
        drop(store);
        let again = Store::open(on(dir.path())).expect("opens");
        assert!(again.get(&key("a")).is_some());
        again.commit(create("c", "1")).await.expect("writes again");
    }

    #[tokio::test]
    async fn a_failed_snapshot_keeps_the_log_instead() {
        let dir = TempDir::new().expect("a directory");
        let store = Store::open(Options { log_limit: 1, ..on(dir.path()) }).expect("opens");
        std::fs::create_dir(dir.path().join(format!("{:020}.tmp", 1))).expect("in the snapshot's way");
        store.commit(create("a", "1")).await.expect("created");
        drop(store);
        std::fs::remove_dir(dir.path().join(format!("{:020}.tmp", 1))).expect("out of the way");
        assert_eq!(files(dir.path()), ["1.log", "2.log"]);
        assert_eq!(told(&Store::open(on(dir.path())).expect("opens")), "a@1 | 1");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn the_files_are_for_their_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let dir = TempDir::new().expect("a directory");
        let inner = dir.path().join("store");
        let store = Store::open(Options { log_limit: 1, ..on(&inner) }).expect("opens");
        store.commit(create("a", "1")).await.expect("created");
        drop(store);
        let mode = |path: &Path| path.metadata().expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&inner), 0o700);
        for entry in std::fs::read_dir(&inner).expect("readable") {
            assert_eq!(mode(&entry.expect("readable").path()), 0o600);
        }
    }
}

/// Names of the files in a directory, without leading zeros and the lock.
fn files(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("readable").map(|entry| entry.expect("readable").file_name());
    let mut names =
        entries.map(|name| name.to_string_lossy().trim_start_matches('0').to_owned()).collect::<Vec<_>>();
    names.retain(|name| name != "lock");
    names.sort();
    names
}

mod snapshots {
    use super::*;

    /// Writes and closes; a limit of 1 makes a snapshot at the end.
    async fn session(dir: &Path, log_limit: u64, writes: Vec<Write>) {
        let store = Store::open(Options { log_limit, ..on(dir) }).expect("opens");
        let answers = futures::future::join_all(writes.into_iter().map(|write| store.commit(write))).await;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    }

    fn copy(from: &Path, to: &Path, name: &str) {
        std::fs::copy(from.join(name), to.join(name)).expect("copied");
    }

    fn named(kind: Kind, revision: u64) -> String {
        format!("{revision:020}.{}", kind.extension())
    }

    #[tokio::test]
    async fn a_snapshot_replaces_the_log_and_a_restart_covers_what_came_after() {
        let dir = TempDir::new().expect("a directory");
        session(dir.path(), 1 << 20, vec![create("a", "1"), create("b", "1")]).await;
        session(dir.path(), 1, vec![create("c", "1")]).await;
        assert_eq!(files(dir.path()), ["3.snap", "4.log"]);
        session(dir.path(), 1 << 20, vec![update("a", 1, "2")]).await;
        let store = Store::open(on(dir.path())).expect("opens");
        assert_eq!(told(&store), "a@4 b@2 c@3 | 4");
        assert_eq!(history(&store, None, 3), Ok(vec!["MODIFIED a 4 was 1".into()]));
        assert_eq!(history(&store, None, 2), Err(Compacted { oldest: 3, current: 4 }));
    }

    #[tokio::test]
    async fn a_crash_between_any_two_steps_of_a_snapshot_is_harmless() {
        let (before, after) = (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
        session(before.path(), 1, vec![create("a", "1")]).await;
        session(before.path(), 1 << 20, vec![create("b", "1")]).await;
        assert_eq!(files(before.path()), ["1.snap", "2.log"]);
        for name in [named(Kind::Snapshot, 1), named(Kind::Log, 2)] {
            copy(before.path(), after.path(), &name);
        }
        session(after.path(), 1, vec![update("b", 2, "2")]).await;
        assert_eq!(files(after.path()), ["3.snap", "4.log"]);
        // The old segment with all its writes, as it was before it was removed.
        session(before.path(), 1 << 20, vec![update("b", 2, "2")]).await;
        let old = [named(Kind::Snapshot, 1), named(Kind::Log, 2)];
        let new = [named(Kind::Log, 4), named(Kind::Snapshot, 3)];
        let table = [
            ("the new segment is not finished", &old[..], &[][..], Some(4), "2.log"),
            ("the new segment is there", &old[..], &new[..1], None, "4.log"),
            ("the snapshot is not finished", &old[..], &new[..1], Some(3), "4.log"),
            ("the snapshot is there", &old[..], &new[..], None, "4.log"),
            ("the old segment is removed", &old[..1], &new[..], None, "4.log"),
            ("the old snapshot is removed", &[][..], &new[..], None, "4.log"),
        ];
        for (step, olds, news, unfinished, active) in table {
            let dir = TempDir::new().expect("a directory");
            olds.iter().for_each(|name| copy(before.path(), dir.path(), name));
            news.iter().for_each(|name| copy(after.path(), dir.path(), name));
            if let Some(revision) = unfinished {
                std::fs::write(dir.path().join(format!("{revision:020}.tmp")), "half").expect("written");
            }
            let store = Store::open(on(dir.path())).unwrap_or_else(|error| panic!("{step}: {error}"));
            assert_eq!(told(&store), "a@1 b@3 | 3", "{step}");
            store.commit(create("c", "1")).await.unwrap_or_else(|error| panic!("{step}: {error}"));
            drop(store);
            assert!(files(dir.path()).contains(&active.to_owned()), "{step}: {:?}", files(dir.path()));
            assert!(!files(dir.path()).iter().any(|name| name.ends_with("tmp")), "{step}");
            assert_eq!(told(&Store::open(on(dir.path())).expect("opens")), "a@1 b@3 c@4 | 4", "{step}");
        }
    }

    #[tokio::test]
    async fn commits_go_on_while_snapshots_are_written() {
        let dir = TempDir::new().expect("a directory");
        let store = Store::open(Options { log_limit: 2_000, ..on(dir.path()) }).expect("opens");
        for index in 0..200 {
            store.commit(create(&format!("a{index:03}"), &"x".repeat(200))).await.expect("created");
        }
        let want = told(&store);
        drop(store);
        assert!(files(dir.path()).iter().any(|name| name.ends_with("snap")), "{:?}", files(dir.path()));
        assert_eq!(told(&Store::open(on(dir.path())).expect("opens")), want);
    }
}

mod damage {
    use super::*;

    struct Wreck(TempDir);

    impl Wreck {
        /// `1.snap` with one object, then `2.log` with five writes in five frames.
        async fn new() -> Self {
            let dir = TempDir::new().expect("a directory");
            let store = Store::open(Options { log_limit: 1, ..on(dir.path()) }).expect("opens");
            store.commit(create("a", "1")).await.expect("created");
            drop(store);
            let store = Store::open(on(dir.path())).expect("opens");
            for name in ["b", "c", "d", "e", "f"] {
                store.commit(create(name, "1")).await.expect("created");
            }
            drop(store);
            Self(dir)
        }
        fn path(&self, kind: Kind, revision: u64) -> PathBuf {
            self.0.path().join(format!("{revision:020}.{}", kind.extension()))
        }
        fn edit(&self, kind: Kind, revision: u64, change: impl FnOnce(&mut Vec<u8>)) {
            let path = self.path(kind, revision);
            let mut bytes = std::fs::read(&path).expect("readable");
            change(&mut bytes);
            std::fs::write(path, bytes).expect("written");
        }
        /// What opening it says, without the directory's name.
        fn told(&self) -> String {
            let mut story = match Store::open(on(self.0.path())) {
                Ok(store) => told(&store),
                Err(error) => error.to_string(),
            };
            story = story.replace(&format!("{}/", self.0.path().display()), "");
            story.replace("0000000000000000000", "")
        }
    }

    /// Where the frames of a log begin.
    fn frames(bytes: &[u8]) -> Vec<usize> {
        let mut starts = vec![format::HEADER];
        while let Some((_, size)) = format::read_frame(&bytes[starts[starts.len() - 1]..]) {
            starts.push(starts[starts.len() - 1] + size);
        }
        starts
    }

    fn flip(bytes: &mut [u8], at: usize) {
        bytes[at] ^= 0x10;
    }

    fn reversion(bytes: &mut Vec<u8>, kind: Kind, version: u32) {
        let header = Header::read(kind, bytes).expect("whole");
        bytes.splice(..format::HEADER, Header { version, ..header }.bytes(kind));
    }

    type Harm = Box<dyn Fn(&Wreck)>;

    fn log(change: impl Fn(&mut Vec<u8>) + 'static) -> Harm {
        Box::new(move |wreck| wreck.edit(Kind::Log, 2, &change))
    }

    fn snap(change: impl Fn(&mut Vec<u8>) + 'static) -> Harm {
        Box::new(move |wreck| wreck.edit(Kind::Snapshot, 1, &change))
    }

    const ALL: &str = "a@1 b@2 c@3 d@4 e@5 f@6 | 6";
    const BUT_LAST: &str = "a@1 b@2 c@3 d@4 e@5 | 5";

    fn harmless() -> Vec<(&'static str, Harm, &'static str)> {
        vec![
            ("nothing", log(|_| {}), ALL),
            ("the padding is gone", log(|b| b.truncate(frames(b)[5])), ALL),
            (
                "garbage in the padding",
                log(|b| {
                    let at = frames(b)[5];
                    b[at + 3..at + 9].fill(7)
                }),
                ALL,
            ),
            ("garbage behind the padding", log(|b| b.extend_from_slice(b"garbage")), ALL),
            (
                "a beginning of a frame in the padding",
                log(|b| {
                    let (at, from) = (frames(b)[5], frames(b)[0]);
                    b.copy_within(from..from + 11, at)
                }),
                ALL,
            ),
            ("the last frame is cut", log(|b| b.truncate(frames(b)[5] - 1)), BUT_LAST),
            ("the last frame is cut in its head", log(|b| b.truncate(frames(b)[4] + 5)), BUT_LAST),
            (
                "the last frame's body is torn",
                log(|b| {
                    let at = frames(b)[5];
                    b[at - 9..at].fill(0)
                }),
                BUT_LAST,
            ),
            (
                "the last frame's head is torn",
                log(|b| {
                    let at = frames(b)[4];
                    b[at..at + 12].fill(0)
                }),
                BUT_LAST,
            ),
        ]
    }

    fn harmful() -> Vec<(&'static str, Harm, &'static str)> {
        let restore = "; restore the directory from a copy";
        let remove = |kind: Kind, revision: u64| -> Harm {
            Box::new(move |wreck| std::fs::remove_file(wreck.path(kind, revision)).expect("removed"))
        };
        vec![
            ("a log's header", log(|b| flip(b, 13)), "2.log is damaged at byte 0 (revision 2 expected): the header's checksum is wrong; restore the directory from a copy"),
            ("a log's magic", log(|b| flip(b, 0)), "2.log is damaged at byte 0 (revision 2 expected): this is not a file of a store; restore the directory from a copy"),
            ("a log cut in its header", log(|b| b.truncate(20)), "2.log is damaged at byte 0 (revision 2 expected): the header is cut off; restore the directory from a copy"),
            ("a record in the middle", log(|b| { let at = frames(b)[2] + 40; flip(b, at) }), "2.log is damaged at byte {2} (revision 4 expected): a checksum is wrong, and whole records follow at byte {3}; restore the directory from a copy, or give up revision 4 and all behind it: cut this file to {2} bytes and remove later .log files"),
            ("a length in the middle", log(|b| { let at = frames(b)[2] + 6; flip(b, at) }), "2.log is damaged at byte {2} (revision 4 expected): a checksum is wrong, and whole records follow at byte {3}; restore the directory from a copy, or give up revision 4 and all behind it: cut this file to {2} bytes and remove later .log files"),
            ("a hole in the middle", log(|b| { let at = frames(b)[2]..frames(b)[3]; b[at].fill(0) }), "2.log is damaged at byte {2} (revision 4 expected): a checksum is wrong, and whole records follow at byte {3}; restore the directory from a copy, or give up revision 4 and all behind it: cut this file to {2} bytes and remove later .log files"),
            ("a frame taken out", log(|b| { b.drain(frames(b)[2]..frames(b)[3]); }), "2.log is damaged at byte {2} (revision 4 expected): revision 5 stands there; restore the directory from a copy"),
            ("a frame doubled", log(|b| { let twice = b[frames(b)[2]..frames(b)[3]].to_vec(); let at = frames(b)[3]; b.splice(at..at, twice); }), "2.log is damaged at byte {3} (revision 5 expected): revision 4 stands there; restore the directory from a copy"),
            ("a snapshot's header", snap(|b| flip(b, 9)), "1.snap is damaged at byte 0 (revision 1 expected): the header's checksum is wrong; restore the directory from a copy"),
            ("a snapshot's record", snap(|b| flip(b, 60)), "1.snap is damaged at byte 32 (revision 1 expected): a checksum is wrong; restore the directory from a copy"),
            ("a snapshot cut", snap(|b| b.truncate(70)), "1.snap is damaged at byte 32 (revision 1 expected): a checksum is wrong; restore the directory from a copy"),
            ("a snapshot without its objects", snap(|b| b.truncate(32)), "1.snap is damaged at byte 32 (revision 1 expected): the snapshot holds 0 objects instead of 1; restore the directory from a copy"),
            ("a log from the future", log(|b| reversion(b, Kind::Log, 9)), "2.log has format version 9, newer than version 1, the newest known here; open it with the release that wrote it"),
            ("a snapshot from the future", snap(|b| reversion(b, Kind::Snapshot, 2)), "1.snap has format version 2, newer than version 1, the newest known here; open it with the release that wrote it"),
            ("a log from a forgotten past", log(|b| reversion(b, Kind::Log, 0)), "2.log has format version 0, older than version 1, the oldest read here; open it once with a release in between"),
            ("a missing log", remove(Kind::Log, 2), "2.log is damaged at byte 0 (revision 2 expected): this file is missing, and with it every write behind the snapshot; restore the directory from a copy"),
            ("a missing snapshot", remove(Kind::Snapshot, 1), "1.log is damaged at byte 0 (revision 1 expected): the file that holds revisions 1 to 1 is missing or cut off; restore the directory from a copy"),
            ("a log under another's name", Box::new(|wreck| std::fs::rename(wreck.path(Kind::Log, 2), wreck.path(Kind::Log, 3)).expect("renamed")), "2.log is damaged at byte 0 (revision 2 expected): the file that holds revisions 2 to 2 is missing or cut off; restore the directory from a copy"),
        ]
        .into_iter()
        .inspect(|(_, _, want)| assert!(want.contains(restore) || want.contains("open it")))
        .collect()
    }

    #[tokio::test]
    async fn what_was_never_acknowledged_is_cut_off() {
        for (what, harm, want) in harmless() {
            let wreck = Wreck::new().await;
            harm(&wreck);
            assert_eq!(wreck.told(), want, "{what}");
            let bytes = std::fs::read(wreck.path(Kind::Log, 2)).expect("readable");
            let end = frames(&bytes).pop().expect("at least the header");
            assert!(format::blank(&bytes[end..]), "{what} is still there");
            assert_eq!(wreck.told(), want, "{what}, opened once more");
        }
    }

    #[tokio::test]
    async fn damage_to_what_was_acknowledged_is_refused_and_named() {
        for (what, harm, want) in harmful() {
            let wreck = Wreck::new().await;
            let starts = frames(&std::fs::read(wreck.path(Kind::Log, 2)).expect("readable"));
            let want = want.replace("{2}", &starts[2].to_string()).replace("{3}", &starts[3].to_string());
            harm(&wreck);
            assert_eq!(wreck.told(), want, "{what}");
            assert_eq!(wreck.told(), want, "{what}, and opening changed nothing");
        }
    }

    #[tokio::test]
    async fn the_advice_for_a_damaged_middle_works() {
        let wreck = Wreck::new().await;
        wreck.edit(Kind::Log, 2, |bytes| {
            let starts = frames(bytes);
            flip(bytes, starts[2] + 40);
            bytes.truncate(starts[2]);
        });
        assert_eq!(wreck.told(), "a@1 b@2 c@3 | 3");
    }

    #[tokio::test]
    async fn a_segment_missing_between_two_is_a_gap() {
        let dir = TempDir::new().expect("a directory");
        for (revision, name) in [(1, "a"), (2, "b"), (3, "c")] {
            let store = Store::open(Options { log_limit: 1, ..on(dir.path()) }).expect("opens");
            // A directory in the way of the snapshot keeps every segment.
            let blocked = dir.path().join(format!("{revision:020}.tmp"));
            std::fs::create_dir(&blocked).expect("created");
            store.commit(create(name, "1")).await.expect("created");
            drop(store);
            std::fs::remove_dir(&blocked).expect("removed");
        }
        assert_eq!(files(dir.path()), ["1.log", "2.log", "3.log", "4.log"]);
        assert_eq!(told(&Store::open(on(dir.path())).expect("opens")), "a@1 b@2 c@3 | 3");
        std::fs::remove_file(dir.path().join(format!("{:020}.log", 2))).expect("removed");
        let error = Store::open(on(dir.path())).expect_err("refused").to_string();
        assert!(error.contains("1.log is damaged at byte "), "{error}");
        assert!(error.contains("the file that holds revisions 2 to 2 is missing or cut off"), "{error}");
    }

    #[test]
    fn a_second_open_is_refused_and_names_the_first() {
        let dir = TempDir::new().expect("a directory");
        let store = Store::open(on(dir.path())).expect("opens");
        let error = Store::open(on(dir.path())).expect_err("refused").to_string();
        let start =
            format!("{} is in use by process {}, started 2", dir.path().display(), std::process::id());
        assert!(error.starts_with(&start), "{error}");
        assert!(error.ends_with("; stop that process or choose another directory"), "{error}");
        store.close();
        Store::open(on(dir.path())).expect("opens when the first is closed");
    }
}
