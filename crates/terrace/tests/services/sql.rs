//! A client of a database, with an end to its patience.

use std::time::Duration;

use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

/// How long a question may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection.
pub struct Sql {
    runtime: Runtime,
    client: Client,
}

impl Sql {
    /// Connects, or says why it cannot; never with the address, which holds the password.
    pub fn connect(uri: &str) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let connected = runtime.block_on(async {
            let connecting = tokio::time::timeout(PATIENCE, tokio_postgres::connect(uri, NoTls)).await;
            let (client, connection) = connecting.map_err(|_| "no answer".to_owned())?.map_err(told)?;
            tokio::spawn(connection);
            Ok::<_, String>(client)
        });
        Ok(Self { client: connected?, runtime })
    }

    /// Asks; the first column of each row.
    pub fn ask(&self, question: &str) -> Result<Vec<String>, String> {
        let answered = self
            .runtime
            .block_on(async { tokio::time::timeout(PATIENCE, self.client.simple_query(question)).await });
        let messages = answered.map_err(|_| "no answer".to_owned())?.map_err(told)?;
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_owned()),
            _ => None,
        });
        Ok(rows.collect())
    }

    /// Asks for one value, which must be there.
    #[track_caller]
    pub fn one(&self, question: &str) -> String {
        let rows = self.ask(question).unwrap_or_else(|error| panic!("{question}: {error}"));
        rows.into_iter().next().unwrap_or_else(|| panic!("{question}: no row"))
    }
}

fn told(error: tokio_postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().to_owned())
}
