//! PostgreSQL that is only remembered, for tests of those who run it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use kit::Name;
use parking_lot::Mutex;
use tokio::sync::broadcast;

use super::{
    Backup, Build, Certificate, Error, Key, Login, Number, Postgres, Role, Seen, Settings, Source, Stop,
    Superuser,
};
use state::{Cluster, Kept, Node, Process, Stage, State};

mod hands;
mod state;
#[cfg(test)]
mod tests;

type Hook = dyn Fn(&str) -> Result<(), Error> + Send + Sync;

/// Servers in memory. What takes a while is seen as under way by one look, and as done by the next.
#[derive(Clone)]
pub struct Fake {
    inner: Arc<Inner>,
}

struct Inner {
    state: Mutex<State>,
    changes: broadcast::Sender<Name>,
    hook: Mutex<Option<Arc<Hook>>>,
}

impl Default for Fake {
    fn default() -> Self {
        Self::new(&[("15", "15.18"), ("17", "17.2")])
    }
}

impl fmt::Debug for Fake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fake").field("servers", &self.dump()).finish_non_exhaustive()
    }
}

impl Fake {
    fn asked(&self, call: &str) -> Result<(), Error> {
        let hook = self.inner.hook.lock().clone();
        hook.map_or(Ok(()), |hook| hook(call))
    }

    fn told(&self, name: &Name) {
        // Nobody listening is no failure.
        let _ = self.inner.changes.send(name.clone());
    }
}

/// Puts a new instance into a cluster, unless one of that number is there or on its way.
fn enter(cluster: &mut Cluster, number: Number, node: Node) {
    cluster.highest = cluster.highest.max(number);
    cluster.nodes.entry(number).or_insert(node);
}

fn unfit<T>(why: impl Into<String>) -> Result<T, Error> {
    Err(Error::Unfit(why.into()))
}

/// A standby with everything that its primary has, on its way.
fn copied(cluster: &Cluster, primary: Number) -> Result<Node, Error> {
    let Some(node) = cluster.nodes.get(&primary).filter(|node| node.is_up() && node.is_primary()) else {
        return unfit(format!("instance {primary} is no primary that is up"));
    };
    Ok(Node {
        standby: true,
        follows: node.port,
        timeline: node.timeline,
        lsn: node.lsn,
        bytes: node.bytes,
        ..Node::new(node.major.unwrap_or_default(), Stage::Begun(Timestamp::now()))
    })
}

impl Postgres for Fake {
    fn builds(&self) -> BTreeMap<u32, Build> {
        self.inner.state.lock().builds.clone()
    }

    async fn look(&self, key: &Key) -> Result<Seen, Error> {
        self.asked("look")?;
        let mut state = self.inner.state.lock();
        let Some(cluster) = state.clusters.get_mut(&key.uid) else { return Ok(Seen::default()) };
        cluster.tick();
        Ok(cluster.seen())
    }

    async fn make(&self, key: &Key, number: Number, major: u32) -> Result<(), Error> {
        self.asked("make")?;
        let mut state = self.inner.state.lock();
        if !state.builds.contains_key(&major) {
            let there: Vec<String> = state.builds.keys().map(u32::to_string).collect();
            return Err(Error::NoBuild { major, there: there.join(", ") });
        }
        enter(state.cluster(key), number, Node::new(major, Stage::Made));
        Ok(())
    }

    async fn restore(&self, key: &Key, number: Number, source: &Source) -> Result<(), Error> {
        self.asked("restore")?;
        let mut state = self.inner.state.lock();
        let now = Timestamp::now();
        let node = match state.backups.get(&source.backup) {
            Some(Kept { progress: Backup::Done(_), node, .. }) => Node {
                timeline: node.timeline + 1,
                lsn: node.lsn,
                bytes: node.bytes,
                ..Node::new(node.major.unwrap_or_default(), Stage::Begun(now))
            },
            _ => return unfit(format!("there is no backup {}", source.backup)),
        };
        enter(state.cluster(key), number, node);
        Ok(())
    }

    async fn copy(&self, key: &Key, number: Number, primary: Number) -> Result<(), Error> {
        self.asked("copy")?;
        let mut state = self.inner.state.lock();
        let cluster = state.cluster(key);
        let node = copied(cluster, primary)?;
        enter(cluster, number, node);
        Ok(())
    }

    async fn configure(&self, key: &Key, number: Number, settings: &Settings) -> Result<(), Error> {
        self.asked("configure")?;
        let mut state = self.inner.state.lock();
        state.node(key, number)?.settings = Some(settings.clone());
        state.cluster(key).archives = settings.archive;
        Ok(())
    }

    async fn certify(&self, key: &Key, certificate: &Certificate) -> Result<(), Error> {
        self.asked("certify")?;
        self.inner.state.lock().cluster(key).certificate = Some(certificate.clone());
        Ok(())
    }

    async fn start(&self, key: &Key, number: Number) -> Result<(), Error> {
        self.asked("start")?;
        let mut state = self.inner.state.lock();
        if state.node(key, number)?.port.is_none() {
            let free = state.port();
            state.node(key, number)?.port = Some(free);
        }
        let node = state.node(key, number)?;
        if node.fenced {
            return unfit(format!("instance {number} is fenced"));
        }
        if node.settings.is_none() {
            return unfit(format!("instance {number} has no settings"));
        }
        if matches!(node.process, Process::None | Process::Ended(..)) {
            node.begun_with = node.settings.clone();
            node.failures = if node.spoilt { node.failures + 1 } else { 0 };
            node.process = match node.spoilt {
                true => Process::Ended(Timestamp::now(), "could not locate a valid checkpoint record".into()),
                false => Process::Up,
            };
        }
        drop(state);
        self.told(&key.name);
        Ok(())
    }

    async fn stop(&self, key: &Key, number: Number, _: Stop) -> Result<(), Error> {
        self.asked("stop")?;
        self.inner.state.lock().node(key, number)?.process = Process::None;
        self.told(&key.name);
        Ok(())
    }

    async fn fence(&self, key: &Key, number: Number) -> Result<(), Error> {
        self.asked("fence")?;
        let mut state = self.inner.state.lock();
        let node = state.node(key, number)?;
        (node.process, node.standby, node.fenced) = (Process::None, true, true);
        Ok(())
    }

    async fn unfence(&self, key: &Key, number: Number) -> Result<(), Error> {
        self.asked("unfence")?;
        let mut state = self.inner.state.lock();
        let node = state.node(key, number)?;
        if node.fenced {
            (node.standby, node.fenced) = (false, false);
        }
        Ok(())
    }

    async fn promote(&self, key: &Key, number: Number) -> Result<(), Error> {
        self.asked("promote")?;
        let mut state = self.inner.state.lock();
        let newest = state.cluster(key).nodes.values().map(|node| node.timeline).max().unwrap_or_default();
        let mut others = state.cluster(key).nodes.iter().filter(|(held, _)| **held != number);
        if others.any(|(_, node)| node.is_primary()) {
            return unfit(format!("instance {number} would be a second primary"));
        }
        let node = state.node(key, number)?;
        if !node.is_up() || node.fenced {
            return unfit(format!("instance {number} is no standby that is up"));
        }
        let own = (node.timeline, node.lsn);
        let counted = state.cluster(key).synchronous.clone();
        let more = |(held, node): (&Number, &Node)| {
            *held != number && counted.contains(held) && !node.fenced && (node.timeline, node.lsn) > own
        };
        if state.cluster(key).nodes.iter().any(more) {
            return unfit(format!("another instance has more than instance {number}"));
        }
        let node = state.node(key, number)?;
        if node.standby {
            (node.standby, node.follows, node.timeline) = (false, None, newest + 1);
        }
        let cluster = state.cluster(key);
        cluster.synchronous.clear();
        cluster.waits_for.clear();
        Ok(())
    }

    async fn follow(&self, key: &Key, number: Number, primary: Number) -> Result<(), Error> {
        self.asked("follow")?;
        let mut state = self.inner.state.lock();
        let port = state.node(key, primary)?.port;
        state.node(key, number)?.follows = port;
        Ok(())
    }

    async fn rejoin(&self, key: &Key, number: Number, primary: Number) -> Result<(), Error> {
        self.asked("rejoin")?;
        let mut state = self.inner.state.lock();
        let cluster = state.cluster(key);
        let fresh = copied(cluster, primary)?;
        let (settings, port) =
            cluster.nodes.get(&number).map_or((None, None), |old| (old.settings.clone(), old.port));
        cluster.nodes.insert(number, Node { settings, port, ..fresh });
        Ok(())
    }

    async fn wait_for(&self, key: &Key, _: Number, standbys: &BTreeSet<Number>) -> Result<(), Error> {
        self.asked("wait_for")?;
        let mut state = self.inner.state.lock();
        let cluster = state.cluster(key);
        cluster.receive();
        cluster.waits_for.clone_from(standbys);
        let met = standbys.is_subset(&cluster.streaming());
        cluster.synchronous = if met { standbys.clone() } else { BTreeSet::new() };
        Ok(())
    }

    async fn grant(&self, key: &Key, primary: Number, login: &Login) -> Result<(), Error> {
        self.asked("grant")?;
        let mut state = self.inner.state.lock();
        if !state.node(key, primary).is_ok_and(|node| node.is_up() && node.is_primary()) {
            return Err(Error::Server { what: "grant the login", story: "nobody takes writes".into() });
        }
        state.cluster(key).granted = Some(login.mark.clone());
        Ok(())
    }

    async fn superuser(&self, key: &Key, primary: Number, login: Option<&Superuser>) -> Result<(), Error> {
        self.asked("superuser")?;
        let mut state = self.inner.state.lock();
        if !state.node(key, primary).is_ok_and(|node| node.is_up() && node.is_primary()) {
            return Err(Error::Server { what: "let the superuser in", story: "nobody takes writes".into() });
        }
        state.cluster(key).superuser = login.map(|login| login.mark.clone());
        Ok(())
    }

    async fn role(&self, key: &Key, primary: Number, role: &Role) -> Result<(), Error> {
        self.asked("role")?;
        let mut state = self.inner.state.lock();
        if !state.node(key, primary).is_ok_and(|node| node.is_up() && node.is_primary()) {
            return Err(Error::Server { what: "make the role", story: "nobody takes writes".into() });
        }
        state.cluster(key).roles.insert(role.name.clone(), role.mark.clone());
        Ok(())
    }

    async fn remove(&self, key: &Key, number: Number) -> Result<(), Error> {
        self.asked("remove")?;
        let mut state = self.inner.state.lock();
        if state.node(key, number).is_ok_and(|node| node.is_primary()) {
            return unfit(format!("instance {number} is the primary"));
        }
        state.cluster(key).nodes.remove(&number);
        Ok(())
    }

    async fn retire(&self, key: &Key, backup: &str) -> Result<(), Error> {
        self.asked("retire")?;
        let mut state = self.inner.state.lock();
        let Some(cluster) = state.clusters.remove(&key.uid) else { return Ok(()) };
        let primary = cluster.nodes.values().find(|node| node.is_primary());
        let made = primary.or_else(|| cluster.nodes.values().find(|node| node.stage == Stage::Made));
        if let Some(node) = made {
            state.backups.insert(backup.to_owned(), Kept::new(&cluster, node));
        }
        drop(state);
        self.told(&key.name);
        Ok(())
    }

    async fn back_up(&self, key: &Key, number: Number, backup: &str) -> Result<(), Error> {
        self.asked("back_up")?;
        let mut state = self.inner.state.lock();
        let node = state.node(key, number)?.clone();
        let cluster = state.cluster(key).clone();
        if !cluster.archives || !node.is_up() {
            return unfit(format!("instance {number} is not up, or does not archive"));
        }
        let running = Backup::Running { since: Timestamp::now() };
        let kept = Kept { progress: running, ..Kept::new(&cluster, &node) };
        state.backups.entry(backup.to_owned()).or_insert(kept);
        Ok(())
    }

    async fn backup(&self, backup: &str) -> Result<Option<Backup>, Error> {
        self.asked("backup")?;
        let mut state = self.inner.state.lock();
        let Some(kept) = state.backups.get_mut(backup) else { return Ok(None) };
        let seen = kept.progress.clone();
        if let Backup::Running { .. } = seen {
            let cluster = Cluster { name: kept.cluster.clone(), ..Cluster::default() };
            *kept = Kept::new(&cluster, &kept.node);
        }
        Ok(Some(seen))
    }

    async fn discard(&self, backup: &str) -> Result<(), Error> {
        self.asked("discard")?;
        self.inner.state.lock().backups.remove(backup);
        Ok(())
    }

    fn changes(&self) -> broadcast::Receiver<Name> {
        self.inner.changes.subscribe()
    }
}
