//! How long a program may still take to end: a moment in a small file beside the record, which only ever comes nearer.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::record::{Record, now_ms, write_private};
use crate::tree;

/// Asks a shim to bring its program to an end within `grace`. A longer time than it was given before changes nothing.
///
/// The caller lets no second call for the same run in meanwhile.
pub fn ask_to_end(record: &Record, path: &Path, grace: Duration) -> io::Result<()> {
    let ends = now_ms().saturating_add(i64::try_from(grace.as_millis()).unwrap_or(i64::MAX));
    if moment(path).is_none_or(|earlier| ends < earlier) {
        let draft = path.with_extension("grace-draft");
        write_private(&draft, ends.to_string().as_bytes())?;
        fs::rename(&draft, file(path))?;
    }
    tree::signal(record.shim, Signal::SIGTERM);
    Ok(())
}

/// The time that is left, if anybody said.
pub(crate) fn left(path: &Path) -> Option<Duration> {
    let left = moment(path)?.saturating_sub(now_ms());
    Some(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
}

/// The file beside a record that holds the moment.
pub fn file(path: &Path) -> PathBuf {
    path.with_extension("grace")
}

fn moment(path: &Path) -> Option<i64> {
    fs::read_to_string(file(path)).ok()?.trim().parse().ok()
}
