//! TCP from an address that stays to backends that change.

use std::net::SocketAddr;

use gateway::forward::Forwarder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::stage::{listener, read_all, read_until};

/// Says its name, then repeats what it hears.
async fn parrot(name: &'static str) -> SocketAddr {
    let (listener, address) = listener().await;
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                socket.write_all(name.as_bytes()).await.expect("a name");
                let (mut read, mut write) = socket.split();
                let _ = tokio::io::copy(&mut read, &mut write).await;
            });
        }
    });
    address
}

async fn free() -> SocketAddr {
    let (listener, address) = listener().await;
    drop(listener);
    address
}

async fn greeting(address: SocketAddr) -> (TcpStream, char) {
    let mut socket = TcpStream::connect(address).await.expect("a connection");
    let name = char::from(socket.read_u8().await.expect("a name"));
    (socket, name)
}

#[tokio::test]
async fn connections_take_turns_and_skip_the_dead() {
    let forwarder = Forwarder::new();
    let (listen, dead) = (free().await, free().await);
    forwarder.set(listen, vec![parrot("a").await, dead, parrot("b").await]).expect("a free address");
    let mut names = Vec::new();
    for _ in 0..6 {
        names.push(greeting(listen).await.1);
    }
    assert!(names.contains(&'a') && names.contains(&'b'), "{names:?}");
}

#[tokio::test]
async fn a_connection_stays_where_it_is_when_backends_change() {
    let forwarder = Forwarder::new();
    let listen = free().await;
    forwarder.set(listen, vec![parrot("a").await]).expect("a free address");
    let (mut old, name) = greeting(listen).await;
    assert_eq!(name, 'a');
    forwarder.set(listen, vec![parrot("b").await]).expect("the same address");
    assert_eq!(greeting(listen).await.1, 'b');
    old.write_all(b"still here").await.expect("bytes");
    read_until(&mut old, "still here").await;
    forwarder.remove(listen);
    assert_eq!(forwarder.listening(), []);
    while TcpStream::connect(listen).await.is_ok() {
        tokio::task::yield_now().await;
    }
    old.write_all(b"even now").await.expect("bytes");
    read_until(&mut old, "even now").await;
    old.shutdown().await.expect("the end of what is sent");
    assert_eq!(read_all(&mut old).await, "", "the end of one direction reaches the other side");
}

#[tokio::test]
async fn a_client_waits_for_a_backend_and_all_ends_with_the_forwarder() {
    let forwarder = Forwarder::new();
    let listen = free().await;
    forwarder.set(listen, Vec::new()).expect("a free address");
    let backend = parrot("late").await;
    let appear = async {
        tokio::task::yield_now().await;
        forwarder.set(listen, vec![backend]).expect("the same address");
    };
    let ((mut socket, name), ()) = tokio::join!(greeting(listen), appear);
    assert_eq!(name, 'l');
    drop(forwarder);
    assert_eq!(read_all(&mut socket).await, "ate");
}

#[tokio::test]
async fn an_address_that_is_taken_is_an_error() {
    let (_taken, address) = listener().await;
    let outcome = Forwarder::new().set(address, Vec::new());
    assert_eq!(outcome.expect_err("the address is taken").kind(), std::io::ErrorKind::AddrInUse);
}
