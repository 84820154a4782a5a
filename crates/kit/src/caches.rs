//! One watch per kind for the whole process.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::Api;
use kube::core::{ApiResource, PartialObjectMeta};
use kube::runtime::watcher::{self, Event, watcher};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::address::{Name, Object};
use crate::shelf::{Shelf, State};

/// How long a watch that failed rests. Long enough to spare a server that restarts, short enough to be there soon after.
const REST: Duration = Duration::from_millis(500);
/// How long a kind that is not served rests, if its definition's arrival should go unheard.
const ABSENT_REST: Duration = Duration::from_secs(60);

/// The shelves of this process.
#[derive(Clone)]
pub struct Caches {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    stop: CancellationToken,
    shelves: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    learners: Mutex<HashMap<String, Arc<dyn Learner>>>,
    /// Counts the changes of definitions: a kind that was absent is looked for again.
    definitions: watch::Sender<u64>,
}

impl Caches {
    /// Caches that are filled until `stop`.
    pub fn new(client: Client, stop: CancellationToken) -> Self {
        let definitions = watch::Sender::new(0);
        let inner =
            Inner { client, stop, shelves: Mutex::default(), learners: Mutex::default(), definitions };
        let caches = Self { inner: Arc::new(inner) };
        let heard = caches.clone();
        caches.spawn(async move { heard.hear_definitions().await });
        caches
    }

    /// The shelf of a kind; the first to ask starts its watch.
    pub(crate) fn shelf<K: Object>(&self) -> Arc<Shelf<K>> {
        let mut shelves = self.inner.shelves.lock();
        if let Some(shelf) = shelves.get(&TypeId::of::<K>()).cloned().and_then(|shelf| shelf.downcast().ok())
        {
            return shelf;
        }
        let shelf = Arc::new(Shelf::<K>::new());
        shelves.insert(TypeId::of::<K>(), shelf.clone());
        self.inner.learners.lock().insert(kind_key(&ApiResource::erase::<K>(&())), shelf.clone());
        let (caches, filled) = (self.clone(), shelf.clone());
        self.spawn(async move { caches.fill(&filled).await });
        shelf
    }

    /// The shelf of a kind, if somebody asked for it before.
    pub(crate) fn open<K: Object>(&self) -> Option<Arc<Shelf<K>>> {
        self.inner.shelves.lock().get(&TypeId::of::<K>()).cloned().and_then(|shelf| shelf.downcast().ok())
    }

    /// Takes in what the server answered to a write.
    pub(crate) fn learn(&self, resource: &ApiResource, object: Value) {
        let learner = self.inner.learners.lock().get(&kind_key(resource)).cloned();
        if let Some(learner) = learner {
            learner.learn(object);
        }
    }

    /// Takes in that an object is gone.
    pub(crate) fn forget(&self, resource: &ApiResource, name: &Name, uid: Option<&str>) {
        let learner = self.inner.learners.lock().get(&kind_key(resource)).cloned();
        if let Some(learner) = learner {
            learner.forget(name, uid);
        }
    }

    /// What is held of an object of any kind. `None` if nobody knows: the kind is not watched, or not listed yet.
    pub(crate) fn peek(&self, resource: &ApiResource, name: &Name) -> Option<Option<Value>> {
        let learner = self.inner.learners.lock().get(&kind_key(resource)).cloned();
        learner.filter(|learner| learner.knows()).map(|learner| learner.peek(name))
    }

    /// Names and uids of the children of a kind that an object controls, but for those on
    /// their way out. `None` if nobody knows.
    pub(crate) fn children(&self, resource: &ApiResource, uid: &str) -> Option<Vec<(Name, String)>> {
        let learner = self.inner.learners.lock().get(&kind_key(resource)).cloned();
        learner.filter(|learner| learner.knows()).map(|learner| learner.children_of(uid))
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.inner.stop.clone();
        tokio::spawn(async move {
            tokio::select! { () = task => {}, () = stop.cancelled() => {} }
        });
    }

    async fn fill<K: Object>(&self, shelf: &Shelf<K>) {
        let mut definitions = self.inner.definitions.subscribe();
        loop {
            definitions.mark_unchanged();
            let followed = tokio::select! {
                followed = self.follow(shelf) => followed,
                // A watch may outlive its kind. The list that comes next tells.
                () = shelf.doubted() => continue,
            };
            let Err(error) = followed else { continue };
            if absent(&error) {
                shelf.replace(Vec::new());
                shelf.set(State::Absent);
                tokio::select! {
                    _ = definitions.changed() => {}
                    () = tokio::time::sleep(ABSENT_REST) => {}
                }
            } else {
                tracing::warn!(kind = %K::kind(&()), %error, "the watch broke; it is begun again");
                tokio::time::sleep(REST).await;
            }
        }
    }

    async fn follow<K: Object>(&self, shelf: &Shelf<K>) -> Result<(), watcher::Error> {
        let api = Api::<K>::all_with(self.inner.client.clone(), &());
        let mut events = Box::pin(watcher(api, watcher::Config::default()));
        let mut listed = Vec::new();
        while let Some(event) = events.try_next().await? {
            match event {
                Event::Init => listed = Vec::new(),
                Event::InitApply(object) => listed.push(object),
                Event::InitDone => {
                    shelf.replace(std::mem::take(&mut listed));
                    shelf.set(State::Served);
                }
                Event::Apply(object) => shelf.put(object),
                Event::Delete(object) => shelf.seen_gone(&object),
            }
        }
        Ok(())
    }

    async fn hear_definitions(&self) {
        loop {
            let api = Api::<PartialObjectMeta<CustomResourceDefinition>>::all(self.inner.client.clone());
            let mut events = Box::pin(watcher(api, watcher::Config::default()));
            while let Ok(Some(event)) = events.try_next().await {
                if let Event::Delete(definition) = event {
                    let name = definition.metadata.name.unwrap_or_default();
                    let learner = self.inner.learners.lock().get(&name).cloned();
                    learner.into_iter().for_each(|learner| learner.doubt());
                }
                self.inner.definitions.send_modify(|count| *count += 1);
            }
            tokio::time::sleep(REST).await;
        }
    }
}

/// A shelf whose kind is known only by name.
trait Learner: Send + Sync {
    fn doubt(&self);
    fn knows(&self) -> bool;
    fn learn(&self, object: Value);
    fn forget(&self, name: &Name, uid: Option<&str>);
    fn peek(&self, name: &Name) -> Option<Value>;
    fn children_of(&self, uid: &str) -> Vec<(Name, String)>;
}

impl<K: Object> Learner for Shelf<K> {
    fn doubt(&self) {
        self.doubt_served();
    }

    fn knows(&self) -> bool {
        self.is_settled()
    }

    fn learn(&self, object: Value) {
        // What cannot be read now comes by the watch, and fails there with a message.
        if let Ok(object) = serde_json::from_value(object) {
            self.answered(object);
        }
    }

    fn forget(&self, name: &Name, uid: Option<&str>) {
        self.remove(name, uid);
    }

    fn peek(&self, name: &Name) -> Option<Value> {
        self.get(name).and_then(|object| serde_json::to_value(&*object).ok())
    }

    fn children_of(&self, uid: &str) -> Vec<(Name, String)> {
        let children = self.children(uid);
        children
            .iter()
            .filter(|child| child.meta().deletion_timestamp.is_none())
            .map(|child| (Name::of(&**child), child.meta().uid.clone().unwrap_or_default()))
            .collect()
    }
}

/// The name that the kind's definition would have.
fn kind_key(resource: &ApiResource) -> String {
    format!("{}.{}", resource.plural, resource.group)
}

/// Whether a watch failed because its kind is not installed.
fn absent(error: &watcher::Error) -> bool {
    let missing = |error: &kube::Error| matches!(error, kube::Error::Api(status) if status.code == 404);
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => missing(error),
        watcher::Error::WatchError(status) => status.code == 404,
        watcher::Error::NoResourceVersion => false,
    }
}

#[cfg(test)]
mod tests;
