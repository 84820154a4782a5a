//! A file that somebody else replaces: how it is noticed, whatever is in it.
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

/// As many links as Linux itself follows before it says that they go round in a circle.
const LINKS: usize = 40;

/// Reads a file, and tells when it may have changed. Nothing is polled.
///
/// The file need not be there yet, and may be away for a moment.
pub struct FileWatch {
    path: PathBuf,
    eye: AsyncFd<Eye>,
    way: Way,
}

/// What leads to a file.
#[derive(Default)]
struct Way {
    /// The names that matter, by the directory that holds them.
    names: HashMap<WatchDescriptor, HashSet<OsString>>,
    /// The directory that the file itself lies in, and the file's path without links.
    end: Option<(WatchDescriptor, PathBuf)>,
}

impl FileWatch {
    /// Watches the file at this path. It has to be called within a tokio runtime.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let eye = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)?;
        #[expect(deprecated, reason = "its successor is unsafe; an `Eye` has one descriptor all its life")]
        let eye = AsyncFd::new(Eye(eye))?;
        Ok(Self { path, eye, way: Way::default() })
    }

    /// The file's path, from the root.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Watches the way to the file, then reads it: whatever happens after the watch is set, is told. What is no file,
    /// or has more bytes than are allowed, is an error.
    pub fn read(&mut self, bytes_max: u64) -> io::Result<Vec<u8>> {
        let way = self.follow();
        for watch in self.way.names.keys().filter(|watch| !way.names.contains_key(watch)) {
            // A directory that was removed took its watch along.
            let _ = self.eye.get_ref().0.rm_watch(*watch);
        }
        self.way = way;
        // To open a pipe would wait for somebody who writes into it.
        if !fs::metadata(&self.path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
        }
        let mut text = Vec::new();
        fs::File::open(&self.path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut text)?;
        match text.len() as u64 > bytes_max {
            true => Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("it has more than {bytes_max} bytes"),
            )),
            false => Ok(text),
        }
    }

    /// Waits until something on the way to the file has changed since it was read.
    pub async fn changed(&mut self) -> io::Result<()> {
        loop {
            let mut ready = self.eye.readable().await?;
            let events = match ready.get_inner().0.read_events() {
                Ok(events) => events,
                Err(Errno::EAGAIN) => {
                    ready.clear_ready();
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if events.iter().any(|event| self.matters(event)) {
                return Ok(());
            }
        }
    }

    /// Goes the way to the file link by link. A directory is watched before its entry is looked at.
    fn follow(&self) -> Way {
        let mut way = Way::default();
        let mut here = PathBuf::from("/");
        let mut ahead = steps(&self.path);
        let mut links = 0;
        while let Some(step) = ahead.pop_front() {
            if step == ".." {
                here.pop();
                continue;
            }
            let entry = here.join(&step);
            // A directory that may not be read cannot be watched; what lies below it still can.
            let watch = self.eye.get_ref().0.add_watch(&here, interest()).ok();
            way.end = watch.map(|watch| (watch, entry.clone()));
            if let Some(watch) = watch {
                way.names.entry(watch).or_default().insert(step);
            }
            match fs::read_link(&entry) {
                Ok(target) if links < LINKS => {
                    links += 1;
                    if target.is_absolute() {
                        here = PathBuf::from("/");
                    }
                    let mut detour = steps(&target);
                    detour.append(&mut ahead);
                    ahead = detour;
                }
                Ok(_) => break,
                Err(_) => here = entry,
            }
        }
        way
    }

    fn matters(&self, event: &InotifyEvent) -> bool {
        // An event without a name is about the directory itself, or says that events were lost.
        let Some(name) = &event.name else { return !event.mask.contains(AddWatchFlags::IN_IGNORED) };
        let known = self.way.names.get(&event.wd).is_some_and(|names| names.contains(name));
        known && !self.just_begun(event)
    }

    /// Whether somebody has made the file and not yet written anything. They will close it, which is told as well.
    fn just_begun(&self, event: &InotifyEvent) -> bool {
        let Some((watch, file)) = &self.way.end else { return false };
        let made = event.mask.contains(AddWatchFlags::IN_CREATE)
            && *watch == event.wd
            && file.file_name() == event.name.as_deref();
        made && fs::symlink_metadata(file).is_ok_and(|file| file.is_file() && file.len() == 0)
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
