//! What the kernel tells about processes, as far as the fate of a process group needs it.

use std::collections::HashSet;
use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

/// One process, named so that a later process with the same number is never taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it started, in ticks since the machine started.
    pub start: u64,
}

impl Process {
    /// The process with this number, if there is one.
    pub fn find(pid: u32) -> Option<Self> {
        Stat::read(pid).map(|stat| stat.process)
    }

    /// The process that asks.
    pub fn this() -> io::Result<Self> {
        Self::find(std::process::id()).ok_or_else(|| io::Error::other("/proc does not know this process"))
    }

    /// Whether it still runs. One that has ended and waits to be collected does not.
    pub fn is_alive(&self) -> bool {
        Stat::read(self.pid).is_some_and(|stat| stat.process.start == self.start && !stat.ended)
    }
}

/// The name of the machine's current boot. Process numbers mean nothing beyond it.
pub fn boot() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// What `/proc/<pid>/stat` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub process: Process,
    pub ended: bool,
    pub parent: u32,
    pub group: u32,
    pub session: u32,
    pub threads: u64,
    pub resident_pages: u64,
}

impl Stat {
    pub(crate) fn read(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Reads the line. The second field is the program's name in brackets and may itself hold brackets and
    /// blanks, so the rest is counted from the last closing one; field numbers are those of proc(5).
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let pid = line.split(' ').next()?.parse().ok()?;
        let (_, rest) = line.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).copied();
        let number = |place: usize| field(place)?.parse::<u32>().ok();
        let large = |place: usize| field(place)?.parse::<u64>().ok();
        Some(Self {
            process: Process { pid, start: large(22)? },
            ended: matches!(field(3)?, "Z" | "X"),
            parent: number(4)?,
            group: number(5)?,
            session: number(6)?,
            threads: large(20)?,
            resident_pages: large(24)?,
        })
    }
}

/// Every process on the machine.
pub(crate) fn all() -> Vec<Stat> {
    numbers("/proc").filter_map(Stat::read).collect()
}

/// Every process below this one, children before grandchildren; also those that have ended and were not collected.
pub(crate) fn descendants(root: u32) -> Vec<Stat> {
    let mut found = Vec::new();
    let mut seen = HashSet::from([root]);
    let mut waiting = vec![root];
    while let Some(parent) = waiting.pop() {
        for child in children(parent) {
            if !seen.insert(child) {
                continue;
            }
            if let Some(stat) = Stat::read(child) {
                found.push(stat);
                waiting.push(child);
            }
        }
    }
    found
}

/// Every process below this one, and everyone in the session that it leads. The kernel's lists of children miss some while
/// processes come and go by the hundred, as in a fork bomb; but nobody below can enter another's session, and whoever
/// makes a session of its own is found as a child. It looks at every process of the machine.
pub(crate) fn family(root: u32) -> Vec<Stat> {
    let mut found = descendants(root);
    let known: HashSet<u32> = found.iter().map(|stat| stat.process.pid).chain([root]).collect();
    found.extend(all().into_iter().filter(|stat| stat.session == root && !known.contains(&stat.process.pid)));
    found
}

/// Children hang on the thread that made them, so every thread is asked.
fn children(parent: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for thread in numbers(&format!("/proc/{parent}/task")) {
        match fs::read_to_string(format!("/proc/{parent}/task/{thread}/children")) {
            Ok(list) => {
                found.extend(list.split_ascii_whitespace().filter_map(|word| word.parse::<u32>().ok()))
            }
            // Kernels built without that file still know everyone's parent.
            Err(_) if !std::path::Path::new("/proc/thread-self/children").exists() => {
                return all().iter().filter(|s| s.parent == parent).map(|s| s.process.pid).collect();
            }
            Err(_) => {}
        }
    }
    found
}

/// The files that the calling process has open, by number.
pub(crate) fn open_files() -> Vec<i32> {
    numbers("/proc/self/fd").filter_map(|number| i32::try_from(number).ok()).collect()
}

fn numbers(directory: &str) -> impl Iterator<Item = u32> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
