//! The end of a gateway.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gateway::Settings;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::stage::{Backend, DEADLINE, Stage, listener, read_all, read_until, until};
use crate::streams::SWITCH;

#[tokio::test]
async fn a_request_in_flight_is_finished_and_no_other_begun() {
    let (listener, address) = listener().await;
    let stage = Stage::shop(&[address]).await;
    let mut client = TcpStream::connect(stage.address).await.expect("a connection");
    let mut idle = TcpStream::connect(stage.address).await.expect("a connection");
    client.write_all(b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n").await.expect("a request");
    let (mut backend, _) = listener.accept().await.expect("a connection");
    read_until(&mut backend, "\r\n\r\n").await;
    stage.stop.cancel();
    assert_eq!(read_all(&mut idle).await, "", "an idle connection is closed");
    while TcpStream::connect(stage.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    backend.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlast").await.expect("an answer");
    let all = read_all(&mut client).await;
    assert!(all.ends_with("last") && all.to_lowercase().contains("connection: close"), "{all}");
    tokio::time::timeout(DEADLINE, stage.serving).await.expect("the gateway ends").expect("in peace");
}

#[tokio::test]
async fn what_does_not_end_is_cut() {
    let (listener, address) = listener().await;
    let stage =
        Stage::new(Settings { drain_timeout: Duration::from_millis(100), ..Settings::default() }).await;
    stage.follow(&[address]);
    let mut client = TcpStream::connect(stage.address).await.expect("a connection");
    client.write_all(b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n").await.expect("a request");
    let (_backend, _) = listener.accept().await.expect("a connection");
    until("the request is in flight", || stage.gateway.in_flight(address) == 1).await;
    stage.stop.cancel();
    assert_eq!(read_all(&mut client).await, "");
    tokio::time::timeout(DEADLINE, stage.serving).await.expect("the gateway ends").expect("in peace");
}

#[tokio::test]
async fn an_upgraded_connection_does_not_hold_up_the_end() {
    let (listener, address) = listener().await;
    let stage = Stage::shop(&[address]).await;
    let mut client = TcpStream::connect(stage.address).await.expect("a connection");
    client.write_all(SWITCH).await.expect("a request");
    let (mut backend, _) = listener.accept().await.expect("a connection");
    read_until(&mut backend, "\r\n\r\n").await;
    backend
        .write_all(b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: echo/1\r\n\r\nhi")
        .await
        .expect("an answer");
    read_until(&mut client, "hi").await;
    let began = Instant::now();
    stage.stop.cancel();
    tokio::time::timeout(DEADLINE, stage.serving).await.expect("the gateway ends").expect("in peace");
    assert!(began.elapsed() < Duration::from_secs(5), "it was not waited for");
    assert_eq!(read_all(&mut client).await, "");
}

#[tokio::test]
async fn clones_are_the_same_gateway() {
    let backend = Backend::named("shop").await;
    let stage = Arc::new(Stage::shop(&[]).await);
    stage
        .gateway
        .clone()
        .follow(crate::stage::table(vec![crate::stage::route("shop.test", &[backend.address])]));
    assert_eq!(stage.get("/").await.body, "shop");
}
