//! What the server does by itself: collects garbage, empties namespaces, keeps derived objects true.
//!
//! One task reads every event of the store and notes what must be looked at again; then each note is worked
//! off by looking at the current state, never at the event. A note that could not be worked off stays.

mod definitions;
mod expiry;
mod namespaces;
mod owners;
mod quotas;
mod roles;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::gates::rbac::User;
use crate::kinds::catalog::Entry;
use crate::server::{DEFINITIONS, NAMESPACES, Server};
use crate::status::Status;
use crate::store::{Event, Key, Stored, Watcher};
use crate::verbs::update::{self, Next, Part};
use crate::verbs::{Call, delete};
use crate::wire::path::ResourcePath;
use crate::wire::query::Query;

/// How long notes wait that could not be worked off.
const AGAIN: Duration = Duration::from_millis(200);
/// How many objects are deleted at once.
const ABREAST: usize = 64;
/// How often old events are looked for.
const SWEEP: Duration = Duration::from_secs(60);

/// What must be looked at again.
#[derive(Default)]
struct Notes {
    namespaces: BTreeSet<String>,
    definitions: BTreeSet<String>,
    quotas: BTreeSet<String>,
    roles: bool,
    /// Storages that the server computes something from.
    computed: BTreeSet<Arc<str>>,
    /// Objects whose owners may be gone.
    dependents: HashSet<Key>,
    /// Objects that wait for, or let go of, what they own.
    owners: HashSet<Key>,
    /// Who depends on which uid.
    index: HashMap<Box<str>, HashSet<Key>>,
    /// Objects in deletion that hold on to, or let go of, what they own, by uid.
    holding: HashMap<Box<str>, Key>,
}

/// Runs until `stop`.
pub(crate) async fn run(server: Arc<Server>, stop: CancellationToken) {
    let mut sweep = tokio::time::interval(SWEEP);
    while !stop.is_cancelled() {
        let (mut watcher, mut notes) = from_the_start(&server);
        loop {
            let left = notes.work(&server).await;
            let patience = if left { AGAIN } else { SWEEP };
            tokio::select! {
                () = stop.cancelled() => return,
                _ = sweep.tick() => expiry::sweep(&server).await,
                () = tokio::time::sleep(patience) => {}
                event = watcher.next() => match event {
                    Ok(event) => notes.take(&event),
                    // Too slow for the history: begin again from the current state.
                    Err(_) => break,
                },
            }
            if !notes.drain(&mut watcher) {
                break;
            }
        }
    }
}

/// Looks at everything once, so that a new server is as complete as an old one before its first request.
pub(crate) async fn settle(server: &Arc<Server>) {
    let (_, mut notes) = from_the_start(server);
    notes.work(server).await;
}

/// A watcher, and notes about everything that lies there at its start.
fn from_the_start(server: &Server) -> (Watcher, Notes) {
    loop {
        let revision = server.store.revision();
        let Ok(watcher) = server.store.watch(None, revision) else { continue };
        let mut notes = Notes { roles: true, ..Notes::default() };
        for (storage, _) in server.store.storages() {
            for stored in server.stored(&storage, None) {
                notes.note(&stored, false);
            }
        }
        return (watcher, notes);
    }
}

impl Notes {
    /// Takes every event that is already there. False when the history was lost.
    fn drain(&mut self, watcher: &mut Watcher) -> bool {
        loop {
            match watcher.try_next() {
                Ok(Some(event)) => self.take(&event),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    fn take(&mut self, event: &Event) {
        let gone = matches!(event.happening, crate::store::Happening::Deleted);
        if let Some(previous) = &event.previous {
            for owner in &previous.facts().owners {
                if let Some(set) = self.index.get_mut(&owner.uid) {
                    set.remove(&previous.key);
                    if set.is_empty() {
                        self.index.remove(&owner.uid);
                    }
                }
                // An owner in deletion may have waited for this one.
                self.owners.extend(self.holding.get(&owner.uid).cloned());
            }
        }
        self.note(&event.object, gone);
    }

    /// What one object's state asks for.
    fn note(&mut self, stored: &Arc<Stored>, gone: bool) {
        let facts = stored.facts();
        let key = &stored.key;
        let namespace = key.namespace.to_string();
        if key.storage.as_ref() == DEFINITIONS || key.storage.ends_with(".rbac.authorization.k8s.io") {
            self.computed.insert(key.storage.clone());
        }
        match key.storage.as_ref() {
            NAMESPACES => {
                self.namespaces.insert(key.name.to_string());
            }
            DEFINITIONS => {
                self.definitions.insert(key.name.to_string());
            }
            "clusterroles.rbac.authorization.k8s.io" => self.roles = true,
            "serviceaccounts" | "configmaps" if gone => {
                self.namespaces.insert(namespace.clone());
            }
            _ => {}
        }
        if !namespace.is_empty() {
            self.quotas.insert(namespace.clone());
        }
        if gone {
            self.dependents.extend(self.index.get(&facts.uid).into_iter().flatten().cloned());
            self.holding.remove(&facts.uid);
            self.definitions.insert(key.storage.to_string());
            if !namespace.is_empty() {
                self.namespaces.insert(namespace);
            }
            return;
        }
        for owner in &facts.owners {
            self.index.entry(owner.uid.clone()).or_default().insert(key.clone());
        }
        if !facts.owners.is_empty() {
            self.dependents.insert(key.clone());
        }
        if facts.deleting && facts.finalizers.iter().any(|f| f == delete::FOREGROUND || f == delete::ORPHAN) {
            self.owners.insert(key.clone());
            self.holding.insert(facts.uid.clone(), key.clone());
        }
    }

    /// Works the notes off. True when some are left for later.
    async fn work(&mut self, server: &Arc<Server>) -> bool {
        for storage in std::mem::take(&mut self.computed) {
            server.follow(&storage);
        }
        let namespaces: Vec<String> = std::mem::take(&mut self.namespaces).into_iter().collect();
        for name in namespaces {
            if !namespaces::tend(server, &name).await {
                self.namespaces.insert(name);
            }
        }
        for name in std::mem::take(&mut self.definitions) {
            if !definitions::tend(server, &name).await {
                self.definitions.insert(name);
            }
        }
        if std::mem::take(&mut self.roles) {
            self.roles = !roles::tend(server).await;
        }
        for name in std::mem::take(&mut self.quotas) {
            quotas::tend(server, &name).await;
        }
        owners::tend(server, self).await;
        !(self.namespaces.is_empty()
            && self.definitions.is_empty()
            && self.owners.is_empty()
            && self.dependents.is_empty())
            || self.roles
    }
}

/// A call by the server itself, allowed everything.
fn call(server: &Server, entry: &Arc<Entry>, key: &Key) -> Call {
    let kind = &entry.kind;
    Call {
        user: User {
            name: "system:terrace".into(),
            groups: vec!["system:masters".into()],
            ..User::default()
        },
        entry: entry.clone(),
        path: ResourcePath {
            group: kind.group.clone(),
            version: kind.version.clone(),
            namespace: key.namespace.to_string(),
            plural: kind.plural.clone(),
            name: key.name.to_string(),
            ..ResourcePath::default()
        },
        query: Query { field_manager: "terrace".into(), ..Query::default() },
        accept: None,
        content_type: "application/json".into(),
        agent: String::new(),
        body: Bytes::new(),
        now: server.now(),
    }
}

/// Deletes one object in the background way. True when it is gone or going.
async fn remove(server: &Arc<Server>, stored: &Stored, policy: &str) -> bool {
    let catalog = server.catalog();
    let Some(entry) = catalog.stored_in(&stored.key.storage) else { return true };
    let mut call = call(server, entry, &stored.key);
    let uid = &stored.facts().uid;
    let options = serde_json::json!({ "propagationPolicy": policy, "preconditions": { "uid": uid } });
    call.body = options.to_string().into();
    settled(delete::one(server, &call).await.err())
}

/// Deletes many objects, some at a time.
async fn remove_all(server: &Arc<Server>, objects: Vec<Arc<Stored>>) -> bool {
    let each = |stored: Arc<Stored>| async move {
        stored.facts().deleting || remove(server, &stored, "Background").await
    };
    futures::stream::iter(objects).map(each).buffer_unordered(ABREAST).all(|done| async move { done }).await
}

/// Changes one object. True when that is done or no longer needed.
async fn edit(
    server: &Arc<Server>,
    key: &Key,
    part: Part,
    change: &(dyn Fn(&mut Value) + Send + Sync),
) -> bool {
    let catalog = server.catalog();
    let Some(entry) = catalog.stored_in(&key.storage) else { return true };
    let call = call(server, entry, key);
    let make = |old: &Value| {
        let mut object = old.clone();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.shift_remove("resourceVersion");
        }
        change(&mut object);
        Ok(Next { object, duplicates: Vec::new(), tracked: false })
    };
    settled(update::change(server, &call, part, &make).await.err())
}

/// Whether an outcome needs no second try: done, or the object is not there any more.
fn settled(failure: Option<Status>) -> bool {
    let Some(status) = failure else { return true };
    let over = matches!(status.code, http::StatusCode::NOT_FOUND | http::StatusCode::CONFLICT);
    if !over {
        tracing::warn!(status = %status, "a loop could not write; it will try again");
    }
    over
}
