//! Signals to everything that belongs to a run, wherever it hides.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpgrp};

use crate::cgroup;
use crate::process::{self, Process, Stat};
use crate::record::Record;

/// How long the kernel is given to clear away what was killed before it is looked at again.
const PAUSE: Duration = Duration::from_millis(5);

/// How many children are collected at a time.
pub(crate) const AT_ONCE: usize = 64;

/// Sends a signal to a process, if that is still the one meant.
pub fn signal(process: Process, signal: Signal) {
    if process.is_alive() {
        send(process.pid, signal);
    }
}

fn send(pid: u32, signal: Signal) {
    if let Ok(pid) = i32::try_from(pid) {
        // A process that has just gone needs no signal.
        let _ = kill(Pid::from_raw(pid), signal);
    }
}

/// Sends a signal to everything below this process.
pub(crate) fn signal_below(root: u32, signal: Signal) {
    for stat in process::descendants(root).iter().filter(|stat| !stat.ended) {
        send(stat.process.pid, signal);
    }
}

/// Looks at something while the group that a program leads is stopped, which is one call however many there are. They go
/// on unless something was found.
pub(crate) fn while_stopped<T>(program: Process, look: impl FnOnce() -> Option<T>) -> Option<T> {
    let Ok(group) = i32::try_from(program.pid).map(Pid::from_raw) else { return look() };
    // A group that has just gone needs no signal.
    let stopped = killpg(group, Signal::SIGSTOP).is_ok();
    let found = look();
    if stopped && found.is_none() {
        let _ = killpg(group, Signal::SIGCONT);
    }
    found
}

/// Ends the members of closed control groups, which can start nothing more. One short list instead of a look at every
/// process of the machine: a fork bomb leaves the shim little time.
pub(crate) fn end_members(groups: &[PathBuf]) {
    let own = std::process::id();
    cgroup::members(groups).into_iter().filter(|pid| *pid != own).for_each(|pid| send(pid, Signal::SIGKILL));
}

/// Ends everything below the calling process, which collects what ends. Returns what was collected.
pub(crate) fn end_below(root: u32) -> HashMap<u32, WaitStatus> {
    let mut collected = HashMap::new();
    loop {
        end_once(|| process::family(root));
        collected.extend(collect());
        if process::family(root).is_empty() {
            return collected;
        }
        thread::sleep(PAUSE);
    }
}

/// Ends what is left of a run whose shim is gone. `fresh` says that the shim was seen to run a moment ago, so its
/// session is still the run's. Gives up at the deadline; returns whether nothing is left.
pub fn end_orphans(record: &Record, fresh: bool, deadline: Instant) -> bool {
    loop {
        if !end_once(|| orphans(record, fresh)) {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(PAUSE);
    }
}

/// Removes what a shim that is gone may have left outside its directory.
pub fn clear(record: &Record) {
    cgroup::remove(&record.cgroups);
}

/// What belongs to a run without a shim: its control groups tell for certain. Group and session numbers can pass
/// to strangers once nobody of the run is left, so they count only while someone is known to be.
fn orphans(record: &Record, fresh: bool) -> Vec<Stat> {
    let mut found: Vec<Stat> = cgroup::members(&record.cgroups).into_iter().filter_map(Stat::read).collect();
    let program = record.program.filter(Process::is_alive);
    if program.is_some() || fresh {
        let group = record.program.map(|program| program.pid);
        let ours = |stat: &Stat| {
            let kin = stat.session == record.shim.pid || Some(stat.group) == group;
            kin && stat.process.start >= record.shim.start && stat.process.pid != std::process::id()
        };
        let mut kin: Vec<Stat> = process::all().into_iter().filter(ours).collect();
        let below: Vec<Stat> = kin.iter().flat_map(|stat| process::descendants(stat.process.pid)).collect();
        found.append(&mut kin);
        found.extend(below);
    }
    found
}

/// One round: everything is stopped before anything is killed. What is stopped cannot start more, and keeps the
/// place in the limits that a fork bomb would fill again. Returns whether anything was there.
fn end_once(look: impl Fn() -> Vec<Stat>) -> bool {
    let mut stopped = HashSet::new();
    loop {
        let mut fresh = look();
        fresh.retain(|stat| !stat.ended && !stopped.contains(&stat.process));
        if fresh.is_empty() {
            break;
        }
        stop_groups(&fresh);
        fresh.iter().for_each(|stat| signal(stat.process, Signal::SIGSTOP));
        stopped.extend(fresh.iter().map(|stat| stat.process));
    }
    stopped.iter().for_each(|process| signal(*process, Signal::SIGKILL));
    !stopped.is_empty()
}

/// Stops whole groups, each in one call, in which the kernel lets no member start another: a fork bomb of a thousand
/// processes leaves whoever stops them one by one too little time. A group never reaches beyond a session, and the
/// sessions of a run hold nobody else but its shim.
fn stop_groups(fresh: &[Stat]) {
    let own = getpgrp();
    let groups: HashSet<i32> = fresh.iter().filter_map(|stat| i32::try_from(stat.group).ok()).collect();
    for group in groups.into_iter().filter(|group| *group > 1).map(Pid::from_raw) {
        if group != own {
            // A group that has just gone needs no signal.
            let _ = killpg(group, Signal::SIGSTOP);
        }
    }
}

/// Collects children that have ended: not more than a few dozen, because a fork bomb brings new ones faster than they can
/// be collected, and each that is collected makes room for another.
pub(crate) fn collect() -> Vec<(u32, WaitStatus)> {
    let mut collected = Vec::new();
    while collected.len() < AT_ONCE
        && let Ok(status) = waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG))
    {
        let Some(pid) = status.pid() else { break };
        if matches!(status, WaitStatus::Exited(..) | WaitStatus::Signaled(..)) {
            collected.push((pid.as_raw().unsigned_abs(), status));
        }
    }
    collected
}
