//! Opening a directory: the newest snapshot, then every write behind it.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::directory::Directory;
use super::format::{self, FORMAT, HEADER, Header, Kind, OLDEST, Record};
use super::log::{Log, Segment, Wrap};
use super::state::State;
use super::{Event, Happening, OpenError};

const RESTORE: &str = "restore the directory from a copy";

/// Brings `state` to where the directory is, and gives the log to go on with.
pub(super) fn open(dir: &Path, limit: u64, wrap: Wrap, state: &mut State) -> Result<Log, OpenError> {
    let directory = Arc::new(Directory::lock(dir)?);
    directory.sweep().map_err(OpenError::io("sweep", dir))?;
    let snapshots = directory.revisions(Kind::Snapshot).map_err(OpenError::io("list", dir))?;
    let segments = directory.revisions(Kind::Log).map_err(OpenError::io("list", dir))?;
    if let Some(newest) = snapshots.last() {
        load(&directory.file(Kind::Snapshot, *newest), *newest, state)?;
    }
    let base = state.revision();
    let current = segments.iter().copied().filter(|first| *first > base).collect::<Vec<_>>();
    let segment = if snapshots.is_empty() && segments.is_empty() {
        Segment::create(&directory, 1, &wrap).map_err(OpenError::io("create a log in", dir))?
    } else {
        replay_all(&directory, &current, state, &wrap)?
    };
    // A crash may have come between a snapshot and the removal of what it replaces.
    directory.forget_before(base).map_err(OpenError::io("remove old files from", dir))?;
    Ok(Log::new(directory, segment, limit, wrap))
}

/// A file that is being read, and where in it.
struct Place {
    path: PathBuf,
    offset: usize,
    expected: u64,
}

impl Place {
    fn damaged(&self, what: impl Into<String>, advice: impl Into<String>) -> OpenError {
        let Self { path, offset, expected } = self;
        let (path, offset) = (path.clone(), *offset as u64);
        OpenError::Damaged { path, offset, expected: *expected, what: what.into(), advice: advice.into() }
    }

    fn header(&self, kind: Kind, bytes: &[u8]) -> Result<Header, OpenError> {
        let header = Header::read(kind, bytes).map_err(|what| self.damaged(what, RESTORE))?;
        let (path, found) = (self.path.clone(), header.version);
        if found > FORMAT {
            return Err(OpenError::Newer { path, found, known: FORMAT });
        }
        if found < OLDEST {
            return Err(OpenError::Older { path, found, oldest: OLDEST });
        }
        Ok(header)
    }
}

fn load(path: &Path, revision: u64, state: &mut State) -> Result<(), OpenError> {
    let bytes = std::fs::read(path).map_err(OpenError::io("read", path))?;
    let mut place = Place { path: path.into(), offset: 0, expected: revision };
    let header = place.header(Kind::Snapshot, &bytes)?;
    if header.revision != revision {
        return Err(place.damaged(format!("the header says revision {}", header.revision), RESTORE));
    }
    place.offset = HEADER;
    let mut count = 0;
    while place.offset < bytes.len() {
        let frame = format::read_frame(&bytes[place.offset..]);
        let (payload, size) = frame.ok_or_else(|| place.damaged("a checksum is wrong", RESTORE))?;
        for record in format::records(header.version, payload) {
            let record = record.filter(|record| !record.deleted && record.revision <= revision);
            let record = record.ok_or_else(|| place.damaged("a record makes no sense", RESTORE))?;
            state.load(Arc::new(record.object(state.intern(record.storage))));
            count += 1;
        }
        place.offset += size;
    }
    if count != header.count {
        let what = format!("the snapshot holds {count} objects instead of {}", header.count);
        return Err(place.damaged(what, RESTORE));
    }
    state.start_at(revision);
    Ok(())
}

/// Replays the segments in order; the last one is gone on with.
fn replay_all(
    directory: &Directory,
    segments: &[u64],
    state: &mut State,
    wrap: &Wrap,
) -> Result<Segment, OpenError> {
    let mut place = Place { path: directory.file(Kind::Log, state.revision() + 1), offset: 0, expected: 0 };
    let mut last = None;
    for first in segments {
        place.expected = state.revision() + 1;
        if *first != place.expected {
            let what = format!(
                "the file that holds revisions {} to {} is missing or cut off",
                place.expected,
                first - 1
            );
            return Err(place.damaged(what, RESTORE));
        }
        place.path = directory.file(Kind::Log, *first);
        let bytes = std::fs::read(&place.path).map_err(OpenError::io("read", &place.path))?;
        replay(&mut place, &bytes, state)?;
        last = Some(bytes);
    }
    let Some(bytes) = last else {
        place.expected = state.revision() + 1;
        return Err(
            place.damaged("this file is missing, and with it every write behind the snapshot", RESTORE)
        );
    };
    resume(&place, &bytes, wrap)
}

/// Replays one segment and leaves the place behind its last good frame.
fn replay(place: &mut Place, bytes: &[u8], state: &mut State) -> Result<(), OpenError> {
    place.offset = 0;
    let header = place.header(Kind::Log, bytes)?;
    if header.revision != place.expected {
        return Err(place.damaged(format!("the header says revision {}", header.revision), RESTORE));
    }
    place.offset = HEADER;
    while let Some((payload, size)) = format::read_frame(&bytes[place.offset..]) {
        for record in format::records(header.version, payload) {
            place.expected = state.revision() + 1;
            let record = record.ok_or_else(|| place.damaged("a record makes no sense", RESTORE))?;
            apply(&record, state).map_err(|what| place.damaged(what, RESTORE))?;
        }
        place.offset += size;
    }
    place.expected = state.revision() + 1;
    let Some(distance) = format::find_frame(&bytes[place.offset..]) else { return Ok(()) };
    let offset = place.offset;
    let what = format!("a checksum is wrong, and whole records follow at byte {}", offset + distance);
    let advice = format!(
        "{RESTORE}, or give up revision {} and all behind it: cut this file to {offset} bytes and remove \
         later .log files",
        place.expected
    );
    Err(place.damaged(what, advice))
}

fn apply(record: &Record<'_>, state: &mut State) -> Result<(), String> {
    if record.revision != state.revision() + 1 {
        return Err(format!("revision {} stands there", record.revision));
    }
    let object = Arc::new(record.object(state.intern(record.storage)));
    let previous = state.get(&object.key).cloned();
    let happening = match (record.deleted, &previous) {
        (true, Some(_)) => Happening::Deleted,
        (true, None) => return Err(format!("revision {} deletes what is not there", record.revision)),
        (false, Some(_)) => Happening::Modified,
        (false, None) => Happening::Added,
    };
    state.publish(Arc::new(Event::new(happening, object, previous)));
    Ok(())
}

/// Opens the last segment for appending. What a crash tore off was never acknowledged: a frame is written
/// only when the one before it is durable, so nothing whole can lie behind a torn one.
fn resume(place: &Place, bytes: &[u8], wrap: &Wrap) -> Result<Segment, OpenError> {
    let path = &place.path;
    let file = OpenOptions::new().write(true).open(path).map_err(OpenError::io("open", path))?;
    let end = place.offset as u64;
    if format::blank(&bytes[place.offset..]) {
        return Ok(Segment::resume(wrap(file), end, bytes.len() as u64));
    }
    let torn = bytes.len() - place.offset;
    tracing::warn!("{} ends in {torn} bytes of an unfinished write; cut to {end} bytes", path.display());
    cut(&file, end).map_err(OpenError::io("cut", path))?;
    Ok(Segment::resume(wrap(file), end, end))
}

fn cut(file: &File, end: u64) -> std::io::Result<()> {
    file.set_len(end)?;
    file.sync_all()
}
