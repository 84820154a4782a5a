//! What a file changes of an object, field by field, in both directions. Pure.

use kit::{Change, Changes};
use serde_json::Value;

/// Fields of every object that the server keeps for itself.
const SERVERS: [&str; 8] = [
    "status",
    "metadata.managedFields",
    "metadata.resourceVersion",
    "metadata.generation",
    "metadata.uid",
    "metadata.creationTimestamp",
    "metadata.namespace",
    "metadata.name",
];
/// What stands in the place of a secret.
const SEALED: &str = "[sealed]";

/// Every field that would be other than it is. Values of Secrets are not told.
pub(super) fn between(live: Option<&Value>, would_be: &Value) -> Changes {
    let mut found = Vec::new();
    compare("", live, Some(would_be), &mut found);
    let secret = would_be["kind"] == "Secret";
    for change in found.iter_mut().filter(|change| secret && change.path.starts_with("data")) {
        change.from = change.from.take().map(|_| SEALED.into());
        change.to = change.to.take().map(|_| SEALED.into());
    }
    found
}

fn compare(path: &str, live: Option<&Value>, would_be: Option<&Value>, found: &mut Changes) {
    if live == would_be || SERVERS.contains(&path) || ["apiVersion", "kind"].contains(&path) {
        return;
    }
    let fields = |value: Option<&Value>| value.is_none_or(Value::is_object);
    if fields(live) && fields(would_be) {
        let keys = |value: Option<&Value>| -> Vec<String> {
            value
                .and_then(Value::as_object)
                .map(|fields| fields.keys().cloned().collect())
                .unwrap_or_default()
        };
        let mut all = keys(live);
        all.extend(keys(would_be).into_iter().filter(|key| live.is_none_or(|live| live.get(key).is_none())));
        for key in &all {
            let place = if path.is_empty() { key.clone() } else { joined(path, key) };
            let part = |value: Option<&Value>| value.and_then(|value| value.get(key)).cloned();
            compare(&place, part(live).as_ref(), part(would_be).as_ref(), found);
        }
        if !all.is_empty() {
            return;
        }
    }
    found.push(Change { path: path.to_owned(), from: live.cloned(), to: would_be.cloned() });
}

/// A key with dots is an annotation or label, mostly.
fn joined(path: &str, key: &str) -> String {
    if key.contains(['.', '/']) { format!("{path}[{key}]") } else { format!("{path}.{key}") }
}
