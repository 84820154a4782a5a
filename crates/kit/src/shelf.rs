//! All objects of one kind, as last seen.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::sync::{Notify, watch};

use crate::address::{Name, Object};
use crate::room::Index;

/// All objects of one kind, as last seen. Who writes an object puts the answer here at once, so that the next look does
/// not miss it.
pub struct Shelf<K> {
    held: RwLock<Held<K>>,
    listeners: RwLock<Vec<Listener<K>>>,
    served_listeners: RwLock<Vec<Box<dyn Fn() + Send + Sync>>>,
    state: watch::Sender<State>,
    doubts: Notify,
}

/// Told what was there before, if anything was, and what is there now; or what is no longer there.
type Listener<K> = Box<dyn Fn(Option<&K>, &K) + Send + Sync>;

/// Whether a kind is there to be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nobody knows yet.
    Unknown,
    /// It is served, and the shelf is full.
    Served,
    /// It is not installed.
    Absent,
}

/// Which objects are found under a key.
type Names = HashMap<String, BTreeSet<Name>>;

struct Held<K> {
    objects: BTreeMap<Name, Arc<K>>,
    by_owner: Names,
    indexes: HashMap<&'static str, (Index<K>, Names)>,
    /// How far the watch has come.
    seen: u64,
}

impl<K: Object> Shelf<K> {
    pub(crate) fn new() -> Self {
        let held =
            Held { objects: BTreeMap::new(), by_owner: HashMap::new(), indexes: HashMap::new(), seen: 0 };
        Self {
            held: RwLock::new(held),
            listeners: RwLock::default(),
            served_listeners: RwLock::default(),
            state: watch::Sender::new(State::Unknown),
            doubts: Notify::new(),
        }
    }

    /// Waits until it is known what there is. Returns whether the kind is served.
    pub(crate) async fn settled(&self) -> bool {
        let mut state = self.state.subscribe();
        // The sender lives in `self`, so it cannot be gone.
        state.wait_for(|state| *state != State::Unknown).await.is_ok_and(|state| *state == State::Served)
    }

    /// Says that the kind may no longer be served.
    pub(crate) fn doubt_served(&self) {
        self.doubts.notify_one();
    }

    /// Waits until somebody says so.
    pub(crate) async fn doubted(&self) {
        self.doubts.notified().await;
    }

    /// Whether it is known what there is.
    pub(crate) fn is_settled(&self) -> bool {
        *self.state.borrow() != State::Unknown
    }

    pub(crate) fn get(&self, name: &Name) -> Option<Arc<K>> {
        self.held.read().objects.get(name).cloned()
    }

    pub(crate) fn names(&self) -> Vec<Name> {
        self.held.read().objects.keys().cloned().collect()
    }

    /// All of them, or those of one namespace.
    pub(crate) fn list(&self, namespace: Option<&str>) -> Vec<Arc<K>> {
        let held = self.held.read();
        let Some(namespace) = namespace else { return held.objects.values().cloned().collect() };
        let from = Name::new(namespace, "");
        let within = held.objects.range(from..).take_while(|(name, _)| name.namespace == namespace);
        within.map(|(_, object)| object.clone()).collect()
    }

    pub(crate) fn children(&self, owner_uid: &str) -> Vec<Arc<K>> {
        let held = self.held.read();
        let names = held.by_owner.get(owner_uid).into_iter().flatten();
        names.filter_map(|name| held.objects.get(name).cloned()).collect()
    }

    pub(crate) fn indexed(&self, index: &Index<K>, key: &str) -> Vec<Arc<K>> {
        let found = |held: &Held<K>| {
            let (_, keys) = held.indexes.get(index.name)?;
            let names = keys.get(key).into_iter().flatten();
            Some(names.filter_map(|name| held.objects.get(name).cloned()).collect())
        };
        if let Some(found) = found(&self.held.read()) {
            return found;
        }
        let mut held = self.held.write();
        held.begin(*index);
        found(&held).unwrap_or_default()
    }

    pub(crate) fn on_change(&self, listener: impl Fn(Option<&K>, &K) + Send + Sync + 'static) {
        self.listeners.write().push(Box::new(listener));
    }

    pub(crate) fn on_served(&self, listener: impl Fn() + Send + Sync + 'static) {
        self.served_listeners.write().push(Box::new(listener));
    }

    /// Takes in an object as the watch saw it, unless a newer one is held. Both the old and the new one are told of.
    pub(crate) fn put(&self, object: K) {
        self.take(object, |held, object| {
            held.seen = held.seen.max(revision(object).unwrap_or_default());
            true
        });
    }

    /// Takes in what the server answered to a write. If the watch is past that and holds nothing, the object is gone
    /// already, and nobody would ever say so again.
    pub(crate) fn answered(&self, object: K) {
        self.take(object, |held, object| {
            revision(object).is_none_or(|answered| answered > held.seen)
                || held.objects.contains_key(&Name::of(object))
        });
    }

    fn take(&self, mut object: K, wanted: impl FnOnce(&mut Held<K>, &K) -> bool) {
        // Nobody reads them here, and they are often the larger half of an object.
        object.meta_mut().managed_fields = None;
        let name = Name::of(&object);
        let object = Arc::new(object);
        let old = {
            let mut held = self.held.write();
            let old = held.objects.get(&name).cloned();
            if !wanted(&mut held, &object) || old.as_ref().is_some_and(|old| !newer(&**old, &*object)) {
                return;
            }
            if let Some(old) = &old {
                held.unlink(&name, old);
            }
            held.link(&name, &object);
            held.objects.insert(name, object.clone());
            old
        };
        self.listeners.read().iter().for_each(|listener| listener(old.as_deref(), &object));
    }

    /// Forgets an object that the watch saw end.
    pub(crate) fn seen_gone(&self, object: &K) {
        {
            let mut held = self.held.write();
            held.seen = held.seen.max(revision(object).unwrap_or_default());
        }
        self.remove(&Name::of(object), object.meta().uid.as_deref());
    }

    /// Forgets an object, unless another of the same name has taken its place.
    pub(crate) fn remove(&self, name: &Name, uid: Option<&str>) {
        let old = {
            let mut held = self.held.write();
            let Some(old) = held.objects.get(name).cloned() else { return };
            if uid.is_some() && old.meta().uid.as_deref() != uid {
                return;
            }
            held.objects.remove(name);
            held.unlink(name, &old);
            old
        };
        self.listeners.read().iter().for_each(|listener| listener(None, &old));
    }

    /// What is there, whole: everything else is gone.
    pub(crate) fn replace(&self, objects: Vec<K>) {
        let there: BTreeSet<Name> = objects.iter().map(Name::of).collect();
        for name in self.names().into_iter().filter(|name| !there.contains(name)) {
            self.remove(&name, None);
        }
        objects.into_iter().for_each(|object| self.put(object));
    }

    pub(crate) fn set(&self, state: State) {
        let changed = self.state.send_if_modified(|held| std::mem::replace(held, state) != state);
        if changed {
            self.served_listeners.read().iter().for_each(|listener| listener());
        }
    }
}

impl<K: Object> Held<K> {
    fn begin(&mut self, index: Index<K>) {
        let mut keys = Names::new();
        for (name, object) in &self.objects {
            for key in (index.keys)(object) {
                keys.entry(key).or_default().insert(name.clone());
            }
        }
        self.indexes.insert(index.name, (index, keys));
    }

    fn link(&mut self, name: &Name, object: &K) {
        if let Some(uid) = controller(object) {
            self.by_owner.entry(uid.to_owned()).or_default().insert(name.clone());
        }
        for (index, keys) in self.indexes.values_mut() {
            for key in (index.keys)(object) {
                keys.entry(key).or_default().insert(name.clone());
            }
        }
    }

    fn unlink(&mut self, name: &Name, object: &K) {
        if let Some(uid) = controller(object) {
            drop_name(&mut self.by_owner, uid, name);
        }
        for (index, keys) in self.indexes.values_mut() {
            for key in (index.keys)(object) {
                drop_name(keys, &key, name);
            }
        }
    }
}

fn drop_name(map: &mut Names, key: &str, name: &Name) {
    if let Some(names) = map.get_mut(key) {
        names.remove(name);
        if names.is_empty() {
            map.remove(key);
        }
    }
}

/// The uid of an object's controller.
fn controller<K: Object>(object: &K) -> Option<&str> {
    let owners = object.meta().owner_references.as_deref()?;
    owners.iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.as_str())
}

/// Whether the second object is newer than the first. Revisions are numbers that grow, in our API server and in
/// Kubernetes; where they are not numbers, any change counts.
fn newer<K: Object>(held: &K, seen: &K) -> bool {
    match (revision(held), revision(seen)) {
        (Some(held), Some(seen)) => seen > held,
        _ => seen.meta().resource_version != held.meta().resource_version,
    }
}

fn revision<K: Object>(object: &K) -> Option<u64> {
    object.meta().resource_version.as_deref()?.parse().ok()
}

#[cfg(test)]
mod tests;
