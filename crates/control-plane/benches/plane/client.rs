//! One connection, one request at a time, and as little work per request as possible: client and server
//! share the cores.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::Outcome;

/// Where a server is, and with which certificate it is asked.
#[derive(Clone)]
pub struct Endpoint {
    address: SocketAddr,
    tls: rustls::ClientConfig,
}

impl Endpoint {
    /// From an authority, a client certificate and its key, all PEM.
    pub fn new(port: u16, authority: &str, certificate: &str, key: &str) -> Outcome<Self> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.as_bytes())?)?;
        let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes())?];
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes())?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)?;
        Ok(Self { address: SocketAddr::from(([127, 0, 0, 1], port)), tls })
    }

    /// An HTTP/1.1 connection.
    pub async fn connect(&self) -> Outcome<Client> {
        let (sender, connection) = http1::handshake(TokioIo::new(self.secured("http/1.1").await?)).await?;
        tokio::spawn(connection);
        Ok(Client { sender })
    }

    /// An HTTP/2 connection; what it gives can be cloned, and each clone has streams of its own.
    pub async fn connect_shared(&self) -> Outcome<http2::SendRequest<Full<Bytes>>> {
        let stream = TokioIo::new(self.secured("h2").await?);
        let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    /// The whole address of a path, which HTTP/2 wants.
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    async fn secured(&self, protocol: &str) -> Outcome<TlsStream<TcpStream>> {
        let mut tls = self.tls.clone();
        tls.alpn_protocols = vec![protocol.into()];
        let socket = TcpStream::connect(self.address).await?;
        socket.set_nodelay(true)?;
        let name = ServerName::from(self.address.ip());
        Ok(TlsConnector::from(Arc::new(tls)).connect(name, socket).await?)
    }
}

/// One HTTP/1.1 connection.
pub struct Client {
    sender: http1::SendRequest<Full<Bytes>>,
}

impl Client {
    /// Reads; gives the size of the answer.
    pub async fn get(&mut self, path: &str) -> Outcome<usize> {
        let request = request(Method::GET, path).body(Full::default())?;
        self.sized(request).await
    }

    /// Reads an answer of JSON.
    pub async fn json(&mut self, path: &str) -> Outcome<serde_json::Value> {
        let request = request(Method::GET, path).body(Full::default())?;
        let response = self.call(request).await?;
        Ok(serde_json::from_slice(&response.into_body().collect().await?.to_bytes())?)
    }

    /// Sends a body of a type, and waits for the whole answer.
    pub async fn send(&mut self, method: Method, path: &str, kind: &str, body: Bytes) -> Outcome<usize> {
        let request = request(method, path).header("content-type", kind).body(Full::new(body))?;
        self.sized(request).await
    }

    async fn sized(&mut self, request: Request<Full<Bytes>>) -> Outcome<usize> {
        let mut body = self.call(request).await?.into_body();
        let mut size = 0;
        while let Some(frame) = body.frame().await {
            size += frame?.data_ref().map_or(0, Bytes::len);
        }
        Ok(size)
    }

    async fn call(&mut self, request: Request<Full<Bytes>>) -> Outcome<Response<Incoming>> {
        self.sender.ready().await?;
        let what = format!("{} {}", request.method(), request.uri());
        let response = self.sender.send_request(request).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        Err(format!("{what}: {status} {}", String::from_utf8_lossy(&body)).into())
    }
}

fn request(method: Method, path: &str) -> http::request::Builder {
    Request::builder()
        .method(method)
        .uri(path)
        .header("host", "127.0.0.1")
        .header("accept", "application/json")
}
