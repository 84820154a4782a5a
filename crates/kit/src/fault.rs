//! What went wrong, and when to try again.

use std::error::Error;
use std::fmt::Write;
use std::time::Duration;

use api::conditions::Reason;

/// When a pass that failed is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// At once: somebody else was faster, and the next look will see it.
    Now,
    /// Soon, and then less and less often.
    Backoff,
    /// Soon, and then less and less often, but never later than this.
    Within(Duration),
    /// After as long as the other side asked for, but not later than the longest pause there is.
    After(Duration),
    /// Rarely: a person has to do something first.
    Slowly,
}

/// IO that failed. A spec that cannot be met is a [`crate::Refusal`], waiting is a plan.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The API server refused, or could not be reached.
    #[error("{what}")]
    Cluster {
        /// What was tried, with the object's kind and name.
        what: String,
        /// Why it failed.
        #[source]
        source: Box<kube::Error>,
    },
    /// Another system refused, or could not be reached.
    #[error("{system}")]
    Outside {
        /// Which one.
        system: &'static str,
        /// When to try again.
        retry: Retry,
        /// Why, for programs: what the condition of the object gives as its reason.
        reason: Reason,
        /// Why it failed.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// An object of that name exists, and somebody else made it.
    #[error(
        "{address} exists and was not made by Terrace; rename one of the two, or let Terrace have it with the annotation terrace.dev/adopt: \"true\""
    )]
    NotOurs {
        /// Its kind and name.
        address: String,
    },
    /// There was no answer in time.
    #[error("{what}: no answer within {} s", limit.as_secs())]
    Timeout {
        /// What was tried.
        what: String,
        /// How long it was waited for.
        limit: Duration,
    },
}

impl Fault {
    /// What was tried on the API server, and how it failed.
    pub fn cluster(what: impl Into<String>, source: kube::Error) -> Self {
        Self::Cluster { what: what.into(), source: Box::new(source) }
    }

    /// Another system that failed, for a reason that has no name of its own.
    pub fn outside(
        system: &'static str,
        retry: Retry,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Outside { system, retry, reason: Reason::Failed, source: source.into() }
    }

    /// When to try again.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Cluster { source, .. } => match &**source {
                kube::Error::Api(status) if status.code == 409 => Retry::Now,
                kube::Error::Api(status) if matches!(status.code, 401 | 403 | 422) => Retry::Slowly,
                _ => Retry::Backoff,
            },
            Self::Outside { retry, .. } => *retry,
            Self::NotOurs { .. } => Retry::Slowly,
            Self::Timeout { .. } => Retry::Backoff,
        }
    }

    /// Why, for programs.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Outside { reason, .. } => reason.clone(),
            Self::Cluster { .. } | Self::NotOurs { .. } | Self::Timeout { .. } => Reason::Failed,
        }
    }

    /// The HTTP code that the API server answered with.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Cluster { source, .. } => match &**source {
                kube::Error::Api(status) => Some(status.code),
                _ => None,
            },
            Self::Outside { .. } | Self::NotOurs { .. } | Self::Timeout { .. } => None,
        }
    }

    /// What happened, from the outside in: each cause once.
    pub fn story(&self) -> String {
        let mut story = self.to_string();
        if let Self::Cluster { source, .. } = self
            && let kube::Error::Api(status) = &**source
        {
            // The server's own sentence: kube's `Display` prints the whole structure beside it.
            let _ = write!(story, ": {}", status.message);
            return story;
        }
        let mut cause = self.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !story.contains(&text) {
                let _ = write!(story, ": {text}");
            }
            cause = error.source();
        }
        story
    }
}
