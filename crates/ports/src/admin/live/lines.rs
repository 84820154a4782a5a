//! Connections: few for each server, kept for a while, and none that one server takes from another.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use api::connection::SslMode;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, NoTls, Row};

use super::super::{Error, Proof, Server};
use super::said::judged;
use super::{Settings, tls};

/// How long a change waits for whoever uses what it changes.
const LOCK: Duration = Duration::from_secs(5);

/// All servers that were spoken to.
pub(super) struct Lanes {
    settings: Settings,
    lanes: Mutex<HashMap<(String, u16), Arc<Lane>>>,
}

/// One server: how many may speak to it, and the connections that nobody uses.
struct Lane {
    gate: Arc<Semaphore>,
    idle: Mutex<Vec<Line>>,
    swept: AtomicBool,
}

/// A connection.
struct Line {
    client: Arc<Client>,
    server: Server,
    since: Instant,
}

impl Lanes {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings, lanes: Mutex::default() }
    }

    /// A connection to one database of a server, for as long as it is held.
    pub(super) async fn lease(&self, server: &Server, database: &str) -> Result<Lease, Error> {
        let server = Server { database: database.to_owned(), ..server.clone() };
        let lane = self.lane(&server);
        let permit = self.turn(&server, &lane).await?;
        let kept = lane.take(&server);
        let client = match kept {
            Some(client) => client,
            None => Arc::new(self.connect(&server).await?),
        };
        let settings = self.settings;
        Ok(Lease { client, sound: AtomicBool::new(true), server, lane, settings, _permit: permit })
    }

    /// Logs in anew, asks who we are, and leaves.
    pub(super) async fn prove(&self, server: &Server) -> Result<Proof, Error> {
        let lane = self.lane(server);
        let _permit = self.turn(server, &lane).await?;
        let client = self.connect(server).await?;
        let asked = client.query_typed("SELECT session_user::text, current_user::text", &[]);
        let rows = in_time(asked, server, self.settings.statement).await?;
        let word =
            |at| rows.first().and_then(|row: &Row| row.try_get::<_, String>(at).ok()).unwrap_or_default();
        Ok(Proof { session_user: word(0), current_user: word(1) })
    }

    /// Lets go of the connections to a database, which would keep it from being renamed.
    pub(super) fn hang_up(&self, server: &Server, database: &str) {
        self.lane(server).idle.lock().retain(|line| line.server.database != database);
    }

    fn lane(&self, server: &Server) -> Arc<Lane> {
        let mut lanes = self.lanes.lock();
        let lane = lanes.entry((server.host.clone(), server.port)).or_insert_with(|| {
            let gate = Arc::new(Semaphore::new(self.settings.connections));
            Arc::new(Lane { gate, idle: Mutex::default(), swept: AtomicBool::new(false) })
        });
        lane.clone()
    }

    async fn turn(&self, server: &Server, lane: &Lane) -> Result<OwnedSemaphorePermit, Error> {
        let limit = self.settings.turn;
        let late = || Error::Timeout { server: server.place(), what: "waiting for a free connection", limit };
        match tokio::time::timeout(limit, lane.gate.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(late()),
        }
    }

    async fn connect(&self, server: &Server) -> Result<Client, Error> {
        let limit = self.settings.connect;
        match tokio::time::timeout(limit, log_in(server, self.settings.statement)).await {
            Ok(Ok(client)) => Ok(client),
            Ok(Err(Refused::Driver(error))) => Err(judged(&error, server, limit)),
            Ok(Err(Refused::Judged(error))) => Err(error),
            Err(_) => Err(Error::Timeout { server: server.place(), what: "the login", limit }),
        }
    }
}

impl Lane {
    /// A connection that is kept for this login and database.
    fn take(&self, server: &Server) -> Option<Arc<Client>> {
        let mut idle = self.idle.lock();
        idle.retain(|line| !line.client.is_closed());
        if let Some(at) = idle.iter().position(|line| line.server == *server) {
            return Some(idle.remove(at).client);
        }
        self.make_room(&mut idle);
        None
    }

    /// Lets the oldest go where those in use and those that are kept would be more than the bound.
    fn make_room(&self, idle: &mut Vec<Line>) {
        let spare = idle.len().saturating_sub(self.gate.available_permits());
        idle.drain(..spare);
    }

    /// Keeps a connection, and sees that it is closed when nobody came for it.
    fn keep(self: &Arc<Self>, line: Line, settings: Settings) {
        let mut idle = self.idle.lock();
        self.make_room(&mut idle);
        idle.push(line);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !self.swept.swap(true, Ordering::AcqRel) {
            runtime.spawn(sweep(Arc::downgrade(self), settings.idle));
        }
    }
}

/// Closes what is not used, until nothing is left.
async fn sweep(lane: Weak<Lane>, idle: Duration) {
    loop {
        tokio::time::sleep(idle).await;
        let Some(lane) = lane.upgrade() else { return };
        let mut lines = lane.idle.lock();
        lines.retain(|line| line.since.elapsed() < idle && !line.client.is_closed());
        if lines.is_empty() {
            lane.swept.store(false, Ordering::Release);
            return;
        }
    }
}

enum Refused {
    Driver(tokio_postgres::Error),
    Judged(Error),
}

/// Only settings that any login may make: an administrator in a cloud is no superuser.
fn options(patience: Duration) -> String {
    format!(
        "-c statement_timeout={} -c lock_timeout={} -c idle_in_transaction_session_timeout={} \
         -c search_path=pg_catalog -c standard_conforming_strings=on -c client_min_messages=warning",
        patience.as_millis(),
        LOCK.as_millis(),
        patience.as_millis(),
    )
}

async fn log_in(server: &Server, patience: Duration) -> Result<Client, Refused> {
    use tokio_postgres::config::SslMode as Mode;
    let mut config = Config::new();
    config.host(&server.host).port(server.port).user(&server.user).dbname(&server.database);
    config.password(server.password.open()).application_name("terrace").options(options(patience));
    let driver = Refused::Driver;
    if server.ssl_mode == SslMode::Disable {
        let (client, connection) = config.ssl_mode(Mode::Disable).connect(NoTls).await.map_err(driver)?;
        carry(connection);
        return Ok(client);
    }
    let optional = matches!(server.ssl_mode, SslMode::Allow | SslMode::Prefer);
    config.ssl_mode(if optional { Mode::Prefer } else { Mode::Require });
    let connector = tls::connector(server).map_err(Refused::Judged)?;
    let (client, connection) = config.connect(connector).await.map_err(driver)?;
    carry(connection);
    Ok(client)
}

fn carry<F: Future<Output = Result<(), tokio_postgres::Error>> + Send + 'static>(connection: F) {
    tokio::spawn(async move {
        // Whoever uses the line learns of its end by the answer that does not come.
        let _ = connection.await;
    });
}

/// An answer, or what its absence means.
async fn in_time<T>(
    answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    server: &Server,
    limit: Duration,
) -> Result<T, Error> {
    // The server's own limit comes first, because its answer leaves the connection usable.
    match tokio::time::timeout(limit + Duration::from_secs(1), answer).await {
        Ok(Ok(rows)) => Ok(rows),
        Ok(Err(error)) => Err(judged(&error, server, limit)),
        Err(_) => Err(Error::Timeout { server: server.place(), what: "a statement", limit }),
    }
}

/// A connection in use. It is kept for the next when it is let go between two statements, and closed otherwise.
pub(super) struct Lease {
    client: Arc<Client>,
    /// False while a statement is under way, so that one that was cut off is not taken for the next one's answer.
    sound: AtomicBool,
    pub(super) server: Server,
    lane: Arc<Lane>,
    settings: Settings,
    _permit: OwnedSemaphorePermit,
}

impl Lease {
    /// Asks one question in one round trip, and returns the text of the first column of the first row.
    pub(super) async fn text(
        &self,
        sql: &str,
        values: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<String, Error> {
        let rows = self.guarded(self.client.query_typed(sql, values)).await?;
        Ok(rows.first().and_then(|row: &Row| row.try_get::<_, String>(0).ok()).unwrap_or_default())
    }

    /// Carries out statements as one transaction; nothing if there are none.
    pub(super) async fn run(&self, statements: &[String]) -> Result<(), Error> {
        if statements.is_empty() {
            return Ok(());
        }
        self.guarded(self.client.batch_execute(&statements.join(";\n"))).await
    }

    async fn guarded<T>(
        &self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Error> {
        self.sound.store(false, Ordering::Release);
        let outcome = in_time(answer, &self.server, self.settings.statement).await;
        let lost = matches!(outcome, Err(Error::Unreachable { .. } | Error::Timeout { .. }));
        self.sound.store(!lost, Ordering::Release);
        outcome
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.sound.load(Ordering::Acquire) && !self.client.is_closed() {
            let line =
                Line { client: self.client.clone(), server: self.server.clone(), since: Instant::now() };
            self.lane.keep(line, self.settings);
        }
    }
}
