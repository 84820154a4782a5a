//! The running server: store, catalog, rights and identities, and the one way anything is written.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::gates::rbac::{Policy, User};
use crate::identity::authority::Authority;
use crate::identity::tokens::Tokens;
use crate::kinds::catalog::Catalog;
use crate::status::Status;
use crate::store::{CommitError, Key, Query, Store, Stored, Write};
use crate::verbs::rules::Rule;
use crate::wire::Mounted;
use crate::wire::documents::Documents;
use crate::wire::metrics::Metrics;

/// Where CustomResourceDefinitions lie.
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";
/// Where namespaces lie.
pub(crate) const NAMESPACES: &str = "namespaces";
const RBAC: &str = ".rbac.authorization.k8s.io";

/// Shared by every request and every loop.
pub(crate) struct Server {
    pub store: Store,
    pub authority: Authority,
    pub tokens: Tokens,
    pub metrics: Metrics,
    /// Directory of pod logs: `<namespace>/<pod>/<container>.log`.
    pub logs: Option<PathBuf>,
    /// Serializes creations in namespaces that have a quota, so that two cannot both be the last one.
    pub quota: tokio::sync::Mutex<()>,
    pub ready: AtomicBool,
    /// Cancelled when the server stops: what would go on for ever ends then.
    pub stopping: CancellationToken,
    pub documents: Documents,
    /// What others serve beside the API, by the beginning of its paths.
    pub mounts: RwLock<Vec<(String, Mounted)>>,
    /// What others rule on kinds.
    pub rules: RwLock<Vec<Rule>>,
    catalog: RwLock<Arc<Catalog>>,
    refreshing: Mutex<()>,
    policy: RwLock<Option<Arc<Policy>>>,
}

impl Server {
    pub(crate) fn new(store: Store, authority: Authority, tokens: Tokens, logs: Option<PathBuf>) -> Self {
        let server = Self {
            store,
            authority,
            tokens,
            metrics: Metrics::default(),
            logs,
            quota: tokio::sync::Mutex::new(()),
            ready: AtomicBool::new(false),
            stopping: CancellationToken::new(),
            documents: Documents::default(),
            mounts: RwLock::default(),
            rules: RwLock::default(),
            catalog: RwLock::new(Arc::default()),
            refreshing: Mutex::new(()),
            policy: RwLock::new(None),
        };
        server.refresh_catalog();
        server
    }

    /// The wall clock; the only reader of it in the crate.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    /// What others serve at a path.
    pub(crate) fn mounted(&self, path: &str) -> Option<Mounted> {
        let mounts = self.mounts.read();
        mounts.iter().find(|(prefix, _)| path.starts_with(prefix)).map(|(_, mounted)| mounted.clone())
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.catalog.read().clone()
    }

    /// The rights as of the last RBAC write.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        if let Some(policy) = self.policy.read().as_ref() {
            return policy.clone();
        }
        let mut slot = self.policy.write();
        if let Some(policy) = slot.as_ref() {
            return policy.clone();
        }
        let all = |plural: &str| self.objects(&format!("{plural}{RBAC}"), None);
        let policy = Arc::new(Policy::build(
            &all("roles"),
            &all("clusterroles"),
            &all("rolebindings"),
            &all("clusterrolebindings"),
        ));
        *slot = Some(policy.clone());
        policy
    }

    /// Whether a custom kind's definition is there.
    pub(crate) fn defines(&self, storage: &str) -> bool {
        self.store.get(&key(DEFINITIONS, "", storage)).is_some()
    }

    /// All objects of one storage, parsed.
    pub(crate) fn objects(&self, storage: &str, namespace: Option<&str>) -> Vec<Value> {
        self.stored(storage, namespace).iter().map(|stored| stored.value()).collect()
    }

    /// All objects of one storage.
    pub(crate) fn stored(&self, storage: &str, namespace: Option<&str>) -> Vec<Arc<Stored>> {
        let query = Query { storage, namespace, after: None, limit: None, at: None };
        // Only an exact old revision can be compacted away, and none is asked for.
        self.store.list(&query, &mut |_| true).map(|page| page.items).unwrap_or_default()
    }

    /// One object, parsed.
    pub(crate) fn object(&self, storage: &str, namespace: &str, name: &str) -> Option<Value> {
        self.store.get(&key(storage, namespace, name)).map(|stored| stored.value())
    }

    /// Commits one write and lets what depends on it follow before anybody is answered.
    pub(crate) async fn commit(&self, write: Write) -> Result<Arc<Stored>, CommitError> {
        let storage = write.key.storage.clone();
        let result = self.store.commit(write).await;
        if result.is_ok() {
            self.follow(&storage);
        }
        result
    }

    /// Renews what is computed from the objects of one storage. Also called by the loop that sees every event, because
    /// a client that hangs up takes the rest of its request with it.
    pub(crate) fn follow(&self, storage: &str) {
        if storage == DEFINITIONS {
            self.refresh_catalog();
        } else if storage.ends_with(RBAC) {
            *self.policy.write() = None;
        }
    }

    pub(crate) fn refresh_catalog(&self) {
        let _one_at_a_time = self.refreshing.lock();
        let definitions = self.stored(DEFINITIONS, None);
        let next = Arc::new(self.catalog().next(&definitions));
        *self.catalog.write() = next;
        self.documents.forget();
    }

    /// The user behind a token, and the audiences it is good for. The account and the object it is bound to must
    /// still be there.
    pub(crate) fn authenticate(
        &self,
        token: &str,
        audiences: &[String],
    ) -> Result<(User, Vec<String>), String> {
        let invalid = || "invalid bearer token".to_owned();
        let claims = self.tokens.verify(token, audiences, self.now()).map_err(|_| invalid())?;
        let there = |storage: &str, name: &str, uid: &str| {
            let found = self.store.get(&key(storage, &claims.namespace, name));
            found.is_some_and(|found| found.facts().uid.as_ref() == uid)
        };
        if !there("serviceaccounts", &claims.name, &claims.uid) {
            return Err(invalid());
        }
        let bound = claims.bound.as_ref();
        let alive = bound.is_none_or(|bound| match bound.kind.as_str() {
            "Pod" => there("pods", &bound.name, &bound.uid),
            "Secret" => there("secrets", &bound.name, &bound.uid),
            _ => self.store.get(&key("nodes", "", &bound.name)).is_some(),
        });
        if alive { Ok((claims.user(), claims.audiences.clone())) } else { Err(invalid()) }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }
}

/// The place of one object.
pub(crate) fn key(storage: &str, namespace: &str, name: &str) -> Key {
    Key { storage: storage.into(), namespace: namespace.into(), name: name.into() }
}

/// What a failed commit means to the client that asked for it.
pub(crate) fn refused(error: CommitError, group: &str, plural: &str, name: &str) -> Status {
    match error {
        CommitError::Exists => Status::already_exists(group, plural, name),
        CommitError::Missing => Status::not_found(group, plural, name),
        CommitError::Changed { .. } => Status::conflict(group, plural, name, MODIFIED),
        CommitError::Stopped(why) => Status::internal(format!("the store cannot write: {why}")),
    }
}

/// The sentence every optimistic client knows.
pub(crate) const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";
