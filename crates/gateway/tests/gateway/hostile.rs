//! Clients that mean harm, or are broken.

use std::time::Duration;

use gateway::Settings;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::stage::{Answer, Backend, Stage, Then, exchange, read_all, read_until, text};

#[tokio::test]
async fn no_request_is_smuggled_in_another() {
    let backend = Backend::new(|request, _| (text(&request.replace("\r\n", "|")), Then::Stay)).await;
    let stage = Stage::shop(&[backend.address]).await;
    let hidden = "GET /hidden HTTP/1.1\r\nHost: shop.test\r\n\r\n";
    let table = [
        // The chunks count, the length goes no further, and the connection ends: nobody reads on.
        ("Content-Length: 60\r\nTransfer-Encoding: chunked", format!("0\r\n\r\n{hidden}"), "200"),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5", format!("0\r\n\r\n{hidden}"), "200"),
        ("Transfer-Encoding: chunked, identity", format!("0\r\n\r\n{hidden}"), "400"),
        ("Transfer-Encoding: xchunked", format!("0\r\n\r\n{hidden}"), "400"),
        ("Content-Length: 5\r\nContent-Length: 6", "hello".to_owned(), "400"),
        ("Content-Length: +5", "hello".to_owned(), "400"),
        ("Content-Length : 5", "hello".to_owned(), "400"),
        ("Transfer-Encoding: chunked", "5;a\nb\r\nhello\r\n0\r\n\r\n".to_owned(), "400"),
    ];
    for (framing, body, want) in table {
        let request = format!("POST /open HTTP/1.1\r\nHost: shop.test\r\n{framing}\r\n\r\n{body}");
        let mut client = TcpStream::connect(stage.address).await.expect("a connection");
        client.write_all(request.as_bytes()).await.expect("the request");
        client.shutdown().await.expect("the end of it");
        let all = read_all(&mut client).await;
        let statuses: Vec<_> = all
            .split("HTTP/1.1 ")
            .skip(1)
            .filter_map(|part| part.get(..3))
            .filter(|part| part.parse::<u16>().is_ok())
            .collect();
        assert_eq!(statuses.join(" "), want, "{framing}: {all}");
        assert!(!all.contains("|content-length") && !all.contains("hidden"), "{framing}: {all}");
    }
}

#[tokio::test]
async fn a_head_has_bounds() {
    let backend = Backend::named("shop").await;
    let stage = Stage::shop(&[backend.address]).await;
    let with = |size: usize| {
        let padding = "x".repeat(size);
        format!("GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\nX-Padding: {padding}\r\n\r\n")
    };
    assert_eq!(stage.ask(&with(60_000)).await.status, 200);
    assert_eq!(stage.ask(&with(70_000)).await.status, 431);
}

fn impatient() -> Settings {
    let (header_timeout, idle_timeout) = (Duration::from_millis(150), Duration::from_millis(600));
    Settings { header_timeout, idle_timeout, max_connections: 2, ..Settings::default() }
}

#[tokio::test]
async fn slow_heads_and_idle_connections_are_ended() {
    let backend = Backend::named("shop").await;
    let stage = Stage::new(impatient()).await;
    stage.follow(&[backend.address]);
    for beginning in ["", "P", "GET / HTTP/1.1\r\nHo"] {
        assert_eq!(exchange(stage.address, beginning).await, "", "{beginning:?} is cut without a word");
    }
    let mut client = TcpStream::connect(stage.address).await.expect("a connection");
    client.write_all(b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n").await.expect("a request");
    read_until(&mut client, "shop").await;
    let served = std::time::Instant::now();
    assert_eq!(read_all(&mut client).await, "");
    assert!(
        served.elapsed() > impatient().header_timeout * 2,
        "an idle connection may stay longer than a slow head"
    );
}

#[tokio::test]
async fn one_connection_too_many_is_told_so() {
    let backend = Backend::named("shop").await;
    let stage = Stage::new(Settings { max_connections: 2, ..Settings::default() }).await;
    stage.follow(&[backend.address]);
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut client = TcpStream::connect(stage.address).await.expect("a connection");
        client.write_all(b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n").await.expect("a request");
        read_until(&mut client, "shop").await;
        open.push(client);
    }
    // Nothing is sent, so that the refusal is not lost in a reset.
    let refused = Answer::from(exchange(stage.address, "").await);
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.head.contains("content-length: 43") && refused.body.len() == 43, "{refused:?}");
    drop(open);
    crate::stage::until("a place is free", || stage.gateway.in_flight(backend.address) == 0).await;
    let again = async { while stage.get("/").await.status != 200 {} };
    tokio::time::timeout(crate::stage::DEADLINE, again).await.expect("a place is free again");
}
