//! The file. Whoever writes waits until the record is on the disk; those who wait together share one write.
//!
//! The log is written first and its head second, each until it is on the disk, and only then is anybody told: so the head
//! may be behind the log after a crash, but never before it, and every record that somebody was told of is under a head.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use serde_json::Map;
use tokio::sync::{mpsc, oneshot};

use super::chain::{BROKEN, Head, LINE_MAX, Link, hash, head_beside};
use super::verify::{Line, follows, next};
use super::{Outcome, Record, digest};

/// How many records may wait for the disk.
const WAITING: usize = 1024;

type Waiting = (Record, oneshot::Sender<io::Result<()>>);

/// The trail, open for writing.
#[derive(Clone)]
pub struct Trail {
    sender: mpsc::Sender<Waiting>,
    sound: Arc<AtomicBool>,
}

impl Trail {
    /// Opens the trail, and goes on where it ends. Only its head and what follows it is read.
    ///
    /// A trail that is not what its head says is gone on with, too, but its next record says so and follows no other: from
    /// then on it does not verify.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut writer = Writer::open(path)?;
        let (sender, mut receiver) = mpsc::channel::<Waiting>(WAITING);
        let sound = Arc::new(AtomicBool::new(true));
        let told = sound.clone();
        std::thread::Builder::new().name("audit".into()).spawn(move || {
            while let Some(first) = receiver.blocking_recv() {
                let mut records = vec![first];
                while let Ok(next) = receiver.try_recv() {
                    records.push(next);
                }
                let (records, waiting): (Vec<_>, Vec<_>) = records.into_iter().unzip();
                let written = writer.append(records);
                told.store(written.is_ok(), Ordering::Relaxed);
                waiting.into_iter().for_each(|done| tell(done, &written));
            }
        })?;
        Ok(Self { sender, sound })
    }

    /// Writes a record down. It is durable when this returns.
    pub async fn write(&self, record: Record) -> io::Result<()> {
        let (done, waits) = oneshot::channel();
        let gone = || io::Error::other("the audit trail is closed");
        self.sender.send((record, done)).await.map_err(|_| gone())?;
        waits.await.map_err(|_| gone())?
    }

    /// Whether the last record could be written.
    pub fn is_sound(&self) -> bool {
        self.sound.load(Ordering::Relaxed) && !self.sender.is_closed()
    }
}

/// Nobody waits for long enough to be missed: who is gone is not told.
fn tell(done: oneshot::Sender<io::Result<()>>, written: &io::Result<()>) {
    let told = match written {
        Ok(()) => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
    };
    let _ = done.send(told);
}

struct Writer {
    file: File,
    head_path: PathBuf,
    /// The end of what is certainly written.
    at: Head,
    /// Whether there may be something after it.
    dirty: bool,
}

impl Writer {
    fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).mode(0o600).open(path)?;
        let head_path = head_beside(path);
        let resumed = match Head::read(&head_path) {
            Ok(Some(head)) => resume(&file, head)?,
            Ok(None) if file.metadata()?.len() == 0 => Resumed::At(Head::default()),
            Ok(None) => Resumed::Broken { count: 0, why: "its head is missing".into() },
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Resumed::Broken { count: 0, why: error.to_string() }
            }
            Err(error) => return Err(error),
        };
        match resumed {
            Resumed::At(at) => {
                at.write(&head_path)?;
                Ok(Self { file, head_path, at, dirty: false })
            }
            Resumed::Broken { count, why } => {
                tracing::error!(
                    trail = %path.display(), why,
                    "the audit trail is not what was written; new records follow a mark, and `terrace audit --verify` shows it"
                );
                let at = mend(&file, count)?;
                let mut writer = Self { file, head_path, at, dirty: false };
                writer.append(vec![broken()])?;
                Ok(writer)
            }
        }
    }

    /// Writes records down, all or none.
    fn append(&mut self, records: Vec<Record>) -> io::Result<()> {
        if self.dirty {
            self.file.set_len(self.at.bytes)?;
            self.dirty = false;
        }
        let (mut at, mut text) = (self.at.clone(), Vec::new());
        for record in records {
            let link = Link { number: at.count + 1, previous: at.hash.clone(), record: record.bounded() };
            let line = serde_json::to_vec(&link)?;
            at = at.after(&line);
            text.extend(line);
            text.push(b'\n');
        }
        // What a failed write has left is taken away before the next: it would stand between two records.
        self.dirty = true;
        self.file.write_all(&text)?;
        self.file.sync_data()?;
        self.dirty = false;
        self.at = at;
        self.at.write(&self.head_path)
    }
}

/// Where a trail goes on.
enum Resumed {
    /// After its last record.
    At(Head),
    /// Nowhere: it is not what its head says.
    Broken {
        /// Records that it has had.
        count: u64,
        /// What is wrong.
        why: String,
    },
}

/// Finds the end: what the head says, and the records after it that were written before anybody could be told.
fn resume(file: &File, head: Head) -> io::Result<Resumed> {
    let broken = |why: &str| Ok(Resumed::Broken { count: head.count, why: why.into() });
    if file.metadata()?.len() < head.bytes {
        return broken("it is shorter than its head says");
    }
    if !ends_in(file, &head)? {
        return broken("its last record is another than its head says");
    }
    let mut reader = BufReader::new(file);
    reader.seek(SeekFrom::Start(head.bytes))?;
    let mut at = head.clone();
    loop {
        match next(&mut reader)? {
            Line::Whole(line) if follows(&at, &line).is_ok() => at = at.after(&line),
            Line::Whole(_) | Line::TooLong => return broken("what follows its head is not a record"),
            Line::Torn => {
                tracing::warn!(
                    record = at.count + 1,
                    "the last record of the audit trail was cut off by a crash"
                );
                file.set_len(at.bytes)?;
                return Ok(Resumed::At(at));
            }
            Line::End => return Ok(Resumed::At(at)),
        }
    }
}

/// Whether the line that ends where the head says has the head's hash.
fn ends_in(file: &File, head: &Head) -> io::Result<bool> {
    if head.count == 0 || head.bytes == 0 {
        return Ok(*head == Head::default());
    }
    let length = head.bytes.min(LINE_MAX as u64 + 2);
    let mut end = vec![0; usize::try_from(length).unwrap_or(LINE_MAX)];
    file.read_exact_at(&mut end, head.bytes - length)?;
    let Some((b'\n', before)) = end.split_last() else { return Ok(false) };
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    Ok(hash(&before[start..]) == head.hash)
}

/// Begins a new line after whatever is there. Nothing is taken away: it is what somebody will want to see.
fn mend(mut file: &File, count: u64) -> io::Result<Head> {
    let (mut lines, mut last) = (0, b'\n');
    let mut reader = BufReader::new(file);
    reader.seek(SeekFrom::Start(0))?;
    for byte in reader.bytes() {
        last = byte?;
        lines += u64::from(last == b'\n');
    }
    if last != b'\n' {
        file.write_all(b"\n")?;
        lines += 1;
    }
    Ok(Head { count: lines.max(count), hash: BROKEN.into(), bytes: file.metadata()?.len() })
}

/// The record that stands after a break.
fn broken() -> Record {
    Record {
        time: Timestamp::now(),
        token: String::new(),
        name: String::new(),
        agent: "terrace".into(),
        action: "audit".into(),
        subject: String::new(),
        arguments: digest(&Map::new()),
        plan: None,
        outcome: Outcome::Failed,
        reason: Some("Broken".into()),
    }
}
