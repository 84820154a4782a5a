//! A platform with an account, and what the stories do with it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::moto::{Moto, REGION};
use crate::platform::{Platform, wait};

/// How long anything may take on a busy machine before it counts as stuck.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// The key that must be nowhere but in its Secret.
pub const CANARY: &str = "Canary-of-the-access-key-7Q";

/// A platform beside an account.
pub struct Account {
    pub moto: Moto,
    pub platform: Platform,
}

impl Account {
    /// A platform with a provider that is ready.
    pub fn open() -> Self {
        let moto = Moto::start(&[]);
        let platform = Platform::start_in(&[], &[("RUST_LOG", "trace")]);
        let account = Self { moto, platform };
        account.apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "aws" },
            "stringData": { "accessKeyID": "AKIASTORY", "secretAccessKey": CANARY },
        }));
        account.apply(&account.provider());
        let provider = account.until("awsprovider", "dev", "to be ready", |it| it["status"]["ready"] == true);
        assert_eq!(provider["status"]["accountID"], "123456789012", "{provider}");
        account
    }

    pub fn provider(&self) -> Value {
        json!({
            "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": "AWSProvider",
            "metadata": { "name": "dev" },
            "spec": {
                "region": REGION, "endpoint": self.moto.endpoint, "credentialsSecret": { "name": "aws" },
                "defaultTags": { "team": "shop" },
            },
        })
    }

    #[track_caller]
    pub fn apply(&self, manifest: &Value) {
        let applied = self.platform.try_apply_object(manifest);
        applied.unwrap_or_else(|error| panic!("{manifest}: {error}"));
    }

    /// Waits until an object is as it is waited for.
    #[track_caller]
    pub fn until(&self, kind: &str, name: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let begun = std::time::Instant::now();
        wait(&format!("{kind} {name} {what}"), PATIENCE * 2, || {
            let now = self.platform.object(kind, name);
            let good = wanted(&now);
            let told = || format!("{kind} {name} {what}: it says {now:#}\n{}", self.platform.last_words());
            assert!(good || begun.elapsed() < PATIENCE, "{}", told());
            good.then_some(now)
        })
    }

    /// Waits until an object is ready as it is now.
    #[track_caller]
    pub fn ready(&self, kind: &str, name: &str) -> Value {
        self.until(kind, name, "to be ready", |it| {
            it["status"]["ready"] == true
                && it["status"]["observedGeneration"] == it["metadata"]["generation"]
        })
    }

    /// Has an object looked at now.
    pub fn wake(&self, kind: &str, name: &str) {
        let now = format!("woken={:?}", std::time::SystemTime::now());
        self.platform.kubectl(&[
            "annotate",
            "--overwrite",
            kind,
            name,
            &now.replace([' ', '{', '}', ':'], "_"),
        ]);
    }

    /// Runs `terrace` in the platform's namespace: its code, and both of its outputs.
    pub fn terrace(&self, arguments: &[&str]) -> (i32, String) {
        self.platform.terrace(&[arguments, &["-n", &self.platform.namespace]].concat())
    }
}

/// An object of AWS.
pub fn object(kind: &str, name: &str, spec: &Value) -> Value {
    let mut spec = spec.clone();
    spec["providerRef"] = json!({ "name": "dev" });
    json!({
        "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": kind,
        "metadata": { "name": name }, "spec": spec,
    })
}

/// One condition of an object: its status, its reason and its message.
pub fn condition(object: &Value, type_: &str) -> [String; 3] {
    let all = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = all.into_iter().find(|condition| condition["type"] == type_).unwrap_or_default();
    ["status", "reason", "message"].map(|key| found[key].as_str().unwrap_or_default().to_owned())
}
