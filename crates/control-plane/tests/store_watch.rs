//! Many writers, many watchers that come and go: whoever follows the events has the state.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use control_plane::store::{
    Change, CommitError, Draft, Event, Expect, Happening, Key, Options, Query, Store, Write,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

const STORAGES: [&str; 2] = ["pods", "secrets"];
const WRITERS: u64 = 8;
const WRITES: usize = 400;
const WATCHERS: u64 = 18;
/// Small, so that watchers really fall behind.
const HISTORY: usize = 64;
/// Earlier versions a watcher remembers, to resume at one of them.
const MEMORIES: usize = 40;

/// Name and revision of every object, as one watcher has it.
type Known = BTreeMap<Key, u64>;

#[derive(Default)]
struct Tally {
    events: AtomicUsize,
    resumed: AtomicUsize,
    relisted: AtomicUsize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_watcher_ends_with_the_state_of_the_store() {
    let seed = seed();
    println!("SEED={seed}");
    let store = Store::open(Options { history: HISTORY, ..Options::default() }).expect("opens");
    let tally = Arc::new(Tally::default());
    let watchers = (0..WATCHERS).map(|id| {
        // A third follows everything, the others one storage each.
        let storage = STORAGES.get(id as usize % 3).copied();
        let follower = Follower::new(&store, storage, StdRng::seed_from_u64(seed + 100 + id), &tally);
        tokio::spawn(follower.run())
    });
    let watchers = watchers.collect::<Vec<_>>();
    let writers = (0..WRITERS).map(|id| tokio::spawn(write(store.clone(), StdRng::seed_from_u64(seed + id))));
    for writer in writers.collect::<Vec<_>>() {
        writer.await.expect("a writer ends well");
    }
    for storage in STORAGES {
        put(&store, &Key::new(storage, "", "end"), Expect::Absent)
            .await
            .expect("nobody else writes this name");
    }
    for watcher in watchers {
        watcher.await.expect("a watcher ends well");
    }
    let stale = store.watch(None, 1).err().expect("far behind the window");
    assert_eq!(stale.current, store.revision());
    assert_eq!(stale.oldest, store.revision() - HISTORY as u64);
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    let (events, resumed, relisted) = (count(&tally.events), count(&tally.resumed), count(&tally.relisted));
    assert!(events > 0 && resumed > 0 && relisted > WATCHERS as usize, "{events} {resumed} {relisted}");
}

/// From the environment, to repeat a failure.
fn seed() -> u64 {
    let given = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| rand::rng().random_range(0..1_000_000))
}

async fn put(store: &Store, key: &Key, expect: Expect) -> Result<u64, CommitError> {
    let object = json!({ "apiVersion": "v1", "kind": "Thing", "metadata": { "name": key.name } });
    let write = Write { key: key.clone(), expect, change: Change::Put(Draft::of(&object)) };
    store.commit(write).await.map(|object| object.revision)
}

/// Creates, updates and deletes; losing a race to another writer is part of it.
async fn write(store: Store, mut dice: StdRng) {
    for _ in 0..WRITES {
        let storage = STORAGES[dice.random_range(0..STORAGES.len())];
        let namespace = format!("n{}", dice.random_range(0..3));
        let key = Key::new(storage, &namespace, &format!("o{}", dice.random_range(0..8)));
        let answer = match store.get(&key) {
            None => put(&store, &key, Expect::Absent).await,
            Some(now) if dice.random_bool(0.3) => {
                let change = Change::Delete(Draft::of(&now.value()));
                let write = Write { key, expect: Expect::Revision(now.revision), change };
                store.commit(write).await.map(|object| object.revision)
            }
            Some(now) => put(&store, &key, Expect::Revision(now.revision)).await,
        };
        if let Err(CommitError::Stopped(why)) = answer {
            panic!("{why}");
        }
    }
}

struct Follower {
    store: Store,
    storage: Option<&'static str>,
    dice: StdRng,
    tally: Arc<Tally>,
    position: u64,
    known: Known,
    memories: Vec<(u64, Known)>,
}

impl Follower {
    fn new(store: &Store, storage: Option<&'static str>, dice: StdRng, tally: &Arc<Tally>) -> Self {
        let (store, tally) = (store.clone(), tally.clone());
        Self { store, storage, dice, tally, position: 0, known: Known::new(), memories: Vec::new() }
    }

    /// Follows until the last object of every storage it watches has come.
    async fn run(mut self) {
        self.relist();
        while !self.finished() {
            self.connect().await;
        }
        let (_, state) = self.current();
        assert_eq!(self.known, state);
    }

    fn finished(&self) -> bool {
        let wanted = STORAGES.iter().filter(|storage| self.storage.is_none_or(|mine| mine == **storage));
        wanted.map(|storage| Key::new(*storage, "", "end")).all(|key| self.known.contains_key(&key))
    }

    /// One connection: from where it is, or from an earlier version, for a random number of events.
    async fn connect(&mut self) {
        if !self.memories.is_empty() && self.dice.random_bool(0.5) {
            let chosen = self.dice.random_range(0..self.memories.len());
            (self.position, self.known) = self.memories[chosen].clone();
            self.memories.truncate(chosen);
            self.tally.resumed.fetch_add(1, Ordering::Relaxed);
        }
        let Ok(mut watcher) = self.store.watch(self.storage, self.position) else { return self.relist() };
        for _ in 0..self.dice.random_range(1..80) {
            if self.finished() {
                return;
            }
            for _ in 0..self.dice.random_range(0..3) {
                tokio::task::yield_now().await;
            }
            let Ok(event) = watcher.next().await else { return self.relist() };
            self.take(&event);
            assert_eq!(watcher.position(), event.revision);
        }
    }

    /// An event fits exactly on what is known: one lost, doubled or out of order would not.
    fn take(&mut self, event: &Event) {
        let key = &event.object.key;
        assert!(event.revision > self.position, "{} after {}", event.revision, self.position);
        if self.storage.is_none() {
            assert_eq!(event.revision, self.position + 1, "of everything, every revision comes");
        }
        assert_eq!(event.revision, event.object.revision);
        let previous = event.previous.as_ref().map(|previous| previous.revision);
        assert_eq!(self.known.get(key).copied(), previous, "{key:?} at {}", event.revision);
        match event.happening {
            Happening::Added => assert_eq!(previous, None),
            Happening::Modified | Happening::Deleted => assert!(previous.is_some()),
        }
        match event.happening {
            Happening::Added | Happening::Modified => self.known.insert(key.clone(), event.revision),
            Happening::Deleted => self.known.remove(key),
        };
        self.position = event.revision;
        self.memories.push((self.position, self.known.clone()));
        if self.memories.len() > MEMORIES {
            self.memories.remove(0);
        }
        self.tally.events.fetch_add(1, Ordering::Relaxed);
    }

    fn relist(&mut self) {
        (self.position, self.known) = self.current();
        self.memories.clear();
        self.tally.relisted.fetch_add(1, Ordering::Relaxed);
    }

    /// The state at one revision; with two storages, both at the revision of the first list.
    fn current(&self) -> (u64, Known) {
        loop {
            let mut at = None;
            let mut known = Known::new();
            let wanted = STORAGES.iter().filter(|storage| self.storage.is_none_or(|mine| mine == **storage));
            let complete = wanted.into_iter().all(|storage| {
                let query = Query { storage, at, ..Query::default() };
                let Ok(page) = self.store.list(&query, &mut |_| true) else { return false };
                at = Some(page.revision);
                known.extend(page.items.iter().map(|item| (item.key.clone(), item.revision)));
                true
            });
            if let (true, Some(revision)) = (complete, at) {
                return (revision, known);
            }
        }
    }
}
