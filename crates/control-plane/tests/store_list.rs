//! Lists in pages and at exact revisions, against a model that knows every write.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use control_plane::store::{Change, Draft, Expect, Key, Options, Query, Store, Write};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

const NAMESPACES: [&str; 3] = ["a", "a-b", "b"];
const WRITERS: u64 = 6;
const WRITES: usize = 300;
const READERS: u64 = 6;

/// One acknowledged write: its revision, where, and whether the object is there afterwards.
type Done = (u64, Key, bool);

/// What a reader asked for and saw: which namespace, whether only even revisions, and each object's revision.
struct Seen {
    revision: u64,
    namespace: Option<&'static str>,
    even: bool,
    items: Vec<(Key, u64)>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_list_is_the_state_at_its_revision() {
    let seed = seed();
    println!("SEED={seed}");
    let store = Store::open(Options { history: 300, ..Options::default() }).expect("opens");
    let stop = Arc::new(AtomicBool::new(false));
    let compacted = Arc::new(AtomicUsize::new(0));
    let readers = (0..READERS).map(|id| {
        let dice = StdRng::seed_from_u64(seed + 100 + id);
        tokio::spawn(read(store.clone(), dice, stop.clone(), compacted.clone()))
    });
    let readers = readers.collect::<Vec<_>>();
    let writers = (0..WRITERS).map(|id| tokio::spawn(write(store.clone(), StdRng::seed_from_u64(seed + id))));
    let mut done = Vec::new();
    for writer in writers.collect::<Vec<_>>() {
        done.extend(writer.await.expect("a writer ends well"));
    }
    stop.store(true, Ordering::SeqCst);
    done.sort();
    let revisions = done.iter().map(|(revision, _, _)| *revision).collect::<Vec<_>>();
    assert_eq!(revisions, (1..=store.revision()).collect::<Vec<_>>(), "every revision is one write");
    let mut lists = 0;
    for reader in readers {
        for seen in reader.await.expect("a reader ends well") {
            assert_eq!(
                seen.items,
                model(&done, &seen),
                "at revision {} in {:?}",
                seen.revision,
                seen.namespace
            );
            lists += 1;
        }
    }
    println!("{lists} lists, {} compacted on the way", compacted.load(Ordering::SeqCst));
    assert!(lists > READERS as usize);
}

/// From the environment, to repeat a failure.
fn seed() -> u64 {
    let given = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| rand::rng().random_range(0..1_000_000))
}

/// The state at a revision, the slow way.
fn model(done: &[Done], seen: &Seen) -> Vec<(Key, u64)> {
    let mut state = BTreeMap::new();
    for (revision, key, there) in done.iter().take_while(|(revision, _, _)| *revision <= seen.revision) {
        if *there {
            state.insert(key.clone(), *revision)
        } else {
            state.remove(key)
        };
    }
    let inside = |key: &Key| seen.namespace.is_none_or(|namespace| namespace == &*key.namespace);
    state.into_iter().filter(|(key, revision)| inside(key) && (!seen.even || revision % 2 == 0)).collect()
}

async fn write(store: Store, mut dice: StdRng) -> Vec<Done> {
    let mut done = Vec::new();
    for _ in 0..WRITES {
        let namespace = NAMESPACES[dice.random_range(0..NAMESPACES.len())];
        let key = Key::new("pods", namespace, &format!("o{}", dice.random_range(0..40)));
        let now = store.get(&key);
        let expect = now.as_ref().map_or(Expect::Absent, |now| Expect::Revision(now.revision));
        let object = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": key.name } });
        let deleting = now.is_some() && dice.random_bool(0.4);
        let draft = Draft::of(&object);
        let change = if deleting { Change::Delete(draft) } else { Change::Put(draft) };
        if let Ok(object) = store.commit(Write { key: key.clone(), expect, change }).await {
            done.push((object.revision, key, !deleting));
        }
    }
    done
}

async fn read(
    store: Store,
    mut dice: StdRng,
    stop: Arc<AtomicBool>,
    compacted: Arc<AtomicUsize>,
) -> Vec<Seen> {
    let mut all = Vec::new();
    while !stop.load(Ordering::SeqCst) || all.is_empty() {
        match pages(&store, &mut dice).await {
            Some(seen) => all.push(seen),
            None => _ = compacted.fetch_add(1, Ordering::SeqCst),
        }
        // A list of one page never waits, and writers need their turn.
        tokio::task::yield_now().await;
    }
    all
}

/// One list, in pages at the revision of the first; `None` if the history did not reach far enough.
async fn pages(store: &Store, dice: &mut StdRng) -> Option<Seen> {
    let namespace = dice.random_bool(0.5).then(|| NAMESPACES[dice.random_range(0..NAMESPACES.len())]);
    let limit = dice.random_bool(0.8).then(|| dice.random_range(1..20));
    let even = dice.random_bool(0.3);
    let mut at = dice.random_bool(0.5).then(|| store.revision().saturating_sub(dice.random_range(0..350)));
    let mut items = Vec::<(Key, u64)>::new();
    let mut after: Option<(String, String)> = None;
    loop {
        let behind = after.as_ref().map(|(namespace, name)| (namespace.as_str(), name.as_str()));
        let query = Query { storage: "pods", namespace, after: behind, limit, at };
        let page = store.list(&query, &mut |object| !even || object.revision % 2 == 0).ok()?;
        assert!(at.is_none_or(|at| at == page.revision));
        assert!(limit.is_none_or(|limit| page.items.len() <= limit));
        assert_eq!(page.more, page.remaining > 0);
        at = Some(page.revision);
        items.extend(page.items.iter().map(|item| (item.key.clone(), item.revision)));
        let last = page.items.last().filter(|_| page.more);
        let Some(last) = last else { return Some(Seen { revision: page.revision, namespace, even, items }) };
        after = Some((last.key.namespace.to_string(), last.key.name.to_string()));
        tokio::task::yield_now().await;
    }
}
