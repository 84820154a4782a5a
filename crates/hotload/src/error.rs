//! What can go wrong in the hands of the application.

use std::time::Duration;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing that the source gave could log in while the pool was opened.
    #[error("no usable login within {after:?}: {story}")]
    NeverUsable {
        /// How long it was waited for.
        after: Duration,
        /// What was wrong last.
        story: String,
    },
    /// Every connection was in use, or the server did not answer, for as long as the pool waits.
    #[error("no connection became free in time; return connections sooner or raise `max_size`")]
    Busy,
    /// The pool was closed by the application.
    #[error("the pool is closed")]
    Closed,
    /// The server refused, or could not be reached.
    #[error("cannot connect as `{user}`")]
    Connect {
        /// Who tried to log in.
        user: String,
        /// What the server or the network said.
        #[source]
        source: tokio_postgres::Error,
    },
}

/// An error and everything it came from, in one line.
pub(crate) fn story(error: &dyn std::error::Error) -> String {
    let mut story = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !story.contains(&text) {
            story.push_str(": ");
            story.push_str(&text);
        }
        next = cause.source();
    }
    story
}
