//! Rotations under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use hotload::{FileSource, Pool};

use crate::controller::Controller;
use crate::server::Server;
use crate::soon;

const ROTATIONS: u64 = 1000;
/// Every so many rotations, a few follow one another without waiting for the pool.
const BURST_EVERY: u64 = 50;
const BURST: u64 = 3;

#[derive(Default)]
struct Tally {
    done: AtomicBool,
    queries: AtomicU64,
    transactions: AtomicU64,
    connections: AtomicU64,
}

pub async fn a_thousand_rotations_fail_no_query(server: &Server) {
    let mut controller = Controller::new(server).await.light().await;
    for _ in 0..2 {
        controller.rotate().await;
    }
    let source = FileSource::open(controller.mount.path()).expect("a watch");
    let pool = Pool::builder(source).max_size(12).open().await.expect("a pool");
    let tally = Arc::new(Tally::default());
    let clients: Vec<_> = (0..8).map(|_| tokio::spawn(query(pool.clone(), tally.clone()))).collect();
    let holders: Vec<_> = (0..2).map(|_| tokio::spawn(hold(pool.clone(), tally.clone()))).collect();

    let (begin, mut status) = (Instant::now(), pool.watch());
    for round in 1..=ROTATIONS {
        controller.rotate().await;
        if round % BURST_EVERY >= BURST {
            controller.arrived(&mut status, 2).await;
        }
    }
    controller.arrived(&mut status, 2).await;
    let took = begin.elapsed();
    tally.done.store(true, Ordering::Relaxed);
    for task in clients.into_iter().chain(holders) {
        soon(task).await.expect("no query failed");
    }
    let [queries, transactions, connections] =
        [&tally.queries, &tally.transactions, &tally.connections].map(|count| count.load(Ordering::Relaxed));
    let generation = pool.status().generation;
    println!(
        "{ROTATIONS} rotations in {took:?}: {queries} queries, {transactions} long transactions, \
         {connections} changes of user, generation {generation}"
    );
    assert!(queries > ROTATIONS && transactions > 20, "{queries} queries, {transactions} transactions");
    assert!(connections > ROTATIONS / 4 && generation.0 > ROTATIONS / 2, "{connections}, {generation}");
}

/// One query after the other. It fails with the first that fails.
async fn query(pool: Pool, tally: Arc<Tally>) {
    let mut last = String::new();
    while !tally.done.load(Ordering::Relaxed) {
        let client = pool.get().await.expect("a connection");
        let row = client.query_one("SELECT session_user::text", &[]).await.expect("an answer");
        let user: String = row.get(0);
        tally.queries.fetch_add(1, Ordering::Relaxed);
        if std::mem::replace(&mut last, user.clone()) != user {
            tally.connections.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// One transaction after the other, each of which lives through several rotations.
async fn hold(pool: Pool, tally: Arc<Tally>) {
    let mut status = pool.watch();
    while !tally.done.load(Ordering::Relaxed) {
        let mut client = pool.get().await.expect("a connection");
        let transaction = client.transaction().await.expect("it begins");
        let first: i64 = transaction.query_one("SELECT txid_current()", &[]).await.expect("an answer").get(0);
        let until = pool.status().generation.0 + 7;
        while !tally.done.load(Ordering::Relaxed) && pool.status().generation.0 < until {
            let last: i64 =
                transaction.query_one("SELECT txid_current()", &[]).await.expect("an answer").get(0);
            assert_eq!(first, last, "it is one transaction");
            let _ = tokio::time::timeout(std::time::Duration::from_millis(20), status.changed()).await;
        }
        transaction.commit().await.expect("it ends");
        tally.transactions.fetch_add(1, Ordering::Relaxed);
    }
}
