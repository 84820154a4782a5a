//! The server's own certificate authority, made at the first start and kept in a directory of its own.

mod files;
mod kubeconfig;
mod subject;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PublicKeyData,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

pub use kubeconfig::kubeconfig;

/// The authority outlives every file it signs by far.
const AUTHORITY_DAYS: i64 = 3650;
/// Certificates are signed anew at a start, so a year is one long run.
const CERTIFICATE_DAYS: i64 = 365;
/// A server certificate that ends within this time is replaced at a start.
const RENEW_DAYS: i64 = 30;

const CA_FILE: &str = "ca.pem";
const SERVER_FILE: &str = "server.pem";
const TOKEN_FILE: &str = "serviceaccount.pem";

/// What can go wrong with keys and certificates.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or the directory cannot be read or written.
    #[error("cannot use {path}")]
    File {
        /// Where.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A file is there, but not what was written.
    #[error("{path} is damaged: {why}")]
    Damaged {
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The authority's certificate is over; its directory must be removed to begin anew.
    #[error("the certificate authority in {path} has ended")]
    Ended {
        /// Where.
        path: PathBuf,
    },
    /// A key or certificate could not be made.
    #[error("cannot make a certificate")]
    Making(#[from] rcgen::Error),
}

/// A certificate with its key, both PEM. The key is a secret.
#[derive(Clone)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

/// The authority: signs server and client certificates, and owns the key that signs tokens.
pub struct Authority {
    /// `None` for one that lives in memory only.
    directory: Option<PathBuf>,
    certificate: String,
    key: KeyPair,
    token_key: String,
}

impl Authority {
    /// Opens the authority in `directory`, made there if the directory holds none.
    pub fn open(directory: &Path, now: Timestamp) -> Result<Self, Error> {
        files::private_directory(directory)?;
        let path = directory.join(CA_FILE);
        let pair = match files::read(&path)? {
            Some(text) => Pair::parse(&path, &text)?,
            None => {
                let pair = authority_pair(now)?;
                files::write(&path, &pair.text())?;
                pair
            }
        };
        if pair.ends()? <= now {
            return Err(Error::Ended { path });
        }
        let path = directory.join(TOKEN_FILE);
        let token_key = match files::read(&path)? {
            Some(text) => text,
            None => {
                let text = new_key()?.serialize_pem();
                files::write(&path, &text)?;
                text
            }
        };
        read_key(&path, &token_key)?;
        let directory = Some(directory.to_owned());
        Ok(Self { directory, certificate: pair.certificate, key: pair.key, token_key })
    }

    /// An authority in memory, for tests: nothing is written, nothing outlives it.
    pub fn ephemeral(now: Timestamp) -> Result<Self, Error> {
        let pair = authority_pair(now)?;
        let token_key = new_key()?.serialize_pem();
        Ok(Self { directory: None, certificate: pair.certificate, key: pair.key, token_key })
    }

    /// The authority's certificate, PEM: what clients trust, and what `kube-root-ca.crt` holds.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The private key that signs ServiceAccount tokens, PEM.
    pub fn token_key(&self) -> &str {
        &self.token_key
    }

    /// The server's certificate for [`server_names`] and `names`; kept as long as it names them all, is
    /// signed by this authority and has a month to go.
    pub fn server(&self, names: &[String], now: Timestamp) -> Result<Issued, Error> {
        let names = server_names(names);
        let path = self.directory.as_ref().map(|directory| directory.join(SERVER_FILE));
        if let Some(path) = &path
            && let Some(text) = files::read(path)?
            && let Ok(pair) = Pair::parse(path, &text)
            && self.still_good(&pair, &names, now)
        {
            return Ok(pair.issued());
        }
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name = named("terrace");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let issued = self.sign(params, now)?;
        if let Some(path) = path {
            files::write(&path, &format!("{}{}", issued.certificate, issued.key))?;
        }
        Ok(issued)
    }

    /// A client certificate: the user as common name, the groups as organizations.
    pub fn client(&self, user: &str, groups: &[&str], now: Timestamp) -> Result<Issued, Error> {
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params.distinguished_name = named(user);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let issued = self.sign(params, now)?;
        let certificate = der(&issued.certificate)
            .and_then(|der| subject::exchanged(&der, user, groups, &self.key))
            .ok_or(rcgen::Error::CouldNotParseCertificate)?;
        Ok(Issued { certificate: subject::pem(&certificate), key: issued.key })
    }

    fn sign(&self, mut params: CertificateParams, now: Timestamp) -> Result<Issued, Error> {
        valid_for(&mut params, now, CERTIFICATE_DAYS);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let issuer = Issuer::from_ca_cert_pem(&self.certificate, &self.key)?;
        let key = new_key()?;
        let certificate = params.signed_by(&key, &issuer)?.pem();
        Ok(Issued { certificate, key: key.serialize_pem() })
    }

    fn still_good(&self, pair: &Pair, names: &[String], now: Timestamp) -> bool {
        let soon = now.checked_add(days(RENEW_DAYS)).unwrap_or(now);
        pair.ends().is_ok_and(|end| end > soon)
            && signed_by(&pair.certificate, &self.certificate)
            && alternative_names(&pair.certificate).is_some_and(|had| names.iter().all(|n| had.contains(n)))
    }
}

/// The names every server certificate holds, with further ones.
pub fn server_names(more: &[String]) -> Vec<String> {
    let own = [
        "localhost",
        "127.0.0.1",
        "::1",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ];
    let mut names: Vec<String> = own.into_iter().map(str::to_owned).collect();
    names.extend(more.iter().filter(|name| !own.contains(&name.as_str())).cloned());
    names
}

/// A certificate and its key as they lie in one file, so that one rename replaces both.
struct Pair {
    path: PathBuf,
    certificate: String,
    key: KeyPair,
}

impl Pair {
    fn parse(path: &Path, text: &str) -> Result<Self, Error> {
        let damaged = |why: &str| Error::Damaged { path: path.to_owned(), why: why.to_owned() };
        let start = text.find("-----BEGIN PRIVATE KEY").ok_or_else(|| damaged("it holds no private key"))?;
        let (certificate, key) = text.split_at(start);
        let key = read_key(path, key)?;
        let der = der(certificate).ok_or_else(|| damaged("it holds no certificate"))?;
        let (_, parsed) =
            X509Certificate::from_der(&der).map_err(|_| damaged("the certificate is broken"))?;
        if parsed.public_key().subject_public_key.data.as_ref() != key.der_bytes() {
            return Err(damaged("certificate and key do not belong together"));
        }
        Ok(Self { path: path.to_owned(), certificate: certificate.to_owned(), key })
    }

    fn text(&self) -> String {
        format!("{}{}", self.certificate, self.key.serialize_pem())
    }

    fn issued(self) -> Issued {
        Issued { key: self.key.serialize_pem(), certificate: self.certificate }
    }

    fn ends(&self) -> Result<Timestamp, Error> {
        let end = der(&self.certificate).and_then(|der| {
            let (_, parsed) = X509Certificate::from_der(&der).ok()?;
            Timestamp::from_second(parsed.validity().not_after.timestamp()).ok()
        });
        end.ok_or_else(|| Error::Damaged { path: self.path.clone(), why: "it never ends".into() })
    }
}

fn authority_pair(now: Timestamp) -> Result<Pair, Error> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.distinguished_name = named("terrace-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    valid_for(&mut params, now, AUTHORITY_DAYS);
    let key = new_key()?;
    let certificate = params.self_signed(&key)?.pem();
    Ok(Pair { path: PathBuf::new(), certificate, key })
}

fn new_key() -> Result<KeyPair, Error> {
    Ok(KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?)
}

fn read_key(path: &Path, text: &str) -> Result<KeyPair, Error> {
    let damaged = |why: &str| Error::Damaged { path: path.to_owned(), why: why.to_owned() };
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| damaged("it holds no private key"))?;
    KeyPair::from_pkcs8_pem_and_sign_algo(text, &PKCS_ECDSA_P256_SHA256)
        .map_err(|_| damaged("the key is not one for ECDSA on P-256"))
}

fn named(common_name: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    name
}

/// From a day ago, so that clocks that go a little slow agree, until so many days from now.
fn valid_for(params: &mut CertificateParams, now: Timestamp, length: i64) {
    let day = |time: Timestamp| {
        let date = time.to_zoned(TimeZone::UTC).date();
        let part = |number: i8| u8::try_from(number).unwrap_or(1);
        rcgen::date_time_ymd(i32::from(date.year()), part(date.month()), part(date.day()))
    };
    params.not_before = day(now.checked_sub(days(1)).unwrap_or(now));
    params.not_after = day(now.checked_add(days(length)).unwrap_or(now));
}

fn days(number: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * number)
}

fn der(pem: &str) -> Option<CertificateDer<'static>> {
    CertificateDer::from_pem_slice(pem.as_bytes()).ok()
}

fn signed_by(certificate: &str, authority: &str) -> bool {
    let (Some(certificate), Some(authority)) = (der(certificate), der(authority)) else { return false };
    let parsed = (X509Certificate::from_der(&certificate), X509Certificate::from_der(&authority));
    let (Ok((_, certificate)), Ok((_, authority))) = parsed else { return false };
    certificate.verify_signature(Some(authority.public_key())).is_ok()
}

fn alternative_names(certificate: &str) -> Option<Vec<String>> {
    let der = der(certificate)?;
    let (_, parsed) = X509Certificate::from_der(&der).ok()?;
    let names = &parsed.subject_alternative_name().ok()??.value.general_names;
    let told = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match <[u8; 4]>::try_from(*bytes) {
            Ok(four) => Some(std::net::Ipv4Addr::from(four).to_string()),
            Err(_) => <[u8; 16]>::try_from(*bytes).ok().map(|six| std::net::Ipv6Addr::from(six).to_string()),
        },
        _ => None,
    };
    Some(names.iter().filter_map(told).collect())
}
