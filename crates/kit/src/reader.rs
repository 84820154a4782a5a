//! The only reader.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, GetParams, ListParams, LogParams};
use kube::core::{ApiResource, ObjectList, Request};

use crate::address::{Name, Object, collection};
use crate::caches::Caches;
use crate::fault::Fault;
use crate::room::Index;
use crate::time::{Clock, Dice, Wall};

/// Reads the cluster: kinds that some room watches from its caches, all others from the server. A kind that is not
/// installed has no objects.
#[derive(Clone)]
pub struct Reader {
    client: Client,
    caches: Option<Caches>,
    clock: Arc<dyn Clock>,
    dice: Dice,
}

impl Reader {
    /// A reader that asks the server each time.
    pub fn direct(client: Client) -> Self {
        Self { client, caches: None, clock: Arc::new(Wall), dice: Dice::fair() }
    }

    /// A reader that looks into caches first.
    pub fn cached(client: Client, caches: Caches) -> Self {
        Self { caches: Some(caches), ..Self::direct(client) }
    }

    /// The same, with another clock and other dice.
    #[must_use]
    pub fn with(mut self, clock: Arc<dyn Clock>, dice: Dice) -> Self {
        self.clock = clock;
        self.dice = dice;
        self
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The dice.
    pub fn dice(&self) -> &Dice {
        &self.dice
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn caches(&self) -> Option<&Caches> {
        self.caches.as_ref()
    }

    /// One object, if it is there. The namespace of cluster-scoped kinds is empty.
    pub async fn get<K: Object>(&self, namespace: &str, name: &str) -> Result<Option<Arc<K>>, Fault> {
        if let Some(shelf) = self.caches.as_ref().and_then(Caches::open::<K>) {
            shelf.settled().await;
            return Ok(shelf.get(&Name::new(namespace, name)));
        }
        let path = collection(&ApiResource::erase::<K>(&()), namespace);
        let asked = Request::new(path).get(name, &GetParams::default());
        let what = || format!("cannot read {} {}", K::kind(&()), Name::new(namespace, name));
        let request = asked.map_err(|error| Fault::cluster(what(), kube::Error::BuildRequest(error)))?;
        match self.client.request::<K>(request).await {
            Ok(object) => Ok(Some(Arc::new(object))),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(Fault::cluster(what(), error)),
        }
    }

    /// All objects of a kind, in one namespace or in all.
    pub async fn list<K: Object>(&self, namespace: Option<&str>) -> Result<Vec<Arc<K>>, Fault> {
        if let Some(shelf) = self.caches.as_ref().and_then(Caches::open::<K>) {
            shelf.settled().await;
            return Ok(shelf.list(namespace));
        }
        let path = collection(&ApiResource::erase::<K>(&()), namespace.unwrap_or_default());
        let what = || format!("cannot list {}", K::plural(&()));
        let asked = Request::new(path).list(&ListParams::default());
        let request = asked.map_err(|error| Fault::cluster(what(), kube::Error::BuildRequest(error)))?;
        match self.client.request::<ObjectList<K>>(request).await {
            Ok(list) => Ok(list.items.into_iter().map(Arc::new).collect()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
            Err(error) => Err(Fault::cluster(what(), error)),
        }
    }

    /// The children of a kind that an object controls, in its own namespace.
    pub async fn children<K: Object, O: Object>(&self, owner: &O) -> Result<Vec<Arc<K>>, Fault> {
        let uid = owner.meta().uid.as_deref().unwrap_or_default();
        if let Some(shelf) = self.caches.as_ref().and_then(Caches::open::<K>) {
            shelf.settled().await;
            return Ok(shelf.children(uid));
        }
        let mut found = self.list::<K>(owner.meta().namespace.as_deref()).await?;
        found.retain(|object| controlled_by(&**object, uid));
        Ok(found)
    }

    /// The objects that an index finds under a key.
    pub async fn indexed<K: Object>(&self, index: Index<K>, key: &str) -> Result<Vec<Arc<K>>, Fault> {
        if let Some(shelf) = self.caches.as_ref().and_then(Caches::open::<K>) {
            shelf.settled().await;
            return Ok(shelf.indexed(&index, key));
        }
        let mut found = self.list::<K>(None).await?;
        found.retain(|object| (index.keys)(object).iter().any(|found| found == key));
        Ok(found)
    }

    /// Whether a kind is installed.
    pub async fn served<K: Object>(&self) -> Result<bool, Fault> {
        if let Some(shelf) = self.caches.as_ref().and_then(Caches::open::<K>) {
            return Ok(shelf.settled().await);
        }
        let path = collection(&ApiResource::erase::<K>(&()), "");
        let what = || format!("cannot ask whether {} is installed", K::kind(&()));
        let asked = Request::new(path).list(&ListParams::default().limit(1));
        let request = asked.map_err(|error| Fault::cluster(what(), kube::Error::BuildRequest(error)))?;
        match self.client.request::<ObjectList<K>>(request).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(Fault::cluster(what(), error)),
        }
    }

    /// The last lines that a container printed, or those of its run before.
    pub async fn last_lines(&self, pod: &Name, container: &str, previous: bool) -> Option<String> {
        let api = Api::<Pod>::namespaced(self.client.clone(), &pod.namespace);
        let asked = LogParams {
            container: Some(container.to_owned()),
            previous,
            tail_lines: Some(5),
            limit_bytes: Some(16 * 1024),
            ..LogParams::default()
        };
        // A log that cannot be read says nothing, and nothing depends on it.
        api.logs(&pod.name, &asked).await.ok().filter(|text| !text.trim().is_empty())
    }
}

fn controlled_by<K: Object>(object: &K, uid: &str) -> bool {
    let owners = object.meta().owner_references.as_deref().unwrap_or_default();
    owners.iter().any(|owner| owner.controller == Some(true) && owner.uid == uid)
}
