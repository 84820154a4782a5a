//! What is known about a run: a small file that is always whole, whoever dies when.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::process::Process;

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The boot of the machine that all process numbers belong to.
    pub boot: String,
    /// The shim itself.
    pub shim: Process,
    /// The program's first process, once it was started.
    pub program: Option<Process>,
    /// When it was started, in milliseconds since 1970.
    pub since_ms: i64,
    /// Directories of the control groups made for it.
    pub cgroups: Vec<PathBuf>,
    /// How it ended.
    pub end: Option<End>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// Why.
    pub cause: Cause,
    /// The last line that the program printed.
    pub last_line: Option<String>,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// The first process ended with this code.
    Exited(i32),
    /// The first process was ended by this signal.
    Signaled(i32),
    /// The group held more memory than its limit.
    OutOfMemory,
    /// The program ran longer than its limit.
    TimedOut,
    /// The group had more processes than its limit.
    TooManyProcesses,
    /// The program could not be started; the message says why.
    NotStarted(String),
    /// It ended while nobody watched.
    Lost,
}

impl Record {
    /// What stands before the writer's process number at the end of the name of a record that is not done yet.
    pub const DRAFT: &str = ".draft-";

    /// Writes the first record of a run. Fails with `AlreadyExists` where there is one, and leaves that as it is.
    pub fn create(&self, path: &Path) -> io::Result<()> {
        let draft = self.draft(path)?;
        // A link is made whole or not at all, and never over a file that is there.
        let linked = fs::hard_link(&draft, path);
        fs::remove_file(&draft)?;
        linked
    }

    /// Replaces the record of a run.
    pub fn replace(&self, path: &Path) -> io::Result<()> {
        fs::rename(self.draft(path)?, path)
    }

    /// Reads a record.
    pub fn read(path: &Path) -> io::Result<Self> {
        serde_json::from_slice(&fs::read(path)?).map_err(io::Error::from)
    }

    fn draft(&self, path: &Path) -> io::Result<PathBuf> {
        let mut name = path.as_os_str().to_owned();
        name.push(format!("{}{}", Self::DRAFT, std::process::id()));
        let draft = PathBuf::from(name);
        write_private(&draft, &serde_json::to_vec(self)?)?;
        Ok(draft)
    }

    /// Whether the start is over, one way or the other.
    pub(crate) fn is_decided(&self) -> bool {
        self.program.is_some() || self.end.is_some() || !self.shim.is_alive()
    }
}

/// Writes a file that only its owner can read.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}

/// The time now, in milliseconds since 1970.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
