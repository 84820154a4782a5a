//! What the fake remembers, and how its servers behave.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kit::Name;

use super::super::{
    Backup, Build, Certificate, Copied, Error, Facts, Instance, Key, Lsn, Number, Run, Seen, Settings, There,
};

/// Bytes of history that one commit takes.
const COMMIT: u64 = 256;
/// Where the history of a new server begins.
const FIRST: Lsn = Lsn(0x0100_0000);
/// The first port that is given out.
const FIRST_PORT: u16 = 20_000;

/// Everything in memory.
pub(super) struct State {
    pub(super) builds: BTreeMap<u32, Build>,
    pub(super) clusters: BTreeMap<String, Cluster>,
    pub(super) backups: BTreeMap<String, Kept>,
    ports: u16,
}

impl State {
    pub(super) fn new(builds: BTreeMap<u32, Build>) -> Self {
        Self { builds, clusters: BTreeMap::new(), backups: BTreeMap::new(), ports: FIRST_PORT }
    }

    pub(super) fn port(&mut self) -> u16 {
        self.ports += 1;
        self.ports
    }

    /// The cluster, which comes about when something is made in it.
    pub(super) fn cluster(&mut self, key: &Key) -> &mut Cluster {
        let fresh = || Cluster { name: key.name.clone(), ..Cluster::default() };
        self.clusters.entry(key.uid.clone()).or_insert_with(fresh)
    }

    /// The cluster of an object's name, for tests that know no uid.
    pub(super) fn named(&mut self, name: &Name) -> Option<&mut Cluster> {
        self.clusters.values_mut().find(|cluster| cluster.name == *name)
    }

    pub(super) fn node(&mut self, key: &Key, number: Number) -> Result<&mut Node, Error> {
        let found = self.clusters.get_mut(&key.uid).and_then(|cluster| cluster.nodes.get_mut(&number));
        let found = found.filter(|node| node.stage == Stage::Made);
        found.ok_or_else(|| Error::Unfit(format!("{} has no instance {number}", key.name)))
    }
}

/// A backup, with what a server that is made from it has.
#[derive(Clone)]
pub(super) struct Kept {
    pub(super) progress: Backup,
    pub(super) cluster: Name,
    pub(super) node: Node,
}

impl Kept {
    pub(super) fn new(cluster: &Cluster, node: &Node) -> Self {
        let now = Timestamp::now();
        let copied = Copied {
            major: node.major.unwrap_or_default(),
            began: now,
            ended: now,
            first: Some(node.lsn),
            last: Some(node.lsn),
            bytes: node.bytes,
        };
        Self { progress: Backup::Done(copied), cluster: cluster.name.clone(), node: node.clone() }
    }
}

/// One cluster.
#[derive(Clone, Default)]
pub(super) struct Cluster {
    pub(super) name: Name,
    pub(super) nodes: BTreeMap<Number, Node>,
    pub(super) synchronous: BTreeSet<Number>,
    pub(super) waits_for: BTreeSet<Number>,
    pub(super) granted: Option<String>,
    pub(super) superuser: Option<String>,
    pub(super) roles: BTreeMap<String, String>,
    pub(super) certificate: Option<Certificate>,
    pub(super) highest: Number,
    /// How far commits were acknowledged.
    pub(super) acknowledged: Lsn,
    pub(super) archives: bool,
}

/// How far the directory of an instance is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stage {
    /// It is being made, and nobody has seen it yet.
    Begun(Timestamp),
    /// Somebody has seen that it is being made: the next look finds it made.
    Shown(Timestamp),
    Made,
}

/// One instance.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) stage: Stage,
    pub(super) major: Option<u32>,
    pub(super) standby: bool,
    pub(super) fenced: bool,
    pub(super) follows: Option<u16>,
    pub(super) settings: Option<Settings>,
    /// The settings that the process began with.
    pub(super) begun_with: Option<Settings>,
    pub(super) port: Option<u16>,
    pub(super) process: Process,
    /// How often in a row it ended before it took connections.
    pub(super) failures: u32,
    /// Whether it ends whenever it is started.
    pub(super) spoilt: bool,
    /// Whether it receives nothing, though it is up.
    pub(super) deaf: bool,
    pub(super) timeline: u32,
    pub(super) lsn: Lsn,
    pub(super) bytes: u64,
}

/// The process of an instance.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Process {
    None,
    Ended(Timestamp, String),
    Frozen(Timestamp),
    Up,
}

impl Node {
    pub(super) fn new(major: u32, stage: Stage) -> Self {
        Self {
            stage,
            major: Some(major),
            standby: false,
            fenced: false,
            follows: None,
            settings: None,
            begun_with: None,
            port: None,
            process: Process::None,
            failures: 0,
            spoilt: false,
            deaf: false,
            timeline: 1,
            lsn: FIRST,
            bytes: 32 << 20,
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.stage == Stage::Made && self.process == Process::Up
    }

    pub(super) fn is_primary(&self) -> bool {
        self.stage == Stage::Made && !self.standby && !self.fenced
    }

    fn restart_needed(&self) -> bool {
        // Only what memory is laid out by is taken at the start; that is enough for a fake.
        let fixed = |settings: &Option<Settings>| {
            let held = settings.as_ref().map(|settings| settings.parameters.clone()).unwrap_or_default();
            ["max_connections", "shared_buffers"].map(|name| held.get(name).cloned())
        };
        fixed(&self.settings) != fixed(&self.begun_with)
    }
}

impl Cluster {
    /// Lets happen what happens by itself: copies get ready, standbys receive, waiting begins to count.
    pub(super) fn tick(&mut self) {
        for node in self.nodes.values_mut() {
            if let Stage::Shown(_) = node.stage {
                node.stage = Stage::Made;
            }
            if let Stage::Begun(since) = node.stage {
                node.stage = Stage::Shown(since);
            }
        }
        self.receive();
    }

    /// Standbys that stream get all there is.
    pub(super) fn receive(&mut self) {
        let Some((_, primary)) = self.primary() else { return };
        let (timeline, lsn) = (primary.timeline, primary.lsn);
        for number in self.streaming() {
            if let Some(node) = self.nodes.get_mut(&number) {
                node.timeline = timeline;
                node.lsn = lsn;
            }
        }
    }

    /// The primary that takes writes.
    pub(super) fn primary(&self) -> Option<(Number, &Node)> {
        let mut up = self.nodes.iter().filter(|(_, node)| node.is_up() && node.is_primary());
        up.next().map(|(number, node)| (*number, node))
    }

    /// Standbys that receive what the primary writes.
    pub(super) fn streaming(&self) -> BTreeSet<Number> {
        let Some((_, primary)) = self.primary() else { return BTreeSet::new() };
        let streams = |node: &Node| {
            let fits = node.timeline == primary.timeline || node.lsn <= primary.lsn;
            node.is_up() && node.standby && !node.deaf && node.follows == primary.port && fits
        };
        self.nodes.iter().filter(|(_, node)| streams(node)).map(|(number, _)| *number).collect()
    }

    /// A commit on the primary. Returns whether it was acknowledged.
    pub(super) fn commit(&mut self) -> bool {
        let Some((number, _)) = self.primary() else { return false };
        let Some(primary) = self.nodes.get_mut(&number) else { return false };
        primary.lsn.0 += COMMIT;
        let reached = primary.lsn;
        self.receive();
        let streaming = self.streaming();
        let acknowledged = self.waits_for.is_empty() || !self.waits_for.is_disjoint(&streaming);
        if acknowledged {
            self.acknowledged = reached;
        }
        acknowledged
    }

    pub(super) fn seen(&self) -> Seen {
        let largest = self.nodes.values().map(|node| node.bytes).max();
        Seen {
            free: None,
            instances: self
                .nodes
                .iter()
                .map(|(number, node)| (*number, self.instance(*number, node)))
                .collect(),
            synchronous: self.synchronous.clone(),
            granted: self.granted.clone(),
            superuser: self.superuser.clone(),
            roles: self.roles.clone(),
            certificate: self.certificate.clone(),
            bytes: largest.unwrap_or_default(),
            highest: self.highest,
        }
    }

    fn instance(&self, number: Number, node: &Node) -> Instance {
        let run = match (&node.stage, &node.process) {
            (Stage::Begun(since) | Stage::Shown(since), _) => return Instance::Coming { since: *since },
            (Stage::Made, Process::None) => Run::Stopped,
            (Stage::Made, Process::Ended(at, story)) => {
                Run::Ended { at: *at, story: story.clone(), failures: node.failures }
            }
            (Stage::Made, Process::Frozen(since)) => {
                Run::Starting { since: *since, port: node.port.unwrap_or_default(), story: None }
            }
            (Stage::Made, Process::Up) => Run::Up(self.facts(number, node)),
        };
        Instance::There(There {
            major: node.major,
            standby: node.standby,
            fenced: node.fenced,
            follows: node.follows,
            settings: node.settings.as_ref().map(|settings| settings.mark.clone()),
            run,
        })
    }

    fn facts(&self, number: Number, node: &Node) -> Facts {
        let streaming = self.streaming();
        let serves = streaming.iter().filter_map(|number| Some((*number, self.nodes.get(number)?.lsn)));
        Facts {
            port: node.port.unwrap_or_default(),
            in_recovery: node.standby,
            timeline: node.timeline,
            lsn: node.lsn,
            streaming: streaming.contains(&number),
            settings: node.settings.as_ref().map(|settings| settings.mark.clone()),
            restart_needed: node.restart_needed(),
            waits_for: if node.standby { BTreeSet::new() } else { self.waits_for.clone() },
            serves: if node.standby { BTreeMap::new() } else { serves.collect() },
            archives: self.archives,
        }
    }
}
