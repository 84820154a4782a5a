//! The directory of a store: who has it open, and which files lie in it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::OpenError;
use super::format::Kind;

/// A directory that this process alone has open, for as long as this lives.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    _lock: File,
}

impl Directory {
    /// Makes the directory if need be and locks it.
    pub(super) fn lock(path: &Path) -> Result<Self, OpenError> {
        create_private(path).map_err(OpenError::io("create", path))?;
        let name = path.join("lock");
        let mut lock = private().read(true).open(&name).map_err(OpenError::io("open", &name))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::Locked { dir: path.into(), holder: holder(&mut lock) });
            }
            Err(TryLockError::Error(source)) => return Err(OpenError::io("lock", &name)(source)),
        }
        let holder = format!("process {}, started {}", std::process::id(), jiff::Timestamp::now());
        lock.set_len(0)
            .and_then(|()| lock.write_all(holder.as_bytes()))
            .map_err(OpenError::io("write", &name))?;
        Ok(Self { path: path.into(), _lock: lock })
    }

    /// Where a file of this kind and revision lies. Names sort in the order of revisions.
    pub(super) fn file(&self, kind: Kind, revision: u64) -> PathBuf {
        self.path.join(format!("{revision:020}.{}", kind.extension()))
    }

    /// The revisions of all files of a kind, in order.
    pub(super) fn revisions(&self, kind: Kind) -> io::Result<Vec<u64>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            let number =
                name.to_str().and_then(|name| name.strip_suffix(kind.extension())?.strip_suffix('.'));
            found.extend(number.and_then(|number| number.parse::<u64>().ok()));
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Removes what a crash left unfinished.
    pub(super) fn sweep(&self) -> io::Result<()> {
        for entry in std::fs::read_dir(&self.path)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "tmp") {
                std::fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Creates a file so that it appears under its name whole and durable, or not at all.
    pub(super) fn create(
        &self,
        kind: Kind,
        revision: u64,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<File> {
        let path = self.file(kind, revision);
        let unfinished = path.with_extension("tmp");
        let mut file = private().truncate(true).open(&unfinished)?;
        let made = fill(&mut file).and_then(|()| file.sync_all());
        if let Err(error) = made.and_then(|()| std::fs::rename(&unfinished, &path)) {
            // Kept from filling the disk further; if even this fails, the next open sweeps it.
            let _ = std::fs::remove_file(&unfinished);
            return Err(error);
        }
        File::open(&self.path)?.sync_all()?;
        Ok(file)
    }

    /// Removes all that a snapshot replaces, the oldest first: a crash in between leaves an unbroken rest.
    pub(super) fn forget_before(&self, snapshot: u64) -> io::Result<()> {
        for revision in self.revisions(Kind::Log)?.into_iter().filter(|first| *first <= snapshot) {
            std::fs::remove_file(self.file(Kind::Log, revision))?;
        }
        for revision in self.revisions(Kind::Snapshot)?.into_iter().filter(|revision| *revision < snapshot) {
            std::fs::remove_file(self.file(Kind::Snapshot, revision))?;
        }
        Ok(())
    }
}

fn holder(lock: &mut File) -> String {
    let mut text = String::new();
    // The holder may be between locking and writing its name.
    let read = lock.read_to_string(&mut text);
    if read.is_err() || text.is_empty() { "another process".into() } else { text }
}

/// Objects include Secrets: files are for their owner alone.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
