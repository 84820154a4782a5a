//! Which certificate a client is shown, by the name it asks for.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs as crypto;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::gateway::Gateway;
use crate::host;
use crate::table::Certificate;

/// Certificates ready for use, by host.
#[derive(Default)]
pub(crate) struct Certificates(HashMap<String, (Certificate, Arc<CertifiedKey>)>);

impl Certificates {
    /// Takes over from `before` what has not changed. One that cannot be read is left out and told about.
    pub(crate) fn new(told: BTreeMap<String, Certificate>, before: &Self) -> Self {
        let provider = crypto::default_provider();
        let mut ready = HashMap::with_capacity(told.len());
        for (host, certificate) in told {
            let host = host.trim_end_matches('.').to_ascii_lowercase();
            let known = before
                .0
                .get(&host)
                .filter(|(known, _)| *known == certificate)
                .map(|(_, key)| Arc::clone(key));
            match known.map_or_else(|| read(&certificate, &provider).map(Arc::new), Ok) {
                Ok(key) => drop(ready.insert(host, (certificate, key))),
                Err(error) => {
                    tracing::warn!(host, %error, "the certificate of this host cannot be used; https fails there")
                }
            }
        }
        Self(ready)
    }

    /// The exact name, then its wildcard, then the one for everybody else.
    pub(crate) fn find(&self, name: Option<&str>) -> Option<Arc<CertifiedKey>> {
        let host = name.and_then(host::normal);
        let exact = || self.0.get(host.as_deref()?);
        let wildcard = || self.0.get(&format!("*.{}", host::parent(host.as_deref()?)?));
        exact().or_else(wildcard).or_else(|| self.0.get("")).map(|(_, key)| Arc::clone(key))
    }
}

fn read(
    certificate: &Certificate,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, Box<dyn std::error::Error>> {
    let chain =
        CertificateDer::pem_slice_iter(certificate.chain_pem.as_bytes()).collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(certificate.key_pem.as_bytes())?;
    Ok(CertifiedKey::from_der(chain, key, provider)?)
}

/// How a gateway speaks TLS: 1.2 and 1.3, HTTP/2 preferred, certificates from the table at the time of the handshake.
pub(crate) fn server_config(gateway: Gateway) -> Result<ServerConfig, rustls::Error> {
    let builder = ServerConfig::builder_with_provider(Arc::new(crypto::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    let mut config = builder.with_no_client_auth().with_cert_resolver(Arc::new(FromTable(gateway)));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.ticketer = crypto::Ticketer::new()?;
    Ok(config)
}

struct FromTable(Gateway);

impl fmt::Debug for FromTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FromTable")
    }
}

impl ResolvesServerCert for FromTable {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.snapshot().certificates.find(hello.server_name())
    }
}
