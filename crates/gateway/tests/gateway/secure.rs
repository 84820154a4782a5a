//! TLS with the certificates of the table, and HTTP/2 with and without it.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use gateway::{Certificate, Doors, Gateway, Route, Settings, Table};
use http::{Request, Version};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use rustls::pki_types::pem::PemObject;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::stage::{Backend, Stage, Then, listener, route, text, until};

struct Https {
    gateway: Gateway,
    address: SocketAddr,
    roots: rustls::RootCertStore,
    _end: DropGuard,
}

fn certificate(host: &str, roots: &mut rustls::RootCertStore) -> Certificate {
    let made = rcgen::generate_simple_self_signed([host.to_owned()]).expect("a certificate");
    roots.add(made.cert.der().clone()).expect("a root");
    Certificate { chain_pem: made.cert.pem(), key_pem: made.signing_key.serialize_pem() }
}

impl Https {
    async fn new(backend: SocketAddr) -> Self {
        let (listener, address) = listener().await;
        let (gateway, stop) = (Gateway::new(Settings::default()), CancellationToken::new());
        let mut roots = rustls::RootCertStore::empty();
        let hosts = ["shop.test", "*.wild.test"];
        let certificates = hosts.map(|host| (host.to_owned(), certificate(host, &mut roots)));
        let routes = hosts.map(|host| Route { doors: Doors::HTTPS, ..route(host, &[backend]) });
        gateway.follow(Table { routes: routes.to_vec(), certificates: certificates.into() });
        let (served, until) = (gateway.clone(), stop.clone());
        tokio::spawn(async move { served.serve_https(listener, until).await });
        Self { gateway, address, roots, _end: stop.drop_guard() }
    }

    async fn connect(&self, host: &str, protocol: &[u8]) -> std::io::Result<TlsStream<TcpStream>> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().expect("versions");
        let mut config = builder.with_root_certificates(self.roots.clone()).with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        let socket = TcpStream::connect(self.address).await?;
        let name = ServerName::try_from(host.to_owned()).expect("a name");
        TlsConnector::from(Arc::new(config)).connect(name, socket).await
    }
}

async fn mirror() -> Backend {
    Backend::new(|request, _| (text(request), Then::Stay)).await
}

#[tokio::test]
async fn the_name_a_client_asks_for_chooses_the_certificate() {
    let backend = mirror().await;
    let https = Https::new(backend.address).await;
    for host in ["shop.test", "a.wild.test", "SHOP.test"] {
        let mut stream = https.connect(host, b"http/1.1").await.expect("a handshake that verifies the name");
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{host}: {answer}");
        assert!(answer.contains("x-forwarded-proto: https"), "{answer}");
    }
    for host in ["nobody.test", "a.b.wild.test"] {
        assert!(https.connect(host, b"http/1.1").await.is_err(), "{host} has no certificate");
    }
}

#[tokio::test]
async fn a_new_certificate_is_shown_at_the_next_handshake() {
    let backend = mirror().await;
    let mut https = Https::new(backend.address).await;
    let shown =
        |stream: &TlsStream<TcpStream>| stream.get_ref().1.peer_certificates().map(|chain| chain[0].to_vec());
    let before = shown(&https.connect("shop.test", b"h2").await.expect("a handshake"));
    let renewed = certificate("shop.test", &mut https.roots);
    let der = rustls::pki_types::CertificateDer::from_pem_slice(renewed.chain_pem.as_bytes())
        .expect("a certificate");
    let broken = Certificate { chain_pem: "no".to_owned(), key_pem: "no".to_owned() };
    let certificates = [("shop.test".to_owned(), renewed), ("broken.test".to_owned(), broken)];
    https.gateway.follow(Table {
        routes: vec![route("shop.test", &[backend.address])],
        certificates: certificates.into(),
    });
    let after = shown(&https.connect("shop.test", b"h2").await.expect("a handshake"));
    assert_eq!(after, Some(der.to_vec()));
    assert_ne!(before, after);
}

/// Twenty requests at a time over one HTTP/2 connection.
async fn speak_http2(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, scheme: &str) {
    let (send, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.expect("a handshake");
    let connection = tokio::spawn(connection);
    let asking = (0..20).map(|number| {
        let mut send = send.clone();
        let request = Request::post(format!("{scheme}://shop.test/{number}")).header("te", "trailers");
        let request = request.body(Full::new(Bytes::from(format!("body {number}")))).expect("a request");
        async move {
            let response = send.send_request(request).await.expect("an answer");
            assert_eq!((response.status().as_u16(), response.version()), (200, Version::HTTP_2));
            let seen = response.into_body().collect().await.expect("a body").to_bytes();
            let seen = String::from_utf8_lossy(&seen).into_owned();
            assert!(seen.starts_with(&format!("POST /{number} HTTP/1.1\r\n")), "{seen}");
            assert!(
                seen.contains("\r\nhost: shop.test\r\n") && seen.contains(&format!("body {number}")),
                "{seen}"
            );
            assert!(seen.contains(&format!("x-forwarded-proto: {scheme}")), "{seen}");
        }
    });
    futures::future::join_all(asking).await;
    drop(send);
    connection.await.expect("no panic").expect("a lawful end");
}

#[tokio::test]
async fn http2_is_spoken_over_tls() {
    let backend = mirror().await;
    let https = Https::new(backend.address).await;
    let stream = https.connect("shop.test", b"h2").await.expect("a handshake");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    speak_http2(stream, "https").await;
}

#[tokio::test]
async fn http2_is_spoken_without_tls_from_the_first_byte() {
    let backend = mirror().await;
    let stage = Stage::shop(&[backend.address]).await;
    speak_http2(TcpStream::connect(stage.address).await.expect("a connection"), "http").await;
}

#[tokio::test]
async fn http2_clients_are_told_that_the_gateway_stops() {
    let (listener, address) = listener().await;
    let stage = Stage::shop(&[address]).await;
    let socket = TcpStream::connect(stage.address).await.expect("a connection");
    let (mut send, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(socket)).await.expect("a handshake");
    let connection = tokio::spawn(connection);
    let request = || Request::get("http://shop.test/").body(Full::<Bytes>::default()).expect("a request");
    let answer = tokio::spawn(send.send_request(request()));
    let (mut backend, _) = listener.accept().await.expect("a connection");
    until("the request is in flight", || stage.gateway.in_flight(address) == 1).await;
    stage.stop.cancel();
    backend.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlast").await.expect("an answer");
    let answer = answer.await.expect("no panic").expect("an answer");
    assert_eq!(answer.into_body().collect().await.expect("a body").to_bytes(), "last");
    // The client could still send: it is the gateway that ends this.
    let ended = tokio::time::timeout(crate::stage::DEADLINE, connection).await.expect("GOAWAY comes");
    ended.expect("no panic").expect("a lawful end");
    assert!(send.send_request(request()).await.is_err());
    tokio::time::timeout(crate::stage::DEADLINE, stage.serving)
        .await
        .expect("the gateway ends")
        .expect("in peace");
}
