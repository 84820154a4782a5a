//! What is written down of a call.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::hex;

/// One call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// When it was answered.
    pub time: Timestamp,
    /// The fingerprint of the token that was presented, or `user:NAME` for a user of the API; empty without either.
    pub token: String,
    /// The token's name, if it is known, or `user:NAME`.
    pub name: String,
    /// The program that asked, in its own words.
    pub agent: String,
    /// What was asked for: a tool's name, `resources/read`, a method and path, or `db dsn --show`.
    pub action: String,
    /// The session or resource that was named, in the caller's words.
    pub subject: String,
    /// The digest of the arguments: what they were stays with the caller.
    pub arguments: String,
    /// The hash of the plan that a person was asked about, or agreed to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub plan: Option<String>,
    /// What came of it.
    pub outcome: Outcome,
    /// Why it was refused or failed, without anything of the arguments' values.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

/// Longest text of a record that somebody else chose, in letters.
const TEXT_MAX: usize = 200;

impl Record {
    /// The record with everything that others chose cut to a length and to one line.
    pub fn bounded(self) -> Self {
        let Self { time, token, name, agent, action, subject, arguments, plan, outcome, reason } = self;
        let short = |text: String| plain(&text, TEXT_MAX);
        Self {
            time,
            token: short(token),
            name: short(name),
            agent: short(agent),
            action: short(action),
            subject: short(subject),
            arguments: short(arguments),
            plan: plan.map(short),
            outcome,
            reason: reason.map(short),
        }
    }
}

/// As much of a text as a record holds, without letters that would do something to a terminal.
pub fn plain(text: &str, most: usize) -> String {
    // Those that turn the direction of what follows, or cannot be seen.
    let hidden = |letter| matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    text.chars().filter(|letter| !letter.is_control() && !hidden(*letter)).take(most).collect()
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It was done.
    Done,
    /// A person is asked first.
    Asked,
    /// The caller may not, or nobody knows the caller.
    Refused,
    /// It could not be done.
    Failed,
}

/// The digest of arguments.
pub fn digest(arguments: &Map<String, Value>) -> String {
    let bytes = serde_json::to_vec(arguments).unwrap_or_default();
    hex(&Sha256::digest(bytes))
}
