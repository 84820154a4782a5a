//! Follows a source: proves every new login before it is used, and keeps the old one for as long as it has to.

use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt as _, stream};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::book::{Book, Entry, Generation, Offer, Verdict};
use crate::error::Error;
use crate::login::Login;
use crate::source::{Sealed, Source, SourceError};

/// What becomes of connections that are in use when the login changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// They are closed when they are returned, however long that takes.
    Graceful,
    /// They are closed when they are returned, or after this time, whatever they are doing.
    ForceKill {
        /// How long they may go on.
        grace: Duration,
    },
}

/// How patient a pool is.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How often a new login is tried before the old one simply stays.
    pub tries: u32,
    /// The pause after the first try; each further pause is twice as long, up to ten seconds.
    pub pause: Duration,
    /// How long one try may take.
    pub try_timeout: Duration,
    /// How long a connection waits for a newer login when every one that is known was refused.
    pub patience: Duration,
    /// How long opening the pool waits for a login that works.
    pub open_timeout: Duration,
    /// What becomes of connections in use.
    pub drain: Drain,
}

impl Default for Settings {
    /// Ten tries in half a minute; nothing is cut.
    fn default() -> Self {
        Self {
            tries: 10,
            pause: Duration::from_millis(100),
            try_timeout: Duration::from_secs(10),
            patience: Duration::from_secs(20),
            open_timeout: Duration::from_secs(60),
            drain: Drain::Graceful,
        }
    }
}

/// No pause between two tries is longer.
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// How a pool stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The login that new connections use; 0 before there is any.
    pub generation: Generation,
    /// Its user.
    pub user: Option<String>,
    /// Whether the newest login was refused by the server, so that the one before it is in use again.
    pub fallen_back: bool,
    /// What went wrong last. It is cleared when a login is put in use, and never holds a secret.
    pub last_error: Option<String>,
}

/// Why a login did not work.
#[derive(Clone, Debug)]
pub(crate) struct Failure(pub String);

/// What a pool does for its keeper.
pub(crate) trait Driver: Send + Sync + 'static {
    /// What proving leaves behind.
    type Proof: Send;
    /// Whether this login can be used at all.
    fn admits(&self, login: &Login) -> Result<(), Failure>;
    /// Logs in and asks the server something.
    fn prove(&self, login: &Login) -> impl Future<Output = Result<Self::Proof, Failure>> + Send;
    /// From now on this login is used; called before anybody is told.
    fn turn(&self, to: &Entry, proof: Self::Proof);
    /// Lets go of what was made with other logins; called when everybody was told.
    fn sweep(&self, to: &Entry);
}

/// What a pool and its keeper share.
pub(crate) struct Shared {
    book: Mutex<Book>,
    status: watch::Sender<Status>,
    nudge: Notify,
}

impl Shared {
    pub fn new() -> Arc<Self> {
        let status = watch::Sender::new(Status::default());
        Arc::new(Self { book: Mutex::new(Book::default()), status, nudge: Notify::new() })
    }

    /// What new connections log in with.
    pub fn in_use(&self) -> Option<Entry> {
        self.book.lock().in_use().cloned()
    }

    /// The number of what new connections log in with.
    pub fn generation(&self) -> Generation {
        self.status.borrow().generation
    }

    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    /// Says what to do after the server refused this login.
    pub fn refused(&self, generation: Generation, why: &str) -> Verdict {
        let mut book = self.book.lock();
        let verdict = book.refused(generation);
        match &verdict {
            Verdict::Again => (),
            Verdict::FellBack(_) => {
                tracing::warn!(%generation, why, "the newest login is refused; the one before it is used again");
                self.publish(&book, Some(why.to_owned()));
            }
            Verdict::Wait => {
                self.publish(&book, Some(why.to_owned()));
                self.nudge.notify_one();
            }
        }
        verdict
    }

    /// Waits until another login than this one is in use.
    pub async fn moved_on(&self, from: Generation) {
        let mut status = self.status.subscribe();
        if status.wait_for(|status| status.generation != from).await.is_err() {
            pending::<()>().await;
        }
    }

    fn put_in_use<D: Driver>(&self, login: Login, driver: &D, proof: D::Proof) -> Entry {
        let mut book = self.book.lock();
        let entry = book.proven(login);
        driver.turn(&entry, proof);
        tracing::info!(generation = %entry.generation, user = entry.login.user(), "a login is in use");
        self.publish(&book, None);
        entry
    }

    /// Told while the book is held, so that states are told in their order.
    fn publish(&self, book: &Book, last_error: Option<String>) {
        self.status.send_replace(Status {
            generation: book.in_use().map(|entry| entry.generation).unwrap_or_default(),
            user: book.in_use().map(|entry| entry.login.user().to_owned()),
            fallen_back: book.fallen_back(),
            last_error,
        });
    }

    fn complain(&self, why: &str) {
        tracing::warn!(why, "a login cannot be used");
        self.status.send_modify(|status| status.last_error = Some(why.to_owned()));
    }

    fn content(&self) {
        self.status.send_if_modified(|status| status.last_error.take().is_some());
    }
}

/// Ends the keeper with the last handle of its pool.
pub(crate) struct Keeper(tokio::task::AbortHandle);

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts a keeper and waits for the first login that works.
pub(crate) async fn open<S: Source, D: Driver>(
    source: S,
    shared: &Arc<Shared>,
    driver: Arc<D>,
    settings: Settings,
) -> Result<Keeper, Error> {
    let mut status = shared.status();
    let round = Round { shared: shared.clone(), driver, settings };
    let keeper = Keeper(tokio::spawn(keep(source, round)).abort_handle());
    let after = settings.open_timeout;
    let there = tokio::time::timeout(after, status.wait_for(|status| status.generation > Generation(0)));
    if there.await.is_ok_and(|there| there.is_ok()) {
        return Ok(keeper);
    }
    let last = shared.status.borrow().last_error.clone();
    Err(Error::NeverUsable { after, story: last.unwrap_or_else(|| "the source gave nothing".to_owned()) })
}

type Proving<P> = Pin<Box<dyn Future<Output = (Login, Result<P, Failure>)> + Send>>;

async fn keep<S: Source, D: Driver>(source: S, round: Round<D>) {
    let mut texts = pin!(texts(source));
    let mut proving: Option<Proving<D::Proof>> = None;
    let mut given_up: Option<Login> = None;
    loop {
        let idle = proving.is_none();
        let proof = async {
            match proving.as_mut() {
                Some(proving) => proving.await,
                None => pending().await,
            }
        };
        // A newer text comes first: what it replaces need not be proven any more.
        tokio::select! {
            biased;
            Some(text) = texts.next() => match round.offered(text) {
                Next::Stay => (),
                Next::Drop => (proving, given_up) = (None, None),
                Next::Prove(login) => (proving, given_up) = (Some(round.clone().prove(login)), None),
            },
            (login, proven) = proof => {
                proving = None;
                match proven {
                    Ok(proof) => {
                        let entry = round.shared.put_in_use(login, &*round.driver, proof);
                        round.driver.sweep(&entry);
                    }
                    Err(_) => given_up = Some(login),
                }
            }
            () = round.shared.nudge.notified(), if idle => {
                let book = round.shared.book.lock();
                let login = given_up.take().filter(|_| book.spent()).or_else(|| book.last_hope());
                proving = login.map(|login| round.clone().prove(login));
            }
        }
    }
}

/// The texts of a source one after the other. A wait that is dropped halfway loses nothing.
fn texts<S: Source>(source: S) -> impl Stream<Item = Result<Sealed, SourceError>> + Send {
    stream::unfold(source, |mut source| async move {
        let text = source.next().await;
        Some((text, source))
    })
}

enum Next {
    Stay,
    Drop,
    Prove(Login),
}

struct Round<D> {
    shared: Arc<Shared>,
    driver: Arc<D>,
    settings: Settings,
}

impl<D> Clone for Round<D> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), driver: self.driver.clone(), settings: self.settings }
    }
}

impl<D: Driver> Round<D> {
    fn offered(&self, text: Result<Sealed, SourceError>) -> Next {
        let stay = |why: String| {
            self.shared.complain(&why);
            Next::Stay
        };
        let text = match text {
            Ok(text) => text,
            Err(error) => return stay(error.to_string()),
        };
        let offer = self.shared.book.lock().offer(&text);
        match offer {
            Offer::Same => {
                self.shared.content();
                Next::Drop
            }
            Offer::Unusable(error) => stay(error.to_string()),
            Offer::Prove(login) => match self.driver.admits(&login) {
                Ok(()) => Next::Prove(login),
                Err(Failure(why)) => stay(why),
            },
        }
    }

    fn prove(self, login: Login) -> Proving<D::Proof> {
        Box::pin(async move {
            let proven = self.prove_in_tries(&login).await;
            (login, proven)
        })
    }

    async fn prove_in_tries(&self, login: &Login) -> Result<D::Proof, Failure> {
        let Settings { tries, try_timeout, mut pause, .. } = self.settings;
        for number in 1.. {
            let tried = tokio::time::timeout(try_timeout, self.driver.prove(login)).await;
            let why = match tried {
                Ok(Ok(proof)) => return Ok(proof),
                Ok(Err(Failure(why))) => why,
                Err(_) => format!("no answer within {try_timeout:?}"),
            };
            let why = format!("cannot log in as `{}` (try {number} of {tries}): {why}", login.user());
            self.shared.complain(&why);
            if number >= tries {
                return Err(Failure(why));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
        Err(Failure("no try was allowed".to_owned()))
    }
}

#[cfg(test)]
mod tests;
