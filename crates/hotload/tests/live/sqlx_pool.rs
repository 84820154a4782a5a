//! The same for sqlx.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use hotload::sqlx::HotPool;
use hotload::{Drain, FileSource, Settings};
use sqlx::postgres::{PgPool, PgPoolOptions};

use crate::changes::sessions;
use crate::controller::Controller;
use crate::server::Server;
use crate::soon;

async fn open(controller: &Controller<'_>, settings: Settings) -> HotPool {
    let source = FileSource::open(controller.mount.path()).expect("a watch");
    HotPool::open(source, PgPoolOptions::new().max_connections(8), settings).await.expect("a pool")
}

async fn user(pool: &PgPool) -> String {
    sqlx::query_scalar("SELECT session_user::text").fetch_one(pool).await.expect("an answer")
}

pub async fn a_sqlx_pool_follows_and_fails_nothing(server: &Server) {
    let mut controller = Controller::new(server).await;
    let hot = open(&controller, Settings::default()).await;
    let (done, queries) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let clients: Vec<_> = (0..4)
        .map(|_| {
            // What a program has that knows nothing of rotations.
            let (pool, done, queries) = (hot.pool().clone(), done.clone(), queries.clone());
            tokio::spawn(async move {
                while !done.load(Ordering::Relaxed) {
                    user(&pool).await;
                    queries.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let first = controller.user();
    let mut long = hot.pool().begin().await.expect("a transaction");
    let mut status = hot.watch();
    for round in 2..=100 {
        controller.rotate().await;
        controller.arrived(&mut status, round).await;
    }
    let same: String =
        sqlx::query_scalar("SELECT session_user::text").fetch_one(&mut *long).await.expect("an answer");
    assert_eq!(same, first);
    long.commit().await.expect("it ends");
    done.store(true, Ordering::Relaxed);
    for client in clients {
        soon(client).await.expect("no query failed");
    }
    assert_eq!(user(hot.pool()).await, controller.user());
    println!("sqlx: 99 rotations, {} queries", queries.load(Ordering::Relaxed));
    let old = if controller.user() == first { "app_a" } else { first };
    sessions(&server.admin().await, old, 0).await;
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
