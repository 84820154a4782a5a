//! The platform's own certificate authority for applications: separate from the one that signs for the API server, so
//! that trusting an application's certificate never means trusting a client of the platform.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use api::secret::Sealed;
use jiff::Timestamp;
use kit::{Fault, Retry};

mod fake;
mod files;
mod live;
mod pair;
#[cfg(test)]
mod tests;

pub use fake::Fake;
pub use live::Live;

/// What a certificate is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Hosts and IP addresses that it is for.
    pub names: BTreeSet<String>,
    /// From when it is valid, in whole seconds.
    pub not_before: Timestamp,
    /// Until when; cut to the end of the authority itself.
    pub not_after: Timestamp,
}

/// A certificate with its private key.
#[derive(Clone, Debug, PartialEq)]
pub struct Issued {
    /// The server's certificate, PEM.
    pub chain_pem: String,
    /// Its private key, PKCS #8 in PEM.
    pub key_pem: Sealed<String>,
}

/// What a certificate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Hosts and IP addresses that it is for.
    pub names: BTreeSet<String>,
    /// From when it is valid.
    pub not_before: Timestamp,
    /// Until when it is valid.
    pub not_after: Timestamp,
    /// Whether this authority signed it, with the key that it has now.
    pub signed_here: bool,
    /// Whether the private key belongs to it.
    pub key_fits: bool,
}

/// A certificate authority.
pub trait Authority: Send + Sync + 'static {
    /// Signs a certificate for servers, with a key that was not used before.
    fn issue(&self, order: &Order) -> Result<Issued, Error>;

    /// The authority's own certificate, PEM: what clients trust.
    fn root_pem(&self) -> &str;

    /// What a certificate and a key say; `None` if the first is no certificate.
    fn read(&self, chain_pem: &str, key_pem: &Sealed<String>) -> Option<Facts>;
}

impl<A: Authority> Authority for Arc<A> {
    fn issue(&self, order: &Order) -> Result<Issued, Error> {
        (**self).issue(order)
    }

    fn root_pem(&self) -> &str {
        (**self).root_pem()
    }

    fn read(&self, chain_pem: &str, key_pem: &Sealed<String>) -> Option<Facts> {
        (**self).read(chain_pem, key_pem)
    }
}

/// What can go wrong with keys and certificates.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or the directory cannot be read or written.
    #[error("cannot use {}", path.display())]
    File {
        /// Where.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A file is there, but not what was written.
    #[error("{} is damaged: {why}; remove it to begin anew", path.display())]
    Damaged {
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A key or certificate could not be made.
    #[error("cannot make a certificate")]
    Making(#[from] rcgen::Error),
    /// It was refused on purpose, as a test asked.
    #[error("the authority refuses to sign")]
    Refused,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let retry = match error {
            Error::File { .. } | Error::Refused => Retry::Backoff,
            Error::Damaged { .. } | Error::Making(_) => Retry::Slowly,
        };
        Self::outside("certificate authority", retry, error)
    }
}
