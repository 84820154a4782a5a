//! A file that somebody else replaces, most often a key of a mounted Secret.
//!
//! The kubelet swaps the symbolic link `..data`, others rename a new file over the old one or write into it. Whatever
//! leads to the file is watched: every directory on the way, and of each only the name that the way goes through.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, AsRawFd, RawFd};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
use tokio::io::unix::AsyncFd;

use super::{Sealed, Source, SourceError};

/// As many links as Linux itself follows before it says that they go round in a circle.
const LINKS: usize = 40;
/// No connection string is longer; what is longer is some other file.
const BYTES: u64 = 64 * 1024;

/// Gives the text of a file, and its new text whenever that changes. Nothing is polled.
///
/// The file need not be there yet, and may be away for a moment.
pub struct FileSource {
    path: PathBuf,
    eye: AsyncFd<Eye>,
    /// The names that matter, by the directory that holds them.
    names: HashMap<WatchDescriptor, HashSet<OsString>>,
    given: Option<Result<Sealed, SourceError>>,
}

impl FileSource {
    /// Watches the file at this path. It has to be called within a tokio runtime.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let eye = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)?;
        #[expect(deprecated, reason = "its successor is unsafe; an `Eye` has one descriptor all its life")]
        let eye = AsyncFd::new(Eye(eye))?;
        Ok(Self { path, eye, names: HashMap::new(), given: None })
    }

    /// Watches the way to the file, then reads it: whatever happens after the watch is set, is told.
    fn look(&mut self) -> Result<Sealed, SourceError> {
        let names = self.follow();
        let gone: Vec<_> = self.names.keys().filter(|watch| !names.contains_key(watch)).copied().collect();
        for watch in gone {
            // A directory that was removed took its watch along.
            let _ = self.eye.get_ref().0.rm_watch(watch);
        }
        self.names = names;
        let told = |error: io::Error| SourceError(format!("file `{}`: {error}", self.path.display()));
        let mut text = String::new();
        fs::File::open(&self.path)
            .and_then(|file| file.take(BYTES + 1).read_to_string(&mut text))
            .map_err(told)?;
        match text.trim().is_empty() || text.len() as u64 > BYTES {
            true => Err(told(io::Error::other("it is empty, or too long for a connection string"))),
            false => Ok(Sealed::new(text)),
        }
    }

    /// Goes the way to the file link by link. A directory is watched before its entry is looked at.
    fn follow(&self) -> HashMap<WatchDescriptor, HashSet<OsString>> {
        let mut names: HashMap<_, HashSet<_>> = HashMap::new();
        let mut here = PathBuf::from("/");
        let mut ahead = steps(&self.path);
        let mut links = 0;
        while let Some(step) = ahead.pop_front() {
            if step == ".." {
                here.pop();
                continue;
            }
            // A directory that may not be read cannot be watched; what lies below it still can.
            if let Ok(watch) = self.eye.get_ref().0.add_watch(&here, interest()) {
                names.entry(watch).or_default().insert(step.clone());
            }
            let entry = here.join(&step);
            match fs::read_link(&entry) {
                Ok(target) if links < LINKS => {
                    links += 1;
                    if target.is_absolute() {
                        here = PathBuf::from("/");
                    }
                    let mut way = steps(&target);
                    way.append(&mut ahead);
                    ahead = way;
                }
                Ok(_) => break,
                Err(_) => here = entry,
            }
        }
        names
    }

    /// Waits until something on the way to the file has changed.
    async fn stir(&mut self) -> Result<(), SourceError> {
        let lost = |error: io::Error| SourceError(format!("the watch of files failed: {error}"));
        loop {
            let mut ready = self.eye.readable().await.map_err(lost)?;
            let events = match ready.get_inner().0.read_events() {
                Ok(events) => events,
                Err(Errno::EAGAIN) => {
                    ready.clear_ready();
                    continue;
                }
                Err(error) => return Err(lost(error.into())),
            };
            if events.iter().any(|event| self.matters(event)) {
                return Ok(());
            }
        }
    }

    fn matters(&self, event: &InotifyEvent) -> bool {
        // An event without a name is about the directory itself, or says that events were lost.
        let Some(name) = &event.name else { return !event.mask.contains(AddWatchFlags::IN_IGNORED) };
        self.names.get(&event.wd).is_some_and(|names| names.contains(name))
    }
}

impl Source for FileSource {
    async fn next(&mut self) -> Result<Sealed, SourceError> {
        loop {
            if self.given.is_some() {
                self.stir().await?;
            }
            let seen = self.look();
            let news = self.given.as_ref() != Some(&seen);
            self.given = Some(seen.clone());
            if news {
                return seen;
            }
        }
    }
}

fn steps(path: &Path) -> VecDeque<OsString> {
    let step = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    };
    path.components().filter_map(step).collect()
}

fn interest() -> AddWatchFlags {
    AddWatchFlags::IN_CREATE
        | AddWatchFlags::IN_CLOSE_WRITE
        | AddWatchFlags::IN_MOVE
        | AddWatchFlags::IN_DELETE
        | AddWatchFlags::IN_ATTRIB
        | AddWatchFlags::IN_ONLYDIR
}

struct Eye(Inotify);

impl AsRawFd for Eye {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

#[cfg(test)]
mod tests;
