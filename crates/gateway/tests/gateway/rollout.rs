//! Roll-outs under load: backends come and go, and no client notices.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::stage::{Backend, Stage, Then, read_until, text, until};

const CLIENTS: usize = 8;
const ROUNDS: usize = 25;

/// One client with one connection that asks until it is told to stop; every answer must be good.
async fn visitor(
    stage: Arc<Stage>,
    request: &'static str,
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
) {
    let mut socket = TcpStream::connect(stage.address).await.expect("a connection");
    while !stop.load(Ordering::Relaxed) {
        socket.write_all(request.as_bytes()).await.expect("the request goes out");
        let answer = read_until(&mut socket, "\r\n\r\nwell").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        answered.fetch_add(1, Ordering::Relaxed);
    }
}

/// Replaces all backends again and again; each old one is gone as soon as it has no request in flight.
async fn roll(stage: &Stage, answered: &AtomicUsize, behave: fn(usize) -> Then) -> Vec<Backend> {
    let mut serving: Vec<Backend> = Vec::new();
    for round in 0..ROUNDS {
        let mut next = Vec::new();
        for _ in 0..2 {
            next.push(Backend::new(move |_, number| (text("well"), behave(number))).await);
        }
        stage.follow(&next.iter().map(|backend| backend.address).collect::<Vec<_>>());
        for old in serving.drain(..) {
            until("the old backend is done", || stage.gateway.in_flight(old.address) == 0).await;
            let last = old.requests();
            old.stop_listening();
            drop(old);
            assert!(round > 0 && last > 0, "each backend was used");
        }
        serving = next;
        let (before, each) = (answered.load(Ordering::Relaxed), serving.iter().map(|b| b.requests.clone()));
        let each: Vec<_> = each.collect();
        until("the new backends are used", || {
            answered.load(Ordering::Relaxed) > before + CLIENTS
                && each.iter().all(|count| count.load(Ordering::Relaxed) > 0)
        })
        .await;
    }
    serving
}

async fn play(requests: [&'static str; 2], behave: fn(usize) -> Then) {
    let stage = Arc::new(Stage::shop(&[]).await);
    let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let visitors: Vec<_> = (0..CLIENTS)
        .map(|client| {
            tokio::spawn(visitor(stage.clone(), requests[client % 2], stop.clone(), answered.clone()))
        })
        .collect();
    let _serving = roll(&stage, &answered, behave).await;
    stop.store(true, Ordering::Relaxed);
    for visitor in visitors {
        visitor.await.expect("every answer was good");
    }
    assert!(answered.load(Ordering::Relaxed) > ROUNDS * CLIENTS);
}

const GET: &str = "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n";
const POST: &str = "POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 2\r\n\r\nhi";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_is_lost_while_backends_come_and_go() {
    play([GET, POST], |_| Then::Stay).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_is_lost_to_backends_that_close_connections_without_a_word() {
    play([GET, GET], |number| if number % 3 == 2 { Then::Close } else { Then::Stay }).await;
    play([GET, GET], |number| if number % 3 == 2 { Then::Reset } else { Then::Stay }).await;
}
