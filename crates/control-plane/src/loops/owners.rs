//! The garbage collector: what nobody owns any more goes, and owners wait for or let go of their own.

use std::sync::Arc;

use serde_json::Value;

use super::{Notes, edit, remove};
use crate::server::{Server, key};
use crate::store::{Key, Owner, Stored};
use crate::verbs::delete::{FOREGROUND, ORPHAN};
use crate::verbs::update::Part;

/// Works off the notes about owners and dependents; what must wait stays noted.
pub(super) async fn tend(server: &Arc<Server>, notes: &mut Notes) {
    for key in std::mem::take(&mut notes.owners) {
        if !owner(server, notes, &key).await {
            notes.owners.insert(key);
        }
    }
    for key in std::mem::take(&mut notes.dependents) {
        if !dependent(server, &key).await {
            notes.dependents.insert(key);
        }
    }
}

/// An object in deletion that holds on to, or lets go of, what it owns. True when nothing is left to do now.
async fn owner(server: &Arc<Server>, notes: &Notes, place: &Key) -> bool {
    let Some(stored) = server.store.get(place) else { return true };
    let facts = stored.facts();
    if !facts.deleting {
        return true;
    }
    let has = |word: &str| facts.finalizers.iter().any(|finalizer| finalizer == word);
    let owned: Vec<Arc<Stored>> = notes
        .index
        .get(&facts.uid)
        .into_iter()
        .flatten()
        .filter_map(|key| server.store.get(key))
        .filter(|object| object.facts().owners.iter().any(|owner| owner.uid == facts.uid))
        .collect();
    if has(ORPHAN) {
        let mut done = true;
        for object in &owned {
            done &= let_go(server, &object.key, std::slice::from_ref(&facts.uid)).await;
        }
        return done && drop_finalizer(server, place, ORPHAN).await;
    }
    if has(FOREGROUND) {
        for object in owned.iter().filter(|object| !object.facts().deleting) {
            // Those that block go the same way, so that the whole tree falls from its leaves.
            let blocks = object.facts().owners.iter().any(|owner| owner.uid == facts.uid && owner.block);
            remove(server, object, if blocks { "Foreground" } else { "Background" }).await;
        }
        let blocked = owned.iter().any(|object| {
            let held = |owner: &Owner| owner.uid == facts.uid && owner.block;
            server.store.get(&object.key).is_some_and(|now| now.facts().owners.iter().any(held))
        });
        // The last dependent's own event wakes this note again.
        return blocked || drop_finalizer(server, place, FOREGROUND).await;
    }
    true
}

/// An object with owners: if none of them is there, it goes; if some are, the others' names go.
async fn dependent(server: &Arc<Server>, place: &Key) -> bool {
    let Some(stored) = server.store.get(place) else { return true };
    let facts = stored.facts();
    if facts.owners.is_empty() || facts.deleting {
        return true;
    }
    let (here, gone): (Vec<&Owner>, Vec<&Owner>) =
        facts.owners.iter().partition(|owner| lives(server, place, owner));
    if gone.is_empty() {
        return true;
    }
    if here.is_empty() {
        return remove(server, &stored, "Background").await;
    }
    let uids: Vec<Box<str>> = gone.iter().map(|owner| owner.uid.clone()).collect();
    let_go(server, place, &uids).await
}

/// Whether an owner is there. One of a kind that is not served is left alone: nobody can know.
fn lives(server: &Server, dependent: &Key, owner: &Owner) -> bool {
    let catalog = server.catalog();
    let Some(entry) = catalog.named(&owner.api_version, &owner.kind) else { return true };
    let namespace = if entry.kind.namespaced { dependent.namespace.as_ref() } else { "" };
    let found = server.store.get(&key(&entry.kind.storage, namespace, &owner.name));
    found.is_some_and(|found| found.facts().uid == owner.uid)
}

async fn let_go(server: &Arc<Server>, place: &Key, uids: &[Box<str>]) -> bool {
    edit(server, place, Part::Main, &|object: &mut Value| {
        if let Some(list) = object["metadata"]["ownerReferences"].as_array_mut() {
            list.retain(|owner| !uids.iter().any(|uid| owner["uid"] == uid.as_ref()));
        }
    })
    .await
}

async fn drop_finalizer(server: &Arc<Server>, place: &Key, word: &str) -> bool {
    edit(server, place, Part::Main, &|object: &mut Value| {
        if let Some(list) = object["metadata"]["finalizers"].as_array_mut() {
            list.retain(|finalizer| finalizer != word);
        }
    })
    .await
}
