//! Bodies that flow, connections that are switched, and answers that break off.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::stage::{Backend, Stage, Then, listener, read_all, read_until, until};

#[tokio::test]
async fn bytes_pass_as_soon_as_they_come() {
    let (listener, address) = listener().await;
    let stage = Stage::shop(&[address]).await;
    let seen = Arc::new(Notify::new());
    let go_on = seen.clone();
    let backend = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.expect("a connection");
        read_until(&mut socket, "\r\n\r\n").await;
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        socket.write_all(format!("{head}7\r\nfirst\n\n\r\n").as_bytes()).await.expect("the first event");
        // The second is sent only after the client has seen the first.
        go_on.notified().await;
        socket.write_all(b"8\r\nsecond\n\n\r\n0\r\n\r\n").await.expect("the second event");
    });
    let mut client = TcpStream::connect(stage.address).await.expect("a connection");
    client.write_all(b"GET /events HTTP/1.1\r\nHost: shop.test\r\n\r\n").await.expect("the request");
    read_until(&mut client, "first").await;
    assert_eq!(stage.gateway.in_flight(address), 1);
    seen.notify_one();
    read_until(&mut client, "0\r\n\r\n").await;
    backend.await.expect("the backend is done");
    until("the request is over", || stage.gateway.in_flight(address) == 0).await;
}

#[tokio::test]
async fn an_upload_passes_as_soon_as_it_comes_and_is_asked_for() {
    let (listener, address) = listener().await;
    let stage = Stage::shop(&[address]).await;
    let mut client = TcpStream::connect(stage.address).await.expect("a connection");
    let head =
        "POST / HTTP/1.1\r\nHost: shop.test\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.write_all(head.as_bytes()).await.expect("the head");
    let (mut backend, _) = listener.accept().await.expect("a connection");
    let seen = read_until(&mut backend, "\r\n\r\n").await.to_lowercase();
    assert!(seen.contains("transfer-encoding: chunked") && !seen.contains("expect"), "{seen}");
    assert_eq!(read_until(&mut client, "\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.write_all(b"5\r\nfirst\r\n").await.expect("a chunk");
    read_until(&mut backend, "first").await;
    client.write_all(b"6\r\nsecond\r\n0\r\n\r\n").await.expect("the end");
    read_until(&mut backend, "second\r\n0\r\n\r\n").await;
    backend.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n").await.expect("an answer");
    assert!(read_until(&mut client, "\r\n\r\n").await.starts_with("HTTP/1.1 201 Created"));
}

#[tokio::test]
async fn trailers_pass_in_both_directions() {
    let (listener, address) = listener().await;
    let stage = Stage::shop(&[address]).await;
    let mut client = TcpStream::connect(stage.address).await.expect("a connection");
    let request = "POST / HTTP/1.1\r\nHost: shop.test\r\nTE: trailers\r\nTrailer: x-sum\r\nTransfer-Encoding: chunked\r\n\r\n\
        2\r\nhi\r\n0\r\nx-sum: 7\r\n\r\n";
    client.write_all(request.as_bytes()).await.expect("the request");
    let (mut backend, _) = listener.accept().await.expect("a connection");
    let seen = read_until(&mut backend, "x-sum: 7\r\n\r\n").await.to_lowercase();
    assert!(seen.contains("\r\nte: trailers\r\n"), "{seen}");
    let answer = "HTTP/1.1 200 OK\r\nTrailer: x-end\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx-end: 9\r\n\r\n";
    backend.write_all(answer.as_bytes()).await.expect("an answer");
    read_until(&mut client, "x-end: 9\r\n\r\n").await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_never_given_a_false_end() {
    let heads = ["Content-Length: 100", "Transfer-Encoding: chunked"];
    for (head, body) in heads.into_iter().zip(["half", "4\r\nhalf\r\n"]) {
        let answer = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
        let backend = Backend::new(move |_, _| (answer.clone(), Then::Close)).await;
        let stage = Stage::shop(&[backend.address]).await;
        let mut client = TcpStream::connect(stage.address).await.expect("a connection");
        client.write_all(b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n").await.expect("the request");
        let all = read_all(&mut client).await;
        assert!(all.contains("half") && !all.contains("0\r\n\r\n"), "{head}: {all}");
        assert_eq!(backend.requests(), 1, "an answer that began is not asked for again");
    }
}

/// A backend that switches to anything it is asked for, and then says everything twice.
async fn switching() -> std::net::SocketAddr {
    let (listener, address) = listener().await;
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let seen = read_until(&mut socket, "\r\n\r\n").await.to_lowercase();
                assert!(seen.contains("connection: upgrade") && seen.contains("upgrade: echo/1"), "{seen}");
                let answer = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo/1\r\n\r\nhello ";
                socket.write_all(answer).await.expect("an answer");
                let mut bytes = [0; 1024];
                while let Ok(count @ 1..) = socket.read(&mut bytes).await {
                    socket.write_all(&bytes[..count].repeat(2)).await.expect("an echo");
                }
            });
        }
    });
    address
}

pub const SWITCH: &[u8] =
    b"GET /ws HTTP/1.1\r\nHost: shop.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: echo/1\r\n\r\n";

#[tokio::test]
async fn an_upgrade_joins_client_and_backend() {
    let address = switching().await;
    let stage = Stage::shop(&[address]).await;
    let mut client = TcpStream::connect(stage.address).await.expect("a connection");
    client.write_all(SWITCH).await.expect("the request");
    let answer = read_until(&mut client, "hello ").await;
    assert!(
        answer.starts_with("HTTP/1.1 101 ") && answer.to_lowercase().contains("upgrade: echo/1"),
        "{answer}"
    );
    client.write_all(b"ab").await.expect("bytes");
    assert_eq!(read_until(&mut client, "abab").await, "abab");
    stage.follow(&[]);
    assert_eq!(stage.gateway.in_flight(address), 1, "counted also after the backend left the table");
    client.write_all(b"c").await.expect("bytes");
    read_until(&mut client, "cc").await;
    drop(client);
    until("the connection is over", || stage.gateway.in_flight(address) == 0).await;
}

#[tokio::test]
async fn a_refused_upgrade_is_an_answer_like_any_other() {
    let backend = Backend::new(|_, _| {
        ("HTTP/1.1 426 Upgrade Required\r\nContent-Length: 2\r\n\r\nno".to_owned(), Then::Stay)
    })
    .await;
    let stage = Stage::shop(&[backend.address]).await;
    let mut client = TcpStream::connect(stage.address).await.expect("a connection");
    client.write_all(SWITCH).await.expect("the request");
    assert!(read_until(&mut client, "no").await.starts_with("HTTP/1.1 426 "));
    until("the request is over", || stage.gateway.in_flight(backend.address) == 0).await;
}
