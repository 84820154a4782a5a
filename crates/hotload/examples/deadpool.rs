//! Asks the server once a second who it is talking to: `cargo run --example deadpool -- /etc/db/dsn`.
//!
//! Change the file while it runs, in whatever way you like.

use std::error::Error;
use std::time::Duration;

use hotload::{FileSource, Pool};

#[tokio::main]
#[allow(clippy::print_stdout)]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("give the path of a file with a connection string")?;
    let pool = Pool::builder(FileSource::open(path)?).max_size(4).open().await?;
    let mut second = tokio::time::interval(Duration::from_secs(1));
    loop {
        second.tick().await;
        let client = pool.get().await?;
        let row = client.query_one("SELECT session_user::text", &[]).await?;
        println!("{} ({:?})", row.get::<_, String>(0), pool.status());
    }
}
