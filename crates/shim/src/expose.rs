//! A private view of the file system, in which a user can read what lies below someone else's closed directory.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

const NOTHING: Option<&str> = None;

/// Gives the calling thread a view of its own. Over each closed directory lies an empty one that holds only what is
/// exposed, read-only. Where the machine does not permit it, the view stays as it is.
pub(crate) fn expose(directories: &[PathBuf]) -> io::Result<()> {
    let mut by_closed = BTreeMap::<PathBuf, Vec<PathBuf>>::new();
    for directory in directories.iter().filter_map(|path| fs::canonicalize(path).ok()) {
        if let Some(closed) = closed_above(&directory) {
            by_closed.entry(closed).or_default().push(directory);
        }
    }
    if by_closed.is_empty() || unshare(CloneFlags::CLONE_NEWNS).is_err() {
        return Ok(());
    }
    mount(NOTHING, "/", NOTHING, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NOTHING)?;
    by_closed.iter().try_for_each(|(closed, inside)| cover(closed, inside))
}

/// The topmost directory on the way that strangers may not pass.
fn closed_above(path: &Path) -> Option<PathBuf> {
    let mut ways: Vec<&Path> = path.ancestors().skip(1).collect();
    ways.reverse();
    let closed = |way: &&Path| fs::metadata(way).is_ok_and(|found| found.mode() & 0o001 == 0);
    ways.into_iter().find(closed).map(Path::to_owned)
}

fn cover(closed: &Path, inside: &[PathBuf]) -> io::Result<()> {
    // Held open, because nothing below can be reached by name once the cover lies on it.
    let held: Vec<File> = inside.iter().map(|path| hold(path)).collect::<io::Result<_>>()?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), closed, Some("tmpfs"), flags, Some("mode=0755,size=1m"))?;
    for (path, source) in inside.iter().zip(&held) {
        DirBuilder::new().recursive(true).mode(0o755).create(path)?;
        let source = format!("/proc/self/fd/{}", source.as_raw_fd());
        mount(Some(source.as_str()), path, NOTHING, MsFlags::MS_BIND | MsFlags::MS_REC, NOTHING)?;
        let read_only = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY | flags;
        mount(NOTHING, path, NOTHING, read_only, NOTHING)?;
    }
    Ok(())
}

fn hold(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY;
    OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
}
