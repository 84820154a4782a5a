//! A body of any size passes in bounded memory. Alone in its process, because it measures the process.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use gateway::{Body, Doors, Fault, Gateway, Route, Settings, Table};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

const SIZE: u64 = 100 << 20;
/// Buffers of sockets and of the runtime, with room; a tenth of what passes through.
const BOUND_KB: u64 = 10 << 10;

/// So many bytes, made as they are asked for.
struct Made(u64);

impl http_body::Body for Made {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        static CHUNK: [u8; 32 * 1024] = [7; 32 * 1024];
        let count = self.0.min(CHUNK.len() as u64);
        self.0 -= count;
        let chunk = Bytes::from_static(&CHUNK[..usize::try_from(count).expect("small")]);
        Poll::Ready((count > 0).then(|| Ok(Frame::data(chunk))))
    }
}

async fn count(mut body: Incoming) -> u64 {
    let mut total = 0;
    while let Some(frame) = body.frame().await {
        total += frame.expect("the body does not break").data_ref().map_or(0, |data| data.len() as u64);
    }
    total
}

/// Counts what it is sent, says the number in a header, and sends as much back.
async fn answer(request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let received = count(request.into_body()).await;
    let mut response = Response::new(Body::other(Made(SIZE)));
    response.headers_mut().insert("x-received", received.into());
    Ok(response)
}

fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process has a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("with its peak");
    line.trim().trim_end_matches(" kB").trim().parse().expect("a number")
}

#[tokio::test]
async fn a_hundred_megabytes_pass_in_both_directions() {
    let backend = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let backends = vec![backend.local_addr().expect("an address")];
    tokio::spawn(async move {
        let (socket, _) = backend.accept().await.expect("a connection");
        hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(socket), service_fn(answer))
            .await
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let gateway = Gateway::new(Settings::default());
    let (host, path_prefix, name) = ("big.test".to_owned(), String::new(), "demo/big".to_owned());
    let route = Route { host, path_prefix, exact: false, priority: 0, doors: Doors::BOTH, backends, name };
    gateway.follow(Table { routes: vec![route], ..Table::default() });
    tokio::spawn(async move { gateway.serve_http(listener, CancellationToken::new()).await });

    let socket = TcpStream::connect(address).await.expect("a connection");
    let (mut send, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(socket)).await.expect("a handshake");
    tokio::spawn(connection);
    let before = peak_kb();
    let request = Request::post("/").header("host", "big.test").body(Made(SIZE)).expect("a request");
    let response = send.send_request(request).await.expect("an answer");
    assert_eq!(response.headers()["x-received"], SIZE.to_string().as_str());
    assert_eq!(count(response.into_body()).await, SIZE);
    let grown = peak_kb() - before;
    assert!(grown < BOUND_KB, "memory grew by {grown} kB");
}
