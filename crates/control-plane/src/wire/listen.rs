//! The service behind a TLS socket.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::service::{ApiService, Identified};
use crate::identity::certificates;

/// How long a client may take for its TLS handshake and for the head of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long open requests may go on once the server stops.
const FAREWELL: Duration = Duration::from_secs(2);

/// Serves until `stop`; then lets open requests end and returns.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Arc<rustls::ServerConfig>,
    service: ApiService,
    stop: CancellationToken,
) {
    let acceptor = TlsAcceptor::from(tls);
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((socket, peer)) => {
                let one = connection(acceptor.clone(), socket, service.clone(), stop.clone());
                connections.spawn(async move { told(peer, one.await) });
            }
            Err(error) => {
                // Out of descriptors: what is open must end before more can be taken.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    connections.close();
    let _ = tokio::time::timeout(FAREWELL, connections.wait()).await;
}

fn told(peer: SocketAddr, outcome: Result<(), Box<dyn std::error::Error + Send + Sync>>) {
    if let Err(error) = outcome {
        tracing::debug!(%peer, error, "connection ended");
    }
}

async fn connection(
    acceptor: TlsAcceptor,
    socket: tokio::net::TcpStream,
    service: ApiService,
    stop: CancellationToken,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    socket.set_nodelay(true)?;
    let stream = tokio::time::timeout(PATIENCE, acceptor.accept(socket)).await??;
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let user = certificates.first().and_then(|certificate| certificates::peer_user(certificate));
    let service =
        tower::util::MapRequest::new(service, move |mut request: http::Request<hyper::body::Incoming>| {
            if let Some(user) = &user {
                request.extensions_mut().insert(Identified(user.clone()));
            }
            request
        });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(1000);
    let serving = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    tokio::pin!(serving);
    tokio::select! {
        ended = serving.as_mut() => return ended,
        () = stop.cancelled() => serving.as_mut().graceful_shutdown(),
    }
    tokio::time::timeout(FAREWELL, serving).await.unwrap_or(Ok(()))
}
