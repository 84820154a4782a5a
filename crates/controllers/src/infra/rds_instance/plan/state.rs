//! How a server stands, from AWS's word for it.
//! <https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/accessing-monitoring.html>

use api::conditions::Reason;
use api::infra::RDSInstance;
use ports::aws::Database;

use super::settings::Comparison;
use super::{POLL, what};
use crate::infra::course::Waiting;
use crate::infra::desk::RETRY;

/// Words for a server that takes connections and changes.
const OPEN: [&str; 2] = ["available", "storage-optimization"];
/// Words for a server that takes connections, and no changes before it is done with something.
const SERVING: [&str; 6] = [
    "backing-up",
    "storage-initialization",
    "storage-config-upgrade",
    "configuring-enhanced-monitoring",
    "configuring-iam-database-auth",
    "configuring-log-exports",
];
/// The word for a server that goes.
const DELETING: &str = "deleting";
/// Words for a server that does not come back on its own, and what helps.
const WRONG: [(&str, &str); 13] = [
    ("failed", "restore it from a backup"),
    ("restore-error", "restore it from another backup"),
    ("storage-full", "raise allocatedStorage"),
    ("stopped", "start it; nothing is changed until then"),
    ("insufficient-capacity", "choose another dbInstanceClass, or wait"),
    ("incompatible-create", "AWS's events tell what it lacks"),
    ("incompatible-network", "its network lacks something; AWS's events tell what"),
    ("incompatible-option-group", "its option group does not fit; AWS's events tell why"),
    ("incompatible-parameters", "its parameter group does not fit; AWS's events tell why"),
    ("incompatible-restore", "restore it from another backup"),
    ("inaccessible-encryption-credentials", "its key cannot be used any more; restore it from a backup"),
    ("inaccessible-encryption-credentials-recoverable", "enable its key again, and start it"),
    ("inaccessible-encryption-credential", "its key cannot be used; AWS's events tell why"),
];

/// How a server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It takes connections and changes.
    Open,
    /// It takes connections only.
    Serving,
    /// It is at something.
    Busy,
    /// It is full, and takes more storage only.
    Full,
    /// It is going.
    Going,
    /// It needs a person, who is told this.
    Wrong(&'static str),
}

impl State {
    /// Whether it takes any change.
    pub(super) fn takes_changes(self) -> bool {
        matches!(self, Self::Open | Self::Full)
    }

    /// Whether it takes every change.
    pub(super) fn takes_settings(self) -> bool {
        self == Self::Open
    }

    /// Whether it takes connections.
    pub(super) fn serves(self) -> bool {
        matches!(self, Self::Open | Self::Serving)
    }
}

/// How a server stands. A word that nobody knows is something that it is at.
pub(super) fn of(word: &str) -> State {
    match word {
        "storage-full" => State::Full,
        DELETING => State::Going,
        word if OPEN.contains(&word) => State::Open,
        word if SERVING.contains(&word) => State::Serving,
        word => WRONG
            .iter()
            .find(|(wrong, _)| *wrong == word)
            .map_or(State::Busy, |(_, advice)| State::Wrong(advice)),
    }
}

/// What is waited for before a server is as asked.
pub(super) fn waiting(
    instance: &RDSInstance,
    live: &Database,
    compared: &Comparison,
    changes: bool,
) -> Option<Waiting> {
    let (what, word) = (what(instance), &live.status);
    let busy = |message: String| Waiting { reason: Reason::Provisioning, message, delay: POLL };
    let wrong = |advice: &str| Waiting {
        reason: Reason::Code(word.clone()),
        message: format!("{what} is {word}: {advice}"),
        delay: RETRY,
    };
    match of(word) {
        State::Wrong(advice) => Some(wrong(advice)),
        State::Full => Some(wrong("raise allocatedStorage")),
        State::Busy => Some(busy(format!("{what} is {word}"))),
        State::Going => Some(busy(format!("{what} is being deleted, and is made anew when it is gone"))),
        State::Open | State::Serving if changes => Some(busy(format!("{what} is being changed"))),
        State::Open | State::Serving if !compared.pending.is_empty() => {
            let told = compared.pending.join(", ");
            let message = format!("{what} waits for AWS to change it: {told}");
            Some(Waiting { delay: RETRY, ..busy(message) })
        }
        State::Open | State::Serving => None,
    }
}
