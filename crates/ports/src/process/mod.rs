//! Process groups on this machine: each is started once, watched, and brought to an end with everything it started.

mod fake;
mod live;
mod watch;

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use api::secret::Sealed;
use jiff::Timestamp;
use kit::{Fault, Retry};
use tokio::sync::broadcast;

pub use fake::Fake;
pub use live::{Live, Settings};

/// The name of one run of one program: letters, digits, `-`, `_` and `.`. A second run has another name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(String);

impl Id {
    /// The name, with every character that is not allowed replaced by `_`.
    pub fn new(name: &str) -> Self {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        Self(name.chars().map(|c| if allowed(c) { c } else { '_' }).collect())
    }

    /// The name as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is to run, and within which bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Its name.
    pub id: Id,
    /// Program and arguments; no shell reads them.
    pub command: Vec<String>,
    /// Working directory.
    pub directory: PathBuf,
    /// Its whole environment: nothing of the platform's own is inherited.
    pub env: BTreeMap<String, Sealed<String>>,
    /// User and group that it runs as; `None` keeps the platform's, and so does a platform that is not root.
    pub user: Option<u32>,
    /// Directories that its user must be able to read although they lie below one that is closed to others, such as
    /// toolchains in a home directory. They are shown to it alone, read-only.
    pub expose: Vec<PathBuf>,
    /// File that receives what it prints, appended.
    pub log: PathBuf,
    /// Its bounds.
    pub limits: Limits,
}

/// The bounds of a process group. What crosses one is brought to an end, whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Memory that all its processes hold together.
    pub memory_bytes: Option<u64>,
    /// Processes and threads that live at one time.
    pub processes: Option<u64>,
    /// Files that one process has open; at least 64.
    pub open_files: Option<u64>,
    /// How long it may run.
    pub lifetime: Option<Duration>,
    /// How much of its log is kept, 64 MiB if nobody says; older lines make room.
    pub log_bytes: Option<u64>,
}

/// How a run stands.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// It runs.
    Running {
        /// The first process of the group.
        pid: u32,
        /// When it started.
        since: Timestamp,
    },
    /// It has ended, and so has everything it started.
    Ended(End),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// When it had started.
    pub since: Timestamp,
    /// When it ended.
    pub at: Timestamp,
    /// Why.
    pub cause: Cause,
    /// The last line that it printed, cut to a readable length, without control characters.
    pub last_line: Option<String>,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Its first process ended with this code.
    Exited(i32),
    /// Its first process was ended by this signal.
    Signaled(i32),
    /// It held more memory than its limit.
    OutOfMemory,
    /// It ran longer than its limit.
    TimedOut,
    /// It started more processes than its limit.
    TooManyProcesses,
    /// It could not be started; the message says why.
    NotStarted(String),
    /// It ended while nobody watched, so nobody knows how.
    Lost,
}

/// What can go wrong with the machinery itself.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A directory or file of the machinery cannot be used.
    #[error("cannot use {}", path.display())]
    Files {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The shim cannot be started.
    #[error("cannot start the shim")]
    Shim(#[source] std::io::Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let retry = match error {
            Error::Files { .. } | Error::Shim(_) => Retry::Backoff,
        };
        Self::outside("processes", retry, error)
    }
}

/// Process groups on this machine.
pub trait Processes: Send + Sync + 'static {
    /// Starts a run. A name that is known already is left as it is, so a step can be repeated.
    fn start(&self, launch: Launch) -> impl Future<Output = Result<(), Error>> + Send;

    /// Asks a run to end (SIGTERM), and after `grace` makes it end (SIGKILL), with everything it started. Returns at
    /// once; a second call can only shorten the grace.
    fn stop(&self, id: &Id, grace: Duration) -> impl Future<Output = Result<(), Error>> + Send;

    /// How a run stands; `None` if there was never one of that name, or it was forgotten.
    fn look(&self, id: &Id) -> impl Future<Output = Result<Option<State>, Error>> + Send;

    /// Every run that is known, also those of an earlier life of the platform.
    fn list(&self) -> impl Future<Output = Result<Vec<Id>, Error>> + Send;

    /// Forgets a run that has ended. One that still runs is left alone.
    fn forget(&self, id: &Id) -> impl Future<Output = Result<(), Error>> + Send;

    /// Tells the name of each run that starts or ends from now on.
    fn changes(&self) -> broadcast::Receiver<Id>;
}
