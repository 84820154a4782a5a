//! What every measurement tells its figures with.

use std::path::PathBuf;
use std::time::Duration;

/// A value of which so large a part is not greater.
pub fn at(times: &mut [Duration], part: f64) -> Duration {
    times.sort();
    let place = ((times.len() as f64 * part).ceil() as usize).clamp(1, times.len().max(1));
    times.get(place - 1).copied().unwrap_or_default()
}

/// A time in words.
pub fn ms(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1_000.0;
    match ms {
        ms if ms < 1.0 => format!("{ms:.2} ms"),
        ms if ms < 100.0 => format!("{ms:.1} ms"),
        ms => format!("{ms:.0} ms"),
    }
}

/// The memory of a process, with pages that others use, too, shared out among them.
pub fn share_kib(pid: u32) -> u64 {
    read_kib(pid, "smaps_rollup", "Pss:")
}

/// The memory of a process, whoever else uses it.
pub fn resident_kib(pid: u32) -> u64 {
    read_kib(pid, "status", "VmRSS:")
}

fn read_kib(pid: u32, file: &str, key: &str) -> u64 {
    let file = PathBuf::from(format!("/proc/{pid}/{file}"));
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
