//! What CloudNativePG does in a cluster: a `Cluster` is a PostgreSQL server with its standbys, here as processes of
//! this machine.
//!
//! One instance takes writes, the others follow it. A commit is acknowledged when one of the standbys that the primary
//! waits for has it; when the primary dies, the one of them that has most takes over, and only while all of them can be
//! asked. Otherwise the old primary is started again: its data is here. Whoever was put aside rejoins as a standby.
//! Clients find the instances through three Services, and their login in the Secret `<name>-app`. Where the spec lets the
//! superuser in, its login is in the Secret `<name>-superuser`; otherwise it has no password at all.
//!
//! When the object goes its data stays for a while, as a `Backup` that nobody owns.

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use api::conditions::{Reason, Standing};
use api::foreign::cnpg::{Backup, Cluster, ClusterStatus};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kit::{Bell, Fault, Index, Name, Plan, Reader, Receipt, Refusal, Relation, Room};
use parking_lot::Mutex;
use ports::authority::Authority;
use ports::postgres::{Key, Lsn, Number, Postgres};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

pub use plan::{Step, World};

/// The condition that says that the disk is nearly full, by being false. It is absent while all is well.
pub const STORAGE_SUFFICIENT: &str = "StorageSufficient";
/// CloudNativePG's condition about the archive of a server's history.
pub const CONTINUOUS_ARCHIVING: &str = "ContinuousArchiving";
/// The condition that says that all instances have been up at once. It stays, because nobody can observe what was:
/// from then on a cluster that has lost a standby is still ready.
pub const FORMED: &str = "Formed";

/// Clusters by the Backup that they are made from.
const BY_SOURCE: Index<Cluster> = Index {
    name: "cluster by backup",
    keys: |cluster| {
        let recovery = cluster.spec.bootstrap.as_ref().and_then(|bootstrap| bootstrap.recovery.as_ref());
        let backup = recovery.and_then(|recovery| recovery.backup.as_ref());
        backup.map(|backup| beside(cluster, &backup.name)).into_iter().collect()
    },
};
/// Clusters by the Secrets that logins are taken from.
const BY_SECRET: Index<Cluster> = Index {
    name: "cluster by secret",
    keys: |cluster| {
        let initdb = cluster.spec.bootstrap.as_ref().and_then(|bootstrap| bootstrap.initdb.as_ref());
        let secrets =
            [initdb.and_then(|initdb| initdb.secret.as_ref()), cluster.spec.superuser_secret.as_ref()];
        let roles = plan::named_roles(cluster).filter_map(|role| role.password_secret.as_ref());
        secrets.into_iter().flatten().chain(roles).map(|secret| beside(cluster, &secret.name)).collect()
    },
};

/// The name of something in the same namespace.
fn beside(cluster: &Cluster, name: &str) -> String {
    Name::new(cluster.metadata.namespace.clone().unwrap_or_default(), name).to_string()
}

/// What the clusters of this machine are told.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How long the data of a deleted cluster is kept.
    pub keep: Duration,
}

/// Since when standbys that are up receive nothing, by the uid of their cluster.
type Silent = Mutex<BTreeMap<String, BTreeMap<Number, (Timestamp, Lsn)>>>;

/// The PostgreSQL clusters of this machine.
pub struct Clusters<P, A> {
    postgres: Arc<P>,
    authority: Arc<A>,
    settings: Settings,
    silent: Silent,
    bell: Bell,
}

impl<P: Postgres, A: Authority> Clusters<P, A> {
    /// Clusters on these servers, whose certificates this authority signs. A server that changes wakes its cluster, as
    /// long as a runtime is there to listen in.
    pub fn new(postgres: Arc<P>, authority: Arc<A>, settings: Settings) -> Self {
        let bell = Bell::default();
        tokio::spawn(ring(postgres.changes(), bell.clone()));
        Self { postgres, authority, settings, silent: Silent::default(), bell }
    }
}

/// Wakes the cluster of each server that changes, until there are no servers any more.
async fn ring(mut changes: Receiver<Name>, bell: Bell) {
    loop {
        match changes.recv().await {
            Ok(name) => bell.ring(name),
            // What was missed is seen by the pass that comes anyway.
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// How the port knows a cluster.
fn key(cluster: &Cluster) -> Key {
    Key { name: Name::of(cluster), uid: cluster.metadata.uid.clone().unwrap_or_default() }
}

impl<P, A> fmt::Debug for Clusters<P, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clusters").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl<P: Postgres, A: Authority> Room for Clusters<P, A> {
    type Kind = Cluster;
    type Status = ClusterStatus;
    type World = World;
    type Step = Step;

    const NAME: &'static str = "pg_cluster";
    const FINALIZER: Option<&'static str> = Some("terrace.dev/cluster");

    fn relations(&self) -> Vec<Relation<Cluster>> {
        vec![
            Relation::child::<Service>(),
            Relation::child::<EndpointSlice>(),
            Relation::child::<Secret>(),
            Relation::indexed::<Secret>(BY_SECRET, |secret| vec![Name::of(secret).to_string()]),
            Relation::indexed::<Backup>(BY_SOURCE, |backup| vec![Name::of(backup).to_string()]),
            // The first backup turns the archive on.
            Relation::other::<Backup>(|backup| {
                let namespace = backup.metadata.namespace.clone().unwrap_or_default();
                vec![Name::new(namespace, backup.spec.cluster.name.clone())]
            }),
        ]
    }

    fn bell(&self) -> Option<&Bell> {
        Some(&self.bell)
    }

    async fn observe(&self, cluster: &Cluster, reader: &Reader) -> Result<World, Fault> {
        observe::observe(self, cluster, reader).await
    }

    fn plan(&self, cluster: &Cluster, world: &World) -> Result<Plan<Step, ClusterStatus>, Refusal> {
        plan::plan(self.settings.keep, cluster, world)
    }

    async fn act(&self, cluster: &Cluster, step: &Step) -> Result<Receipt, Fault> {
        act::act(&*self.postgres, &*self.authority, &key(cluster), step).await
    }

    /// A pass that failed says nothing about the servers: those that run go on.
    fn failed(status: &mut ClusterStatus, _: Reason, story: String) {
        status.phase_reason = Some(story.clone());
        let ready = api::foreign::find(&status.conditions, api::conditions::READY);
        if ready.is_none_or(|ready| ready.status != "True") {
            status.not_ready(Reason::Code(plan::NOT_READY.into()), story);
        }
    }
}
