//! One connection to PostgreSQL that comes back by itself.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use postgres::types::ToSql;
use postgres::{Client, Config, Error, NoTls, Row};

/// How long a request waits for a server that is being replaced; a failover takes a few seconds.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long one attempt to connect may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The longest pause between two attempts.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// What a server answers while it starts, stops, or is no longer the one that takes writes. The last two are what two
/// processes tell each other that make the same table at one moment.
const PASSING: [&str; 6] = ["08", "57P", "25006", "53300", "23505", "42P07"];

const TABLE: &str = "create table if not exists notes (
    id bigint generated always as identity, token text primary key, body text not null)";

/// Runs statements one after the other, on a new connection whenever the old one is lost.
///
/// A statement may run twice: when its answer is lost nobody knows whether it was carried out.
pub struct Database {
    config: Config,
    client: Mutex<Option<Client>>,
}

impl Database {
    pub fn new(url: &str) -> Result<Self, Error> {
        let mut config: Config = url.parse()?;
        config.connect_timeout(TIMEOUT).tcp_user_timeout(TIMEOUT).application_name("rust-db");
        // A server that hangs is left like one that is gone.
        config.options("-c statement_timeout=5s");
        Ok(Self { config, client: Mutex::new(None) })
    }

    pub fn run(&self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Error> {
        let (deadline, mut pause) = (Instant::now() + PATIENCE, Duration::from_millis(50));
        loop {
            match self.attempt(statement, values) {
                Err(error) if passing(&error) && Instant::now() + pause < deadline => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                ended => return ended,
            }
        }
    }

    /// Tries once. A connection that failed is not used again.
    fn attempt(&self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Error> {
        let mut held = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let mut client = match held.take() {
            Some(client) => client,
            None => {
                let mut client = self.config.connect(NoTls)?;
                client.batch_execute(TABLE)?;
                client
            }
        };
        let rows = client.query(statement, values)?;
        *held = Some(client);
        Ok(rows)
    }
}

/// Whether it may go well on the next try.
pub fn passing(error: &Error) -> bool {
    match error.code() {
        Some(code) => PASSING.iter().any(|passing| code.code().starts_with(passing)),
        // No answer of a server at all: the line is lost, or there was none.
        None => true,
    }
}
