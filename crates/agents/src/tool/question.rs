//! What a person is asked before data is destroyed, and what an agent must never hold.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::audit::hex;

/// Whether something may be destroyed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What is asked, in one sentence: `Delete the database orders in session k3x9 with all its data?`
    pub what: String,
    /// What will be done, one line for each step. The answer holds for exactly this.
    pub plan: Vec<String>,
    /// The command that does the same, for people whose client cannot ask them.
    pub command: String,
}

impl Question {
    /// The hash of what will be done.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        for line in std::iter::once(&self.what).chain(&self.plan) {
            hash.update((line.len() as u64).to_be_bytes());
            hash.update(line.as_bytes());
        }
        hex(&hash.finalize())
    }
}

/// A secret that a person has to enter, on a page of the platform's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is for, in one sentence.
    pub what: String,
    /// Where it is entered.
    pub url: String,
    /// The page's own name, unguessable and usable once.
    pub id: String,
    /// The command that does the same, for people whose client cannot lead them to a page.
    pub command: String,
}

/// What a person has agreed to. It comes out of a seal that only this server can make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The hash of the question.
    pub hash: String,
}
