//! The server, on a control plane in memory, and what stands in front of it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use agents::identity::{Kept, Role, mint};
use agents::mcp::extras::Extras;
use agents::{Agents, Offers, Settings};
use control_plane::ControlPlane;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1 as client;
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// A running server.
pub(crate) struct Stage {
    /// Where it is reached without a token: what stands there adds one.
    pub(crate) address: SocketAddr,
    _plane: ControlPlane,
    _dir: tempfile::TempDir,
    _stop: tokio_util::sync::DropGuard,
}

impl Stage {
    /// The product's own server, with something added.
    pub(crate) async fn open(extras: Arc<dyn Extras>) -> Self {
        let plane = ControlPlane::start().await.expect("starts");
        let dir = tempfile::tempdir().expect("a directory");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let inside = listener.local_addr().expect("an address");
        let front = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = front.local_addr().expect("an address");
        let settings = Settings {
            rate: 1e6,
            burst: 1_000_000,
            ..Settings::new(dir.path().join("audit"), format!("http://{address}"))
        };
        let stop = CancellationToken::new();
        let offers = Offers { extras: Some(extras), ..Offers::default() };
        let opened = Agents::open_with(plane.client(), settings, stop.clone(), offers).await;
        let agents = opened.expect("the server opens");
        let (token, digest) = mint();
        let kept =
            Kept { name: "suite".into(), role: Role::Admin, digest, expires: None, namespaces: Vec::new() };
        let secrets = kube::Api::namespaced(plane.client(), agents::identity::NAMESPACE);
        secrets.create(&kube::api::PostParams::default(), &kept.secret()).await.expect("is kept");
        agents.tokens().add(kept);
        tokio::spawn(agents.serve(listener));
        tokio::spawn(vouch(front, inside, token));
        Self { address, _plane: plane, _dir: dir, _stop: stop.drop_guard() }
    }
}

/// Passes requests on as they are, with a token: the suite has no way to send one.
async fn vouch(front: TcpListener, inside: SocketAddr, token: String) {
    let token: Arc<str> = format!("Bearer {token}").into();
    while let Ok((stream, _)) = front.accept().await {
        let token = token.clone();
        let service = service_fn(move |request| {
            let token = token.clone();
            async move { Ok::<_, Infallible>(pass(request, inside, &token).await) }
        });
        tokio::spawn(server::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn pass(mut request: Request<Incoming>, inside: SocketAddr, token: &str) -> Response<Incoming> {
    let token = HeaderValue::from_str(token).expect("a token is text");
    request.headers_mut().insert(AUTHORIZATION, token);
    let stream = TcpStream::connect(inside).await.expect("the server listens");
    let (mut sender, connection) = client::handshake(TokioIo::new(stream)).await.expect("HTTP");
    tokio::spawn(connection);
    sender.send_request(request).await.expect("the server answers")
}
