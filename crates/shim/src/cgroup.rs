//! Control groups, where the kernel lets us make them: exact limits, and a list of members that nobody can leave.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::unistd::geteuid;

use crate::order::Limits;
use crate::record::Cause;

/// Where control groups are mounted, by convention of every distribution.
const MOUNT: &str = "/sys/fs/cgroup";
/// How often a group is asked to go; the kernel still counts processes for a moment after they ended.
const REMOVALS: usize = 40;
/// The time between two of these.
const PAUSE: Duration = Duration::from_millis(5);

/// The control groups of one run. Empty where none could be made: limits are then watched instead.
#[derive(Debug, Default)]
pub(crate) struct Cgroups {
    memory: Option<Group>,
    pids: Option<Group>,
    processes: Option<u64>,
}

#[derive(Clone, Debug)]
struct Group {
    directory: PathBuf,
    /// Where the shim returns to, in the version where it can only move as a whole.
    home: Option<PathBuf>,
}

impl Cgroups {
    /// Makes the groups of a run, as far as the machine permits.
    pub(crate) fn make(name: &str, limits: &Limits) -> Self {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        if !geteuid().is_root() {
            return Self::default();
        }
        let mount = Path::new(MOUNT);
        let mut made = if mount.join("cgroup.controllers").exists() {
            let group = one_tree(mount, &own, name);
            Self { memory: group.clone(), pids: group, processes: limits.processes }
        } else {
            Self {
                memory: limits.memory_bytes.and_then(|_| own_tree(mount, &own, "memory", name)),
                pids: own_tree(mount, &own, "pids", name),
                processes: limits.processes,
            }
        };
        made.limit(limits);
        made
    }

    fn limit(&mut self, limits: &Limits) {
        let set = |group: &Group, file: &str, value: u64| {
            fs::write(group.directory.join(file), value.to_string()).is_ok()
        };
        if let (Some(bytes), Some(group)) = (limits.memory_bytes, &self.memory) {
            let done = set(group, "memory.max", bytes) || set(group, "memory.limit_in_bytes", bytes);
            // Not every kernel counts swap; where it does, it is no way around the limit.
            let _ = set(group, "memory.swap.max", 0) || set(group, "memory.memsw.limit_in_bytes", bytes);
            if !done {
                self.memory = None;
            }
        } else {
            self.memory = None;
        }
        if let (Some(count), Some(group)) = (limits.processes, &self.pids) {
            // One place more for the thread that starts the program; see `launched`.
            if !set(group, "pids.max", count.saturating_add(1)) {
                self.processes = None;
            }
        }
    }

    /// Puts the calling thread into the groups, so that what it starts is born in them.
    pub(crate) fn join(&self) {
        for group in self.groups() {
            let whole = group.home.is_some();
            let file = if whole { "cgroup.procs" } else { "tasks" };
            // A group that cannot be joined stays empty: the limits are then watched by nobody but the machine.
            let _ = fs::write(group.directory.join(file), "0");
        }
    }

    /// Takes the shim out again where it had to go in as a whole, and closes the place it needed.
    pub(crate) fn launched(&self) {
        for home in self.groups().into_iter().filter_map(|group| group.home) {
            let _ = fs::write(home.join("cgroup.procs"), "0");
        }
        if let (Some(group), Some(count)) = (&self.pids, self.processes) {
            let _ = fs::write(group.directory.join("pids.max"), count.to_string());
        }
    }

    /// Lets nothing new be started any more.
    pub(crate) fn close(&self) {
        if let Some(group) = &self.pids {
            let _ = fs::write(group.directory.join("pids.max"), "0");
        }
    }

    /// Which limit was crossed so far.
    pub(crate) fn crossed(&self) -> Option<Cause> {
        let count = |group: &Group, file: &str, key: &str| {
            counter(&fs::read_to_string(group.directory.join(file)).unwrap_or_default(), key)
        };
        let killed = |group: &Group| {
            count(group, "memory.events", "oom_kill") + count(group, "memory.oom_control", "oom_kill")
        };
        if self.memory.as_ref().is_some_and(|group| killed(group) > 0) {
            return Some(Cause::OutOfMemory);
        }
        let limited = self.pids.as_ref().filter(|_| self.processes.is_some());
        limited.filter(|group| count(group, "pids.events", "max") > 0).map(|_| Cause::TooManyProcesses)
    }

    /// Whether the kernel holds the memory limit.
    pub(crate) fn hold_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Whether the kernel holds the limit of processes.
    pub(crate) fn hold_processes(&self) -> bool {
        self.pids.is_some() && self.processes.is_some()
    }

    /// The directories of the groups.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        self.groups().into_iter().map(|group| group.directory).collect()
    }

    fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = self.memory.iter().chain(&self.pids).cloned().collect();
        groups.dedup_by(|a, b| a.directory == b.directory);
        groups
    }
}

/// The processes in these groups.
pub(crate) fn members(directories: &[PathBuf]) -> Vec<u32> {
    let lists = directories.iter().filter_map(|path| fs::read_to_string(path.join("cgroup.procs")).ok());
    lists.flat_map(|list| list.lines().filter_map(|line| line.parse().ok()).collect::<Vec<u32>>()).collect()
}

/// Removes groups, which must be empty.
pub(crate) fn remove(directories: &[PathBuf]) {
    for directory in directories {
        for _ in 0..REMOVALS {
            match fs::remove_dir(directory) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(PAUSE),
                Ok(()) | Err(_) => break,
            }
        }
    }
}

/// Version 2: one tree for all limits. A group with processes in it cannot hand limits down, so below our own it
/// works only where the platform was given an empty one; otherwise the top of the tree is tried.
fn one_tree(mount: &Path, own: &str, name: &str) -> Option<Group> {
    let home = mount.join(path_of(own, "")?);
    let parents = [home.clone(), mount.to_owned()];
    let made = parents.iter().find_map(|parent| {
        let _ = fs::write(parent.join("cgroup.subtree_control"), "+memory +pids");
        made_below(parent, name, &["memory.max", "pids.max"])
    });
    made.map(|directory| Group { directory, home: Some(home) })
}

/// Version 1: each limit has a tree of its own.
fn own_tree(mount: &Path, own: &str, controller: &str, name: &str) -> Option<Group> {
    let tree = mount.join(controller);
    let probe = if controller == "memory" { "memory.limit_in_bytes" } else { "pids.max" };
    let parents = [tree.join(path_of(own, controller)?), tree];
    let made = parents.iter().find_map(|parent| made_below(parent, name, &[probe]));
    made.map(|directory| Group { directory, home: None })
}

fn made_below(parent: &Path, name: &str, probes: &[&str]) -> Option<PathBuf> {
    let directory = parent.join(name);
    fs::create_dir(&directory).ok()?;
    if probes.iter().all(|probe| directory.join(probe).exists()) {
        return Some(directory);
    }
    let _ = fs::remove_dir(&directory);
    None
}

/// Our own place in the tree of a controller, from `/proc/self/cgroup`; the tree of version 2 has no name.
pub(crate) fn path_of(own: &str, controller: &str) -> Option<PathBuf> {
    own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let names = parts.next()?;
        let path = parts.next()?;
        let named = names.split(',').any(|name| name == controller);
        named.then(|| PathBuf::from(path.trim_start_matches('/')))
    })
}

/// The number behind a word in a file of words and numbers.
pub(crate) fn counter(text: &str, key: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok());
    value.unwrap_or(0)
}
