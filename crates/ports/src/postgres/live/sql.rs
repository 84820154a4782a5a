//! Lines to the servers, as their administrator. Each is kept for a few seconds, because a login costs more than a
//! question.

use std::sync::Arc;
use std::time::{Duration, Instant};

use api::secret::Sealed;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage, SimpleQueryRow};

use super::super::{Error, Number};
use super::Inner;
use super::roles::{ADMIN, SUPERUSER};

/// How long a server may take for an answer before it counts as silent.
pub(super) const ANSWER: Duration = Duration::from_secs(2);
/// How long a line is kept. A server whose first process hangs still answers on old lines; on a new one it does not.
const KEPT: Duration = Duration::from_secs(6);
/// Our own work never waits for a standby, and what it says is in no log, because some of it is secret.
const OPTIONS: &str = "-c synchronous_commit=local -c log_statement=none -c log_min_error_statement=panic \
                       -c log_min_duration_statement=-1 -c log_min_messages=panic -c statement_timeout=0 \
                       -c standard_conforming_strings=on -c search_path=pg_catalog -c lock_timeout=10s";

/// A line that is open.
#[derive(Clone)]
pub(super) struct Line {
    client: Arc<Client>,
    port: u16,
    since: Instant,
}

/// Why a server could not be asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Silence {
    /// It said why.
    Says(String),
    /// It said nothing.
    Mute,
}

impl Silence {
    pub(super) fn story(&self) -> String {
        match self {
            Self::Says(words) => words.clone(),
            Self::Mute => "it does not answer".to_owned(),
        }
    }
}

impl Inner {
    /// A line to an instance, where its record says that it listens.
    pub(super) async fn line(&self, uid: &str, number: Number) -> Result<Arc<Client>, Silence> {
        let port = self.record(uid).map_or(0, |record| record.kept(number).port);
        let place = (uid.to_owned(), number);
        if let Some(line) = self.lines.lock().get(&place)
            && line.port == port
            && line.since.elapsed() < KEPT
            && !line.client.is_closed()
        {
            return Ok(line.client.clone());
        }
        self.hang_up(uid, number);
        let client = Arc::new(self.connect(uid, port).await?);
        let line = Line { client: client.clone(), port, since: Instant::now() };
        self.lines.lock().insert(place, line);
        Ok(client)
    }

    /// Lets go of the line to an instance.
    pub(super) fn hang_up(&self, uid: &str, number: Number) {
        self.lines.lock().remove(&(uid.to_owned(), number));
    }

    /// Logs in where a cluster's server listens.
    pub(super) async fn connect(&self, uid: &str, port: u16) -> Result<Client, Silence> {
        let mut outcome = Err(Silence::Mute);
        for (role, password) in self.keys(uid) {
            outcome = match tokio::time::timeout(ANSWER, log_in(port, role, &password)).await {
                Ok(Err(error)) if error.code() == Some(&SqlState::INVALID_PASSWORD) => {
                    Err(Silence::Says(said(&error)))
                }
                Ok(Ok(client)) => return Ok(client),
                Ok(Err(error)) if error.as_db_error().is_some() => return Err(Silence::Says(said(&error))),
                Ok(Err(_)) | Err(_) => return Err(Silence::Mute),
            };
        }
        outcome
    }

    /// What may open a server, the likeliest first: the role of the machinery and, until there is one, `postgres`. Data
    /// that was just copied knows the passwords of where it came from.
    fn keys(&self, uid: &str) -> Vec<(&'static str, Sealed<String>)> {
        let both = |uid: &str| [ADMIN, SUPERUSER].map(|role| (role, self.password(uid)));
        let (record, mut own) = (self.record(uid), both(uid));
        if record.as_ref().is_some_and(|record| !record.administered) {
            own.reverse();
        }
        let strange = record.filter(|record| !record.prepared).map(|record| {
            let origin = record.origin.as_deref().map(both);
            origin.into_iter().flatten().chain([(SUPERUSER, self.superuser.clone())])
        });
        strange.into_iter().flatten().chain(own).collect()
    }

    /// Asks an instance, and returns all rows of the answer.
    pub(super) async fn ask(
        &self,
        (uid, number): (&str, Number),
        what: &'static str,
        sql: &str,
        patience: Duration,
    ) -> Result<Vec<SimpleQueryRow>, Error> {
        let failed = |story| Error::Server { what, story };
        let client = self.line(uid, number).await.map_err(|silence| failed(silence.story()))?;
        match tokio::time::timeout(patience, client.simple_query(sql)).await {
            Ok(Ok(messages)) => Ok(rows(messages)),
            Ok(Err(error)) => {
                if error.as_db_error().is_none() {
                    self.hang_up(uid, number);
                }
                Err(failed(said(&error)))
            }
            Err(_) => {
                self.hang_up(uid, number);
                Err(failed("it does not answer".to_owned()))
            }
        }
    }

    /// Asks an instance for one value.
    pub(super) async fn ask_one(
        &self,
        place: (&str, Number),
        what: &'static str,
        sql: &str,
    ) -> Result<Option<String>, Error> {
        let rows = self.ask(place, what, sql, ANSWER).await?;
        Ok(rows.first().and_then(|row| row.get(0)).map(str::to_owned))
    }
}

async fn log_in(port: u16, role: &str, password: &Sealed<String>) -> Result<Client, tokio_postgres::Error> {
    let mut config = Config::new();
    config.host("127.0.0.1").port(port).user(role).dbname("postgres").password(password.open());
    config.application_name("terrace").options(OPTIONS).ssl_mode(SslMode::Disable);
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(async move {
        // Whoever uses the line learns of its end by the answer that does not come.
        let _ = connection.await;
    });
    Ok(client)
}

/// The rows among the messages of an answer.
pub(super) fn rows(messages: Vec<SimpleQueryMessage>) -> Vec<SimpleQueryRow> {
    let row = |message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    };
    messages.into_iter().filter_map(row).collect()
}

/// What a server said, without the statement.
pub(super) fn said(error: &tokio_postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), |answer| answer.message().to_owned())
}

/// A text as SQL writes it.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name as SQL writes it.
pub(super) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
