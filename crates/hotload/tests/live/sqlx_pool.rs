//! The same for sqlx.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use hotload::sqlx::HotPool;
use hotload::{Drain, FileSource, Settings};
use sqlx::postgres::{PgPool, PgPoolOptions};

use crate::changes::sessions;
use crate::controller::{Controller, USERS};
use crate::server::Server;
use crate::soon;

async fn open(controller: &Controller<'_>, settings: Settings) -> HotPool {
    let source = FileSource::open(controller.mount.path()).expect("a watch");
    HotPool::open(source, PgPoolOptions::new().max_connections(8), settings).await.expect("a pool")
}

async fn user(pool: &PgPool) -> String {
    sqlx::query_scalar("SELECT session_user::text").fetch_one(pool).await.expect("an answer")
}

const CLIENTS: usize = 4;
const ROTATIONS: u64 = 50;

/// What clients have done, and whether they are to end.
#[derive(Default)]
struct Tally {
    done: AtomicBool,
    queries: [AtomicU64; CLIENTS],
}

impl Tally {
    /// Waits until every client has got two more answers, so that none is halfway into a login from before.
    async fn pass(&self) {
        let counts = || self.queries.each_ref().map(|count| count.load(Ordering::Relaxed));
        let before = counts();
        soon(async {
            while counts().iter().zip(before).any(|(now, before)| *now < before + 2) {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

/// A program that knows nothing of rotations and has the `PgPool` alone.
async fn plain(hot: HotPool, tally: Arc<Tally>, number: usize) {
    while !tally.done.load(Ordering::Relaxed) {
        user(hot.pool()).await;
        tally.queries[number].fetch_add(1, Ordering::Relaxed);
    }
}

/// A program that takes its connections from us.
async fn careful(hot: HotPool, tally: Arc<Tally>, number: usize) {
    while !tally.done.load(Ordering::Relaxed) {
        let mut line = hot.acquire().await.expect("a connection");
        sqlx::query("SELECT 1").execute(&mut *line).await.expect("an answer");
        tally.queries[number].fetch_add(1, Ordering::Relaxed);
    }
}

pub async fn a_sqlx_pool_follows_and_fails_nothing(server: &Server) {
    for steady in [true, false] {
        let mut controller = Controller::new(server).await.light().await;
        for _ in 0..2 {
            controller.rotate().await;
        }
        let hot = open(&controller, Settings::default()).await;
        let tally = Arc::new(Tally::default());
        let start = |number| match steady {
            true => tokio::spawn(plain(hot.clone(), tally.clone(), number)),
            false => tokio::spawn(careful(hot.clone(), tally.clone(), number)),
        };
        let clients: Vec<_> = (0..CLIENTS).map(start).collect();
        let first = controller.user();
        let mut long = hot.pool().begin().await.expect("a transaction");
        let mut status = hot.watch();
        for _ in 0..ROTATIONS {
            controller.rotate().await;
            controller.arrived(&mut status, 2).await;
            if steady {
                tally.pass().await;
            }
        }
        let same: String =
            sqlx::query_scalar("SELECT session_user::text").fetch_one(&mut *long).await.expect("an answer");
        assert_eq!(same, first);
        long.commit().await.expect("it ends");
        tally.done.store(true, Ordering::Relaxed);
        for client in clients {
            soon(client).await.expect("no query failed");
        }
        let queries: u64 = tally.queries.iter().map(|count| count.load(Ordering::Relaxed)).sum();
        assert!(queries > CLIENTS as u64, "{queries} queries");
        println!("sqlx: {ROTATIONS} rotations, {queries} queries");
        let idle = USERS[usize::from(controller.user() == USERS[0])];
        sessions(&server.admin().await, idle, 0).await;
        assert_eq!(user(hot.pool()).await, controller.user());
    }
}

pub async fn a_sqlx_pool_outlives_dead_logins(server: &Server) {
    let mut controller = Controller::new(server).await;
    let hot = open(&controller, Settings::default()).await;
    let before = controller.user();
    controller.rotate().await;
    controller.arrived(&mut hot.watch(), 2).await;
    let lock = format!("ALTER ROLE {} NOLOGIN", controller.user());
    server.admin().await.batch_execute(&lock).await.expect("it is locked");
    let mut line = hot.acquire().await.expect("a connection");
    let used: String =
        sqlx::query_scalar("SELECT session_user::text").fetch_one(&mut *line).await.expect("an answer");
    assert_eq!((used.as_str(), hot.status().fallen_back), (before, true));
}

pub async fn force_kill_cuts_sqlx_connections(server: &Server) {
    let mut controller = Controller::new(server).await;
    let grace = Duration::from_millis(300);
    let hot = open(&controller, Settings { drain: Drain::ForceKill { grace }, ..Settings::default() }).await;
    let before = controller.user();
    let mut long = hot.pool().begin().await.expect("a transaction");
    sqlx::query("SELECT 1").execute(&mut *long).await.expect("an answer");
    controller.rotate().await;
    controller.arrived(&mut hot.watch(), 2).await;
    assert_eq!(user(hot.pool()).await, controller.user());
    sessions(&server.admin().await, before, 0).await;
    sqlx::query("SELECT 1").execute(&mut *long).await.expect_err("it is cut");
    assert_eq!(user(hot.pool()).await, controller.user());
}
