//! PostgreSQL servers on this machine: their directories, their processes, and what they answer.
//!
//! A cluster is one directory, named by the uid of its object, with one data directory for each instance. Everything
//! that must survive a crash of the platform is on disk there: an instance exists when its directory has its final name,
//! it is a standby when `standby.signal` lies in it, and the record beside the instances holds what nothing else tells.
//! Every call may be repeated.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::path::PathBuf;

use api::secret::Sealed;
use jiff::Timestamp;
use kit::{Fault, Name, Retry};
use tokio::sync::broadcast;

mod fake;

pub use fake::Fake;

/// Which cluster: by its object's name for people, by its uid for the directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Namespace and name of the object.
    pub name: Name,
    /// Its uid.
    pub uid: String,
}

/// The number of an instance: 1, 2, 3 and so on. Never used again within a cluster once its directory is removed for
/// good, as CloudNativePG does it.
pub type Number = u32;

/// A place in the history of a server, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}

/// A build of PostgreSQL on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// Its whole version, such as `15.18`.
    pub version: String,
    /// Where `postgres`, `initdb`, `pg_basebackup` and the others lie.
    pub bin: PathBuf,
}

/// Everything that is known of a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Instances that are there, or are being made.
    pub instances: BTreeMap<Number, Instance>,
    /// The standbys of which each has every commit that was acknowledged, taken together: only while all of them can
    /// be asked may one of them take over without loss. Empty: none may.
    pub synchronous: BTreeSet<Number>,
    /// The mark of the login that was granted last.
    pub granted: Option<String>,
    /// The certificate that the servers show.
    pub certificate: Option<Certificate>,
    /// Bytes that the largest instance holds.
    pub bytes: u64,
    /// The highest number that an instance ever had.
    pub highest: Number,
}

/// A certificate with its key, both PEM.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// The certificate.
    pub chain_pem: String,
    /// Its private key.
    pub key_pem: Sealed<String>,
    /// Whom clients trust.
    pub root_pem: String,
}

/// One instance.
#[derive(Clone, Debug, PartialEq)]
pub enum Instance {
    /// Its directory is being made, by a copy or from a backup.
    Coming {
        /// Since when.
        since: Timestamp,
    },
    /// Its directory could not be made. Asking again begins anew.
    Broken {
        /// What went wrong, for people.
        story: String,
        /// When.
        at: Timestamp,
    },
    /// Its directory is there.
    There(There),
}

/// An instance whose directory is there.
#[derive(Clone, Debug, PartialEq)]
pub struct There {
    /// The major version of its data; `None` if the directory does not say, which means that it is damaged.
    pub major: Option<u32>,
    /// Whether it starts as a standby.
    pub standby: bool,
    /// Whether it was a primary that was put aside, and has to rejoin before it may run.
    pub fenced: bool,
    /// The port that a standby follows its primary on, if it follows one.
    pub follows: Option<u16>,
    /// The mark of the settings that lie in its directory.
    pub settings: Option<String>,
    /// Its process.
    pub run: Run,
}

/// The process of an instance.
#[derive(Clone, Debug, PartialEq)]
pub enum Run {
    /// There is none.
    Stopped,
    /// It has ended by itself, or was killed.
    Ended {
        /// When.
        at: Timestamp,
        /// How, in words, with what it said last.
        story: String,
        /// How often in a row it has ended before it took connections, this time included; 0 if it had taken some.
        failures: u32,
    },
    /// It runs and does not take connections (yet).
    Starting {
        /// Since when.
        since: Timestamp,
        /// Where it listens.
        port: u16,
        /// What it says when asked, such as that it is starting up.
        story: Option<String>,
    },
    /// It takes connections.
    Up(Facts),
}

/// What a server answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Where it listens.
    pub port: u16,
    /// Whether it only follows.
    pub in_recovery: bool,
    /// Its timeline.
    pub timeline: u32,
    /// What it has: of a primary what was written, of a standby what it has received and kept.
    pub lsn: Lsn,
    /// Whether a standby receives what its primary writes at this moment.
    pub streaming: bool,
    /// The mark of the settings that it runs with.
    pub settings: Option<String>,
    /// Whether some of them need a restart.
    pub restart_needed: bool,
    /// Standbys that a primary waits for now.
    pub waits_for: BTreeSet<Number>,
    /// Standbys that a primary serves, and what each has kept.
    pub serves: BTreeMap<Number, Lsn>,
    /// Whether history that is no longer needed is put into the archive.
    pub archives: bool,
}

/// How an instance is to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Parameters as in `postgresql.conf`, unquoted.
    pub parameters: BTreeMap<String, String>,
    /// Whether its history is put into the archive.
    pub archive: bool,
    /// Stands for everything above, and for the certificate: two settings with the same mark are the same.
    pub mark: String,
}

/// Who may use a cluster's database.
#[derive(Clone, Debug, PartialEq)]
pub struct Login {
    /// The role.
    pub owner: String,
    /// The database that it owns.
    pub database: String,
    /// Its password.
    pub password: Sealed<String>,
    /// Stands for this login: what was granted under the same mark is not granted again.
    pub mark: String,
}

/// Where the data of a new cluster comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The uid of the backup.
    pub backup: String,
    /// The moment to go back to; without it, as far as the history goes.
    pub until: Option<Timestamp>,
}

/// How an instance is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Clients are sent away, and everything is written first.
    Fast,
    /// At once, as by a power cut.
    Immediate,
}

/// How far a backup is.
#[derive(Clone, Debug, PartialEq)]
pub enum Backup {
    /// It is being made.
    Running {
        /// Since when.
        since: Timestamp,
    },
    /// It is there.
    Done(Copied),
    /// It could not be made.
    Failed {
        /// What went wrong, for people.
        story: String,
    },
}

/// A backup that is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Copied {
    /// The major version of its data.
    pub major: u32,
    /// When it began.
    pub began: Timestamp,
    /// When it ended: the first moment that can be gone back to.
    pub ended: Timestamp,
    /// Where it began in the server's history.
    pub first: Option<Lsn>,
    /// Where it ended.
    pub last: Option<Lsn>,
    /// How large it is.
    pub bytes: u64,
}

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
        Self::Outside { system: "PostgreSQL", retry, source: Box::new(error) }
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
