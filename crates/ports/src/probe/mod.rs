//! Probes: whether a program answers, asked again and again while it runs.

mod fake;
mod live;
mod rounds;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use api::secret::Sealed;

pub use fake::Fake;
pub use live::Live;
pub use rounds::Rounds;

/// One question to a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    /// Whether it accepts connections.
    Tcp(SocketAddr),
    /// Whether it answers with a code from 200 to 399.
    Http {
        /// Where it listens.
        address: SocketAddr,
        /// What is asked for.
        path: String,
        /// Headers of the question.
        headers: Vec<(String, String)>,
    },
    /// Whether a command ends with code 0.
    Exec {
        /// Program and arguments; no shell reads them.
        command: Vec<String>,
        /// Working directory.
        directory: PathBuf,
        /// Its whole environment.
        env: BTreeMap<String, Sealed<String>>,
        /// User that it runs as; `None` keeps the platform's.
        user: Option<u32>,
    },
}

/// What an answer decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// Whether the program has started; nothing else is asked before.
    Startup,
    /// Whether it gets requests.
    Readiness,
    /// Whether it is started again.
    Liveness,
}

/// A question that is asked again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// What its answers decide.
    pub purpose: Purpose,
    /// The question.
    pub check: Check,
    /// How long it waits before the first.
    pub delay: Duration,
    /// Time from one to the next.
    pub period: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// How many good answers in a row are believed.
    pub successes: u32,
    /// How many bad answers in a row are believed.
    pub failures: u32,
}

/// What the answers so far come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// Whether it passes; `None` until something is believed.
    pub passes: Option<bool>,
    /// What the last bad answer was, for a person.
    pub trouble: Option<String>,
}

/// Asks questions.
pub trait Prober: Send + Sync + 'static {
    /// Asks once. The error says what was wrong, for a person.
    fn ask(&self, check: &Check, timeout: Duration) -> impl Future<Output = Result<(), String>> + Send;
}
