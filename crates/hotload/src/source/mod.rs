//! Where logins come from.

mod file;
#[cfg(feature = "kube")]
mod secret;

use std::fmt;
use std::future::Future;

pub use file::FileSource;
#[cfg(feature = "kube")]
pub use secret::SecretSource;
use tokio::sync::mpsc;

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Sealed(String);

impl Sealed {
    /// Seals a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    pub fn open(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(sealed)")
    }
}

/// Why a source has nothing to give just now. It is told in the status and never holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);

/// A strategy: gives the connection string that is valid now, and every one that follows.
pub trait Source: Send + 'static {
    /// Waits for a connection string that differs from the one given last; the first call gives the first one. After
    /// an error it is called again, so an error is given once, not in a loop.
    fn next(&mut self) -> impl Future<Output = Result<Sealed, SourceError>> + Send;
}

/// Connection strings from within the program. When the sender is gone, the last one stays in force.
impl Source for mpsc::Receiver<Sealed> {
    async fn next(&mut self) -> Result<Sealed, SourceError> {
        match self.recv().await {
            Some(text) => Ok(text),
            None => std::future::pending().await,
        }
    }
}
