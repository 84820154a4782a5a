//! What is done outside.

use std::collections::BTreeSet;
use std::fmt;

use ports::authority::Order;
use ports::postgres::{Login, Number, Role, Settings, Source, Stop, Superuser};

/// A step on the machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Makes the first instance, empty.
    Make {
        /// Which one.
        number: Number,
        /// Of which version.
        major: u32,
    },
    /// Begins to make the first instance from a backup.
    Restore {
        /// Which one.
        number: Number,
        /// From where.
        source: Source,
    },
    /// Begins to make a standby.
    Copy {
        /// Which one.
        number: Number,
        /// Of whom.
        primary: Number,
    },
    /// The authority signs a certificate for the servers.
    Certify(Order),
    /// Writes the settings of an instance.
    Configure {
        /// Which one.
        number: Number,
        /// Its settings.
        settings: Settings,
    },
    /// Starts an instance.
    Start(Number),
    /// Stops an instance.
    Stop(Number, Stop),
    /// Puts a primary aside.
    Fence(Number),
    /// Takes that back.
    Unfence(Number),
    /// Makes a standby the primary.
    Promote(Number),
    /// Lets a standby follow the primary where it listens now.
    Follow {
        /// Which one.
        number: Number,
        /// Whom.
        primary: Number,
    },
    /// Begins to make an instance a standby again.
    Rejoin {
        /// Which one.
        number: Number,
        /// Of whom.
        primary: Number,
    },
    /// Says which standbys the primary waits for.
    WaitFor {
        /// Who waits.
        primary: Number,
        /// For whom.
        standbys: BTreeSet<Number>,
    },
    /// Gives the owner of the database its login.
    Grant {
        /// Where.
        primary: Number,
        /// Which login.
        login: Login,
    },
    /// Lets the superuser log in with a password, or with none.
    Superuser {
        /// Where.
        primary: Number,
        /// With which password.
        login: Option<Superuser>,
    },
    /// Gives a further role its rights and its password.
    Role {
        /// Where.
        primary: Number,
        /// Which one.
        role: Role,
    },
    /// Removes a standby for good.
    Remove(Number),
    /// Ends all, and keeps the data under this uid.
    Retire(String),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Make { number, major } => write!(f, "make {number} of PostgreSQL {major}"),
            Self::Restore { number, source: _ } => write!(f, "restore {number}"),
            Self::Copy { number, primary } => write!(f, "copy {primary} to {number}"),
            Self::Certify(_) => f.write_str("certify"),
            Self::Configure { number, settings: _ } => write!(f, "configure {number}"),
            Self::Start(number) => write!(f, "start {number}"),
            Self::Stop(number, Stop::Fast) => write!(f, "stop {number}"),
            Self::Stop(number, Stop::Immediate) => write!(f, "kill {number}"),
            Self::Fence(number) => write!(f, "fence {number}"),
            Self::Unfence(number) => write!(f, "unfence {number}"),
            Self::Promote(number) => write!(f, "promote {number}"),
            Self::Follow { number, primary } => write!(f, "{number} follows {primary}"),
            Self::Rejoin { number, primary } => write!(f, "{number} rejoins {primary}"),
            Self::WaitFor { primary, standbys } => write!(f, "{primary} waits for {standbys:?}"),
            Self::Grant { primary, login } => write!(f, "grant {} on {primary}", login.database),
            Self::Superuser { primary, login: Some(_) } => write!(f, "let the superuser in on {primary}"),
            Self::Superuser { primary, login: None } => write!(f, "shut the superuser out on {primary}"),
            Self::Role { primary, role } => write!(f, "give role {} its rights on {primary}", role.name),
            Self::Remove(number) => write!(f, "remove {number}"),
            Self::Retire(_) => f.write_str("retire"),
        }
    }
}
