//! What a tool is: its name, its words, its schemas, and what it does when it is called.

mod call;
mod erased;
mod question;
pub mod registry;
#[cfg(test)]
mod tests;

use std::future::Future;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;

pub use call::{Call, Progress};
pub use erased::{Erased, SESSION};
pub use question::{Answered, Entry, Question};

/// One thing that can be asked for.
///
/// The server checks who asks, finds the session's namespace and writes the audit record; a tool reads and writes objects
/// with [`Call::client`], which has the caller's rights and no others.
pub trait Tool: Send + Sync + 'static {
    /// Its name.
    const NAME: &'static str;
    /// Its name for people.
    const TITLE: &'static str;
    /// When to use it, and what comes next. Short: all tools together are sent to every agent.
    const DESCRIPTION: &'static str;
    /// What a client may expect of it.
    const HINTS: Hints;
    /// Whether it works in a session: it then takes a `session_id`, and [`Call::namespace`] is that session's.
    const IN_SESSION: bool = true;
    /// The argument that names the application which it begins to build or to start, if it does. Clients that know tasks
    /// then get one, which ends when that application is Running or Failed.
    const BEGINS: Option<&'static str> = None;

    /// Its arguments, without the session.
    type Input: DeserializeOwned + JsonSchema + Send;
    /// What it answers.
    type Output: Serialize + JsonSchema + Send;

    /// Does it.
    fn run(call: &Call<'_>, input: Self::Input) -> impl Future<Output = Result<Self::Output, Stop>> + Send;
}

/// What a client may expect of a tool: the four annotations of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// It may take away what is there.
    pub destructive: bool,
    /// A second call changes nothing more.
    pub idempotent: bool,
    /// It reaches beyond the platform.
    pub open_world: bool,
}

impl Hints {
    /// Of a tool that looks.
    pub const READS: Self = Self { read_only: true, destructive: false, idempotent: true, open_world: false };
    /// Of a tool that makes or changes; a second call does no more.
    pub const WRITES: Self =
        Self { read_only: false, destructive: false, idempotent: true, open_world: false };
    /// Of a tool that makes something new each time.
    pub const ADDS: Self =
        Self { read_only: false, destructive: false, idempotent: false, open_world: false };
    /// Of a tool that takes away.
    pub const DESTROYS: Self =
        Self { read_only: false, destructive: true, idempotent: true, open_world: false };
}

/// Why a tool has no answer yet.
#[derive(Debug)]
pub enum Stop {
    /// It cannot be done, or not so.
    Wrong(Error),
    /// A person has to agree first.
    Ask(Question),
    /// A person has to enter a secret first.
    Enter(Entry),
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Wrong(error.into())
    }
}
