//! PostgreSQL servers, wherever they run, as their administrator sees them: databases, roles and rights.
//!
//! One look tells all that a claim wants to know; an [`Act`] is one change. Each act may be repeated, and may be cut off
//! before or after any of its statements: what belongs together is one transaction, and a database gets its name only
//! once it carries its mark. Nothing that does not carry the mark it is asked for by is ever locked, renamed or dropped.

mod acts;
mod facts;
mod fake;
mod live;
mod quote;

use std::future::Future;
use std::time::Duration;

use api::conditions::Reason;
use kit::{Fault, Retry};

pub use acts::*;
pub use facts::*;
pub use fake::{Fake, Session};
pub use live::{Live, Settings as LiveSettings};
pub use quote::{identifier, literal};

/// What a server can answer instead. No message holds a value that was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nobody is listening, the line went dead, or the server is starting or stopping.
    #[error("server {server} is unreachable: {story}")]
    Unreachable {
        /// Its host and port.
        server: String,
        /// What was seen instead.
        story: String,
    },
    /// The login is wrong, or not let in (28P01, 28000).
    #[error("server {server} refused the login of `{user}`: {story}; check its user name and password")]
    Denied {
        /// Its host and port.
        server: String,
        /// Who knocked.
        user: String,
        /// What it said.
        story: String,
    },
    /// The server takes no more connections (53300).
    #[error("server {server} has no connection left: {story}; raise its limit or close sessions")]
    TooManyConnections {
        /// Its host and port.
        server: String,
        /// What it said.
        story: String,
    },
    /// The server only reads: it is a standby, or was set so (25006).
    #[error("server {server} only reads: {story}; name the primary")]
    ReadOnly {
        /// Its host and port.
        server: String,
        /// What it said.
        story: String,
    },
    /// The administrator lacks a right (42501).
    #[error("the administrator of {server} may not do this: {story}; grant it the right")]
    Privilege {
        /// Its host and port.
        server: String,
        /// What it said.
        story: String,
    },
    /// There was no answer in time (57014, or silence).
    #[error("server {server}: {what} took longer than {} ms", limit.as_millis())]
    Timeout {
        /// Its host and port.
        server: String,
        /// What was waited for.
        what: &'static str,
        /// How long.
        limit: Duration,
    },
    /// Someone uses what would change (55006, 55P03).
    #[error("on {server}, {story}; it is tried again")]
    Busy {
        /// Its host and port.
        server: String,
        /// What it said.
        story: String,
    },
    /// The server does not speak TLS.
    #[error("server {server} does not speak TLS; set its sslMode to `disable` or turn TLS on")]
    TlsRefused {
        /// Its host and port.
        server: String,
    },
    /// The server's certificate is not what the mode asks for.
    #[error("the certificate of {server} cannot be trusted: {story}")]
    Certificate {
        /// Its host and port.
        server: String,
        /// Why.
        story: String,
    },
    /// It exists, and does not carry the mark of whoever asks.
    #[error("{what} `{name}` on {server} was not made by this claim and is left alone; choose another name")]
    NotOurs {
        /// Its host and port.
        server: String,
        /// `database` or `role`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// It was asked of something that is not there.
    #[error("{what} `{name}` is not on {server}")]
    Missing {
        /// Its host and port.
        server: String,
        /// `database`, `role` or `schema`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// PostgreSQL cannot keep such a name.
    #[error("`{name}` cannot be a name in PostgreSQL: {rule}")]
    Name {
        /// The name, with what cannot be printed escaped.
        name: String,
        /// The rule, in words.
        rule: &'static str,
    },
    /// The statement failed.
    #[error("on {server}, a statement failed with SQLSTATE {sqlstate}: {message}")]
    Statement {
        /// Its host and port.
        server: String,
        /// Five letters and digits.
        sqlstate: String,
        /// What it said, without the statement.
        message: String,
    },
}

impl Error {
    /// Why, for programs: each trouble that a person mends in another way has a word of its own.
    pub fn reason(&self) -> Reason {
        let word = match self {
            Self::Unreachable { .. } => "ServerUnreachable",
            Self::Denied { .. } => return Reason::CredentialsInvalid,
            Self::TooManyConnections { .. } => "TooManyConnections",
            Self::ReadOnly { .. } => "ServerReadOnly",
            Self::Privilege { .. } => "PermissionMissing",
            Self::Timeout { .. } => "ServerSlow",
            Self::Busy { .. } => "ServerBusy",
            Self::TlsRefused { .. } => "TlsRefused",
            Self::Certificate { .. } => "CertificateUntrusted",
            Self::NotOurs { .. } => return Reason::NotOurs,
            Self::Missing { .. } => "MissingOnServer",
            Self::Name { .. } => return Reason::InvalidSpec,
            Self::Statement { .. } => "StatementFailed",
        };
        Reason::Code(word.into())
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let retry = match error {
            Error::Unreachable { .. }
            | Error::TooManyConnections { .. }
            | Error::ReadOnly { .. }
            // Rights are given on the server, which tells nobody: only who asks again learns of it.
            | Error::Privilege { .. }
            | Error::Timeout { .. }
            | Error::Busy { .. }
            | Error::Missing { .. }
            | Error::Statement { .. } => Retry::Backoff,
            Error::Denied { .. }
            | Error::TlsRefused { .. }
            | Error::Certificate { .. }
            | Error::NotOurs { .. }
            | Error::Name { .. } => Retry::Slowly,
        };
        let reason = error.reason();
        Self::Outside { system: "PostgreSQL", retry, reason, source: Box::new(error) }
    }
}

/// The administrator's view of servers.
pub trait Admin: Send + Sync + 'static {
    /// What is known of one database and some roles, in two round trips at most: one to the administrator's database, and
    /// one to the database itself if its content is asked for.
    fn look(&self, server: &Server, asked: &Asked) -> impl Future<Output = Result<Seen, Error>> + Send;

    /// Makes one change. What is already so is left as it is.
    fn act(&self, server: &Server, act: &Act) -> impl Future<Output = Result<(), Error>> + Send;

    /// Logs in anew as somebody else, and tells who the server takes them for.
    fn prove(&self, server: &Server, login: &Login) -> impl Future<Output = Result<Proof, Error>> + Send;
}
