//! The bytes on disk. Logs and snapshots alike are a header and then frames; a frame is a checksummed
//! batch of records, valid as a whole or not at all.
//!
//! Header, 32 bytes, the same in every version: magic 8, version 4, revision 8, count 8, CRC-32 4.
//! Frame: marker 4, length 4, CRC-32 4 (over length and payload), payload.
//! Record: revision 8, kind 1, four lengths of 4 each, then storage, namespace, name and JSON.
//! Numbers are little-endian.
//!
//! A new version raises [`FORMAT`] and keeps a way to read the older ones, down to [`OLDEST`]: the version
//! found in a header is what [`records`] is given to choose by. The next snapshot rewrites the store in the
//! newest version.

use std::sync::Arc;

use bytes::Bytes;

use super::{Event, Happening, Key, Stored};

/// The version written.
pub(super) const FORMAT: u32 = 1;
/// The oldest version read.
pub(super) const OLDEST: u32 = 1;
/// Bytes before the first frame.
pub(super) const HEADER: usize = 32;
/// No UTF-8 text holds these bytes, so that no object can look like a frame.
const MARKER: [u8; 4] = [0xF5, 0xFE, 0xC0, 0xFF];
const FRAME_HEAD: usize = 12;
/// Padding is most of what is searched on opening; comparing whole blocks passes it quickly.
const ZEROS: [u8; 4096] = [0; 4096];
const PUT: u8 = 1;
const DELETE: u8 = 2;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Writes; the header's revision is that of the first.
    Log,
    /// Objects; the header's revision is the one they are the state of.
    Snapshot,
}

impl Kind {
    /// How files of this kind end.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Snapshot => "snap",
        }
    }
    fn magic(self) -> [u8; 8] {
        match self {
            Self::Log => *b"TERRLOG\n",
            Self::Snapshot => *b"TERRSNP\n",
        }
    }
}

/// The front of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Format version of the file.
    pub(super) version: u32,
    /// See [`Kind`].
    pub(super) revision: u64,
    /// Objects in a snapshot; 0 in a log, which grows.
    pub(super) count: u64,
}

impl Header {
    /// The bytes that begin a file.
    pub(super) fn bytes(&self, kind: Kind) -> Vec<u8> {
        let mut bytes = kind.magic().to_vec();
        bytes.extend_from_slice(&self.version.to_le_bytes());
        bytes.extend_from_slice(&self.revision.to_le_bytes());
        bytes.extend_from_slice(&self.count.to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    /// Reads a file's front, or says what is wrong with it.
    pub(super) fn read(kind: Kind, bytes: &[u8]) -> Result<Self, &'static str> {
        let mut cursor = Cursor(bytes.get(..HEADER).ok_or("the header is cut off")?);
        let (head, sum) = bytes.split_at(HEADER - 4);
        let magic = cursor.take(8).ok_or("the header is cut off")?;
        if magic != kind.magic() {
            return Err("this is not a file of a store");
        }
        if sum.get(..4) != Some(&crc32fast::hash(head).to_le_bytes()) {
            return Err("the header's checksum is wrong");
        }
        let read = |cursor: &mut Cursor<'_>| Some((cursor.number()?, cursor.long()?, cursor.long()?));
        let (version, revision, count) = read(&mut cursor).ok_or("the header is cut off")?;
        Ok(Self { version, revision, count })
    }
}

/// One write in a log, or one object in a snapshot.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) revision: u64,
    pub(super) deleted: bool,
    pub(super) storage: &'a str,
    namespace: &'a str,
    name: &'a str,
    json: &'a [u8],
}

impl Record<'_> {
    /// The object, under a shared name of its storage. Its bytes are copied, so that one object does not
    /// keep a whole file in memory.
    pub(super) fn object(&self, storage: Arc<str>) -> Stored {
        let key = Key { storage, namespace: self.namespace.into(), name: self.name.into() };
        Stored::new(key, self.revision, Bytes::copy_from_slice(self.json))
    }
}

/// Appends a frame of writes.
pub(super) fn frame_events(out: &mut Vec<u8>, events: &[Arc<Event>]) {
    frame(out, |out| {
        for event in events {
            let kind = if event.happening == Happening::Deleted { DELETE } else { PUT };
            record(out, kind, &event.object);
        }
    });
}

/// Appends a frame of objects.
pub(super) fn frame_objects(out: &mut Vec<u8>, objects: &[Arc<Stored>]) {
    frame(out, |out| objects.iter().for_each(|object| record(out, PUT, object)));
}

/// The payload of the frame that begins here and the bytes the frame takes; `None` if none does.
pub(super) fn read_frame(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let mut cursor = Cursor(bytes);
    if cursor.take(4)? != MARKER {
        return None;
    }
    let length = cursor.number()?;
    let sum = cursor.number()?;
    let payload = cursor.take(usize::try_from(length).ok()?)?;
    (checksum(payload) == sum).then_some((payload, FRAME_HEAD + payload.len()))
}

/// Where the next whole frame begins, anywhere in these bytes.
pub(super) fn find_frame(bytes: &[u8]) -> Option<usize> {
    for (index, block) in bytes.chunks(ZEROS.len()).enumerate().filter(|(_, block)| !blank(block)) {
        for (inner, _) in block.iter().enumerate().filter(|(_, byte)| **byte == MARKER[0]) {
            let at = index * ZEROS.len() + inner;
            if read_frame(&bytes[at..]).is_some() {
                return Some(at);
            }
        }
    }
    None
}

/// Whether there are only zeros, as between the last frame and the end of a log.
pub(super) fn blank(bytes: &[u8]) -> bool {
    bytes.chunks(ZEROS.len()).all(|block| block == &ZEROS[..block.len()])
}

/// The records of a payload written by a version; `None` stands for one that makes no sense.
pub(super) fn records(version: u32, payload: &[u8]) -> impl Iterator<Item = Option<Record<'_>>> {
    debug_assert!((OLDEST..=FORMAT).contains(&version), "headers are checked before frames are read");
    let mut cursor = Cursor(payload);
    std::iter::from_fn(move || {
        if cursor.0.is_empty() {
            return None;
        }
        let record = read_record(&mut cursor);
        if record.is_none() {
            cursor.0 = &[];
        }
        Some(record)
    })
}

fn frame(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&MARKER);
    out.extend_from_slice(&[0; FRAME_HEAD - MARKER.len()]);
    fill(out);
    let payload = start + FRAME_HEAD;
    let length = (out.len() - payload) as u32;
    let sum = checksum(&out[payload..]);
    out[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    out[start + 8..payload].copy_from_slice(&sum.to_le_bytes());
}

fn checksum(payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&(payload.len() as u32).to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

fn record(out: &mut Vec<u8>, kind: u8, object: &Stored) {
    let Key { storage, namespace, name } = &object.key;
    let parts = [storage.as_bytes(), namespace.as_bytes(), name.as_bytes(), &object.json];
    out.extend_from_slice(&object.revision.to_le_bytes());
    out.push(kind);
    for part in parts {
        out.extend_from_slice(&(part.len() as u32).to_le_bytes());
    }
    for part in parts {
        out.extend_from_slice(part);
    }
}

fn read_record<'a>(cursor: &mut Cursor<'a>) -> Option<Record<'a>> {
    let revision = cursor.long()?;
    let deleted = match cursor.take(1)? {
        [PUT] => false,
        [DELETE] => true,
        _ => return None,
    };
    let lengths = [cursor.number()?, cursor.number()?, cursor.number()?, cursor.number()?];
    let mut part = |index: usize| cursor.take(usize::try_from(lengths[index]).ok()?);
    let storage = std::str::from_utf8(part(0)?).ok()?;
    let namespace = std::str::from_utf8(part(1)?).ok()?;
    let name = std::str::from_utf8(part(2)?).ok()?;
    Some(Record { revision, deleted, storage, namespace, name, json: part(3)? })
}

/// Bytes not yet read.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
    fn number(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }
    fn long(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}
