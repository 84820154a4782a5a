//! A sqlx pool that follows its source.
//!
//! There is one `PgPool` for the life of the program, so that it can be handed around as ever. A change of login
//! gives it new connect options, closes what is idle, and what is in use when it is returned.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ::sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions, PgSslMode};
use ::sqlx::{Connection as _, Postgres, pool::PoolConnection};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_postgres::config::Host;

use crate::book::{Entry, Generation, Verdict};
use crate::error::{Error, story};
use crate::keeper::{self, Drain, Driver, Failure, Keeper, Settings, Shared, Status};
use crate::login::{Login, SslMode};
use crate::source::Source;

/// A `PgPool` whose login is kept up to date. Clones share it; with the last of them the login is not followed any more.
#[derive(Clone)]
pub struct HotPool {
    pool: PgPool,
    shared: Arc<Shared>,
    turn: Arc<Turn>,
    patience: Duration,
    _keeper: Arc<Keeper>,
}

impl HotPool {
    /// Opens a pool as soon as there is a login that works. The callbacks `after_connect`, `before_acquire` and
    /// `after_release` of the options are replaced by ours.
    pub async fn open<S: Source>(
        source: S,
        options: PgPoolOptions,
        settings: Settings,
    ) -> Result<Self, Error> {
        let shared = Shared::new();
        let turn = Turn::new();
        let options = hooked(options, &turn, settings.drain);
        // Nothing connects before the first login is proven and takes the place of these.
        let pool = options.connect_lazy_with(PgConnectOptions::new_without_pgpass());
        let driver = Rotation {
            pool: pool.clone(),
            turn: turn.clone(),
            drain: settings.drain,
            witness: Mutex::default(),
        };
        let keeper = keeper::open(source, &shared, Arc::new(driver), settings).await?;
        Ok(Self { pool, shared, turn, patience: settings.patience, _keeper: Arc::new(keeper) })
    }

    /// The pool itself, the same one all the time. When it has to connect, it uses the login that is valid now.
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Takes a connection as [`PgPool::acquire`] does, and outlives a login that is refused: it uses the one before, or
    /// waits for a newer one.
    pub async fn acquire(&self) -> Result<PoolConnection<Postgres>, ::sqlx::Error> {
        let deadline = tokio::time::Instant::now() + self.patience;
        loop {
            let generation = self.shared.generation();
            let error = match self.pool.acquire().await {
                Err(error) if denied(&error) => error,
                other => return other,
            };
            match self.shared.refused(generation, &story(&error)) {
                Verdict::Again => (),
                Verdict::FellBack(entry) => match options(&entry.login) {
                    Ok(options) => self.turn.turn(&self.pool, &entry, options),
                    Err(_) => return Err(error),
                },
                Verdict::Wait => {
                    let newer = self.shared.moved_on(generation);
                    if tokio::time::timeout_at(deadline, newer).await.is_err() {
                        return Err(error);
                    }
                }
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
}

/// Names a backend of the server for good: a number alone is given to another one in time.
const BACKEND: &str = "pid::text || ' ' || extract(epoch FROM backend_start)::text";

/// A connection that was on its way when the login changed may count as younger than the change by as much as a task
/// is kept waiting. A connection of the new login that is closed for it costs one more login, no query.
const MARGIN: Duration = Duration::from_millis(50);

/// Which login the pool has, since when, and which backends of the server are ours.
struct Turn {
    now: Mutex<Now>,
    backends: Mutex<Vec<(Generation, String)>>,
}

struct Now {
    since: Instant,
    generation: Generation,
    user: String,
    /// The user before, if it was another one.
    gone: Option<String>,
}

impl Turn {
    fn new() -> Arc<Self> {
        let now = Now { since: Instant::now(), generation: Generation(0), user: String::new(), gone: None };
        Arc::new(Self { now: Mutex::new(now), backends: Mutex::default() })
    }

    fn turn(&self, pool: &PgPool, to: &Entry, options: PgConnectOptions) {
        let mut now = self.now.lock();
        pool.set_connect_options(options);
        let user = to.login.user().to_owned();
        let gone = Some(std::mem::replace(&mut now.user, user)).filter(|gone| *gone != now.user);
        *now = Now {
            since: Instant::now(),
            generation: to.generation,
            gone,
            user: std::mem::take(&mut now.user),
        };
    }

    /// Whether a connection of this age was made with the login of now.
    fn knows(&self, age: Duration) -> bool {
        age + MARGIN <= self.now.lock().since.elapsed()
    }

    /// Notes a new connection, or refuses one that was on its way when the login changed; sqlx then makes another.
    fn enter(&self, user: &str, backend: Option<String>) -> Result<(), ::sqlx::Error> {
        let now = self.now.lock();
        if now.gone.as_deref() == Some(user) {
            return Err(::sqlx::Error::Protocol("the login changed while it was used; once more".to_owned()));
        }
        self.backends.lock().extend(backend.map(|backend| (now.generation, backend)));
        Ok(())
    }
}

fn hooked(options: PgPoolOptions, turn: &Arc<Turn>, drain: Drain) -> PgPoolOptions {
    let (taken, returned, made) = (turn.clone(), turn.clone(), turn.clone());
    options
        .before_acquire(move |_, line| {
            let keep = taken.knows(line.age);
            Box::pin(async move { Ok(keep) })
        })
        .after_release(move |_, line| {
            let keep = returned.knows(line.age);
            Box::pin(async move { Ok(keep) })
        })
        .after_connect(move |line, _| {
            let made = made.clone();
            Box::pin(async move {
                let user: String =
                    ::sqlx::query_scalar("SELECT session_user::text").fetch_one(&mut *line).await?;
                let backend = match drain {
                    Drain::Graceful => None,
                    Drain::ForceKill { .. } => Some(own_backend(line).await?),
                };
                made.enter(&user, backend)
            })
        })
}

/// The backend of a connection. A login that stands for another role from the start (`ALTER ROLE … SET role`) sees its own
/// sessions only as itself.
async fn own_backend(line: &mut PgConnection) -> Result<String, ::sqlx::Error> {
    ::sqlx::raw_sql("SET ROLE NONE").execute(&mut *line).await?;
    let sql = format!("SELECT {BACKEND} FROM pg_stat_activity WHERE pid = pg_backend_pid()");
    let backend = ::sqlx::query_scalar(::sqlx::AssertSqlSafe(sql)).fetch_one(&mut *line).await?;
    ::sqlx::raw_sql("RESET ROLE").execute(line).await?;
    Ok(backend)
}

/// What a change of login does to a sqlx pool.
struct Rotation {
    pool: PgPool,
    turn: Arc<Turn>,
    drain: Drain,
    witness: Mutex<Witness>,
}

/// Connections of the login in use and of the one before, beside the pool. sqlx cannot cut a connection that is lent;
/// the server can, when one of the same user asks it to.
#[derive(Default)]
struct Witness {
    new: Option<PgConnection>,
    old: Option<PgConnection>,
}

impl Driver for Rotation {
    type Proof = (PgConnectOptions, PgConnection);

    fn admits(&self, login: &Login) -> Result<(), Failure> {
        options(login).map(drop)
    }

    async fn prove(&self, login: &Login) -> Result<Self::Proof, Failure> {
        let failed = |error: ::sqlx::Error| Failure(story(&error));
        let options = options(login)?;
        let mut line = PgConnection::connect_with(&options).await.map_err(failed)?;
        ::sqlx::raw_sql("SELECT 1").execute(&mut line).await.map_err(failed)?;
        Ok((options, line))
    }

    fn turn(&self, to: &Entry, (options, line): Self::Proof) {
        self.turn.turn(&self.pool, to, options);
        let mut witness = self.witness.lock();
        witness.old = witness.new.replace(line);
    }

    fn sweep(&self, to: &Entry) {
        let idle: Vec<_> = std::iter::from_fn(|| self.pool.try_acquire()).collect();
        let mut witness = self.witness.lock();
        let (old, grace) = match self.drain {
            Drain::Graceful => (witness.new.take(), None),
            Drain::ForceKill { grace } => (witness.old.take(), Some(grace)),
        };
        let (turn, to) = (self.turn.clone(), to.generation);
        tokio::spawn(async move {
            for line in idle {
                // A connection that cannot say goodbye is closed all the same.
                let _ = line.close().await;
            }
            let Some(mut witness) = old else { return };
            if let Some(grace) = grace {
                tokio::time::sleep(grace).await;
                cut(&mut witness, &turn, to).await;
            }
            let _ = witness.close().await;
        });
    }
}

/// Has the server end what was connected before this generation.
async fn cut(witness: &mut PgConnection, turn: &Turn, before: Generation) {
    let old: Vec<String> = {
        let mut backends = turn.backends.lock();
        let (old, young): (Vec<_>, Vec<_>) = backends.drain(..).partition(|(of, _)| *of < before);
        *backends = young;
        old.into_iter().map(|(_, backend)| backend).collect()
    };
    let sql = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {BACKEND} = ANY($1)");
    let ended = async {
        // Only as itself may it end what is its own.
        ::sqlx::raw_sql("SET ROLE NONE").execute(&mut *witness).await?;
        ::sqlx::query(::sqlx::AssertSqlSafe(sql)).bind(old).execute(witness).await
    };
    if let Err(error) = ended.await {
        tracing::warn!(why = story(&error), "connections of an old login could not be cut");
    }
}

/// Whether the server refused the password or the role.
fn denied(error: &::sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| code == "28P01" || code == "28000")
}

fn options(login: &Login) -> Result<PgConnectOptions, Failure> {
    let config = login.config();
    let [host] = config.get_hosts() else {
        return Err(Failure("sqlx wants a connection string with exactly one host".to_owned()));
    };
    let empty = || Ok(PgConnectOptions::new_without_pgpass());
    let mut options = config.get_options().map_or_else(empty, server_options)?;
    options = match host {
        Host::Tcp(name) => options.host(name),
        Host::Unix(path) => options.socket(path),
    };
    let password = String::from_utf8_lossy(config.get_password().unwrap_or_default()).into_owned();
    options = options
        .port(config.get_ports().first().copied().unwrap_or(5432))
        .username(login.user())
        .password(&password)
        .database(config.get_dbname().unwrap_or(login.user()))
        .ssl_mode(match login.ssl_mode() {
            SslMode::Disable => PgSslMode::Disable,
            SslMode::Prefer => PgSslMode::Prefer,
            SslMode::Require => PgSslMode::Require,
            SslMode::VerifyCa => PgSslMode::VerifyCa,
            SslMode::VerifyFull => PgSslMode::VerifyFull,
        });
    Ok(match config.get_application_name() {
        Some(name) => options.application_name(name),
        None => options,
    })
}

/// sqlx takes the text of `options` only as a part of an address.
fn server_options(text: &str) -> Result<PgConnectOptions, Failure> {
    let escaped: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let address = format!("postgres://localhost?options={escaped}");
    address.parse().map_err(|_| Failure("sqlx cannot read `options` of the connection string".to_owned()))
}
