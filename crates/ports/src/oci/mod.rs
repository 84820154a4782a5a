//! Registries: who may in, manifests, blobs and tags, and the components of the Open Component Model that they hold.

mod address;
mod fake;
mod live;
mod login;
pub mod ocm;

use std::fmt::Write as _;
use std::future::Future;
use std::time::Duration;

use api::conditions::Reason;
use api::secret::Sealed;
use bytes::Bytes;
use kit::{Fault, Retry};
use sha2::{Digest as _, Sha256};

pub use fake::Fake;
pub use live::Live;
pub use login::{DOCKER_CONFIG, Unreadable, login_among};

/// A registry, and who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registry {
    /// Its host, with a port where it has one.
    pub host: String,
    /// What every repository name begins with: the path of the address, without slashes at its ends; may be empty.
    pub prefix: String,
    /// Whether it may be spoken to without TLS.
    pub insecure: bool,
    /// The login; none asks as nobody.
    pub login: Option<Login>,
}

/// A login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// Name.
    pub username: String,
    /// Password or token.
    pub password: Sealed<String>,
}

/// A manifest as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// What it is, as the registry says.
    pub media_type: String,
    /// Its digest: `sha256:…`, computed and not believed.
    pub digest: String,
    /// Its bytes.
    pub bytes: Bytes,
}

/// The digest of some bytes, as registries write it.
pub fn digest_of(bytes: &[u8]) -> String {
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// A registry. Names of repositories are those below the registry's prefix.
pub trait Oci: Send + Sync + 'static {
    /// Tries the login: whether the registry is there and lets it in.
    fn knock(&self, registry: &Registry) -> impl Future<Output = Result<(), Error>> + Send;

    /// The tags of a repository; none if there is no such repository.
    fn tags(
        &self,
        registry: &Registry,
        repository: &str,
    ) -> impl Future<Output = Result<Option<Vec<String>>, Error>> + Send;

    /// A manifest by tag or digest; none if there is none.
    fn manifest(
        &self,
        registry: &Registry,
        repository: &str,
        reference: &str,
    ) -> impl Future<Output = Result<Option<Manifest>, Error>> + Send;

    /// A blob by its digest, which is checked, of at most `most` bytes.
    fn blob(
        &self,
        registry: &Registry,
        repository: &str,
        digest: &str,
        most: u64,
    ) -> impl Future<Output = Result<Bytes, Error>> + Send;
}

/// What a registry can answer instead. No message holds a password or a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nobody answers, the line went dead, the name is unknown, or the registry is in trouble itself (5xx).
    #[error("registry {registry} is unreachable: {story}")]
    Unreachable {
        /// Its host.
        registry: String,
        /// What was seen instead.
        story: String,
    },
    /// It does not know the login (401).
    #[error("registry {registry} refused the credentials; put valid ones into their Secret")]
    Denied {
        /// Its host.
        registry: String,
    },
    /// The login lacks a right (403).
    #[error("registry {registry} does not allow the credentials to read {what}")]
    Forbidden {
        /// Its host.
        registry: String,
        /// What was asked for.
        what: String,
    },
    /// Too many requests (429).
    #[error("registry {registry} allows no more requests for {} s", wait.as_secs())]
    Limited {
        /// Its host.
        registry: String,
        /// How long to wait.
        wait: Duration,
    },
    /// It was asked for something that is not there (404).
    #[error("registry {registry} has no {what}")]
    Missing {
        /// Its host.
        registry: String,
        /// What is missing.
        what: String,
    },
    /// It is larger than is taken.
    #[error("{what} in registry {registry} is larger than {most} bytes")]
    TooLarge {
        /// Its host.
        registry: String,
        /// What is too large.
        what: String,
        /// Most that is taken.
        most: u64,
    },
    /// What came is not what was asked for, or not what the protocol promises.
    #[error("registry {registry} answered what cannot be used: {story}")]
    Garbled {
        /// Its host.
        registry: String,
        /// What was wrong with it.
        story: String,
    },
    /// There was no answer in time.
    #[error("registry {registry}: {what} took longer than {} s", limit.as_secs())]
    Timeout {
        /// Its host.
        registry: String,
        /// What was waited for.
        what: String,
        /// How long.
        limit: Duration,
    },
    /// The address or a name cannot be.
    #[error("{what}")]
    Invalid {
        /// What is wrong, and with what.
        what: String,
    },
}

impl Error {
    /// Why, for programs.
    pub fn reason(&self) -> Reason {
        let word = match self {
            Self::Unreachable { .. } => "RegistryUnreachable",
            Self::Denied { .. } => return Reason::CredentialsInvalid,
            Self::Forbidden { .. } => "PermissionMissing",
            Self::Limited { .. } => "RateLimited",
            Self::Missing { .. } => "MissingInRegistry",
            Self::TooLarge { .. } => "TooLarge",
            Self::Garbled { .. } => "AnswerGarbled",
            Self::Timeout { .. } => "RegistrySlow",
            Self::Invalid { .. } => return Reason::InvalidSpec,
        };
        Reason::Code(word.into())
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let retry = match &error {
            Error::Limited { wait, .. } => Retry::After(*wait),
            Error::Unreachable { .. } | Error::Timeout { .. } | Error::Garbled { .. } => Retry::Backoff,
            // Rights are given and things are pushed at the registry, which tells nobody.
            Error::Forbidden { .. } | Error::Missing { .. } | Error::TooLarge { .. } => {
                Retry::Within(Duration::from_secs(60))
            }
            Error::Denied { .. } | Error::Invalid { .. } => Retry::Slowly,
        };
        let reason = error.reason();
        Self::Outside { system: "registry", retry, reason, source: Box::new(error) }
    }
}
