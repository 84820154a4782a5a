//! A namespace has an account and the CA from its first moment, and is empty before it goes.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{call, edit, remove_all};
use crate::server::{NAMESPACES, Server, key};
use crate::verbs::update::Part;
use crate::verbs::{self};

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
    let mut left: Vec<String> = Vec::new();
    for storage in storages {
        let objects = server.stored(storage, Some(name));
        clean &= remove_all(server, objects).await;
        let count = server.store.count(storage, Some(name));
        if count > 0 {
            left.push(format!("{storage} has {count} resource instances"));
        }
    }
    let place = key(NAMESPACES, "", name);
    if left.is_empty() {
        return clean
            && edit(server, &place, Part::Finalize, &|object| object["spec"]["finalizers"] = json!([]))
                .await;
    }
    let waiting = left.join(", ");
    let said = edit(server, &place, Part::Status, &|object| {
        let condition = json!({
            "type": "NamespaceContentRemaining", "status": "True", "reason": "SomeResourcesRemain",
            "message": format!("Some resources are remaining: {waiting}"),
            "lastTransitionTime": object["metadata"]["deletionTimestamp"],
        });
        object["status"]["conditions"] = json!([condition]);
    })
    .await;
    // The last object's own event wakes this note again.
    clean && said
}
