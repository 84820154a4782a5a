use std::io::{Read, Write};

use jiff::Timestamp;
use rustls::{ClientConfig, ClientConnection, ServerConnection};

use super::*;
use crate::identity::authority::Authority;

/// What both sides know after a handshake: the user, the protocol, or that there was none.
fn met(server: &Authority, client: Option<&Issued>, trusted: &Authority) -> Result<String, String> {
    let issued = server.server(&[], Timestamp::now()).expect("signed");
    let config = server_config(server.certificate(), &issued).expect("a configuration");
    let mut server = ServerConnection::new(config).expect("a server");
    let mut client =
        ClientConnection::new(client_config(client, trusted), "localhost".try_into().expect("a name"))
            .expect("a client");
    let mut wire = Vec::new();
    while client.is_handshaking() || server.is_handshaking() {
        for to_server in [true, false] {
            wire.clear();
            if to_server {
                client.write_tls(&mut wire).expect("memory");
                feed(&wire, |bytes| server.read_tls(bytes).map(|_| server.process_new_packets()))?;
            } else {
                server.write_tls(&mut wire).expect("memory");
                feed(&wire, |bytes| client.read_tls(bytes).map(|_| client.process_new_packets()))?;
            }
        }
    }
    client.writer().write_all(b"hello").expect("memory");
    wire.clear();
    client.write_tls(&mut wire).expect("memory");
    feed(&wire, |bytes| server.read_tls(bytes).map(|_| server.process_new_packets()))?;
    let mut heard = [0; 5];
    server.reader().read_exact(&mut heard).expect("the greeting");
    assert_eq!(&heard, b"hello");
    let user = server.peer_certificates().and_then(|chain| peer_user(&chain[0]));
    let protocol = String::from_utf8_lossy(server.alpn_protocol().unwrap_or_default()).into_owned();
    Ok(match user {
        Some(user) => format!("{protocol} {} [{}]", user.name, user.groups.join(" ")),
        None => format!("{protocol} nobody"),
    })
}

type Processed = std::io::Result<Result<rustls::IoState, rustls::Error>>;

fn feed(wire: &[u8], mut read: impl FnMut(&mut &[u8]) -> Processed) -> Result<(), String> {
    let mut rest = wire;
    while !rest.is_empty() {
        read(&mut rest).expect("memory").map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn client_config(client: Option<&Issued>, trusted: &Authority) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(trusted.certificate().as_bytes()).expect("a certificate");
    roots.add(ca).expect("a root");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots);
    let mut config = match client {
        None => builder.with_no_client_auth(),
        Some(issued) => {
            let chain =
                vec![CertificateDer::from_pem_slice(issued.certificate.as_bytes()).expect("a certificate")];
            let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).expect("a key");
            builder.with_client_auth_cert(chain, key).expect("a pair")
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config)
}

#[test]
fn a_handshake_tells_who_is_there() {
    let now = Timestamp::now();
    let ours = Authority::ephemeral(now).expect("made");
    let theirs = Authority::ephemeral(now).expect("made");
    let alice = ours.client("alice", &["dev", "ops"], now).expect("signed");
    let mallory = theirs.client("alice", &["system:masters"], now).expect("signed");
    let server = ours.server(&[], now).expect("signed");
    let late = ours.client("alice", &[], now - jiff::SignedDuration::from_hours(24 * 400)).expect("signed");
    assert_eq!(met(&ours, None, &ours).as_deref(), Ok("h2 nobody"));
    assert_eq!(met(&ours, Some(&alice), &ours).as_deref(), Ok("h2 alice [dev ops system:authenticated]"));
    let table = [
        ("a client of another authority is refused", met(&ours, Some(&mallory), &ours)),
        ("a server's certificate is no client's", met(&ours, Some(&server), &ours)),
        ("a client's certificate that has ended is refused", met(&ours, Some(&late), &ours)),
        ("a client trusts its own authority only", met(&ours, None, &theirs)),
    ];
    for (rule, told) in table {
        assert!(told.is_err(), "{rule}: {told:?}");
    }
}

#[test]
fn texts_that_hold_nothing_are_refused() {
    let now = Timestamp::now();
    let ours = Authority::ephemeral(now).expect("made");
    let issued = ours.server(&[], now).expect("signed");
    assert!(server_config("", &issued).is_err());
    let torn = Issued { certificate: issued.certificate.clone(), key: String::new() };
    assert!(server_config(ours.certificate(), &torn).is_err());
    assert_eq!(peer_user(&CertificateDer::from(vec![1, 2, 3])), None);
}
