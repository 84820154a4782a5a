//! An authority whose key lies in a directory.

use std::path::Path;

use api::secret::Sealed;
use jiff::{SignedDuration, Timestamp};
use rcgen::KeyPair;

use super::{Authority, Error, Facts, Issued, Order, files, pair};

const CERTIFICATE_FILE: &str = "apps-ca.crt";
const KEY_FILE: &str = "apps-ca.key";
/// An authority that ends within this time is replaced when it is opened: longer than the longest usual certificate.
const REPLACED_BEFORE: SignedDuration = SignedDuration::from_hours(24 * 398);

/// An authority that signs with its own key.
pub struct Live {
    root_pem: String,
    key: KeyPair,
    not_after: Timestamp,
}

impl Live {
    /// Opens the authority in a directory, made there if the directory holds none, or one that soon ends.
    pub fn open(directory: &Path, time: Timestamp) -> Result<Self, Error> {
        files::directory(directory)?;
        if let Some(found) = Self::find(directory)?
            && found.not_after.duration_since(time) > REPLACED_BEFORE
        {
            return Ok(found);
        }
        let (root_pem, key) = pair::authority(time)?;
        // The certificate last: a crash between the two leaves a key that no certificate belongs to, which is replaced.
        files::write(&directory.join(KEY_FILE), &key.serialize_pem(), files::SECRET)?;
        files::write(&directory.join(CERTIFICATE_FILE), &root_pem, files::SECRET)?;
        match Self::find(directory)? {
            Some(found) => Ok(found),
            None => Err(damaged(directory, "it does not belong to its key")),
        }
    }

    /// The authority in a directory. `None` if there is none, or its certificate belongs to another key.
    fn find(directory: &Path) -> Result<Option<Self>, Error> {
        let text = (files::read(&directory.join(KEY_FILE))?, files::read(&directory.join(CERTIFICATE_FILE))?);
        let (key_pem, root_pem) = match text {
            (Some(key_pem), Some(root_pem)) => (key_pem, root_pem),
            // A certificate that people trust already is not thrown away because its key is missing.
            (None, Some(_)) => return Err(damaged(directory, "its key apps-ca.key is missing")),
            (_, None) => return Ok(None),
        };
        let key = pair::key(&key_pem).ok_or_else(|| damaged_key(directory))?;
        let Some(parsed) = pair::parse(&root_pem, &root_pem, Some(&key)) else {
            return Err(damaged(directory, "it holds no certificate"));
        };
        Ok(parsed.key_fits.then_some(Self { root_pem, key, not_after: parsed.not_after }))
    }
}

impl Authority for Live {
    fn issue(&self, order: &Order) -> Result<Issued, Error> {
        let order = Order { not_after: order.not_after.min(self.not_after), ..order.clone() };
        let (chain_pem, key_pem) = pair::server(&self.root_pem, &self.key, &order)?;
        Ok(Issued { chain_pem, key_pem: Sealed::new(key_pem) })
    }

    fn root_pem(&self) -> &str {
        &self.root_pem
    }

    fn read(&self, chain_pem: &str, key_pem: &Sealed<String>) -> Option<Facts> {
        let key = pair::key(key_pem.open());
        let pair::Parsed { names, not_before, not_after, signed, key_fits } =
            pair::parse(chain_pem, &self.root_pem, key.as_ref())?;
        Some(Facts { names, not_before, not_after, signed_here: signed, key_fits })
    }
}

fn damaged(directory: &Path, why: &'static str) -> Error {
    Error::Damaged { path: directory.join(CERTIFICATE_FILE), why }
}

fn damaged_key(directory: &Path) -> Error {
    Error::Damaged { path: directory.join(KEY_FILE), why: "it is not a key for ECDSA on P-256" }
}
