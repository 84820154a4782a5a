//! What is known of servers, and what is asked of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use api::secret::Sealed;
use jiff::Timestamp;
use kit::Name;

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
    /// The mark of the password that the superuser `postgres` logs in with; `None` if it has none.
    pub superuser: Option<String>,
    /// The marks of further roles, by their names.
    pub roles: BTreeMap<String, String>,
    /// The certificate that the servers show.
    pub certificate: Option<Certificate>,
    /// Bytes that the largest instance holds.
    pub bytes: u64,
    /// Bytes that are left on the disk, if that can be known.
    pub free: Option<u64>,
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

/// What the superuser `postgres` logs in with.
#[derive(Clone, Debug, PartialEq)]
pub struct Superuser {
    /// Its password.
    pub password: Sealed<String>,
    /// Stands for this password: what was given under the same mark is not given again.
    pub mark: String,
}

/// A further role, which may log in.
#[derive(Clone, Debug, PartialEq)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// Its password.
    pub password: Sealed<String>,
    /// Whether it may make databases.
    pub creates_databases: bool,
    /// Whether it may make roles.
    pub creates_roles: bool,
    /// Stands for all of this: what was given under the same mark is not given again.
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
