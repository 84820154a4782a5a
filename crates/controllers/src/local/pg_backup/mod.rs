//! CloudNativePG's `Backup` on one machine: a copy of a cluster, from which another can be made.
//!
//! A backup is made once, by the first pass that finds its cluster up and its history archived. The data of a deleted
//! cluster lies under a `Backup` as well; that one is kept until the time in its annotation, and goes then.

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use api::conditions::Reason;
use api::foreign::cnpg::{Backup, BackupStatus, Cluster};
use kit::{Bell, Fault, Index, Name, Plan, Reader, Receipt, Refusal, Relation, Room};
use parking_lot::Mutex;
use ports::postgres::Postgres;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

pub use plan::{Step, World};

/// Backups by the cluster that they are of.
const BY_CLUSTER: Index<Backup> =
    Index { name: "backup by cluster", keys: |backup| vec![cluster_of(backup).to_string()] };

/// Names of backups by that of their cluster.
type Watched = Arc<Mutex<BTreeMap<Name, BTreeSet<Name>>>>;

/// The backups of this machine.
pub struct Backups<P> {
    postgres: Arc<P>,
    watched: Watched,
    bell: Bell,
}

impl<P: Postgres> Backups<P> {
    /// Backups of these servers. A server that changes wakes the backups of its cluster, as long as a runtime is there
    /// to listen in.
    pub fn new(postgres: Arc<P>) -> Self {
        let (bell, watched) = (Bell::default(), Watched::default());
        tokio::spawn(ring(postgres.changes(), watched.clone(), bell.clone()));
        Self { postgres, watched, bell }
    }
}

/// Wakes the backups of each cluster that changes, until there are no servers any more.
async fn ring(mut changes: Receiver<Name>, watched: Watched, bell: Bell) {
    loop {
        match changes.recv().await {
            Ok(cluster) => {
                let backups = watched.lock().get(&cluster).cloned().unwrap_or_default();
                backups.into_iter().for_each(|backup| bell.ring(backup));
            }
            // What was missed is seen by the pass that comes anyway while a backup is under way.
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// The cluster that a backup is of.
fn cluster_of(backup: &Backup) -> Name {
    Name::new(backup.metadata.namespace.clone().unwrap_or_default(), backup.spec.cluster.name.clone())
}

impl<P> fmt::Debug for Backups<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backups").finish_non_exhaustive()
    }
}

impl<P: Postgres> Room for Backups<P> {
    type Kind = Backup;
    type Status = BackupStatus;
    type World = World;
    type Step = Step;

    const NAME: &'static str = "pg_backup";
    const FINALIZER: Option<&'static str> = Some("terrace.dev/backup");

    fn relations(&self) -> Vec<Relation<Backup>> {
        vec![Relation::indexed::<Cluster>(BY_CLUSTER, |cluster| vec![Name::of(cluster).to_string()])]
    }

    fn bell(&self) -> Option<&Bell> {
        Some(&self.bell)
    }

    async fn observe(&self, backup: &Backup, reader: &Reader) -> Result<World, Fault> {
        observe::observe(self, backup, reader).await
    }

    fn plan(&self, backup: &Backup, world: &World) -> Result<Plan<Step, BackupStatus>, Refusal> {
        Ok(plan::plan(backup, world))
    }

    async fn act(&self, _: &Backup, step: &Step) -> Result<Receipt, Fault> {
        act::act(&*self.postgres, step).await
    }

    /// A pass that failed says nothing about a backup that is there.
    fn failed(status: &mut BackupStatus, _: Reason, story: String) {
        if status.phase.as_deref() != Some(plan::COMPLETED) {
            status.error = Some(story);
        }
    }
}
