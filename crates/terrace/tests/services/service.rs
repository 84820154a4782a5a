//! What the stories do with services.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::platform::{Platform, wait};
use crate::sql::Sql;

/// How long a service may take on a busy machine before it counts as stuck.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Asks for a service, and does not wait.
#[track_caller]
pub fn create(platform: &Platform, name: &str, plan: &str) {
    let asked = platform.try_apply_object(&json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "ManagedService",
        "metadata": { "name": name }, "spec": { "type": "postgres", "plan": plan },
    }));
    asked.unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// Waits until a service is as it is waited for.
#[track_caller]
pub fn until(platform: &Platform, name: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    wait(&format!("{name} {what}"), PATIENCE, || {
        last = platform.object("managedservice", name);
        wanted(&last).then(|| last.clone())
    })
}

/// Waits until a service is ready.
#[track_caller]
pub fn ready(platform: &Platform, name: &str) -> Value {
    until(platform, name, "to be ready", |service| service["status"]["phase"] == "Ready")
}

/// One key of a service's Secret.
#[track_caller]
pub fn secret(platform: &Platform, name: &str, key: &str) -> String {
    let template = format!("go-template={{{{index .data {key:?} | base64decode}}}}");
    platform.kubectl(&["get", "secret", &format!("{name}-app"), "-o", &template])
}

/// A connection to a service as its owner, once it takes one.
#[track_caller]
pub fn connect(platform: &Platform, name: &str) -> Sql {
    let uri = secret(platform, name, "uri");
    wait(&format!("a connection to {name}"), PATIENCE, || Sql::connect(&uri).ok())
}

/// The data directories of the instances of a service.
pub fn directories(platform: &Platform, name: &str) -> Vec<PathBuf> {
    let uid = platform.object("cluster.postgresql.cnpg.io", name)["metadata"]["uid"].clone();
    let place = platform.path().join("shared/databases/clusters").join(uid.as_str().unwrap_or("none"));
    let mut found: Vec<PathBuf> = std::fs::read_dir(place)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("PG_VERSION").exists())
        .collect();
    found.sort();
    found
}

/// The first process of the server that runs in a data directory.
pub fn postmaster(directory: &std::path::Path) -> Option<u32> {
    let text = std::fs::read_to_string(directory.join("postmaster.pid")).ok()?;
    text.lines().next()?.trim().parse().ok()
}

/// The data directory of the primary.
#[track_caller]
pub fn primary(platform: &Platform, name: &str) -> PathBuf {
    let all = directories(platform, name);
    // One that was put aside has a fence beside it, and no right to start.
    let fenced = |path: &PathBuf| path.with_extension("fenced").exists();
    let mut found = all.iter().filter(|path| !path.join("standby.signal").exists() && !fenced(path));
    let first = found.next().unwrap_or_else(|| panic!("{name} has no primary among {all:?}")).clone();
    assert!(found.next().is_none(), "{name} has two primaries");
    first
}
