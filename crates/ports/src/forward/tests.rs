//! What both kinds of forwarding keep.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use super::{Fake, Forward, Live};

async fn contract(forward: &impl Forward, listen: SocketAddr) {
    let backends = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 9))];
    for _ in 0..2 {
        forward.set(listen, backends.clone()).await;
        let held = forward.held();
        assert_eq!(held.keys().copied().collect::<Vec<_>>(), [listen]);
        assert_eq!(held[&listen].backends, backends);
        assert_eq!(held[&listen].trouble, None);
    }
    forward.set(listen, Vec::new()).await;
    assert!(forward.held()[&listen].backends.is_empty());
    for _ in 0..2 {
        forward.remove(listen).await;
        assert!(forward.held().is_empty());
    }
}

#[tokio::test]
async fn an_address_is_held_with_its_backends_until_it_is_removed() {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let listen = free.local_addr().expect("it has an address");
    drop(free);
    contract(&Fake::default(), listen).await;
    contract(&Live::default(), listen).await;
}

#[tokio::test]
async fn an_address_that_is_taken_is_held_with_its_trouble() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let listen = taken.local_addr().expect("it has an address");
    let forward = Live::default();
    forward.set(listen, Vec::new()).await;
    assert!(
        forward.held()[&listen].trouble.as_ref().is_some_and(|why| why.contains("cannot be listened on"))
    );
}
