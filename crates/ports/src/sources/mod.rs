//! Sources of manifests: git repositories, fetched by the real git into directories of this machine.
//!
//! Each object that asks for a repository has one directory with what was fetched last. It is replaced as a whole, so
//! whoever reads it sees one commit or the other, never a mixture.

#[cfg(test)]
mod contract;
mod fake;
mod ignore;
mod live;
mod login;
mod reference;
mod store;

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use api::conditions::Reason;
use kit::{Fault, Name, Retry};

pub use fake::Fake;
pub use live::{Bounds, Live};
pub use login::Login;
pub use reference::Reference;

/// What is to be fetched, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The object that asks.
    pub name: Name,
    /// Address of the repository.
    pub url: String,
    /// What of it.
    pub reference: Reference,
    /// What the host wants to see.
    pub login: Option<Login>,
    /// What is left out, in the words of `.gitignore`.
    pub ignore: Option<String>,
    /// How long the host may take.
    pub timeout: Duration,
}

/// A commit that a repository has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The commit's whole name.
    pub commit: String,
    /// The revision as Flux writes it: `main@sha1:…`.
    pub revision: String,
}

/// What was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The revision that it is of.
    pub revision: String,
    /// Digest of names and contents: `sha256:…`.
    pub digest: String,
    /// Size of all files together.
    pub size_bytes: u64,
    /// Directory that holds it.
    pub path: PathBuf,
}

/// Fetches repositories.
pub trait Sources: Send + Sync + 'static {
    /// What the reference of an order points to now.
    fn head(&self, order: &Order) -> impl Future<Output = Result<Head, Error>> + Send;

    /// Fetches a commit and puts it in the place of what was there. Fetching again what is there changes nothing.
    fn fetch(&self, order: &Order, head: &Head) -> impl Future<Output = Result<(), Error>> + Send;

    /// What an object has; none if nothing was ever fetched, or it is damaged.
    fn held(&self, name: &Name) -> impl Future<Output = Result<Option<Fetched>, Error>> + Send;

    /// Removes all that was fetched for an object.
    fn remove(&self, name: &Name) -> impl Future<Output = Result<(), Error>> + Send;
}

/// What can go wrong. No message holds a password or a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The order cannot be met by any host.
    #[error("{0}")]
    Invalid(String),
    /// The host does not let the login in.
    #[error("authentication required or refused for '{url}': {story}")]
    Denied {
        /// Address of the repository, without a login.
        url: String,
        /// What git said.
        story: String,
    },
    /// The repository has no such branch, tag or commit.
    #[error("'{url}' has no {what}")]
    Missing {
        /// Address of the repository, without a login.
        url: String,
        /// What is missing.
        what: String,
    },
    /// Git failed otherwise.
    #[error("failed to checkout and determine revision: unable to clone '{url}': {story}")]
    Git {
        /// Address of the repository, without a login.
        url: String,
        /// What git said.
        story: String,
    },
    /// What was fetched is larger than is allowed.
    #[error("'{url}' is larger than is allowed: {what}")]
    TooLarge {
        /// Address of the repository, without a login.
        url: String,
        /// Which bound.
        what: String,
    },
    /// Git did not end in time.
    #[error("'{url}' did not answer within {} s", limit.as_secs())]
    Timeout {
        /// Address of the repository, without a login.
        url: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// A directory of this machine cannot be used.
    #[error("cannot use {path}: {story}")]
    Files {
        /// Which one.
        path: String,
        /// Why.
        story: String,
    },
}

impl Error {
    /// Why, for programs, as Flux says it.
    pub fn reason(&self) -> Reason {
        let word = match self {
            Self::Invalid(_) => "URLInvalid",
            Self::Denied { .. } => "AuthenticationFailed",
            Self::Missing { .. } | Self::Git { .. } | Self::TooLarge { .. } | Self::Timeout { .. } => {
                "GitOperationFailed"
            }
            Self::Files { .. } => "StorageOperationFailed",
        };
        Reason::Code(word.into())
    }

    /// Names the file that an operation failed on.
    pub(crate) fn at(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |error| Self::Files { path: path.display().to_string(), story: error.to_string() }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let retry = match &error {
            Error::Invalid(_) | Error::TooLarge { .. } => Retry::Slowly,
            Error::Denied { .. } | Error::Missing { .. } => Retry::Within(Duration::from_secs(60)),
            Error::Git { .. } | Error::Timeout { .. } | Error::Files { .. } => Retry::Backoff,
        };
        let reason = error.reason();
        Self::Outside { system: "git", retry, reason, source: Box::new(error) }
    }
}
