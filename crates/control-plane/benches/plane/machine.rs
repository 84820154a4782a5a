//! What the numbers were measured on.

use std::fs::{self, File};
use std::io::Write;
use std::time::{Duration, Instant};

use crate::Outcome;

/// The directory under the build's own, which is on a real disk.
pub fn directory() -> Outcome<tempfile::TempDir> {
    let base = env!("CARGO_TARGET_TMPDIR");
    fs::create_dir_all(base)?;
    Ok(tempfile::Builder::new().prefix("bench-").tempdir_in(base)?)
}

/// Lines about processor, memory, kernel, disk and how busy it is.
pub fn describe() -> Outcome<Vec<String>> {
    let line = |file: &str, start: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let found = text.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_owned();
        found.split_once(':').map_or_else(String::new, |(_, value)| value.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = line("/proc/meminfo", "MemTotal").split(' ').next().and_then(|kib| kib.parse::<u64>().ok());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let sync = sync_time()?;
    Ok(vec![
        format!("processor: {cores} × {}", line("/proc/cpuinfo", "model name")),
        format!("memory: {} GiB", memory.unwrap_or_default() >> 20),
        format!("kernel: {}", kernel.trim()),
        format!("disk: append of 1 KiB and fdatasync, p50 {:.2} ms", sync.as_secs_f64() * 1e3),
        format!("load average at the start: {}", load_average()),
    ])
}

/// The last minute, five and fifteen minutes.
pub fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// What one durable write costs at the least.
fn sync_time() -> Outcome<Duration> {
    let directory = directory()?;
    let mut file = File::create(directory.path().join("file"))?;
    let mut times = Vec::new();
    for _ in 0..200 {
        let begun = Instant::now();
        file.write_all(&[0; 1024])?;
        file.sync_data()?;
        times.push(begun.elapsed());
    }
    times.sort();
    Ok(times[times.len() / 2])
}
