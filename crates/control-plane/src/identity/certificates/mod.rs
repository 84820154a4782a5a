//! TLS: the server's side of the handshake, and the user behind a client's certificate.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use sha2::{Digest, Sha256};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::authority::Issued;
use crate::gates::rbac::{AUTHENTICATED, User};

/// Why a TLS configuration cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A PEM text holds nothing usable.
    #[error("no certificate or key in the text")]
    Pem(#[from] rustls::pki_types::pem::Error),
    /// The authority cannot judge clients.
    #[error("cannot trust the authority")]
    Verifier(#[from] rustls::server::VerifierBuilderError),
    /// Certificate and key do not work together.
    #[error("cannot serve with the certificate")]
    Tls(#[from] rustls::Error),
}

/// The server's TLS: HTTP/2 and HTTP/1.1, client certificates welcome but not demanded, only the authority's
/// accepted.
pub fn server_config(ca: &str, server: &Issued) -> Result<Arc<ServerConfig>, Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca.as_bytes())?)?;
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .allow_unauthenticated()
        .build()?;
    let chain = vec![CertificateDer::from_pem_slice(server.certificate.as_bytes())?];
    let key = PrivateKeyDer::from_pem_slice(server.key.as_bytes())?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(clients)
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The user a verified client certificate stands for; `None` where it names nobody.
pub fn peer_user(certificate: &CertificateDer<'_>) -> Option<User> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    let subject = parsed.subject();
    let name = subject.iter_common_name().last()?.as_str().ok().filter(|name| !name.is_empty())?;
    let organizations = subject.iter_organization();
    let mut groups: Vec<String> =
        organizations.filter_map(|group| group.as_str().ok().map(str::to_owned)).collect();
    if !groups.iter().any(|group| group == AUTHENTICATED) {
        groups.push(AUTHENTICATED.into());
    }
    let print: String = Sha256::digest(certificate).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut user = User { name: name.to_owned(), groups, ..User::default() };
    let key = "authentication.kubernetes.io/credential-id";
    user.extra.insert(key.into(), vec![format!("X509SHA256={print}")]);
    Some(user)
}
