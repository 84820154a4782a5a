//! What readers see: the current objects and the recent events, changed together under one lock.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use tokio::sync::watch;

use super::list::{Query, Selection};
use super::{Compacted, Event, Happening, Key, Stored};

/// Bytes of events kept for watches: with 1 KiB objects some seven thousand events.
const HISTORY_BYTES: usize = 16 << 20;

/// The objects and recent events of one resource.
struct Shelf {
    objects: BTreeMap<Box<str>, BTreeMap<Box<str>, Arc<Stored>>>,
    count: usize,
    history: History,
}

impl Shelf {
    fn new() -> Self {
        Self { objects: BTreeMap::new(), count: 0, history: History::new() }
    }

    fn put(&mut self, object: Arc<Stored>) {
        let names = self.objects.entry(object.key.namespace.clone()).or_default();
        if names.insert(object.key.name.clone(), object).is_none() {
            self.count += 1;
        }
    }

    fn remove(&mut self, key: &Key) {
        let Some(names) = self.objects.get_mut(&key.namespace) else { return };
        if names.remove(&key.name).is_some() {
            self.count -= 1;
        }
        if names.is_empty() {
            self.objects.remove(&key.namespace);
        }
    }

    /// The objects of a query in order, its revision and limit aside.
    fn range(&self, query: &Query<'_>) -> Vec<Arc<Stored>> {
        // One namespace is found, not searched for: there may be thousands.
        let spaces = match (query.namespace, query.after) {
            (Some(one), _) => (Bound::Included(one), Bound::Included(one)),
            (None, Some((first, _))) => (Bound::Included(first), Bound::Unbounded),
            (None, None) => (Bound::Unbounded, Bound::Unbounded),
        };
        let mut found = Vec::new();
        for (namespace, names) in self.objects.range::<str, _>(spaces) {
            let from = match query.after {
                Some((at, name)) if at == &**namespace => Bound::Excluded(name),
                Some((at, _)) if at > &**namespace => continue,
                Some(_) | None => Bound::Unbounded,
            };
            found.extend(names.range::<str, _>((from, Bound::Unbounded)).map(|(_, object)| object.clone()));
        }
        found
    }
}

/// Recent events in order.
struct History {
    events: VecDeque<Arc<Event>>,
    /// Revision of the newest event dropped from the front.
    dropped: u64,
    wake: watch::Sender<u64>,
}

impl History {
    fn new() -> Self {
        Self { events: VecDeque::new(), dropped: 0, wake: watch::Sender::new(0) }
    }
    fn newer_than(&self, revision: u64) -> usize {
        self.events.partition_point(|event| event.revision <= revision)
    }
    fn drop_first(&mut self) -> Option<Arc<Event>> {
        let event = self.events.pop_front()?;
        self.dropped = event.revision;
        Some(event)
    }
}

/// Everything that is visible.
pub(super) struct State {
    revision: u64,
    shelves: HashMap<Arc<str>, Shelf>,
    all: History,
    all_bytes: usize,
    limit: usize,
    /// Nothing may be read or watched from before this revision.
    floor: u64,
}

impl State {
    /// An empty state that keeps `history` events.
    pub(super) fn new(history: usize) -> Self {
        let shelves = HashMap::new();
        Self { revision: 0, shelves, all: History::new(), all_bytes: 0, limit: history, floor: 0 }
    }

    /// Puts an object of a snapshot in its place; it has no event.
    pub(super) fn load(&mut self, object: Arc<Stored>) {
        self.shelf(&object.key.storage.clone()).put(object);
    }

    /// Ends a snapshot: nothing before it can be watched.
    pub(super) fn start_at(&mut self, revision: u64) {
        self.revision = revision;
        self.floor = revision;
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Stored>> {
        self.shelves.get(&key.storage)?.objects.get(&*key.namespace)?.get(&*key.name)
    }

    pub(super) fn count(&self, storage: &str, namespace: Option<&str>) -> usize {
        let Some(shelf) = self.shelves.get(storage) else { return 0 };
        match namespace {
            None => shelf.count,
            Some(namespace) => shelf.objects.get(namespace).map_or(0, BTreeMap::len),
        }
    }

    pub(super) fn storages(&self) -> Vec<(Arc<str>, usize)> {
        let filled = self.shelves.iter().filter(|(_, shelf)| shelf.count > 0);
        let mut list = filled.map(|(name, shelf)| (name.clone(), shelf.count)).collect::<Vec<_>>();
        list.sort();
        list
    }

    /// Every object, in no order.
    pub(super) fn everything(&self) -> Vec<Arc<Stored>> {
        let names = self.shelves.values().flat_map(|shelf| shelf.objects.values());
        names.flat_map(BTreeMap::values).cloned().collect()
    }

    /// The storage's name, shared if it is known already.
    pub(super) fn intern(&self, storage: &str) -> Arc<str> {
        self.shelves.get_key_value(storage).map_or_else(|| storage.into(), |(name, _)| name.clone())
    }

    /// Makes one write visible: state first, then history.
    pub(super) fn publish(&mut self, event: Arc<Event>) {
        self.revision = event.revision;
        let shelf = self.shelf(&event.object.key.storage);
        match event.happening {
            Happening::Added | Happening::Modified => shelf.put(event.object.clone()),
            Happening::Deleted => shelf.remove(&event.object.key),
        }
        shelf.history.events.push_back(event.clone());
        self.all_bytes += event.cost();
        self.all.events.push_back(event);
        // The newest is always kept: without it, no watcher would ever get anywhere.
        while self.all.events.len() > 1
            && (self.all.events.len() > self.limit || self.all_bytes > HISTORY_BYTES)
        {
            self.drop_oldest();
        }
    }

    /// Wakes the watchers of a storage and those of everything.
    pub(super) fn wake(&self, storage: &str) {
        if let Some(shelf) = self.shelves.get(storage) {
            shelf.history.wake.send_replace(self.revision);
        }
        self.all.wake.send_replace(self.revision);
    }

    /// Forgets events up to a revision.
    pub(super) fn compact(&mut self, upto: u64) {
        let upto = upto.min(self.revision);
        self.floor = self.floor.max(upto);
        while self.all.events.front().is_some_and(|event| event.revision <= upto) {
            self.drop_oldest();
        }
    }

    /// Checks that every event behind `after` is there or yet to come, and gives the bell to wait at.
    pub(super) fn watch(
        &mut self,
        storage: Option<&str>,
        after: u64,
    ) -> Result<watch::Receiver<u64>, Compacted> {
        let (floor, current) = (self.floor, self.revision);
        let history = match storage {
            None => &self.all,
            Some(storage) => &self.shelf(&storage.into()).history,
        };
        let oldest = floor.max(history.dropped);
        if after < oldest { Err(Compacted { oldest, current }) } else { Ok(history.wake.subscribe()) }
    }

    /// The first event behind a position. A watcher whose next event was dropped has fallen behind; one
    /// whose storage was merely quiet has not, however much was dropped of others.
    pub(super) fn next(&self, storage: Option<&str>, position: u64) -> Result<Option<Arc<Event>>, Compacted> {
        let history = match storage {
            None => Some(&self.all),
            Some(storage) => self.shelves.get(storage).map(|shelf| &shelf.history),
        };
        let Some(history) = history else { return Ok(None) };
        if position < history.dropped {
            return Err(Compacted { oldest: self.floor.max(history.dropped), current: self.revision });
        }
        Ok(history.events.get(history.newer_than(position)).cloned())
    }

    /// The objects of a query, limit aside, with the events to be undone to get to its revision.
    pub(super) fn select(&self, query: &Query<'_>) -> Result<Selection, Compacted> {
        let revision = query.at.unwrap_or(self.revision);
        let Some(shelf) = self.shelves.get(query.storage) else {
            let covered = self.floor..=self.revision;
            let gone = Compacted { oldest: self.floor, current: self.revision };
            return if covered.contains(&revision) { Ok(Selection::empty(revision)) } else { Err(gone) };
        };
        let oldest = self.floor.max(shelf.history.dropped);
        if query.at.is_some() && !(oldest..=self.revision).contains(&revision) {
            return Err(Compacted { oldest, current: self.revision });
        }
        let undo = shelf.history.events.range(shelf.history.newer_than(revision)..).cloned().collect();
        Ok(Selection { objects: shelf.range(query), undo, revision })
    }

    fn shelf(&mut self, storage: &Arc<str>) -> &mut Shelf {
        self.shelves.entry(storage.clone()).or_insert_with(Shelf::new)
    }

    fn drop_oldest(&mut self) {
        let Some(event) = self.all.drop_first() else { return };
        self.all_bytes -= event.cost();
        if let Some(shelf) = self.shelves.get_mut(&event.object.key.storage) {
            shelf.history.drop_first();
        }
    }
}
