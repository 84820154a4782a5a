//! A definition that is deleted takes its objects along.

use std::sync::Arc;

use serde_json::Value;

use super::{edit, remove_all};
use crate::server::{DEFINITIONS, Server, key};
use crate::verbs::admit::CLEANUP;
use crate::verbs::update::Part;

/// Looks at one definition, by its name. True when nothing is left to do now.
pub(super) async fn tend(server: &Arc<Server>, name: &str) -> bool {
    let place = key(DEFINITIONS, "", name);
    let Some(stored) = server.store.get(&place) else { return true };
    let facts = stored.facts();
    if !facts.deleting || !facts.finalizers.iter().any(|finalizer| finalizer == CLEANUP) {
        return true;
    }
    let clean = remove_all(server, server.stored(name, None)).await;
    if server.store.count(name, None) > 0 {
        // What holds on by a finalizer wakes this note again when it goes.
        return clean;
    }
    edit(server, &place, Part::Main, &|object: &mut Value| {
        if let Some(list) = object["metadata"]["finalizers"].as_array_mut() {
            list.retain(|finalizer| finalizer != CLEANUP);
        }
    })
    .await
}
