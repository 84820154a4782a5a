//! The configuration of database claims: one YAML text, as the platform's operators write it.
//!
//! Everything that is wrong is told at once, each with its line and the form that is expected.

mod fields;
#[cfg(test)]
mod tests;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use api::connection::SslMode;
use api::names::{ObjectName, SecretKey};

use fields::Reader;

/// The shortest and the longest that passwords may be asked to be, in characters.
const PASSWORD_LENGTH: (u64, u64) = (15, 99);
/// How often passwords may be asked to change, in minutes.
const ROTATION_MINUTES: (u64, u64) = (60, 1440);
/// How long a database may be asked to be kept after its claim has gone, in minutes: up to thirty days.
const HOLD_MINUTES: (u64, u64) = (0, 43_200);
/// How long it is kept where nothing is said, in minutes: a day, in which a mistake is noticed.
const HOLD_MINUTES_DEFAULT: u32 = 1440;
/// The port of servers for which none is given.
const PORT: u16 = 5432;
/// The administrator of servers for which none is given.
const USERNAME: &str = "root";

/// What the platform's operators decide for all claims on databases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How passwords are made.
    pub passwords: Passwords,
    /// Where administrators' passwords come from.
    pub auth_source: AuthSource,
    /// Where servers are made.
    pub region: Option<String>,
    /// Who makes servers.
    pub maker: Maker,
    /// Name of the AWSProvider with which servers are made on AWS.
    pub aws_provider: Option<ObjectName>,
    /// How long a database is kept after its claim has gone, in minutes.
    pub hold_minutes: u32,
    /// What holds where neither claim nor fragment says otherwise.
    pub defaults: Defaults,
    /// Servers by their labels.
    pub fragments: BTreeMap<String, Fragment>,
    /// Whether there is no configuration at all: a label then matches nothing, and is itself the name of a server that
    /// claims share.
    pub anything_goes: bool,
}

/// Who makes servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// Whoever fulfils a `CloudDatabaseClaim`, such as Crossplane.
    CloudDatabaseClaim,
    /// Whoever fulfils a CloudNativePG `Cluster`.
    Cluster,
    /// Our own `RDSInstance`.
    RdsInstance,
}

/// How passwords are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passwords {
    /// Whether they hold letters of both cases, digits and symbols.
    pub complex: bool,
    /// How long they are at least, in characters.
    pub length_min: u8,
    /// How often they change, in minutes.
    pub rotation_minutes: u16,
}

/// Where administrators' passwords come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthSource {
    /// A Secret.
    Secret,
    /// AWS itself.
    Aws,
}

/// What becomes of the server behind a resource that is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletePolicy {
    /// It goes too.
    Delete,
    /// It stays.
    Orphan,
}

/// What becomes of the resource of a server when its last claim goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReclaimPolicy {
    /// It is deleted.
    Delete,
    /// It stays.
    Retain,
}

/// What holds where neither claim nor fragment says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// Port of servers.
    pub port: u16,
    /// Administrator of servers.
    pub username: String,
    /// How connections are protected.
    pub ssl_mode: SslMode,
    /// Size of servers that are made.
    pub shape: Option<String>,
    /// Storage of servers that are made, in GiB.
    pub storage_gb_min: Option<u32>,
    /// Version of servers that are made.
    pub engine_version: Option<String>,
    /// What becomes of the server behind a resource that is deleted.
    pub delete_policy: DeletePolicy,
    /// What becomes of a server when its last claim goes.
    pub reclaim_policy: ReclaimPolicy,
    /// Extensions of databases.
    pub extensions: BTreeSet<String>,
    /// Whether claims may ask for a superuser.
    pub allow_super_user: bool,
    /// Whether claims may ask for a user that replicates.
    pub allow_replication: bool,
}

/// One server, or one kind of server: what a label stands for. Defaults are filled in where a claim has no say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Its label.
    pub key: String,
    /// Its administrator.
    pub username: String,
    /// Its host. Without one the server is made.
    pub host: Option<String>,
    /// Its port.
    pub port: u16,
    /// How connections to it are protected.
    pub ssl_mode: SslMode,
    /// Secret with the administrator's password.
    pub password_secret: Option<ObjectName>,
    /// Key of that Secret.
    pub password_key: SecretKey,
    /// Size of a server that is made.
    pub shape: Option<String>,
    /// Storage of a server that is made, in GiB.
    pub storage_gb_min: Option<u32>,
    /// Version of a server that is made.
    pub engine_version: Option<String>,
    /// What becomes of the server behind a resource that is deleted.
    pub delete_policy: DeletePolicy,
    /// What becomes of the server when its last claim goes.
    pub reclaim_policy: ReclaimPolicy,
    /// Extensions of its databases.
    pub extensions: BTreeSet<String>,
    /// Whether claims on it may ask for a superuser.
    pub allow_super_user: bool,
    /// Whether claims on it may ask for a user that replicates.
    pub allow_replication: bool,
    /// Whether claims may use databases and roles of it that are there already and carry no mark.
    pub adopt_existing: bool,
    /// Secret whose `ca.crt` the server's certificate is checked with.
    pub ca_secret: Option<ObjectName>,
}

/// One thing that is wrong with the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct Problem {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong, and what is expected.
    pub message: String,
}

/// Everything that is wrong with the text, in the order of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Problems {}

/// No fragment key fits a label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no server is configured for the instance label `{label}`; {there}")]
pub struct NoMatch {
    /// The label.
    pub label: String,
    /// The keys that exist, in words.
    pub there: String,
}

impl Config {
    /// What holds where there is no configuration at all: defaults everywhere, and servers are `Cluster`s.
    pub fn unconfigured() -> Self {
        Self { maker: Maker::Cluster, anything_goes: true, ..Reader::default().config(Vec::new()) }
    }

    /// Reads a configuration. `file` is named in what is wrong with it.
    pub fn parse(file: &str, text: &str) -> Result<Self, Problems> {
        let named = |(line, message)| Problem { file: file.to_owned(), line, message };
        let told = |problems: Vec<(u64, String)>| Problems(problems.into_iter().map(named).collect());
        let entries = text::read(text).map_err(told)?;
        let mut reader = Reader::default();
        let config = reader.config(entries);
        match reader.problems.is_empty() {
            true => Ok(config),
            false => {
                reader.problems.sort();
                Err(told(reader.problems))
            }
        }
    }

    /// The server that a label stands for: the fragment key that is the label, or else the longest that it begins with,
    /// counted in whole words between dots.
    pub fn match_label(&self, label: &str) -> Result<&Fragment, NoMatch> {
        let mut rest = label;
        loop {
            if let Some(found) = self.fragments.get(rest) {
                return Ok(found);
            }
            match rest.rsplit_once('.') {
                Some((shorter, _)) => rest = shorter,
                None => break,
            }
        }
        let keys: Vec<&str> = self.fragments.keys().map(String::as_str).collect();
        let there = match keys.as_slice() {
            [] => "the configuration has no fragment key".to_owned(),
            keys => format!("the configuration has {}", keys.join(", ")),
        };
        Err(NoMatch { label: label.to_owned(), there })
    }
}
