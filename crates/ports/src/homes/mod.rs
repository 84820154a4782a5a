//! The directories of pods: where they work, and where their logs lie.

mod fake;
mod live;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};

use api::secret::Sealed;
use kit::{Fault, Retry};

pub use fake::Fake;
pub use live::Live;

/// A pod's directory as it is to be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Home {
    /// Uid of the pod.
    pub uid: String,
    /// User that owns it; `None` leaves it to the platform's.
    pub user: Option<u32>,
    /// Directories in it.
    pub directories: Vec<PathBuf>,
    /// Files in it, with what they hold.
    pub files: BTreeMap<PathBuf, Sealed<Vec<u8>>>,
}

/// What can go wrong with directories and files.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// One of them cannot be used.
    #[error("cannot use {}", path.display())]
    Files {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A path would leave the pod's directory.
    #[error("{} would leave the pod's directory", .0.display())]
    Outside(PathBuf),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let retry = match error {
            Error::Files { .. } => Retry::Backoff,
            Error::Outside(_) => Retry::Slowly,
        };
        Self::outside("the directories of pods", retry, error)
    }
}

/// The directories and logs of pods.
pub trait Homes: Send + Sync + 'static {
    /// The directory of a pod, whether it is there or not.
    fn directory(&self, uid: &str) -> PathBuf;

    /// The file that receives what a container prints.
    fn log(&self, namespace: &str, pod: &str, container: &str) -> PathBuf;

    /// Makes a pod's directory be as given. What else lies in it stays.
    fn prepare(&self, home: Home) -> impl Future<Output = Result<(), Error>> + Send;

    /// Makes the log of a container that of its run before, and room for a new one.
    fn turn_log(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Removes a pod's directory.
    fn remove(&self, uid: &str) -> impl Future<Output = Result<(), Error>> + Send;

    /// Removes a pod's logs.
    fn remove_logs(&self, namespace: &str, pod: &str) -> impl Future<Output = Result<(), Error>> + Send;

    /// The uids of all pods that have a directory.
    fn list(&self) -> impl Future<Output = Result<Vec<String>, Error>> + Send;

    /// Namespace and name of all pods that have logs.
    fn list_logs(&self) -> impl Future<Output = Result<Vec<(String, String)>, Error>> + Send;
}

/// Whether a path stays where it is joined to: no root, no way up.
pub fn stays_inside(path: &Path) -> bool {
    use std::path::Component;
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
