//! The same with sqlx: `cargo run --features sqlx --example sqlx -- /etc/db/dsn`.

use std::error::Error;
use std::time::Duration;

use hotload::sqlx::HotPool;
use hotload::{FileSource, Settings};
use sqlx::postgres::PgPoolOptions;

#[tokio::main]
#[allow(clippy::print_stdout)]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("give the path of a file with a connection string")?;
    let options = PgPoolOptions::new().max_connections(4);
    let hot = HotPool::open(FileSource::open(path)?, options, Settings::default()).await?;
    let mut second = tokio::time::interval(Duration::from_secs(1));
    loop {
        second.tick().await;
        let user: String =
            sqlx::query_scalar("SELECT session_user::text").fetch_one(&mut *hot.acquire().await?).await?;
        println!("{user} ({:?})", hot.status());
    }
}
