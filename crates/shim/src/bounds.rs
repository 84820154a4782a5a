//! The limits that the kernel holds for one process, and those that have to be watched.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::{SysconfVar, geteuid, sysconf};

use crate::cgroup::{Cgroups, counter};
use crate::order::{Limits, Order};
use crate::process::{self, Stat};
use crate::record::Cause;

/// The shim shares the limit of open files with its program and needs some itself.
const OPEN_FILES_MIN: u64 = 64;
/// How far beyond its own limit a program can get before the kernel says no, where the kernel counts all
/// processes of a user together: room for what else that user starts.
const USER_ROOM: u64 = 1024;

/// Sets the limits of single processes on the shim, from which the program inherits them.
pub(crate) fn set(order: &Order, cgroups: &Cgroups) {
    lower(Resource::RLIMIT_CORE, 0);
    if let Some(count) = order.limits.open_files {
        lower(Resource::RLIMIT_NOFILE, count.max(OPEN_FILES_MIN));
    }
    let user = order.user.unwrap_or_else(|| geteuid().as_raw());
    if let Some(count) = order.limits.processes.filter(|_| user != 0 && !cgroups.hold_processes()) {
        lower(Resource::RLIMIT_NPROC, processes_of(user) + count + USER_ROOM);
    }
}

fn lower(resource: Resource, value: u64) {
    if let Ok((_, hard)) = getrlimit(resource) {
        let value = value.min(hard);
        // Lowering is always permitted.
        let _ = setrlimit(resource, value, value);
    }
}

fn processes_of(user: u32) -> u64 {
    let owner = |stat: &Stat| fs::metadata(format!("/proc/{}", stat.process.pid)).map(|file| file.uid()).ok();
    process::all().iter().filter(|stat| owner(stat) == Some(user)).map(|stat| stat.threads).sum()
}

/// Whether the limits must be looked at, because the kernel does not hold them.
pub(crate) fn watched(limits: &Limits, cgroups: &Cgroups) -> bool {
    (limits.memory_bytes.is_some() && !cgroups.hold_memory())
        || (limits.processes.is_some() && !cgroups.hold_processes())
}

/// Which limit everything below the shim crosses now. In a `crowd`, where processes come and go, it is looked more closely.
pub(crate) fn crossed(limits: &Limits, cgroups: &Cgroups, crowd: bool) -> Option<Cause> {
    if !watched(limits, cgroups) {
        return None;
    }
    let shim = std::process::id();
    let below: Vec<Stat> = if crowd { process::family(shim) } else { process::descendants(shim) };
    // One that has ended has no thread left, and still takes the place of one until it is collected.
    let count: u64 = below.iter().map(|stat| stat.threads.max(1)).sum();
    if limits.processes.is_some_and(|most| count > most) {
        return Some(Cause::TooManyProcesses);
    }
    let most = limits.memory_bytes.filter(|_| !cgroups.hold_memory())?;
    let page = sysconf(SysconfVar::PAGE_SIZE).ok().flatten().map_or(4096, i64::unsigned_abs);
    let resident: u64 = below.iter().map(|stat| stat.resident_pages.saturating_mul(page)).sum();
    // Pages that several processes share are counted for each of them; the dearer count shares them out.
    let crossed = resident > most && below.iter().map(|stat| share(stat, page)).sum::<u64>() > most;
    crossed.then_some(Cause::OutOfMemory)
}

fn share(stat: &Stat, page: u64) -> u64 {
    match fs::read_to_string(format!("/proc/{}/smaps_rollup", stat.process.pid)) {
        Ok(text) => proportional(&text),
        Err(_) => stat.resident_pages.saturating_mul(page),
    }
}

/// The bytes that `smaps_rollup` names as a process's proportional share.
pub(crate) fn proportional(text: &str) -> u64 {
    let line = text.lines().find(|line| line.starts_with("Pss:")).unwrap_or_default();
    counter(&line.split_ascii_whitespace().take(2).collect::<Vec<_>>().join(" "), "Pss:") * 1024
}
