//! What the stories do with claims.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::platform::{Platform, wait};
use crate::sql::Sql;

/// How long a claim may take on a busy machine before it counts as stuck.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// Where servers and their logins are.
pub const SYSTEM: &str = "terrace-system";

/// A claim as somebody writes it, whose database and owner have its name.
pub fn manifest(name: &str, more: &Value) -> Value {
    let plain = name.replace('-', "_");
    let mut spec = json!({ "databaseName": plain, "userName": plain });
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    json!({
        "apiVersion": "persistance.atlas.infoblox.com/v1", "kind": "DatabaseClaim",
        "metadata": { "name": name }, "spec": spec,
    })
}

/// Makes a claim, and does not wait.
#[track_caller]
pub fn apply(platform: &Platform, name: &str, more: &Value) {
    let applied = platform.try_apply_object(&manifest(name, more));
    applied.unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// One condition of a claim: its status, its reason and its message.
pub fn condition(claim: &Value, type_: &str) -> [String; 3] {
    let all = claim["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = all.into_iter().find(|condition| condition["type"] == type_).unwrap_or_default();
    ["status", "reason", "message"].map(|key| found[key].as_str().unwrap_or_default().to_owned())
}

/// Waits until a claim is as it is waited for.
#[track_caller]
pub fn until(platform: &Platform, name: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    wait(&format!("{name} {what}"), PATIENCE * 2, || {
        let now = platform.object("databaseclaim", name);
        let good = wanted(&now);
        let told = || format!("{name} {what}: it says {}\n{}", now["status"], platform.last_words());
        assert!(good || begun.elapsed() < PATIENCE, "{}", told());
        good.then_some(now)
    })
}

/// Waits until a claim is ready.
#[track_caller]
pub fn ready(platform: &Platform, name: &str) -> Value {
    until(platform, name, "to be ready", |claim| condition(claim, "Ready")[0] == "True")
}

/// Waits until a claim is not ready for a reason, and returns what it says of it.
#[track_caller]
pub fn unready(platform: &Platform, name: &str, reason: &str) -> String {
    let claim = until(platform, name, &format!("to say {reason}"), |claim| {
        let [status, why, _] = condition(claim, "Ready");
        status == "False" && why == reason
    });
    let [status, why, _] = condition(&claim, "Synced");
    assert_eq!((status.as_str(), why.as_str()), ("False", reason), "{}", claim["status"]);
    let [_, _, message] = condition(&claim, "Ready");
    message
}

/// Waits until a claim is gone.
#[track_caller]
pub fn gone(platform: &Platform, name: &str) {
    until(platform, name, "to be gone", Value::is_null);
}

/// One key of a Secret.
#[track_caller]
pub fn key(platform: &Platform, secret: &str, key: &str) -> String {
    let template = format!("go-template={{{{index .data {key:?} | base64decode}}}}");
    platform.kubectl(&["get", "secret", secret, "-o", &template])
}

/// All keys of a Secret.
#[track_caller]
pub fn secret(platform: &Platform, name: &str) -> BTreeMap<String, String> {
    let template =
        "go-template={{range $key, $value := .data}}{{$key}} {{$value | base64decode}}{{\"\\n\"}}{{end}}";
    let told = platform.kubectl(&["get", "secret", name, "-o", template]);
    let pairs = told.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// One key of a Secret of the platform.
#[track_caller]
pub fn system_key(platform: &Platform, secret: &str, key: &str) -> String {
    let template = format!("go-template={{{{index .data {key:?} | base64decode}}}}");
    platform.kubectl(&["-n", SYSTEM, "get", "secret", secret, "-o", &template])
}

/// A connection with what a claim's Secret says, without TLS, which this client does not speak.
pub fn connect(dsn: &str) -> Result<Sql, String> {
    Sql::connect(&dsn.replace("sslmode=require", "sslmode=prefer").replace("sslmode='require'", ""))
}

/// A connection to a claim's database, which must be possible at once.
#[track_caller]
pub fn login(platform: &Platform, name: &str) -> Sql {
    let dsn = key(platform, name, "uri_dsn.txt");
    connect(&dsn).unwrap_or_else(|error| panic!("the Secret of {name} does not get in: {error}"))
}

/// Runs `terrace db` in the platform's namespace, which must go well.
#[track_caller]
pub fn db(platform: &Platform, arguments: &[&str]) -> String {
    let all = [&["db"], arguments, &["-n", &platform.namespace]].concat();
    let (code, said) = platform.terrace(&all);
    assert_eq!(code, 0, "terrace {all:?}: {said}\n{}", platform.last_words());
    said
}

/// The objects of a kind in the platform's own namespace, by name.
pub fn system(platform: &Platform, kind: &str) -> Vec<String> {
    let names = platform.kubectl(&["-n", SYSTEM, "get", kind, "-o", "name"]);
    names.lines().map(|line| line.rsplit('/').next().unwrap_or(line).to_owned()).collect()
}

/// The names of servers that were made as `Cluster`s.
pub fn clusters(platform: &Platform) -> Vec<String> {
    system(platform, "clusters.postgresql.cnpg.io")
}

/// Processes of servers that the platform runs.
pub fn servers(platform: &Platform) -> Vec<String> {
    platform.left_running().into_iter().filter(|line| line.contains("postgres")).collect()
}

/// A configuration of claims, in a file.
pub struct Configuration {
    directory: TempDir,
}

impl Configuration {
    pub fn new(text: &str) -> Self {
        let directory = tempfile::Builder::new().prefix("terrace-claims-").tempdir().expect("a directory");
        let made = Self { directory };
        made.write(text);
        made
    }

    pub fn file(&self) -> PathBuf {
        self.directory.path().join("claims.yaml")
    }

    /// Puts another text in place of the one there was.
    pub fn write(&self, text: &str) {
        let beside = self.directory.path().join("next");
        std::fs::write(&beside, text).expect("it is ours");
        std::fs::rename(beside, self.file()).expect("it is ours");
    }

    /// A platform that reads it.
    pub fn platform(&self) -> Platform {
        Platform::start(&["--claims-config", &self.file().display().to_string()])
    }
}
