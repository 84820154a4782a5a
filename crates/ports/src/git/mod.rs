//! Hosts of git repositories: GitHub, GitLab, Gitea or Forgejo, and this machine.
//!
//! What a host is asked through its API (a repository, its deploy keys, its people, pull requests, marks on commits) and
//! what goes through a real git client (files, branches, commits) are one trait, so that rooms need not know which is
//! which. Every act may be repeated: what is there already as asked is left as it is.

mod facts;
mod fake;
pub mod keys;
pub mod local;
mod names;
mod objects;
mod run;

use std::future::Future;
use std::time::Duration;

use api::conditions::Reason;
use kit::{Fault, Retry};

pub use facts::*;
pub use fake::Fake;

/// A host of git repositories.
pub trait Git: Send + Sync + 'static {
    /// Tries the login: whether the host is there and lets it in.
    fn knock(&self, host: &Host) -> impl Future<Output = Result<(), Error>> + Send;

    /// What is known of a repository, its deploy keys and its people included; none if there is none.
    fn look(&self, place: &Place) -> impl Future<Output = Result<Option<Repository>, Error>> + Send;

    /// Makes an empty repository. One that is there already is [`Error::Exists`].
    fn create(&self, place: &Place, wish: &Wish) -> impl Future<Output = Result<(), Error>> + Send;

    /// Deletes a repository with all that is in it. One that is not there is deleted already.
    fn delete(&self, place: &Place) -> impl Future<Output = Result<(), Error>> + Send;

    /// Lets a deploy key in. One of the same title and another key is replaced only by [`Git::drop_key`] first.
    fn add_key(&self, place: &Place, key: &KeyWish) -> impl Future<Output = Result<(), Error>> + Send;

    /// Lets a deploy key in no longer. One that is not there is gone already.
    fn drop_key(&self, place: &Place, fingerprint: &str) -> impl Future<Output = Result<(), Error>> + Send;

    /// Invites a person to maintain the repository.
    fn invite(&self, place: &Place, person: &str) -> impl Future<Output = Result<(), Error>> + Send;

    /// The files under some paths (a file, or a whole directory), as a branch has them; none if there is no such branch.
    fn read(
        &self,
        place: &Place,
        branch: &str,
        paths: &[&str],
    ) -> impl Future<Output = Result<Option<Tree>, Error>> + Send;

    /// Commits files to a branch, through git. Nothing is committed where nothing would change. Answers the commit that
    /// the branch then is at.
    fn commit(&self, place: &Place, wish: &CommitWish) -> impl Future<Output = Result<String, Error>> + Send;

    /// Deletes a branch. One that is not there is gone already.
    fn drop_branch(&self, place: &Place, branch: &str) -> impl Future<Output = Result<(), Error>> + Send;

    /// Opens a pull request, or finds the open one of the same two branches.
    fn propose(
        &self,
        place: &Place,
        wish: &PullRequestWish,
    ) -> impl Future<Output = Result<PullRequest, Error>> + Send;

    /// The newest pull request from a branch, open or not.
    fn proposed(
        &self,
        place: &Place,
        branch: &str,
    ) -> impl Future<Output = Result<Option<PullRequest>, Error>> + Send;

    /// A pull request by its number.
    fn pull_request(
        &self,
        place: &Place,
        number: i64,
    ) -> impl Future<Output = Result<Option<PullRequest>, Error>> + Send;

    /// Closes a pull request without merging it.
    fn withdraw(&self, place: &Place, number: i64) -> impl Future<Output = Result<(), Error>> + Send;

    /// The mark of one context on a commit.
    fn mark(
        &self,
        place: &Place,
        commit: &str,
        context: &str,
    ) -> impl Future<Output = Result<Option<Mark>, Error>> + Send;

    /// Marks a commit; an older mark of the same context is superseded.
    fn set_mark(
        &self,
        place: &Place,
        commit: &str,
        mark: &Mark,
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

/// What a host can answer instead. No message holds a token, a key or a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nobody answers, the line went dead, the name is unknown, or the host is in trouble itself (5xx).
    #[error("{host} is unreachable: {story}")]
    Unreachable {
        /// Its name.
        host: String,
        /// What was seen instead.
        story: String,
    },
    /// The host does not know the login (401).
    #[error("{host} refused the credentials: {story}; put a valid token into their Secret")]
    Denied {
        /// Its name.
        host: String,
        /// What it said.
        story: String,
    },
    /// The login lacks a right (403), or a part of the host is closed to it.
    #[error("{host} does not allow this to the credentials: {what}: {story}; give their token the right")]
    Forbidden {
        /// Its name.
        host: String,
        /// What was tried.
        what: String,
        /// What it said.
        story: String,
    },
    /// Too many requests: the host says when they may go on.
    #[error("{host} allows no more requests for {} s", wait.as_secs())]
    Limited {
        /// Its name.
        host: String,
        /// How long to wait.
        wait: Duration,
    },
    /// It was asked of something that is not there (404).
    #[error("{host} has no {what}")]
    Missing {
        /// Its name.
        host: String,
        /// What is missing: `repository team/shop`, `organization team`, `branch main`.
        what: String,
    },
    /// It is there already (409, or 422 for that reason).
    #[error("{host} has {what} already")]
    Exists {
        /// Its name.
        host: String,
        /// What there is.
        what: String,
    },
    /// The branch moved meanwhile, or git could not push for another passing reason.
    #[error("{what} at {host} changed meanwhile; it is tried again")]
    Moved {
        /// Its name.
        host: String,
        /// Which branch.
        what: String,
    },
    /// The host does not take what was asked (422 and other refusals).
    #[error("{host} refused {what}: {story}")]
    Refused {
        /// Its name.
        host: String,
        /// What was asked.
        what: String,
        /// What it said.
        story: String,
    },
    /// Git itself failed.
    #[error("git could not {what} at {host}: {story}")]
    Git {
        /// The host's name.
        host: String,
        /// What was tried.
        what: String,
        /// Git's last words, without credentials.
        story: String,
    },
    /// The answer is not what the host's API promises.
    #[error("{host} answered what cannot be understood: {story}")]
    Garbled {
        /// Its name.
        host: String,
        /// What was wrong with it.
        story: String,
    },
    /// There was no answer in time.
    #[error("{host}: {what} took longer than {} s", limit.as_secs())]
    Timeout {
        /// Its name.
        host: String,
        /// What was waited for.
        what: String,
        /// How long.
        limit: Duration,
    },
    /// The wish cannot be met by any host: a name, a path or an address with something in it that must not be there.
    #[error("{what}")]
    Invalid {
        /// What is wrong, and with what.
        what: String,
    },
}

impl Error {
    /// Why, for programs.
    pub fn reason(&self) -> Reason {
        let word = match self {
            Self::Unreachable { .. } => "GitHostUnreachable",
            Self::Denied { .. } => return Reason::CredentialsInvalid,
            Self::Forbidden { .. } => "PermissionMissing",
            Self::Limited { .. } => "RateLimited",
            Self::Missing { .. } => "MissingAtHost",
            Self::Exists { .. } => "AlreadyExists",
            Self::Moved { .. } => "BranchMoved",
            Self::Refused { .. } => "RefusedByHost",
            Self::Git { .. } => "GitFailed",
            Self::Garbled { .. } => "AnswerGarbled",
            Self::Timeout { .. } => "GitHostSlow",
            Self::Invalid { .. } => return Reason::InvalidSpec,
        };
        Reason::Code(word.into())
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let retry = match &error {
            Error::Limited { wait, .. } => Retry::After(*wait),
            Error::Moved { .. } => Retry::Now,
            Error::Unreachable { .. } | Error::Timeout { .. } | Error::Git { .. } | Error::Garbled { .. } => {
                Retry::Backoff
            }
            // Rights are given and things are made at the host, which tells nobody.
            Error::Forbidden { .. }
            | Error::Missing { .. }
            | Error::Exists { .. }
            | Error::Refused { .. } => Retry::Within(Duration::from_secs(60)),
            Error::Denied { .. } | Error::Invalid { .. } => Retry::Slowly,
        };
        let reason = error.reason();
        Self::Outside { system: "git", retry, reason, source: Box::new(error) }
    }
}
