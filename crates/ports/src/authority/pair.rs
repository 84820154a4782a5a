//! Keys and certificates, made and read.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PublicKeyData, date_time_ymd,
};
use x509_parser::pem::Pem;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use super::{Error, Order};

/// The authority outlives every certificate that it signs by far.
const AUTHORITY_DAYS: i64 = 3650;
/// The name that people see in the list of authorities they trust.
const AUTHORITY_NAME: &str = "Terrace applications";
/// RFC 5280 allows no longer common name (ub-common-name).
const COMMON_NAME_MAX: usize = 64;

/// An authority's certificate, PEM, with its key.
pub(super) fn authority(time: Timestamp) -> Result<(String, KeyPair), Error> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.distinguished_name = named(AUTHORITY_NAME);
    // It signs servers only, no further authorities.
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let end = time.checked_add(SignedDuration::from_hours(24 * AUTHORITY_DAYS)).unwrap_or(Timestamp::MAX);
    valid(&mut params, time, end);
    let certificate = params.self_signed(&key)?.pem();
    Ok((certificate, key))
}

/// A server's certificate, PEM, with its key, PEM.
pub(super) fn server(root_pem: &str, root_key: &KeyPair, order: &Order) -> Result<(String, String), Error> {
    let mut params = CertificateParams::new(order.names.iter().cloned().collect::<Vec<_>>())?;
    let fits = |name: &&String| name.len() <= COMMON_NAME_MAX;
    params.distinguished_name =
        order.names.iter().find(fits).map_or_else(DistinguishedName::new, |name| named(name));
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    params.is_ca = IsCa::ExplicitNoCa;
    valid(&mut params, order.not_before, order.not_after);
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let issuer = Issuer::from_ca_cert_pem(root_pem, root_key)?;
    let certificate = params.signed_by(&key, &issuer)?.pem();
    Ok((certificate, key.serialize_pem()))
}

/// A private key for ECDSA on P-256.
pub(super) fn key(pem: &str) -> Option<KeyPair> {
    KeyPair::from_pkcs8_pem_and_sign_algo(pem, &PKCS_ECDSA_P256_SHA256).ok()
}

/// What is asked of a certificate.
pub(super) struct Parsed {
    pub(super) names: BTreeSet<String>,
    pub(super) not_before: Timestamp,
    pub(super) not_after: Timestamp,
    pub(super) signed: bool,
    pub(super) key_fits: bool,
}

/// Reads the first certificate of a chain: whether `root_pem` signed it, and whether a key belongs to it.
pub(super) fn parse(chain_pem: &str, root_pem: &str, key: Option<&KeyPair>) -> Option<Parsed> {
    let (leaf, root) = (der(chain_pem)?, der(root_pem)?);
    let (_, leaf) = X509Certificate::from_der(&leaf.contents).ok()?;
    let (_, root) = X509Certificate::from_der(&root.contents).ok()?;
    let names = leaf.subject_alternative_name().ok().flatten();
    let names = names.map_or(&[][..], |names| names.value.general_names.as_slice());
    let time = |time: x509_parser::time::ASN1Time| Timestamp::from_second(time.timestamp()).ok();
    let public = leaf.public_key().subject_public_key.data.as_ref();
    Some(Parsed {
        names: names.iter().filter_map(told).collect(),
        not_before: time(leaf.validity().not_before)?,
        not_after: time(leaf.validity().not_after)?,
        signed: leaf.verify_signature(Some(root.public_key())).is_ok(),
        key_fits: key.is_some_and(|key| key.der_bytes() == public),
    })
}

fn der(pem: &str) -> Option<Pem> {
    Pem::iter_from_buffer(pem.as_bytes()).next()?.ok().filter(|pem| pem.label == "CERTIFICATE")
}

fn told(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match <[u8; 4]>::try_from(*bytes) {
            Ok(four) => Some(Ipv4Addr::from(four).to_string()),
            Err(_) => <[u8; 16]>::try_from(*bytes).ok().map(|six| Ipv6Addr::from(six).to_string()),
        },
        _ => None,
    }
}

fn named(common_name: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    name
}

/// Valid between two moments. rcgen's own way to name one knows days only, so seconds are added to the epoch.
fn valid(params: &mut CertificateParams, not_before: Timestamp, not_after: Timestamp) {
    let since = |time: Timestamp| Duration::from_secs(u64::try_from(time.as_second()).unwrap_or_default());
    params.not_before = date_time_ymd(1970, 1, 1) + since(not_before);
    params.not_after = date_time_ymd(1970, 1, 1) + since(not_after);
}
