//! An authority without cryptography.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use api::secret::Sealed;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Authority, Error, Facts, Issued, Order};

const BEGIN: &str = "-----BEGIN CERTIFICATE-----\n";
const END: &str = "\n-----END CERTIFICATE-----\n";
const BEGIN_KEY: &str = "-----BEGIN PRIVATE KEY-----\n";
const END_KEY: &str = "\n-----END PRIVATE KEY-----\n";

/// An authority whose certificates say in plain words what they are, and whose keys are numbers.
#[derive(Debug)]
pub struct Fake {
    root: String,
    issued: AtomicUsize,
    refuses: AtomicBool,
}

/// What a certificate of the fake holds.
#[derive(Serialize, Deserialize)]
struct Words {
    root: String,
    key: usize,
    names: BTreeSet<String>,
    not_before: Timestamp,
    not_after: Timestamp,
}

impl Fake {
    /// An authority of a name. Two of the same name trust each other.
    pub fn new(name: &str) -> Self {
        Self {
            root: format!("{BEGIN}{name}{END}"),
            issued: AtomicUsize::new(0),
            refuses: AtomicBool::new(false),
        }
    }

    /// How many certificates it signed.
    pub fn issued(&self) -> usize {
        self.issued.load(Ordering::Relaxed)
    }

    /// Whether it refuses to sign from now on.
    pub fn refuse(&self, refuses: bool) {
        self.refuses.store(refuses, Ordering::Relaxed);
    }
}

impl Default for Fake {
    fn default() -> Self {
        Self::new("root")
    }
}

impl Authority for Fake {
    fn issue(&self, order: &Order) -> Result<Issued, Error> {
        if self.refuses.load(Ordering::Relaxed) {
            return Err(Error::Refused);
        }
        let key = self.issued.fetch_add(1, Ordering::Relaxed);
        let Order { names, not_before, not_after } = order.clone();
        let words = Words { root: self.root.clone(), key, names, not_before, not_after };
        let words = serde_json::to_string(&words).unwrap_or_default();
        let key_pem = Sealed::new(format!("{BEGIN_KEY}{key}{END_KEY}"));
        Ok(Issued { chain_pem: format!("{BEGIN}{words}{END}"), key_pem })
    }

    fn root_pem(&self) -> &str {
        &self.root
    }

    fn read(&self, chain_pem: &str, key_pem: &Sealed<String>) -> Option<Facts> {
        let words = chain_pem.strip_prefix(BEGIN)?.strip_suffix(END)?;
        let Words { root, key, names, not_before, not_after } = serde_json::from_str(words).ok()?;
        let key_fits = *key_pem.open() == format!("{BEGIN_KEY}{key}{END_KEY}");
        Some(Facts { names, not_before, not_after, signed_here: root == self.root, key_fits })
    }
}
