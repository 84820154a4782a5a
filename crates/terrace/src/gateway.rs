//! The gateway: the port where applications will answer. Until one does, it says so.

use bytes::Bytes;
use http::{Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Serves until `stop`.
pub(crate) async fn serve(listener: TcpListener, stop: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((socket, _)) = accepted else { continue };
        tokio::spawn(async move {
            let answer = service_fn(|request: http::Request<Incoming>| async move {
                Ok::<_, std::convert::Infallible>(page(&request))
            });
            // A client that hangs up is its own business.
            let _ =
                auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(socket), answer).await;
        });
    }
}

fn page(request: &http::Request<Incoming>) -> Response<Full<Bytes>> {
    let host = request.headers().get(header::HOST).and_then(|value| value.to_str().ok());
    let host = host.or(request.uri().host()).unwrap_or("this host");
    let healthy = request.uri().path() == "/healthz";
    let text =
        if healthy { "ok\n".to_owned() } else { format!("Terrace: no application answers at {host}\n") };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = if healthy { StatusCode::OK } else { StatusCode::NOT_FOUND };
    let plain = http::HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}
