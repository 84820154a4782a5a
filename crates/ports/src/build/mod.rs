//! Builds on this machine: source in, an image out.
//!
//! An image is a directory, named by the digest of what it holds; see `docs/decisions/0011-images-are-directories.md`.

#[cfg(test)]
mod contract;
mod detect;
mod digest;
mod fake;
mod fetch;
mod images;
mod layers;
mod live;
mod login;
mod make;
mod pack;
mod places;
mod record;
mod runner;
#[cfg(test)]
mod tests;
mod toolchain;
mod tree;
mod unpack;

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use kit::{Fault, Retry};
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

pub use fake::Fake;
pub use images::{Image, Images};
pub use live::{Live, Settings};
pub use login::Login;

/// What a build that was cancelled says.
const CANCELLED: &str = "the build was cancelled";

/// Where source comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// A tar archive, plain or compressed with gzip.
    Blob {
        /// `terrace-blob://<namespace>/<sha256>` for an upload, `http(s)://` for anything else.
        url: String,
    },
    /// A repository.
    Git {
        /// Its address.
        url: String,
        /// Branch, tag or commit.
        revision: String,
    },
}

/// What is to be built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// Name of this build; no other build ever has it.
    pub id: String,
    /// Namespace of the application; nothing that one namespace built or stored reaches another.
    pub namespace: String,
    /// Name of the application in its namespace; its builds share dependencies and a history of logs.
    pub name: String,
    /// Which build of the application this is, from 1.
    pub number: u64,
    /// `<registry-prefix>/<namespace>/<name>`: the image's reference without its digest.
    pub tag: String,
    /// Where the source is.
    pub source: Source,
    /// Directory in the source that holds the application.
    pub sub_path: Option<String>,
    /// Variables that the build sees.
    pub env: BTreeMap<String, String>,
    /// User that the build's programs run as; `None` keeps the platform's.
    pub user: Option<u32>,
    /// Its bounds.
    pub limits: Limits,
    /// What the repository wants to see. It is not written down: an order that has one does not outlive the platform.
    #[serde(skip)]
    pub login: Option<Login>,
}

/// The bounds of a build. One that crosses them fails and says which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// How long all of it may take.
    pub time: Duration,
    /// Memory that its programs hold together.
    pub memory_bytes: u64,
    /// Processes and threads that live at one time.
    pub processes: u64,
    /// Size of the archive as it travels.
    pub download_bytes: u64,
    /// Size of the source on disk.
    pub source_bytes: u64,
    /// Files and directories in the source.
    pub source_files: u64,
    /// Size of the image.
    pub image_bytes: u64,
    /// How much of the log is kept.
    pub log_bytes: u64,
}

impl Default for Limits {
    /// What suits one team's machine: an ordinary application stays far below each.
    fn default() -> Self {
        Self {
            time: Duration::from_secs(600),
            memory_bytes: 2 << 30,
            processes: 512,
            download_bytes: 256 << 20,
            source_bytes: 1 << 30,
            source_files: 20_000,
            image_bytes: 4 << 30,
            log_bytes: 8 << 20,
        }
    }
}

/// What a build is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// It gets the source.
    Fetching,
    /// It finds out the language and what has to be done.
    Detecting,
    /// It installs what the application depends on.
    Installing,
    /// It compiles.
    Building,
    /// It makes the image.
    Packing,
}

/// How a build stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Progress {
    /// It is under way, or waits for its turn.
    Running {
        /// When it was ordered.
        since: Timestamp,
        /// What it is doing.
        stage: Stage,
    },
    /// There is an image.
    Done {
        /// `<tag>@sha256:<hex>`.
        image: String,
        /// What the application is written in.
        language: String,
        /// Commit that was built, where the source was a repository.
        commit: Option<String>,
    },
    /// There is none.
    Failed {
        /// What it was doing.
        stage: Stage,
        /// Why, for a person: the last lines of the compiler, cut to a readable length.
        message: String,
    },
}

impl Progress {
    /// Whether nothing will change any more.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Running { .. } => false,
            Self::Done { .. } | Self::Failed { .. } => true,
        }
    }
}

/// What can go wrong with the machinery itself. What goes wrong in a build is [`Progress::Failed`].
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
    /// What lies in the store is not what was put there.
    #[error("image {reference} is damaged: {why}; build it again")]
    Damaged {
        /// Which image.
        reference: String,
        /// What is wrong with it.
        why: String,
    },
    /// The repository does not tell what its branch points to.
    #[error("cannot ask {url} for `{revision}`: {message}")]
    Remote {
        /// Address of the repository, without a password.
        url: String,
        /// Branch or tag.
        revision: String,
        /// What git said.
        message: String,
    },
    /// Process groups cannot be used.
    #[error("cannot run a build's programs")]
    Processes(#[from] crate::process::Error),
}

impl Error {
    /// Names the file that an operation failed on.
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Files { path, source }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let retry = match error {
            Error::Files { .. } | Error::Processes(_) | Error::Remote { .. } => Retry::Backoff,
            Error::Damaged { .. } => Retry::Slowly,
        };
        Self::outside("build", retry, error)
    }
}

/// Builds on this machine.
pub trait Builds: Send + Sync + 'static {
    /// Starts a build and returns at once. A name that is known already is left as it is, so a step can be repeated.
    fn start(&self, order: Order) -> impl Future<Output = Result<(), Error>> + Send;

    /// How a build stands; `None` if there was never one of that name, or it was forgotten.
    fn look(&self, id: &str) -> impl Future<Output = Result<Option<Progress>, Error>> + Send;

    /// Ends a build that is under way, with everything it started: it becomes [`Progress::Failed`]. Returns at once.
    fn cancel(&self, id: &str) -> impl Future<Output = Result<(), Error>> + Send;

    /// Forgets a build, and ends it if it is under way. Its image and its log stay.
    fn forget(&self, id: &str) -> impl Future<Output = Result<(), Error>> + Send;

    /// The commit that a branch or tag of a repository points to now; `None` if the repository has no such name.
    fn head(
        &self,
        url: &str,
        revision: &str,
        user: Option<u32>,
        login: Option<&Login>,
    ) -> impl Future<Output = Result<Option<String>, Error>> + Send;

    /// Forgets what the builds of an application kept for the next one, and its logs, once the application is gone.
    fn clear(&self, namespace: &str, name: &str) -> impl Future<Output = Result<(), Error>> + Send;

    /// File that holds what a build printed. The last five of each application are kept.
    fn log(&self, namespace: &str, name: &str, number: u64) -> PathBuf;

    /// Tells the name of each build whose progress changes from now on.
    fn changes(&self) -> broadcast::Receiver<String>;
}
