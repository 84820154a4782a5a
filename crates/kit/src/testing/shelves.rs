//! All objects of all kinds of a plane, without types.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use futures::future::join_all;
use kube::Client;
use kube::core::ApiResource;
use serde_json::{Value, json};

use super::gate::Touched;
use crate::address::{Name, Object, collection};

/// How long the server may take to clean up behind us.
const DEADLINE: Duration = Duration::from_secs(10);
/// How often we look.
const LOOK: Duration = Duration::from_millis(2);
/// What every namespace holds, a moment after it was made.
const FURNITURE: [(&str, &str); 2] = [("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")];

/// The kinds that the server writes to by itself.
const BASIC: [&str; 3] = ["namespaces", "configmaps", "serviceaccounts"];

/// The kinds that a plane serves.
pub(super) struct Collections {
    client: Client,
    kinds: Vec<Kind>,
    touched: Touched,
}

struct Kind {
    group: String,
    api_version: String,
    kind: String,
    plural: String,
    namespaced: bool,
}

impl Kind {
    fn path(&self, namespace: &str) -> String {
        let root = if self.api_version.contains('/') { "/apis" } else { "/api" };
        match namespace {
            "" => format!("{root}/{}/{}", self.api_version, self.plural),
            within => format!("{root}/{}/namespaces/{within}/{}", self.api_version, self.plural),
        }
    }
}

impl Collections {
    /// The kinds that are served now.
    pub(super) async fn new(client: Client, touched: Touched) -> Self {
        let mut all = Self { client, kinds: Vec::new(), touched };
        let groups = all.ask("GET", "/apis", None).await.expect("groups are listed");
        let versions = groups["groups"].as_array().into_iter().flatten().flat_map(|group| {
            let versions = group["versions"].as_array().into_iter().flatten();
            versions.filter_map(|version| version["groupVersion"].as_str().map(str::to_owned))
        });
        let mut paths = vec![("v1".to_owned(), "/api/v1".to_owned())];
        paths.extend(versions.map(|version| (version.clone(), format!("/apis/{version}"))));
        let lists = join_all(paths.iter().map(|(_, path)| all.ask("GET", path, None))).await;
        let mut seen = HashSet::new();
        for ((api_version, _), list) in paths.iter().zip(lists) {
            let list = list.expect("resources are listed");
            for kind in list["resources"].as_array().into_iter().flatten() {
                let kind = listed(api_version, kind);
                all.kinds.extend(kind.filter(|kind| seen.insert((kind.group.clone(), kind.plural.clone()))));
            }
        }
        all
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Asks the server. An answer that is not 2xx is its message.
    pub(super) async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Result<Value, String> {
        let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let bytes = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let request = http::Request::builder().method(method).uri(path).header("content-type", content);
        let request = request.body(bytes).expect("a request is made of plain parts");
        let answer = self.client.request::<Value>(request).await;
        answer.map_err(|error| match error {
            kube::Error::Api(status) => status.message,
            other => other.to_string(),
        })
    }

    /// The path of one object.
    pub(super) fn path<K: Object>(&self, name: &Name) -> String {
        format!("{}/{}", collection(&ApiResource::erase::<K>(&()), &name.namespace), name.name)
    }

    /// Creates an object from its manifest, with its status.
    pub(super) async fn create(&self, mut manifest: Value) -> Value {
        let named =
            |kind: &&Kind| manifest["kind"] == kind.kind && manifest["apiVersion"] == kind.api_version;
        let kind = self.kinds.iter().find(named);
        let kind = kind.unwrap_or_else(|| panic!("no such kind is served: {manifest}"));
        let mut namespace = String::new();
        if kind.namespaced {
            namespace = manifest["metadata"]["namespace"].as_str().unwrap_or("default").to_owned();
            let space = json!({ "metadata": { "name": namespace } });
            // It is there, mostly.
            let _ = self.ask("POST", "/api/v1/namespaces", Some(space)).await;
        }
        let status = manifest.get_mut("status").map(Value::take);
        let path = kind.path(&namespace);
        let made = self.ask("POST", &path, Some(manifest.clone())).await;
        let made = made.unwrap_or_else(|error| panic!("cannot create {manifest}: {error}"));
        let Some(status) = status else { return made };
        let name = made["metadata"]["name"].as_str().unwrap_or_default();
        let patch = json!({ "status": status });
        let told = self.ask("PATCH", &format!("{path}/{name}/status"), Some(patch)).await;
        told.unwrap_or_else(|error| panic!("cannot set the status of {manifest}: {error}"))
    }

    /// Merges a patch into an object, its status apart.
    pub(super) async fn patch(&self, path: &str, mut patch: Value) {
        let status = patch.as_object_mut().and_then(|fields| fields.remove("status"));
        let parts = [
            (path.to_owned(), (patch != json!({})).then_some(patch)),
            (format!("{path}/status"), status.map(|status| json!({ "status": status }))),
        ];
        for (path, patch) in parts {
            if let Some(patch) = patch {
                let done = self.ask("PATCH", &path, Some(patch)).await;
                done.unwrap_or_else(|error| panic!("cannot patch {path}: {error}"));
            }
        }
    }

    /// Deletes an object, if it is there.
    pub(super) async fn delete(&self, path: &str) {
        let _ = self.ask("DELETE", path, Some(json!({ "propagationPolicy": "Background" }))).await;
    }

    /// All objects that may have changed, when the server has cleaned up what nobody owns any more.
    pub(super) async fn quiet(&self) -> Vec<Value> {
        let waited = tokio::time::timeout(DEADLINE, async {
            let mut looks = tokio::time::interval(LOOK);
            loop {
                looks.tick().await;
                let objects = self.all().await;
                if restless(&objects).is_none() {
                    return objects;
                }
            }
        });
        match waited.await {
            Ok(objects) => objects,
            Err(_) => {
                let why = restless(&self.all().await).unwrap_or_default();
                panic!("the server does not come to rest: {why}")
            }
        }
    }

    /// Deletes everything that was not there at the start, by force. Returns what is there then.
    pub(super) async fn clear(&self, baseline: &HashMap<String, String>) -> Vec<Value> {
        let known =
            |object: &Value| object["metadata"]["uid"].as_str().is_some_and(|uid| baseline.contains_key(uid));
        let waited = tokio::time::timeout(DEADLINE, async {
            let mut looks = tokio::time::interval(LOOK);
            loop {
                looks.tick().await;
                let objects = self.all().await;
                let extra: Vec<&Value> = objects.iter().filter(|object| !known(object)).collect();
                if extra.is_empty() {
                    return objects;
                }
                join_all(extra.into_iter().map(|object| self.uproot(object))).await;
            }
        });
        waited.await.unwrap_or_else(|_| panic!("what a run left behind cannot be deleted"))
    }

    async fn uproot(&self, object: &Value) {
        let kind = self.kinds.iter().find(|kind| object["kind"] == kind.kind);
        let Some(kind) = kind else { return };
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let path = kind.path(object["metadata"]["namespace"].as_str().unwrap_or_default());
        let path = format!("{path}/{name}");
        if object["metadata"]["finalizers"].is_array() {
            let patch = json!({ "metadata": { "finalizers": null } });
            let _ = self.ask("PATCH", &path, Some(patch)).await;
        }
        let options = json!({ "gracePeriodSeconds": 0, "propagationPolicy": "Background" });
        let _ = self.ask("DELETE", &path, Some(options)).await;
    }

    /// All objects of the kinds that anybody wrote to, or that the server writes to by itself.
    async fn all(&self) -> Vec<Value> {
        let mut kinds = self.touched.lock().clone();
        kinds.extend(BASIC.map(|plural| (String::new(), plural.to_owned())));
        self.list(|kind| kinds.contains(&(kind.group.clone(), kind.plural.clone()))).await
    }

    /// All objects of all kinds but events.
    pub(super) async fn everything(&self) -> Vec<Value> {
        self.quiet().await;
        self.list(|_| true).await
    }

    async fn list(&self, wanted: impl Fn(&Kind) -> bool) -> Vec<Value> {
        let lists = self.kinds.iter().filter(|kind| wanted(kind)).map(|kind| async move {
            let path = kind.path("");
            let list = self.ask("GET", &path, None).await;
            let mut list = list.unwrap_or_else(|error| panic!("cannot list {path}: {error}"));
            let mut items = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
            for item in &mut items {
                item["kind"] = kind.kind.clone().into();
                item["apiVersion"] = kind.api_version.clone().into();
            }
            items
        });
        join_all(lists).await.into_iter().flatten().collect()
    }
}

/// A kind whose objects can be listed. Events are told, not kept.
fn listed(api_version: &str, resource: &Value) -> Option<Kind> {
    let plural = resource["name"].as_str()?;
    let lists = resource["verbs"].as_array()?.iter().any(|verb| verb == "list");
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    (lists && plural != "events").then(|| Kind {
        group: group.to_owned(),
        api_version: api_version.to_owned(),
        kind: resource["kind"].as_str().unwrap_or_default().to_owned(),
        plural: plural.to_owned(),
        namespaced: resource["namespaced"] == true,
    })
}

/// What the server has still to do by itself, if anything.
fn restless(objects: &[Value]) -> Option<String> {
    let meta =
        |object: &Value, field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    let uids: HashSet<String> = objects.iter().map(|object| meta(object, "uid")).collect();
    let spaces: BTreeSet<String> = objects
        .iter()
        .filter(|object| object["kind"] == "Namespace")
        .map(|object| meta(object, "name"))
        .collect();
    for object in objects {
        let name = format!("{} {}/{}", object["kind"], meta(object, "namespace"), meta(object, "name"));
        let mut owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        if owners.any(|owner| !owner["uid"].as_str().is_some_and(|uid| uids.contains(uid))) {
            return Some(format!("{name} has an owner that is gone"));
        }
        if object["kind"] == "Namespace" && !object["metadata"]["deletionTimestamp"].is_null() {
            return Some(format!("{name} is on its way out"));
        }
    }
    for space in spaces {
        for (kind, name) in FURNITURE {
            let there = objects.iter().any(|object| {
                object["kind"] == kind && meta(object, "namespace") == space && meta(object, "name") == name
            });
            if !there {
                return Some(format!("the namespace {space} has no {kind} {name}"));
            }
        }
    }
    None
}
