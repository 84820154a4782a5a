//! The only writer.

use std::collections::BTreeSet;
use std::time::Duration;

use api::annotations::{ADOPT, APPLIED, MANAGED_BY};
use kube::Resource;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{ApiResource, DynamicObject, ObjectList, Request};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::address::{Address, Name, Object, collection};
use crate::change::says;
use crate::fault::Fault;
use crate::metrics::RoomMetrics;
use crate::plan::Child;
use crate::reader::Reader;

/// Who writes, as server-side apply knows us, and the value of the label on all that we make.
pub const MANAGER: &str = "terrace";
/// How long one call may take (STYLE §3, Flow: a step ends within 30 s).
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(30);

/// Writes to the cluster, and only if something differs.
#[derive(Clone)]
pub struct Tools {
    reader: Reader,
    metrics: Option<RoomMetrics>,
}

impl Tools {
    /// Tools that write where the reader reads.
    pub fn new(reader: Reader) -> Self {
        Self { reader, metrics: None }
    }

    /// The same, whose write requests are counted.
    #[must_use]
    pub fn counted(mut self, metrics: RoomMetrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// The reader.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Makes a child be as wanted, if it is not.
    pub(crate) async fn apply<K: Object>(&self, owner: &K, child: &Child) -> Result<(), Fault> {
        let wanted = dressed(owner, child);
        let live = self.peek(&child.address).await?;
        if let Some(live) = &live {
            if met(live, &wanted) {
                return Ok(());
            }
            ours(owner, child, live)?;
        }
        let params = PatchParams::apply(MANAGER).force();
        let request = Request::new(child.address.collection()).patch(
            &child.address.name.name,
            &params,
            &Patch::Apply(&wanted),
        );
        let answer = self.ask(format!("cannot apply {}", child.address), request).await?;
        self.learn(child.resource(), answer);
        Ok(())
    }

    /// Creates an object. One that is there already is left alone.
    pub(crate) async fn create<K: Object>(&self, owner: &K, child: &Child) -> Result<(), Fault> {
        let mut body = child.body.clone();
        if child.owned {
            body["metadata"]["ownerReferences"] = json!([owner.controller_owner_ref(&())]);
        }
        let bytes = serde_json::to_vec(&body).unwrap_or_default();
        let params = PostParams { field_manager: Some(MANAGER.into()), ..PostParams::default() };
        let request = Request::new(child.address.collection()).create(&params, bytes);
        match self.ask(format!("cannot create {}", child.address), request).await {
            Ok(answer) => self.learn(child.resource(), answer),
            Err(fault) if fault.code() == Some(409) => {}
            Err(fault) => return Err(fault),
        }
        Ok(())
    }

    /// Merges fields into an object, if they differ. One that is gone is left alone.
    pub(crate) async fn patch(&self, address: &Address, patch: &Value) -> Result<(), Fault> {
        if self.peek(address).await?.is_none_or(|live| says(&live, patch)) {
            return Ok(());
        }
        let params = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
        let request =
            Request::new(address.collection()).patch(&address.name.name, &params, &Patch::Merge(patch));
        match self.ask(format!("cannot change {address}"), request).await {
            Ok(answer) => self.learn(&address.resource, answer),
            Err(fault) if fault.code() == Some(404) => {}
            Err(fault) => return Err(fault),
        }
        Ok(())
    }

    /// Deletes an object, if it is there and still the same.
    pub(crate) async fn delete(
        &self,
        address: &Address,
        grace: Option<Duration>,
        uid: Option<String>,
    ) -> Result<(), Fault> {
        let params = DeleteParams {
            grace_period_seconds: grace.map(|grace| u32::try_from(grace.as_secs()).unwrap_or(u32::MAX)),
            preconditions: uid.map(|uid| Preconditions { uid: Some(uid), resource_version: None }),
            propagation_policy: Some(kube::api::PropagationPolicy::Background),
            ..DeleteParams::default()
        };
        let request = Request::new(address.collection()).delete(&address.name.name, &params);
        match self.ask(format!("cannot delete {address}"), request).await {
            Ok(answer) if answer["kind"] == "Status" => self.forget(address, &answer["details"]["uid"]),
            Ok(answer) if answer["metadata"]["deletionTimestamp"].is_null() => {
                self.forget(address, &answer["metadata"]["uid"]);
            }
            Ok(answer) => self.learn(&address.resource, answer),
            Err(fault) if matches!(fault.code(), Some(404 | 409)) => {}
            Err(fault) => return Err(fault),
        }
        Ok(())
    }

    /// Deletes the children of a kind that a whole plan no longer names.
    pub(crate) async fn prune<K: Object>(
        &self,
        owner: &K,
        resource: &ApiResource,
        planned: &BTreeSet<Name>,
    ) -> Result<(), Fault> {
        for (name, uid) in self.strays(owner, resource, planned).await? {
            let address = Address { resource: resource.clone(), name };
            self.delete(&address, None, Some(uid)).await?;
        }
        Ok(())
    }

    /// The children of a kind that a whole plan no longer names, but for those on their way out.
    pub(crate) async fn strays<K: Object>(
        &self,
        owner: &K,
        resource: &ApiResource,
        planned: &BTreeSet<Name>,
    ) -> Result<Vec<(Name, String)>, Fault> {
        let uid = owner.meta().uid.as_deref().unwrap_or_default();
        let children = match self.reader.caches().and_then(|caches| caches.children(resource, uid)) {
            Some(children) => children,
            None => self.list_children(owner, resource, uid).await?,
        };
        Ok(children.into_iter().filter(|(name, _)| !planned.contains(name)).collect())
    }

    async fn list_children<K: Object>(
        &self,
        owner: &K,
        resource: &ApiResource,
        uid: &str,
    ) -> Result<Vec<(Name, String)>, Fault> {
        let path = collection(resource, owner.meta().namespace.as_deref().unwrap_or_default());
        let params = kube::api::ListParams::default();
        let answer =
            self.ask(format!("cannot list {}", resource.plural), Request::new(path).list(&params)).await;
        let answer = match answer {
            Err(fault) if fault.code() == Some(404) => return Ok(Vec::new()),
            other => other?,
        };
        let list: ObjectList<DynamicObject> = serde_json::from_value(answer).map_err(|error| {
            Fault::cluster(format!("cannot list {}", resource.plural), kube::Error::SerdeError(error))
        })?;
        let mine = list.items.into_iter().filter(|object| {
            let meta = object.meta();
            let mut owners = meta.owner_references.iter().flatten();
            meta.deletion_timestamp.is_none()
                && owners.any(|owner| owner.controller == Some(true) && owner.uid == uid)
        });
        let named = mine.map(|object| {
            let meta = object.metadata;
            let name = Name::new(meta.namespace.unwrap_or_default(), meta.name.unwrap_or_default());
            (name, meta.uid.unwrap_or_default())
        });
        Ok(named.collect())
    }

    /// Writes what changed in a status. Returns the object as it is then; `None` if it is gone.
    pub(crate) async fn write_status(&self, address: &Address, patch: Value) -> Result<Option<Value>, Fault> {
        let params = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
        let request = Request::new(address.collection()).patch_subresource(
            "status",
            &address.name.name,
            &params,
            &Patch::Merge(json!({ "status": patch })),
        );
        match self.ask(format!("cannot report on {address}"), request).await {
            Ok(answer) => {
                self.learn(&address.resource, answer.clone());
                Ok(Some(answer))
            }
            Err(fault) if fault.code() == Some(404) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Changes the finalizers of an object, unless somebody else was faster. Returns the object as it is then; `None`
    /// if it is gone.
    pub(crate) async fn set_finalizers<K: Object>(
        &self,
        object: &K,
        finalizers: Vec<String>,
    ) -> Result<Option<K>, Fault> {
        let address = Address::of(object);
        let patch = json!({ "metadata": {
            "finalizers": finalizers,
            "resourceVersion": object.meta().resource_version,
        }});
        let params = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
        let request =
            Request::new(address.collection()).patch(&address.name.name, &params, &Patch::Merge(patch));
        let what = format!("cannot change the finalizers of {address}");
        let answer = match self.ask(what.clone(), request).await {
            Err(fault) if fault.code() == Some(404) => return Ok(None),
            other => other?,
        };
        let gone = answer["metadata"]["deletionTimestamp"].is_string()
            && answer["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty);
        if gone {
            self.forget(&address, &answer["metadata"]["uid"]);
        } else {
            self.learn(&address.resource, answer.clone());
        }
        let read = serde_json::from_value(answer);
        read.map(Some).map_err(|error| Fault::cluster(what, kube::Error::SerdeError(error)))
    }

    /// An object as it is, from a cache or from the server.
    pub(crate) async fn peek(&self, address: &Address) -> Result<Option<Value>, Fault> {
        let cached = self.reader.caches().and_then(|caches| caches.peek(&address.resource, &address.name));
        if let Some(found) = cached {
            return Ok(found);
        }
        let request =
            Request::new(address.collection()).get(&address.name.name, &kube::api::GetParams::default());
        match self.ask(format!("cannot read {address}"), request).await {
            Ok(answer) => Ok(Some(answer)),
            Err(fault) if fault.code() == Some(404) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    async fn ask(
        &self,
        what: String,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Value, Fault> {
        let request = match request {
            Ok(request) => request,
            Err(error) => return Err(Fault::cluster(what, kube::Error::BuildRequest(error))),
        };
        if request.method() != http::Method::GET {
            self.wrote();
        }
        match tokio::time::timeout(CALL_LIMIT, self.reader.client().request::<Value>(request)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(Fault::cluster(what, error)),
            Err(_) => Err(Fault::Timeout { what, limit: CALL_LIMIT }),
        }
    }

    /// Counts a write request.
    pub(crate) fn wrote(&self) {
        if let Some(metrics) = &self.metrics {
            metrics.wrote();
        }
    }

    fn learn(&self, resource: &ApiResource, answer: Value) {
        if let Some(caches) = self.reader.caches() {
            caches.learn(resource, answer);
        }
    }

    fn forget(&self, address: &Address, uid: &Value) {
        if let Some(caches) = self.reader.caches() {
            caches.forget(&address.resource, &address.name, uid.as_str());
        }
    }
}

/// A child as it is written: with its owner, our label, and a mark that tells whether it was we who wrote it last.
pub(crate) fn dressed<K: Object>(owner: &K, child: &Child) -> Value {
    let mut body = child.body.clone();
    if child.owned {
        body["metadata"]["ownerReferences"] = json!([owner.controller_owner_ref(&())]);
    }
    body["metadata"]["labels"][MANAGED_BY] = MANAGER.into();
    let mark = mark(&body);
    body["metadata"]["annotations"][APPLIED] = mark.into();
    body
}

/// Sixteen hexadecimal digits that change when anything wanted does, also when a wish is dropped.
fn mark(body: &Value) -> String {
    let digest = Sha256::digest(body.to_string());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Whether nothing is to be written. The mark is part of what is wanted, so a dropped wish is seen as well.
pub(crate) fn met(live: &Value, wanted: &Value) -> bool {
    says(live, wanted)
}

/// Refuses to take over what somebody else made.
fn ours<K: Object>(owner: &K, child: &Child, live: &Value) -> Result<(), Fault> {
    let uid = owner.meta().uid.as_deref().unwrap_or_default();
    let owners = live["metadata"]["ownerReferences"].as_array().map_or(&[][..], Vec::as_slice);
    let controller = owners.iter().find(|owner| owner["controller"] == true);
    let ours = if child.owned {
        controller.is_some_and(|controller| controller["uid"] == uid)
    } else {
        live["metadata"]["labels"][MANAGED_BY] == MANAGER
    };
    if ours || live["metadata"]["annotations"][ADOPT] == "true" {
        return Ok(());
    }
    Err(Fault::NotOurs { address: child.address.to_string() })
}
