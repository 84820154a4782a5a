//! The door: git over HTTP (https://git-scm.com/docs/http-protocol), with real git behind it.
//!
//! Who has no right to read a repository cannot tell whether it is there.

mod answer;
mod inflate;
mod login;
mod path;
mod serve;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use api::secret::Sealed;
use gateway::{Body, PlatformAnswer};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;

use super::{Local, house, papers};
use answer::{refused, unknown};
use path::{Asked, Wanted};

/// The user name of those who show the password of a deploy key.
pub(super) const DEPLOY_KEY: &str = "deploy-key";

/// What somebody shows at the door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// User name; empty where only a token was shown.
    pub username: String,
    /// Password or token.
    pub password: Sealed<String>,
}

/// What somebody wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Clone or fetch.
    Read,
    /// Push.
    Write,
}

/// What is said of somebody at the door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// Nobody knows them.
    Unknown,
    /// They may not.
    Refused,
    /// They may.
    Allowed,
    /// It cannot be told now.
    Unsure,
}

/// Who judges those that show no deploy key.
pub trait Judge: Send + Sync + 'static {
    /// Who this is, and whether they may do that with the repository of this mark. Without a mark there is no such
    /// repository, and only who they are counts.
    fn judge<'a>(
        &'a self,
        login: &'a Login,
        mark: Option<&'a str>,
        access: Access,
    ) -> std::pin::Pin<Box<dyn Future<Output = Ruling> + Send + 'a>>;
}

/// What the door bears.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a push, unpacked from gzip.
    pub push_bytes: u64,
    /// Bytes of a question of a fetch, unpacked from gzip.
    pub fetch_bytes: u64,
    /// How long a client may send nothing, and how long git may say nothing.
    pub silence: Duration,
    /// How long one request may take.
    pub whole: Duration,
    /// How many requests are served at a time; each is a process.
    pub at_once: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Manifests are small; a project that keeps binaries in git has another home.
            push_bytes: 512 << 20,
            // A line of 50 bytes for each commit that the client has.
            fetch_bytes: 16 << 20,
            silence: Duration::from_secs(120),
            whole: Duration::from_secs(1800),
            at_once: 64,
        }
    }
}

/// The door to the repositories of this machine. Clones are the same door.
#[derive(Clone)]
pub struct Door {
    local: Local,
    judge: Arc<dyn Judge>,
    prefix: &'static str,
    limits: Limits,
    seats: Arc<tokio::sync::Semaphore>,
}

impl Door {
    /// A door at `/git/`.
    pub fn new(local: Local, judge: Arc<dyn Judge>, limits: Limits) -> Self {
        Self::under("/git/", local, judge, limits)
    }

    /// A door at another path, which ends with a slash.
    pub fn under(prefix: &'static str, local: Local, judge: Arc<dyn Judge>, limits: Limits) -> Self {
        let seats = Arc::new(tokio::sync::Semaphore::new(limits.at_once));
        Self { local, judge, prefix, limits, seats }
    }

    /// Answers a request, if it is for the door.
    pub async fn answer(&self, request: Request<Incoming>) -> PlatformAnswer {
        let Some(rest) = request.uri().path().strip_prefix(self.prefix) else {
            return PlatformAnswer::NotMine(request);
        };
        let asked = path::asked(rest, request.uri().query());
        PlatformAnswer::Mine(self.open(asked, request).await)
    }

    async fn open(&self, asked: Option<Asked>, request: Request<Incoming>) -> Response<Body> {
        let login = match login::shown(request.headers()) {
            Ok(Some(login)) => login,
            Ok(None) | Err(()) => return unknown(),
        };
        let asked = asked.filter(|asked| asked.wanted.method() == request.method());
        let Some(asked) = asked else {
            // Nothing is told of what is where before it is known who asks.
            return match self.known(&login).await {
                Ruling::Unknown => unknown(),
                Ruling::Unsure => refused(StatusCode::SERVICE_UNAVAILABLE, "try again later"),
                Ruling::Refused | Ruling::Allowed => nothing(request.method()),
            };
        };
        let directory = house::directory(&self.local.inner.root, &asked.owner, &asked.name);
        let directory = Some(directory).filter(|directory| directory.is_dir());
        let access = asked.wanted.access();
        match self.rule(&login, directory.as_deref(), access).await {
            Ruling::Unknown => unknown(),
            Ruling::Unsure => refused(StatusCode::SERVICE_UNAVAILABLE, "try again later"),
            Ruling::Refused => match access {
                Access::Write
                    if self.rule(&login, directory.as_deref(), Access::Read).await == Ruling::Allowed =>
                {
                    refused(StatusCode::FORBIDDEN, "you may read this repository, but not push to it")
                }
                _ => nothing(request.method()),
            },
            Ruling::Allowed => match directory {
                Some(directory) => self.serve(asked, &directory, request).await,
                None => nothing(request.method()),
            },
        }
    }

    /// Whether somebody is known at all. A deploy key is known at its repository only.
    async fn known(&self, login: &Login) -> Ruling {
        if login.username == DEPLOY_KEY {
            return Ruling::Unknown;
        }
        self.judge.judge(login, None, Access::Read).await
    }

    async fn rule(&self, login: &Login, directory: Option<&Path>, access: Access) -> Ruling {
        if login.username == DEPLOY_KEY {
            let Some(directory) = directory else { return Ruling::Unknown };
            return match papers::read(directory) {
                Ok(keys) => login::key_ruling(&keys, login, access),
                Err(_) => Ruling::Unsure,
            };
        }
        let mark = match directory.map(house::description).transpose() {
            Ok(mark) => mark.filter(|mark| !mark.is_empty()),
            Err(_) => return Ruling::Unsure,
        };
        match self.judge.judge(login, mark.as_deref(), access).await {
            // Who is known and asks for what is not there is told the same as who may not.
            Ruling::Allowed if mark.is_none() => Ruling::Refused,
            ruling => ruling,
        }
    }

    async fn serve(&self, asked: Asked, directory: &Path, request: Request<Incoming>) -> Response<Body> {
        if let Wanted::Page(number) = asked.wanted {
            return answer::page(&self.local, &asked, number).await;
        }
        let Ok(seat) = self.seats.clone().try_acquire_owned() else {
            return refused(StatusCode::SERVICE_UNAVAILABLE, "too many are being served; try again later");
        };
        serve::serve(self, asked, directory, (request, seat)).await
    }
}

/// There is nothing here, or nothing that this login may know of.
fn nothing(method: &Method) -> Response<Body> {
    let known = [Method::GET, Method::POST].contains(method);
    let status = if known { StatusCode::NOT_FOUND } else { StatusCode::METHOD_NOT_ALLOWED };
    refused(status, "there is no such repository, or you may not read it")
}
