//! A control plane from the outside: open it, use it in this process or through a socket, close it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

use crate::gates::bootstrap;
use crate::gates::rbac::{MASTERS, User};
use crate::identity::authority::{self, Authority};
use crate::identity::certificates;
use crate::identity::tokens::Tokens;
use crate::server::{NAMESPACES, Server, key};
use crate::store::{self, Change, Draft, Expect, Store, Write};
use crate::verbs::rules::Rule;
use crate::wire::{ApiService, Mounted, listen};

/// Who signs tokens, and whom they are for when nobody else is named.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc";

/// How a control plane is opened.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Where its state lies; `None` keeps everything in memory, for tests.
    pub dir: Option<PathBuf>,
    /// Where the logs of pods are found: `<namespace>/<pod>/<container>.log`.
    pub logs: Option<PathBuf>,
}

/// Why a control plane does not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store is in use, damaged or cannot be read.
    #[error(transparent)]
    Store(#[from] store::OpenError),
    /// The certificate authority cannot be made or read.
    #[error(transparent)]
    Authority(#[from] authority::Error),
    /// Tokens cannot be signed with the key that is there.
    #[error("cannot use the key that signs tokens")]
    Tokens(#[from] crate::identity::tokens::Error),
    /// TLS cannot be set up.
    #[error("cannot set up TLS")]
    Tls(#[from] certificates::Error),
    /// The first objects could not be written.
    #[error("cannot write the first objects: {0}")]
    Bootstrap(String),
}

/// A running control plane. Its loops run until [`ControlPlane::close`].
pub struct ControlPlane {
    server: Arc<Server>,
    tasks: TaskTracker,
}

impl ControlPlane {
    /// One in memory, for the tests of any operator.
    pub async fn start() -> Result<Self, OpenError> {
        Self::open(Config::default()).await
    }

    /// Opens or creates a control plane: its state, its authority, the objects every cluster has.
    pub async fn open(config: Config) -> Result<Self, OpenError> {
        let now = Timestamp::now();
        let store = Store::open(store::Options {
            dir: config.dir.as_ref().map(|dir| dir.join("store")),
            ..store::Options::default()
        })?;
        let authority = match &config.dir {
            Some(dir) => Authority::open(&dir.join("pki"), now)?,
            None => Authority::ephemeral(now)?,
        };
        let tokens = Tokens::new(authority.token_key(), ISSUER)?;
        let server = Arc::new(Server::new(store, authority, tokens, config.logs));
        furnish(&server).await.map_err(OpenError::Bootstrap)?;
        crate::loops::settle(&server).await;
        server.ready.store(true, Ordering::Release);
        let tasks = TaskTracker::new();
        tasks.spawn(crate::loops::run(server.clone(), server.stopping.clone()));
        Ok(Self { server, tasks })
    }

    /// The API as a service in this process. Its requests act as the administrator unless they say otherwise.
    pub fn service(&self) -> ApiService {
        let trusted = Some(administrator());
        ApiService { server: self.server.clone(), trusted }
    }

    /// The API as a service whose requests must prove who they are.
    pub fn guarded_service(&self) -> ApiService {
        ApiService { server: self.server.clone(), trusted: None }
    }

    /// A client in this process, without a socket.
    #[cfg(feature = "client")]
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.service(), "default")
    }

    /// Lets a service answer every path that begins with `prefix`, behind the same door and the same identities.
    /// Nobody is refused before it: it is told who asks and decides itself who may.
    pub fn mount(&self, prefix: &str, service: Mounted) {
        self.server.mounts.write().push((prefix.to_owned(), service));
    }

    /// Lets a rule see every write of its kind from now on: by POST, PUT, any patch, and apply.
    pub fn rule(&self, rule: Rule) {
        self.server.rules.write().push(rule);
    }

    /// Serves the API over TLS on a socket that is already bound, until the control plane is closed.
    pub fn serve(&self, listener: TcpListener, names: &[String]) -> Result<(), OpenError> {
        let issued = self.server.authority.server(names, self.server.now())?;
        let tls = certificates::server_config(self.server.authority.certificate(), &issued)?;
        self.tasks.spawn(listen::serve(listener, tls, self.guarded_service(), self.server.stopping.clone()));
        Ok(())
    }

    /// A kubeconfig for a user of these groups, with a certificate of its own. It holds a private key.
    pub fn kubeconfig(&self, address: &str, user: &str, groups: &[&str]) -> Result<String, OpenError> {
        let issued = self.server.authority.client(user, groups, self.server.now())?;
        Ok(authority::kubeconfig(address, self.server.authority.certificate(), &issued, user))
    }

    /// A kubeconfig for the administrator.
    pub fn admin_kubeconfig(&self, address: &str) -> Result<String, OpenError> {
        self.kubeconfig(address, "terrace-admin", &[MASTERS])
    }

    /// Forgets the past: watches that resume from before now get 410 Gone, so that a client's way of taking it can
    /// be tested.
    pub fn compact(&self) {
        self.server.store.compact(self.server.store.revision());
    }

    /// Stops serving, lets the loops end, and closes the store.
    pub async fn close(&self) {
        self.server.stopping.cancel();
        self.tasks.close();
        // A loop waits at most for one write; what hangs longer must not hold up the end.
        let _ = tokio::time::timeout(Duration::from_secs(3), self.tasks.wait()).await;
        self.server.store.close();
    }
}

fn administrator() -> User {
    let groups = [MASTERS, crate::gates::rbac::AUTHENTICATED].map(str::to_owned).to_vec();
    User { name: "terrace-admin".into(), groups, ..User::default() }
}

/// Writes what every cluster has, where it is not there yet.
async fn furnish(server: &Arc<Server>) -> Result<(), String> {
    let rbac = |plural: &str| format!("{plural}.rbac.authorization.k8s.io");
    let sets = [
        (NAMESPACES.to_owned(), bootstrap::namespaces()),
        (rbac("clusterroles"), bootstrap::cluster_roles()),
        (rbac("clusterrolebindings"), bootstrap::cluster_role_bindings()),
    ];
    let mut writes = Vec::new();
    for (storage, objects) in sets {
        for object in objects {
            writes.push(first(server, storage.clone(), object));
        }
    }
    for outcome in futures::future::join_all(writes).await {
        outcome?;
    }
    Ok(())
}

async fn first(server: &Server, storage: String, mut object: Value) -> Result<(), String> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let place = key(&storage, "", &name);
    if server.store.get(&place).is_some() {
        return Ok(());
    }
    object["metadata"]["uid"] = uuid::Uuid::new_v4().to_string().into();
    object["metadata"]["creationTimestamp"] = crate::verbs::create::seconds(server.now()).into();
    let write = Write { key: place, expect: Expect::Absent, change: Change::Put(Draft::of(&object)) };
    match server.commit(write).await {
        Ok(_) | Err(store::CommitError::Exists) => Ok(()),
        Err(error) => Err(format!("{storage} {name}: {error}")),
    }
}
