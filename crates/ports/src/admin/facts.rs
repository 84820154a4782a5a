//! What is asked of a server, and what it tells.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use api::claims::RoleType;
use api::connection::SslMode;
use api::secret::Sealed;
use jiff::Timestamp;
use serde::Deserialize;

/// Where a server is, and how its administrator logs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// The administrator.
    pub user: String,
    /// The administrator's password.
    pub password: Sealed<String>,
    /// How the connection is protected.
    pub ssl_mode: SslMode,
    /// Whose certificates are trusted, PEM. `verify-ca` and `verify-full` need it.
    pub ca: Option<String>,
    /// The database that the administrator logs in to.
    pub database: String,
}

impl Server {
    /// The server of a DSN or URI, whose database and login it names. What is wrong is told without what it holds.
    pub fn of_dsn(dsn: &str, ca: Option<String>) -> Result<Self, &'static str> {
        // The two modes that check certificates are known to libpq, and not to the parser.
        let modes = [("verify-full", SslMode::VerifyFull), ("verify-ca", SslMode::VerifyCa)];
        let strict = modes.into_iter().find(|(word, _)| dsn.contains(&format!("sslmode={word}")));
        let plain = strict.map_or_else(|| dsn.to_owned(), |(word, _)| dsn.replace(word, "require"));
        let config: tokio_postgres::Config =
            plain.parse().map_err(|_| "it is neither a URI nor key=value pairs")?;
        let host = config.get_hosts().iter().find_map(|host| match host {
            tokio_postgres::config::Host::Tcp(host) => Some(host.clone()),
            #[cfg(unix)]
            tokio_postgres::config::Host::Unix(_) => None,
        });
        let password = config.get_password().and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
        let ssl_mode = match (strict, config.get_ssl_mode()) {
            (Some((_, mode)), _) => mode,
            (None, tokio_postgres::config::SslMode::Disable) => SslMode::Disable,
            (None, tokio_postgres::config::SslMode::Require) => SslMode::Require,
            (None, _) => SslMode::Prefer,
        };
        Ok(Self {
            host: host.ok_or("it names no host")?,
            port: config.get_ports().first().copied().unwrap_or(5432),
            user: config.get_user().ok_or("it names no user")?.to_owned(),
            password: Sealed::new(password.ok_or("it holds no password")?),
            ssl_mode,
            ca,
            database: config.get_dbname().ok_or("it names no database")?.to_owned(),
        })
    }

    /// Host and port, as messages name a server.
    pub fn place(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// Somebody who may get in.
#[derive(Clone, Debug, PartialEq)]
pub struct Login {
    /// The database.
    pub database: String,
    /// The login.
    pub role: String,
    /// Its password.
    pub password: Sealed<String>,
}

/// Who a server takes a login for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Who logged in.
    pub session_user: String,
    /// Who acts: the owner, if the login stands for one.
    pub current_user: String,
}

/// What one look is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The database.
    pub database: Option<String>,
    /// Whether what is in it counts.
    pub content: bool,
    /// Roles by their names.
    pub roles: BTreeSet<String>,
}

/// What one look told.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Version, as in `server_version_num`: 150018 is 15.18.
    pub version: u32,
    /// Whether it is a standby, which only reads.
    pub recovery: bool,
    /// Whether the administrator is a superuser.
    pub superuser: bool,
    /// The database, if it is there.
    pub database: Option<Database>,
    /// Those of the roles that are there.
    pub roles: BTreeMap<String, Role>,
}

/// A database.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Database {
    /// Its owner.
    pub owner: String,
    /// Its comment, which is our mark if we made it.
    pub mark: Option<String>,
    /// Whether anybody may enter who can log in at all.
    pub public: bool,
    /// Whether it lets anybody in; one that is held does not.
    pub open: bool,
    /// How many sessions it has, without the administrator's.
    pub sessions: u32,
    /// What is in it, if that was asked for and can be seen.
    #[serde(default)]
    pub content: Option<Content>,
}

/// A role.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Role {
    /// Whether one can log in as it.
    pub login: bool,
    /// Whether no rule binds it.
    pub superuser: bool,
    /// Whether it may replicate.
    pub replication: bool,
    /// Whether it may make databases.
    pub create_db: bool,
    /// Whether it may make roles.
    pub create_role: bool,
    /// Whether row security does not bind it.
    pub bypass_rls: bool,
    /// Whether it has the rights of the roles it is a member of.
    pub inherit: bool,
    /// How many sessions it may have, if that is bounded.
    pub connection_limit: Option<u32>,
    /// Until when its password is good, if that is bounded.
    pub valid_until: Option<Timestamp>,
    /// What it is a member of.
    pub member_of: BTreeMap<String, Membership>,
    /// Settings of each of its sessions, such as `role`.
    pub settings: BTreeMap<String, String>,
    /// Its comment, which is our mark if we made it.
    pub mark: Option<String>,
    /// How many sessions it has.
    pub sessions: u32,
}

/// How a role is a member of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Membership {
    /// Whether it may let others in.
    pub admin: bool,
    /// Whether it has the other's rights.
    pub inherit: bool,
    /// Whether it may become the other.
    pub set: bool,
}

/// What is in a database.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Content {
    /// Extensions with their versions.
    pub extensions: BTreeMap<String, String>,
    /// Schemas that are not the server's own, with their owners.
    pub schemas: BTreeMap<String, String>,
    /// Rights of the asked roles, by role and schema; only where there are any.
    pub grants: BTreeMap<String, BTreeMap<String, Grants>>,
    /// Objects that the database's owner does not own, the first hundred.
    pub strays: Vec<Stray>,
}

/// An object that somebody else owns than should.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Stray {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Who owns it.
    pub owner: String,
}

/// Privileges in PostgreSQL's words, such as `SELECT`.
pub type Privileges = BTreeSet<String>;

/// What a role may do in one schema.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Grants {
    /// On the schema itself.
    pub schema: Privileges,
    /// On its tables and views.
    pub tables: Spread,
    /// On its sequences.
    pub sequences: Spread,
    /// On the tables that a creator makes later, by creator.
    pub later_tables: BTreeMap<String, Privileges>,
    /// On the sequences that a creator makes later, by creator.
    pub later_sequences: BTreeMap<String, Privileges>,
}

/// Privileges over many objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Spread {
    /// How many objects there are that the role does not own itself.
    pub count: u32,
    /// On how many of them the role has which privilege.
    pub held: BTreeMap<String, u32>,
}

impl Spread {
    /// Whether exactly these privileges are held on each object.
    fn is(&self, want: &[&str]) -> bool {
        let all = |word: &&str| self.held.get(*word).copied().unwrap_or_default() == self.count;
        let only = |(word, count): (&String, &u32)| *count == 0 || want.contains(&word.as_str());
        want.iter().all(all) && self.held.iter().all(only)
    }
}

/// The privileges that a kind of right is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// On the schema.
    pub schema: &'static [&'static str],
    /// On its tables and views.
    pub tables: &'static [&'static str],
    /// On its sequences.
    pub sequences: &'static [&'static str],
}

/// What a kind of right is made of. `MAINTAIN`, which came with version 17, belongs to owners.
pub fn recipe(right: RoleType) -> Recipe {
    match right {
        RoleType::ReadOnly => Recipe { schema: &["USAGE"], tables: &["SELECT"], sequences: &["SELECT"] },
        RoleType::Regular => Recipe {
            schema: &["USAGE"],
            tables: &["SELECT", "INSERT", "UPDATE", "DELETE"],
            sequences: &["USAGE", "SELECT", "UPDATE"],
        },
        RoleType::Admin => Recipe {
            schema: &["USAGE", "CREATE"],
            tables: &["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"],
            sequences: &["USAGE", "SELECT", "UPDATE"],
        },
    }
}

impl Grants {
    /// Whether this is exactly one kind of right, on what these creators make later too.
    pub fn is(&self, right: RoleType, creators: &BTreeSet<String>) -> bool {
        let Recipe { schema, tables, sequences } = recipe(right);
        let later = |found: &BTreeMap<String, Privileges>, want: &[&str]| {
            found.keys().eq(creators.iter()) && found.values().all(|found| same(found, want))
        };
        same(&self.schema, schema)
            && self.tables.is(tables)
            && self.sequences.is(sequences)
            && later(&self.later_tables, tables)
            && later(&self.later_sequences, sequences)
    }
}

fn same(found: &Privileges, want: &[&str]) -> bool {
    found.len() == want.len() && want.iter().all(|word| found.contains(*word))
}

impl Content {
    /// Whether a role has exactly these rights, and none in any other schema.
    pub fn grants_are(
        &self,
        role: &str,
        rights: &BTreeMap<String, RoleType>,
        creators: &BTreeSet<String>,
    ) -> bool {
        let none = BTreeMap::new();
        let found = self.grants.get(role).unwrap_or(&none);
        found.keys().all(|schema| rights.contains_key(schema))
            && rights
                .iter()
                .all(|(schema, right)| found.get(schema).is_some_and(|grants| grants.is(*right, creators)))
    }
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} is owned by {}", self.schema, self.name, self.owner)
    }
}
