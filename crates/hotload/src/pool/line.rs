//! One connection to the server, and how to cut it.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::task::AbortHandle;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Client, Config, Socket};

use crate::book::Generation;

/// A connection and the task that carries it.
pub(super) struct Dialed {
    pub client: Client,
    pub task: AbortHandle,
}

/// Connects to a server.
pub(super) type Dial =
    Arc<dyn Fn(Config) -> BoxFuture<'static, Result<Dialed, tokio_postgres::Error>> + Send + Sync>;

/// Connects with this kind of encryption.
pub(super) fn dial<T>(tls: T) -> Dial
where
    T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
    T::TlsConnect: Send,
    T::Stream: Send,
    <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
{
    Arc::new(move |config| {
        let tls = tls.clone();
        Box::pin(async move {
            let (client, connection) = config.connect(tls).await?;
            // What goes wrong on the way is told to whoever waits for an answer.
            let task = tokio::spawn(async move { drop(connection.await) }).abort_handle();
            Ok(Dialed { client, task })
        })
    })
}

/// A connection of a pool.
pub(super) struct Line {
    pub client: Client,
    pub generation: Generation,
    number: u64,
    lines: Arc<Lines>,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.lines.open.lock().entries.remove(&self.number);
    }
}

/// All connections of a pool that are open, the ones that are lent included.
#[derive(Default)]
pub(super) struct Lines {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    count: u64,
    entries: HashMap<u64, (Generation, AbortHandle)>,
}

impl Lines {
    /// Notes a connection that was made with the login of this generation.
    pub fn enter(self: &Arc<Self>, generation: Generation, dialed: Dialed) -> Line {
        let Dialed { client, task } = dialed;
        let mut open = self.open.lock();
        open.count += 1;
        let number = open.count;
        open.entries.insert(number, (generation, task));
        Line { client, generation, number, lines: self.clone() }
    }

    /// Cuts all that were made with a login before this one, but for the ones whose login is in use again.
    pub fn cut(&self, before: Generation, but: Generation) {
        let open = self.open.lock();
        for (_, task) in open.entries.values().filter(|(of, _)| *of < before && *of != but) {
            task.abort();
        }
    }
}
