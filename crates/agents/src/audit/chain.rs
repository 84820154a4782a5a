//! How records hang together: each line carries its number and the hash of the line before.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Record, hex};

/// What the first record carries in the place of a hash.
pub const FIRST: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// What the first record after a break carries: no line has this hash, so the break can be seen for ever.
pub(super) const BROKEN: &str = "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";
/// Longest line. Records are cut to far less; what is longer is none of ours.
pub const LINE_MAX: usize = 16 * 1024;
/// Longest head: two numbers, a hash, and their names.
const HEAD_MAX: u64 = 1024;

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

/// How far a trail has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Records so far.
    pub count: u64,
    /// The hash of the last of them.
    pub hash: String,
    /// Where the file ends.
    pub bytes: u64,
}

impl Default for Head {
    fn default() -> Self {
        Self { count: 0, hash: FIRST.into(), bytes: 0 }
    }
}

impl Head {
    /// Reads the head that lies at a path; `None` if there is none.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let text = io::read_to_string(io::Read::take(file, HEAD_MAX))?;
        serde_json::from_str(&text).map(Some).map_err(|error| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{} is not the head of a trail: {error}", path.display()),
            )
        })
    }

    /// Writes it, whole or not at all.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let new = path.with_extension("head.new");
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        let text = serde_json::to_string(self)? + "\n";
        file.write_all(text.as_bytes())?;
        // Some file systems would otherwise give the name to a file that is still empty when the power fails.
        file.sync_data()?;
        std::fs::rename(&new, path)
    }

    /// What it becomes with one line more; the line is written without its end.
    pub(super) fn after(&self, line: &[u8]) -> Self {
        Self { count: self.count + 1, hash: hash(line), bytes: self.bytes + line.len() as u64 + 1 }
    }
}

/// Where the head of a trail lies.
pub fn head_beside(trail: &Path) -> PathBuf {
    trail.with_extension("head")
}

/// The hash of a line, without its end.
pub(super) fn hash(line: &[u8]) -> String {
    hex(&Sha256::digest(line))
}
