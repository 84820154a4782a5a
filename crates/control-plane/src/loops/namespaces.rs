//! A namespace has an account and the CA from its first moment, and is empty before it goes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::{call, edit, remove_all};
use crate::server::{NAMESPACES, Server, key};
use crate::store::Stored;
use crate::verbs;
use crate::verbs::update::Part;

/// Looks at one namespace. True when nothing is left to do now.
pub(super) async fn tend(server: &Arc<Server>, name: &str) -> bool {
    let Some(stored) = server.store.get(&key(NAMESPACES, "", name)) else { return true };
    if stored.facts().deleting { empty(server, name).await } else { furnish(server, name).await }
}

async fn furnish(server: &Arc<Server>, name: &str) -> bool {
    let account = json!({ "metadata": { "name": "default" } });
    let authority = json!({
        "metadata": {
            "name": "kube-root-ca.crt",
            "annotations": {
                "kubernetes.io/description": "Contains a CA bundle that can be used to verify the API server."
            },
        },
        "data": { "ca.crt": server.authority.certificate() },
    });
    ensure(server, "serviceaccounts", name, "default", account).await
        && ensure(server, "configmaps", name, "kube-root-ca.crt", authority).await
}

async fn ensure(server: &Arc<Server>, storage: &str, namespace: &str, name: &str, object: Value) -> bool {
    if server.store.get(&key(storage, namespace, name)).is_some() {
        return true;
    }
    let catalog = server.catalog();
    let Some(entry) = catalog.stored_in(storage) else { return true };
    let mut call = call(server, entry, &key(storage, namespace, ""));
    call.body = object.to_string().into();
    super::settled(verbs::run(server, "create", call).await.err())
}

/// Deletes everything in it; with nothing left, lets it go. What holds on by a finalizer is waited for.
async fn empty(server: &Arc<Server>, name: &str) -> bool {
    let catalog = server.catalog();
    let storages: BTreeSet<&str> =
        catalog.entries().iter().filter(|e| e.kind.namespaced).map(|e| e.kind.storage.as_ref()).collect();
    let mut clean = true;
    let mut left = Left::default();
    for storage in storages {
        clean &= remove_all(server, server.stored(storage, Some(name))).await;
        left.count(storage, &server.stored(storage, Some(name)));
    }
    let place = key(NAMESPACES, "", name);
    if left.resources.is_empty() {
        return clean
            && edit(server, &place, Part::Finalize, &|object| object["spec"]["finalizers"] = json!([]))
                .await;
    }
    let said = edit(server, &place, Part::Status, &|object| {
        let since = object["metadata"]["deletionTimestamp"].clone();
        object["status"]["conditions"] = left.conditions(&since);
    })
    .await;
    // The last object's own event wakes this note again.
    clean && said
}

/// What keeps a namespace from going.
#[derive(Default)]
struct Left {
    resources: Vec<String>,
    finalizers: BTreeMap<String, usize>,
}

impl Left {
    fn count(&mut self, storage: &str, objects: &[Arc<Stored>]) {
        if objects.is_empty() {
            return;
        }
        let dotted = if storage.contains('.') { storage.to_owned() } else { format!("{storage}.") };
        self.resources.push(format!("{dotted} has {} resource instances", objects.len()));
        for finalizer in objects.iter().flat_map(|object| &object.facts().finalizers) {
            *self.finalizers.entry(finalizer.clone()).or_default() += 1;
        }
    }

    /// The two conditions that tell why it is still there.
    fn conditions(&self, since: &Value) -> Value {
        let condition = |kind: &str, reason: &str, message: String| json!({ "type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": since });
        let remaining = format!("Some resources are remaining: {}", self.resources.join(", "));
        let mut conditions = vec![condition("NamespaceContentRemaining", "SomeResourcesRemain", remaining)];
        if !self.finalizers.is_empty() {
            let held =
                self.finalizers.iter().map(|(name, count)| format!("{name} in {count} resource instances"));
            let held = held.collect::<Vec<_>>().join(", ");
            let message = format!("Some content in the namespace has finalizers remaining: {held}");
            conditions.push(condition("NamespaceFinalizersRemaining", "SomeFinalizersRemain", message));
        }
        json!(conditions)
    }
}
