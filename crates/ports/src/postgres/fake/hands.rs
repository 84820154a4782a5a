//! What tests see of the servers, and do to them.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use kit::Name;
use parking_lot::Mutex;
use tokio::sync::broadcast;

use super::super::{Build, Error, Lsn, Number};
use super::state::{Cluster, Node, Process, State};
use super::{Fake, Inner};

/// Names of changes that wait for a slow listener.
const CHANGES: usize = 1024;

impl Fake {
    /// A machine with these builds: major and whole version of each.
    pub fn new(builds: &[(&str, &str)]) -> Self {
        let build = |version: &str| Build { version: version.to_owned(), bin: PathBuf::from(version) };
        let builds = builds.iter().filter_map(|(major, whole)| Some((major.parse().ok()?, build(whole))));
        let state = Mutex::new(State::new(builds.collect()));
        let changes = broadcast::Sender::new(CHANGES);
        Self { inner: Arc::new(Inner { state, changes, hook: Mutex::default() }) }
    }

    /// Calls `hook` with the name of each call before it takes effect; what it refuses does not happen.
    pub fn before_each(&self, hook: impl Fn(&str) -> Result<(), Error> + Send + Sync + 'static) {
        *self.inner.hook.lock() = Some(Arc::new(hook));
    }

    /// Ends the process of an instance, as a crash does.
    pub fn crash(&self, cluster: &Name, number: Number) {
        let ended = Process::Ended(Timestamp::now(), "killed by signal 9".into());
        self.change(cluster, number, |node| {
            node.failures = 0;
            node.process = ended.clone();
        });
    }

    /// Makes an instance run on without an answer.
    pub fn freeze(&self, cluster: &Name, number: Number) {
        self.change(cluster, number, |node| node.process = Process::Frozen(Timestamp::now()));
    }

    /// Whether an instance ends whenever it is started.
    pub fn spoil(&self, cluster: &Name, number: Number, spoilt: bool) {
        self.change(cluster, number, |node| node.spoilt = spoilt);
    }

    /// Whether a standby receives nothing, though it is up.
    pub fn deafen(&self, cluster: &Name, number: Number, deaf: bool) {
        self.change(cluster, number, |node| node.deaf = deaf);
    }

    /// How many bytes an instance holds.
    pub fn fill(&self, cluster: &Name, number: Number, bytes: u64) {
        self.change(cluster, number, |node| node.bytes = bytes);
    }

    /// Damages the directory of an instance, so that it does not even tell its version.
    pub fn damage(&self, cluster: &Name, number: Number) {
        self.change(cluster, number, |node| node.major = None);
    }

    /// Takes a build off the machine.
    pub fn remove_build(&self, major: u32) {
        self.inner.state.lock().builds.remove(&major);
    }

    /// Commits something. Returns whether it was acknowledged: one that waits for a standby in vain is not.
    pub fn write(&self, cluster: &Name) -> bool {
        self.inner.state.lock().named(cluster).is_some_and(Cluster::commit)
    }

    /// What was acknowledged, and what the primary that takes writes has, if there is one.
    pub fn reached(&self, cluster: &Name) -> (Lsn, Option<Lsn>) {
        let mut state = self.inner.state.lock();
        let Some(cluster) = state.named(cluster) else { return (Lsn(0), None) };
        (cluster.acknowledged, cluster.primary().map(|(_, node)| node.lsn))
    }

    /// Instances that take writes: never more than one, if all goes well.
    pub fn writable(&self, cluster: &Name) -> Vec<Number> {
        let mut state = self.inner.state.lock();
        let Some(cluster) = state.named(cluster) else { return Vec::new() };
        let writable = cluster.nodes.iter().filter(|(_, node)| node.is_up() && node.is_primary());
        writable.map(|(number, _)| *number).collect()
    }

    /// Everything there is, a line each, without what differs from run to run.
    pub fn dump(&self) -> String {
        let state = self.inner.state.lock();
        let mut text = String::new();
        for cluster in state.clusters.values() {
            let granted = if cluster.granted.is_some() { "granted" } else { "closed" };
            let superuser = if cluster.superuser.is_some() { " to its superuser as well" } else { "" };
            let waits = &cluster.waits_for;
            // Writing to a string cannot fail.
            let _ = writeln!(text, "cluster {} {granted}{superuser} waits for {waits:?}", cluster.name);
            for role in cluster.roles.keys() {
                let _ = writeln!(text, "{} role {role}", cluster.name);
            }
            for (number, node) in &cluster.nodes {
                let role = if node.standby { "standby" } else { "primary" };
                let up = if node.is_up() { "up" } else { "down" };
                let (major, timeline) = (node.major, node.timeline);
                let _ = writeln!(text, "{} {number} {major:?} {role} {up} {timeline}", cluster.name);
            }
        }
        for kept in state.backups.values() {
            let _ = writeln!(text, "backup of {} at {}", kept.cluster, kept.node.lsn);
        }
        text
    }

    fn change(&self, cluster: &Name, number: Number, change: impl Fn(&mut Node)) {
        let mut state = self.inner.state.lock();
        if let Some(node) = state.named(cluster).and_then(|cluster| cluster.nodes.get_mut(&number)) {
            change(node);
        }
        drop(state);
        self.told(cluster);
    }
}
