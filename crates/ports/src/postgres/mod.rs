//! PostgreSQL servers on this machine: their directories, their processes, and what they answer.
//!
//! A cluster is one directory, named by the uid of its object, with one data directory for each instance. Everything
//! that must survive a crash of the platform is on disk there: an instance exists when its directory has its final name,
//! it is a standby when `standby.signal` lies in it, and the record beside the instances holds what nothing else tells.
//! Every call may be repeated.

pub mod builds;
mod facts;
mod fake;
mod live;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::path::PathBuf;

use kit::{Fault, Name, Retry};
use tokio::sync::broadcast;

pub use facts::*;
pub use fake::Fake;
pub use live::{Live, Settings as LiveSettings};

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No build of that version is on this machine.
    #[error(
        "PostgreSQL {major} is not on this machine; {there}; `terrace postgres install {major}` fetches it"
    )]
    NoBuild {
        /// The major version.
        major: u32,
        /// Those that are, in words.
        there: String,
    },
    /// A directory or file cannot be used.
    #[error("cannot use {}", path.display())]
    Files {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A program of PostgreSQL failed.
    #[error("{program} failed: {story}")]
    Program {
        /// Which one.
        program: &'static str,
        /// What it said last.
        story: String,
    },
    /// A server could not be asked, or refused.
    #[error("{what}: {story}")]
    Server {
        /// What was tried.
        what: &'static str,
        /// What it said; never with a value that was sent.
        story: String,
    },
    /// No port is free.
    #[error("no port between 20000 and 30000 is free on this machine")]
    NoPort,
    /// The machinery that runs processes failed.
    #[error(transparent)]
    Processes(#[from] crate::process::Error),
    /// It was asked of something that is not there, or not in the state for it.
    #[error("{0}")]
    Unfit(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let retry = match error {
            Error::NoBuild { .. } => Retry::Slowly,
            Error::Files { .. }
            | Error::Program { .. }
            | Error::Server { .. }
            | Error::NoPort
            | Error::Processes(_)
            | Error::Unfit(_) => Retry::Backoff,
        };
        Self::outside("PostgreSQL", retry, error)
    }
}

/// PostgreSQL on this machine.
pub trait Postgres: Send + Sync + 'static {
    /// Builds by major version, looked for anew each time.
    fn builds(&self) -> BTreeMap<u32, Build>;

    /// Everything that is known of a cluster; of one that was never made, nothing.
    fn look(&self, cluster: &Key) -> impl Future<Output = Result<Seen, Error>> + Send;

    /// Makes the first instance, empty, by a copy of a prepared directory.
    fn make(
        &self,
        cluster: &Key,
        number: Number,
        major: u32,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Begins to make the first instance from a backup. How far it is, [`Postgres::look`] tells.
    fn restore(
        &self,
        cluster: &Key,
        number: Number,
        source: &Source,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Begins to make a standby by a copy of the primary, which must be up. How far it is, [`Postgres::look`] tells.
    fn copy(
        &self,
        cluster: &Key,
        number: Number,
        primary: Number,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Writes the settings of an instance. One that runs reads them again; what needs a restart waits for one.
    fn configure(
        &self,
        cluster: &Key,
        number: Number,
        settings: &Settings,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Keeps the certificate that all instances show; they read it when they are configured next.
    fn certify(
        &self,
        cluster: &Key,
        certificate: &Certificate,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Starts an instance on a free port, the one it had before if it can, and waits a few seconds until it takes
    /// connections. One that needs longer, or fails, is no error here: [`Postgres::look`] tells. An instance that
    /// is fenced is not started.
    fn start(&self, cluster: &Key, number: Number) -> impl Future<Output = Result<(), Error>> + Send;

    /// Stops an instance, and returns when it has ended with everything it started.
    fn stop(
        &self,
        cluster: &Key,
        number: Number,
        how: Stop,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Puts a primary aside for good: it is ended at once, and cannot start as a primary any more.
    fn fence(&self, cluster: &Key, number: Number) -> impl Future<Output = Result<(), Error>> + Send;

    /// Takes back a fence: the instance may start as the primary that it was. Only for when no other can take over.
    fn unfence(&self, cluster: &Key, number: Number) -> impl Future<Output = Result<(), Error>> + Send;

    /// Makes a standby the primary, and returns when it takes writes. From then on no standby counts as synchronous.
    fn promote(&self, cluster: &Key, number: Number) -> impl Future<Output = Result<(), Error>> + Send;

    /// Lets a standby follow a primary where it listens now.
    fn follow(
        &self,
        cluster: &Key,
        number: Number,
        primary: Number,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Makes a fenced or strayed instance a standby of the primary again, by `pg_rewind`. Begins it; if that cannot be
    /// done it begins a fresh copy instead, and the old directory is removed when the copy is complete.
    fn rejoin(
        &self,
        cluster: &Key,
        number: Number,
        primary: Number,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Lets the primary wait for one of these standbys before it acknowledges a commit. [`Seen::synchronous`] becomes
    /// the same set only once each of them has everything acknowledged before; until then it is empty.
    fn wait_for(
        &self,
        cluster: &Key,
        primary: Number,
        standbys: &BTreeSet<Number>,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Makes the role and the database, or gives the role this password.
    fn grant(
        &self,
        cluster: &Key,
        primary: Number,
        login: &Login,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Lets the superuser `postgres` log in with this password; without one, it cannot log in at all.
    fn superuser(
        &self,
        cluster: &Key,
        primary: Number,
        login: Option<&Superuser>,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Makes a further role, or gives it these rights and this password.
    fn role(
        &self,
        cluster: &Key,
        primary: Number,
        role: &Role,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Removes an instance for good, which must be a standby.
    fn remove(&self, cluster: &Key, number: Number) -> impl Future<Output = Result<(), Error>> + Send;

    /// Ends all instances of a cluster that goes, and keeps the data of the primary as a backup under this uid. A
    /// cluster that never had data leaves none. The cluster's directory is gone afterwards.
    fn retire(&self, cluster: &Key, backup: &str) -> impl Future<Output = Result<(), Error>> + Send;

    /// Begins a backup of a cluster from one of its instances, under the uid of its object. The archive of the cluster's
    /// history must be on.
    fn back_up(
        &self,
        cluster: &Key,
        number: Number,
        backup: &str,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// How far a backup is; `None` if none of that uid was begun.
    fn backup(&self, backup: &str) -> impl Future<Output = Result<Option<Backup>, Error>> + Send;

    /// Removes a backup, and the archived history that no other backup needs.
    fn discard(&self, backup: &str) -> impl Future<Output = Result<(), Error>> + Send;

    /// Tells the name of each cluster, or of each backup's cluster, of which something changed.
    fn changes(&self) -> broadcast::Receiver<Name>;
}
