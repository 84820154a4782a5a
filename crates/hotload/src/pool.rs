//! A pool of tokio-postgres connections.

mod line;

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{self, Metrics, Object, PoolError, RecycleError, RecycleResult};
use tokio::sync::watch;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Client, NoTls, Socket};

use crate::book::{Entry, Verdict};
use crate::error::{Error, story};
use crate::keeper::{self, Drain, Driver, Failure, Keeper, Settings, Shared, Status};
use crate::login::Login;
use crate::source::Source;
use line::{Dial, Line, Lines};

/// A pool of tokio-postgres connections that follows its source. Clones share it; with the last of them it ends.
#[derive(Clone)]
pub struct Pool {
    pool: managed::Pool<Manager>,
    shared: Arc<Shared>,
    _keeper: Arc<Keeper>,
}

impl Pool {
    /// A pool that follows this source.
    pub fn builder<S: Source>(source: S) -> Builder<S> {
        let wait_timeout = Some(Duration::from_secs(30));
        let dial = line::dial(NoTls);
        Builder { source, dial, encrypts: false, settings: Settings::default(), max_size: 16, wait_timeout }
    }

    /// Takes a connection, or makes one with the login that is valid now.
    pub async fn get(&self) -> Result<Connection, Error> {
        match self.pool.get().await {
            Ok(object) => Ok(Connection { object: Some(object), shared: self.shared.clone() }),
            Err(PoolError::Backend(error)) => Err(error),
            Err(PoolError::Timeout(_)) => Err(Error::Busy),
            Err(PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_)) => {
                Err(Error::Closed)
            }
        }
    }

    /// How the pool stands.
    pub fn status(&self) -> Status {
        self.shared.status().borrow().clone()
    }

    /// Tells every change of how the pool stands.
    pub fn watch(&self) -> watch::Receiver<Status> {
        self.shared.status()
    }

    /// Closes the pool: idle connections at once, those in use when they are returned.
    pub fn close(&self) {
        self.pool.close();
    }
}

/// How a pool is to be.
pub struct Builder<S> {
    source: S,
    dial: Dial,
    encrypts: bool,
    settings: Settings,
    max_size: usize,
    wait_timeout: Option<Duration>,
}

impl<S: Source> Builder<S> {
    /// Encrypts with this connector, as `sslmode` asks for. Without one, `sslmode=require` is refused.
    pub fn tls<T>(mut self, tls: T) -> Self
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::TlsConnect: Send,
        T::Stream: Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        self.dial = line::dial(tls);
        self.encrypts = true;
        self
    }

    /// How many connections there are at most; 16 unless told.
    pub fn max_size(mut self, max_size: usize) -> Self {
        self.max_size = max_size;
        self
    }

    /// How long `get` waits for a connection to become free; half a minute unless told.
    pub fn wait_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.wait_timeout = timeout;
        self
    }

    /// Cuts connections that are still in use this long after a change of login.
    pub fn force_kill(mut self, grace: Duration) -> Self {
        self.settings.drain = Drain::ForceKill { grace };
        self
    }

    /// How patient the pool is, and what becomes of connections in use.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Opens the pool as soon as there is a login that works.
    pub async fn open(self) -> Result<Pool, Error> {
        let Self { source, dial, encrypts, settings, max_size, wait_timeout } = self;
        let (shared, lines) = (Shared::new(), Arc::new(Lines::default()));
        let manager =
            Manager { shared: shared.clone(), dial: dial.clone(), lines: lines.clone(), settings, encrypts };
        let pool = managed::Pool::builder(manager)
            .max_size(max_size)
            .wait_timeout(wait_timeout)
            .create_timeout(Some(settings.patience + settings.try_timeout))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|_| Error::Closed)?;
        let driver = Arc::new(Rotation { pool: pool.clone() });
        let keeper = keeper::open(source, &shared, driver, settings).await?;
        Ok(Pool { pool, shared, _keeper: Arc::new(keeper) })
    }
}

/// A connection that is lent. It goes back when it is dropped, or is closed if its login is not in use any more.
pub struct Connection {
    object: Option<Object<Manager>>,
    shared: Arc<Shared>,
}

const LENT: &str = "a connection is given back only when it is dropped";

impl Deref for Connection {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.object.as_ref().expect(LENT).client
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.object.as_mut().expect(LENT).client
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let stale = |object: &Object<Manager>| {
            object.generation != self.shared.generation() || object.client.is_closed()
        };
        if self.object.as_ref().is_some_and(stale) {
            self.object.take().map(Object::take);
        }
    }
}

/// Makes and checks the connections of a pool.
struct Manager {
    shared: Arc<Shared>,
    dial: Dial,
    lines: Arc<Lines>,
    settings: Settings,
    encrypts: bool,
}

impl managed::Manager for Manager {
    type Type = Line;
    type Error = Error;

    async fn create(&self) -> Result<Line, Error> {
        let deadline = tokio::time::Instant::now() + self.settings.patience;
        loop {
            let Some(Entry { generation, login }) = self.shared.in_use() else {
                self.shared.moved_on(Default::default()).await;
                continue;
            };
            let source = match (self.dial)(login.config().clone()).await {
                Ok(dialed) => return Ok(self.lines.enter(generation, dialed)),
                Err(source) => source,
            };
            let user = login.user().to_owned();
            if !denied(&source) {
                return Err(Error::Connect { user, source });
            }
            match self.shared.refused(generation, &story(&source)) {
                Verdict::Again | Verdict::FellBack(_) => (),
                Verdict::Wait => {
                    let newer = self.shared.moved_on(generation);
                    if tokio::time::timeout_at(deadline, newer).await.is_err() {
                        return Err(Error::Connect { user, source });
                    }
                }
            }
        }
    }

    async fn recycle(&self, line: &mut Line, _: &Metrics) -> RecycleResult<Error> {
        match line.generation == self.shared.generation() && !line.client.is_closed() {
            true => Ok(()),
            false => Err(RecycleError::message("its login is not in use any more")),
        }
    }
}

/// Whether the server refused the password or the role.
fn denied(error: &tokio_postgres::Error) -> bool {
    let codes = [SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION];
    error.code().is_some_and(|code| codes.contains(code))
}

/// What a change of login does to a pool.
struct Rotation {
    pool: managed::Pool<Manager>,
}

impl Driver for Rotation {
    type Proof = ();

    fn admits(&self, login: &Login) -> Result<(), Failure> {
        let mode = login.ssl_mode();
        match mode.must_encrypt() && !self.pool.manager().encrypts {
            true => Err(Failure(format!(
                "sslmode={} asks for TLS and the pool has none; give its builder a connector with `tls`, \
                 such as `hotload::tls::native()` of the feature `rustls`",
                mode.name()
            ))),
            false => Ok(()),
        }
    }

    async fn prove(&self, login: &Login) -> Result<(), Failure> {
        let failed = |error: tokio_postgres::Error| Failure(story(&error));
        let dialed = (self.pool.manager().dial)(login.config().clone()).await.map_err(failed)?;
        dialed.client.simple_query("SELECT 1").await.map_err(failed)?;
        Ok(())
    }

    fn turn(&self, _: &Entry, (): ()) {}

    fn sweep(&self, to: &Entry) {
        // Whatever else is idle is closed; what is in use is closed when it is returned.
        let idle = self.pool.retain(|line, _| line.generation == to.generation);
        drop(idle.removed);
        let Drain::ForceKill { grace } = self.pool.manager().settings.drain else { return };
        let Manager { shared, lines, .. } = self.pool.manager();
        let (shared, lines, to) = (shared.clone(), lines.clone(), to.generation);
        tokio::spawn(async move {
            tokio::time::sleep(grace).await;
            lines.cut(to, shared.generation());
        });
    }
}
