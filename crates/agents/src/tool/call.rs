//! One call of a tool: who asks, for which session, and what a person has said to it.

use std::sync::Arc;

use kube::Client;

use super::{Answered, Question, Stop};
use crate::identity::Caller;
use crate::server::Agents;

/// One call of a tool.
pub struct Call<'a> {
    /// The server.
    pub agents: &'a Agents,
    /// Who asks.
    pub caller: &'a Caller,
    /// Reads and writes with the caller's rights, and no others.
    pub client: Client,
    /// The session's namespace; empty for tools that work in none.
    pub namespace: String,
    /// The session's id; empty for tools that work in none.
    pub session: String,
    /// What a person has agreed to, if anybody was asked.
    pub answered: Option<Answered>,
    /// Whether a person has been led to the page where a secret is entered.
    pub led: bool,
    /// Who wants to know how far it is.
    pub progress: Progress,
}

impl Call<'_> {
    /// Goes on if a person has agreed to exactly this; asks otherwise.
    pub fn confirmed(&self, question: Question) -> Result<(), Stop> {
        match &self.answered {
            Some(answered) if answered.hash == question.hash() => Ok(()),
            _ => Err(Stop::Ask(question)),
        }
    }
}

/// Tells a client that asked for it how far a call is; says nothing to others.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Tell>>);

type Tell = dyn Fn(f64, Option<f64>, String) + Send + Sync;

impl Progress {
    /// Progress that somebody wants to hear of.
    pub fn to(tell: impl Fn(f64, Option<f64>, String) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    /// How far it is, of how much, and what is being done.
    pub fn tell(&self, done: f64, all: Option<f64>, message: impl Into<String>) {
        if let Some(tell) = &self.0 {
            tell(done, all, message.into());
        }
    }
}
