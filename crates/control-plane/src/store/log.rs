//! The log on disk: appending batches, beginning new segments, and snapshots that replace old ones.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::RwLock;

use super::directory::Directory;
use super::format::{self, FORMAT, HEADER, Header, Kind};
use super::state::State;
use super::{Event, Stored};

/// Zeros written ahead of the records: a sync of bytes inside the file need not move its metadata, which
/// takes about half the time. One megabyte is a thousand objects of 1 KiB.
const AHEAD: u64 = 1 << 20;
/// A buffer larger than this is not kept for the next batch.
const BUFFER: usize = 8 << 20;
/// Bytes of objects in one frame of a snapshot.
const SNAPSHOT_FRAME: usize = 1 << 20;

/// A file that is written; tests put one that fails in its place.
pub(super) trait Medium: Send {
    /// Writes all bytes at an offset.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Returns when the bytes would survive a power cut.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts or extends the file.
    fn set_len(&mut self, length: u64) -> io::Result<()>;
}

impl Medium for File {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(offset))?;
        self.write_all(bytes)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
    fn set_len(&mut self, length: u64) -> io::Result<()> {
        File::set_len(self, length)
    }
}

/// Makes a medium of a segment's file.
pub(super) type Wrap = Arc<dyn Fn(File) -> Box<dyn Medium> + Send + Sync>;

/// The file that batches are appended to.
pub(super) struct Segment {
    medium: Box<dyn Medium>,
    /// Behind the last good frame.
    end: u64,
    /// Behind the last byte the file has; zeros lie between.
    length: u64,
}

impl Segment {
    /// Goes on with a file whose good frames end at `end`.
    pub(super) fn resume(medium: Box<dyn Medium>, end: u64, length: u64) -> Self {
        Self { medium, end, length }
    }

    /// A new file for the writes from a revision on.
    pub(super) fn create(directory: &Directory, first: u64, wrap: &Wrap) -> io::Result<Self> {
        let header = Header { version: FORMAT, revision: first, count: 0 }.bytes(Kind::Log);
        let file = directory.create(Kind::Log, first, |file| {
            file.write_all(&header)?;
            file.write_all(&vec![0; AHEAD as usize])
        })?;
        let end = header.len() as u64;
        Ok(Self { medium: wrap(file), end, length: end + AHEAD })
    }

    fn write(&mut self, frame: &[u8]) -> io::Result<()> {
        let end = self.end + frame.len() as u64;
        if end > self.length {
            let zeros = vec![0; (end - self.length + AHEAD) as usize];
            self.medium.write_at(self.length, &zeros)?;
            self.length += zeros.len() as u64;
        }
        self.medium.write_at(self.end, frame)
    }

    /// Takes back what a failed write left behind the last good frame.
    fn rewind(&mut self) -> io::Result<()> {
        self.medium.set_len(self.end)?;
        self.length = self.end;
        Ok(())
    }
}

/// The open log. Dropped, it waits for a snapshot that is being written.
pub(super) struct Log {
    directory: Arc<Directory>,
    segment: Segment,
    wrap: Wrap,
    /// Why nothing can be written any more.
    broken: Option<String>,
    buffer: Vec<u8>,
    limit: u64,
    /// Size of the segment at which the next one begins.
    full: u64,
    snapshot: Option<JoinHandle<()>>,
}

impl Log {
    /// A log that goes on with a segment.
    pub(super) fn new(directory: Arc<Directory>, segment: Segment, limit: u64, wrap: Wrap) -> Self {
        let (broken, buffer, snapshot) = (None, Vec::new(), None);
        Self { directory, segment, wrap, broken, buffer, limit, full: limit, snapshot }
    }

    /// Makes a batch durable, as a whole or not at all.
    pub(super) fn append(&mut self, events: &[Arc<Event>]) -> Result<(), String> {
        if let Some(why) = &self.broken {
            return Err(why.clone());
        }
        if events.is_empty() {
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        format::frame_events(&mut buffer, events);
        let appended = self.append_frame(&buffer);
        if buffer.capacity() <= BUFFER {
            self.buffer = buffer;
        }
        appended
    }

    fn append_frame(&mut self, frame: &[u8]) -> Result<(), String> {
        if u32::try_from(frame.len()).is_err() {
            return Err(format!("a batch of {} bytes is too large for the log", frame.len()));
        }
        if let Err(error) = self.segment.write(frame) {
            let why = format!("the log cannot be written: {error}");
            if let Err(error) = self.segment.rewind() {
                self.broken = Some(format!("{why}; what was written cannot be taken back: {error}"));
            }
            tracing::error!("{why}");
            return Err(why);
        }
        if let Err(error) = self.segment.medium.sync() {
            // The kernel may drop the pages it failed to write and call them clean: the next sync would
            // succeed and prove nothing. Only reading the file again tells what is really there.
            let why =
                format!("the log cannot be synced: {error}; nothing is written until it is opened again");
            tracing::error!("{why}");
            self.broken = Some(why.clone());
            return Err(why);
        }
        self.segment.end += frame.len() as u64;
        Ok(())
    }

    /// Begins a new segment and a snapshot when the current segment is full.
    pub(super) fn tidy(&mut self, state: &RwLock<State>) {
        let writing = self.snapshot.as_ref().is_some_and(|thread| !thread.is_finished());
        let full = self.segment.end >= self.full && self.segment.end > HEADER as u64;
        if writing || !full || self.broken.is_some() {
            return;
        }
        self.finish_snapshot();
        let (revision, objects) = {
            let state = state.read();
            (state.revision(), state.everything())
        };
        match Segment::create(&self.directory, revision + 1, &self.wrap) {
            Ok(segment) => {
                self.segment = segment;
                self.full = self.limit;
                self.begin_snapshot(revision, objects);
            }
            Err(error) => {
                tracing::warn!("no new log segment, the old one grows on: {error}");
                self.full = self.segment.end + self.limit;
            }
        }
    }

    fn begin_snapshot(&mut self, revision: u64, objects: Vec<Arc<Stored>>) {
        let directory = self.directory.clone();
        let work = move || {
            let written = write_snapshot(&directory, revision, &objects);
            if let Err(error) = written.and_then(|()| directory.forget_before(revision)) {
                tracing::warn!("no snapshot at revision {revision}, the log is kept instead: {error}");
            }
        };
        match std::thread::Builder::new().name("snapshot".into()).spawn(work) {
            Ok(thread) => self.snapshot = Some(thread),
            Err(error) => tracing::warn!("no thread for a snapshot, the log is kept instead: {error}"),
        }
    }

    fn finish_snapshot(&mut self) {
        if let Some(Err(_)) = self.snapshot.take().map(JoinHandle::join) {
            tracing::error!("a snapshot of the store ended in a panic");
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.finish_snapshot();
    }
}

fn write_snapshot(directory: &Directory, revision: u64, objects: &[Arc<Stored>]) -> io::Result<()> {
    let header = Header { version: FORMAT, revision, count: objects.len() as u64 };
    directory.create(Kind::Snapshot, revision, |file| {
        file.write_all(&header.bytes(Kind::Snapshot))?;
        let mut buffer = Vec::new();
        let mut rest = objects;
        while !rest.is_empty() {
            let (frame, behind) = rest.split_at(frame_size(rest));
            buffer.clear();
            format::frame_objects(&mut buffer, frame);
            file.write_all(&buffer)?;
            rest = behind;
        }
        Ok(())
    })?;
    Ok(())
}

/// How many objects go into the next frame: at least one.
fn frame_size(objects: &[Arc<Stored>]) -> usize {
    let mut bytes = 0;
    let fits = objects.iter().take_while(|object| {
        bytes += object.json.len();
        bytes <= SNAPSHOT_FRAME
    });
    fits.count().max(1)
}
