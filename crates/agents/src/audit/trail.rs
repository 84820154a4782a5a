//! The file. Whoever writes waits until the record is on the disk; those who wait together share one write.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, oneshot};

use super::{Record, hex};

/// How many records may wait for the disk.
const WAITING: usize = 1024;
/// What the first record carries in the place of a hash.
const FIRST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A record with its place in the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Its number, from 1.
    pub number: u64,
    /// The hash of the line before.
    pub previous: String,
    /// What was written down.
    #[serde(flatten)]
    pub record: Record,
}

/// The trail, open for writing.
#[derive(Clone)]
pub struct Trail(mpsc::Sender<(Record, oneshot::Sender<io::Result<()>>)>);

impl Trail {
    /// Opens the trail, and goes on where it ends.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).mode(0o600).open(path)?;
        let (number, last) = end(&file)?;
        let (sender, receiver) = mpsc::channel(WAITING);
        std::thread::Builder::new()
            .name("audit".into())
            .spawn(move || write(file, number, last, receiver))?;
        Ok(Self(sender))
    }

    /// Writes a record down. It is durable when this returns.
    pub async fn write(&self, record: Record) -> io::Result<()> {
        let (done, waits) = oneshot::channel();
        let gone = || io::Error::other("the audit trail is closed");
        self.0.send((record, done)).await.map_err(|_| gone())?;
        waits.await.map_err(|_| gone())?
    }
}

/// The number and hash of the last line.
fn end(file: &File) -> io::Result<(u64, String)> {
    let (mut number, mut last) = (0, FIRST.to_owned());
    for line in BufReader::new(file).lines() {
        let line = line?;
        number += 1;
        last = hash(&line);
    }
    Ok((number, last))
}

fn hash(line: &str) -> String {
    hex(&Sha256::digest(line.as_bytes()))
}

type Waiting = (Record, oneshot::Sender<io::Result<()>>);

fn write(mut file: File, mut number: u64, mut last: String, mut receiver: mpsc::Receiver<Waiting>) {
    while let Some(first) = receiver.blocking_recv() {
        let mut together = vec![first];
        while let Ok(next) = receiver.try_recv() {
            together.push(next);
        }
        let (mut text, mut waiting) = (String::new(), Vec::new());
        for (record, done) in together {
            number += 1;
            let link = Link { number, previous: last.clone(), record };
            let line = serde_json::to_string(&link).unwrap_or_default();
            last = hash(&line);
            text.push_str(&line);
            text.push('\n');
            waiting.push(done);
        }
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
        for done in waiting {
            let told = match &written {
                Ok(()) => Ok(()),
                Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
            };
            let _ = done.send(told);
        }
    }
}
