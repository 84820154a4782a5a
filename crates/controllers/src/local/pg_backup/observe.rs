//! What a backup's plan needs to know.

use api::annotations::KEPT_UNTIL;
use api::foreign::cnpg::{Backup, Cluster};
use kit::{Fault, Name, Reader};
use kube::ResourceExt;
use ports::postgres::{Key, Postgres};

use super::plan::{Served, World};
use super::{Backups, cluster_of};

pub(super) async fn observe<P: Postgres>(
    room: &Backups<P>,
    backup: &Backup,
    reader: &Reader,
) -> Result<World, Fault> {
    let of = cluster_of(backup);
    meet(room, backup, &of);
    let cluster = reader.get::<Cluster>(&of.namespace, &of.name).await?;
    let uid = backup.uid().unwrap_or_default();
    let progress = room.postgres.backup(&uid).await?;
    let kept = backup.annotations().contains_key(KEPT_UNTIL);
    let goes = cluster.as_ref().is_some_and(|cluster| cluster.metadata.deletion_timestamp.is_some());
    let cluster = match cluster {
        // How its servers stand matters only to a backup that is still to be made.
        Some(cluster) if progress.is_none() && !kept => {
            let key = Key { name: of, uid: cluster.uid().unwrap_or_default() };
            let seen = room.postgres.look(&key).await?;
            Some(Served { key, seen })
        }
        _ => None,
    };
    Ok(World { now: reader.now(), progress, cluster, goes })
}

/// Learns which cluster a backup is of, by which it is woken; forgets one that goes.
fn meet<P>(room: &Backups<P>, backup: &Backup, of: &Name) {
    let mut watched = room.watched.lock();
    if backup.metadata.deletion_timestamp.is_none() {
        watched.entry(of.clone()).or_default().insert(Name::of(backup));
        return;
    }
    if let Some(backups) = watched.get_mut(of) {
        backups.remove(&Name::of(backup));
    }
    watched.retain(|_, backups| !backups.is_empty());
}
