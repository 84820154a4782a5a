//! What the platform asks of a shim.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What a shim says on its standard output once the record tells how the start went. Any other answer is a
/// complaint.
pub const STARTED: &str = "started";

/// The largest order that is read: more than the kernel takes as arguments and environment of one program.
const ORDER_BYTES: u64 = 16 * 1024 * 1024;

/// One program to run. It travels through a pipe only, because its environment holds secrets.
#[derive(Clone, Serialize, Deserialize)]
pub struct Order {
    /// Program and arguments; no shell reads them.
    pub command: Vec<String>,
    /// Working directory.
    pub directory: PathBuf,
    /// The program's whole environment.
    pub env: BTreeMap<String, String>,
    /// User and group to run as; `None` keeps the shim's.
    pub user: Option<u32>,
    /// Directories that the user must be able to read although they lie below a closed one.
    pub expose: Vec<PathBuf>,
    /// File that receives what the program prints.
    pub log: PathBuf,
    /// File that tells how the run stands. It must not be there yet: that is what makes a start happen once.
    pub record: PathBuf,
    /// Bounds of the process group.
    pub limits: Limits,
}

/// The bounds of a process group.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Limits {
    /// Memory that all processes hold together.
    pub memory_bytes: Option<u64>,
    /// Processes and threads that live at one time.
    pub processes: Option<u64>,
    /// Files that one process has open.
    pub open_files: Option<u64>,
    /// Milliseconds that the program may run.
    pub lifetime_ms: Option<u64>,
    /// How much of the log is kept.
    pub log_bytes: Option<u64>,
}

impl Order {
    /// Reads the order to its end. A mistake is told without quoting the order.
    pub fn read(source: impl Read) -> io::Result<Self> {
        let mut text = Vec::new();
        source.take(ORDER_BYTES).read_to_end(&mut text)?;
        serde_json::from_slice(&text)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the order cannot be read"))
    }
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Order").field("command", &self.command).field("directory", &self.directory).finish()
    }
}
