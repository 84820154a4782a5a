//! What the rows stand on: repositories in a temporary directory, a door on a port, and git as people use it.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use api::projects::{GitProvider, Visibility};
use api::secret::Sealed;
use gateway::PlatformAnswer;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use ports::git::local::{Access, Door, Judge, Limits, Local, Login, Ruling};
use ports::git::{CommitWish, Host, KeyWish, Place, PullRequestWish, Wish, keys};
use sha2::Digest as _;
use tempfile::TempDir;
use tokio::net::TcpListener;

/// The mark of the repositories of these rows.
pub const MARK: &str = "team/shop-repository";
/// A token that may push.
pub const WRITER: &str = "w-token-of-the-writer";
/// A token that may fetch.
pub const READER: &str = "r-token-of-the-reader";
/// A token of somebody who has no right here.
pub const STRANGER: &str = "s-token-of-the-stranger";

/// A judge who knows three tokens.
pub struct Three;

impl Judge for Three {
    fn judge<'a>(
        &'a self,
        login: &'a Login,
        mark: Option<&'a str>,
        access: Access,
    ) -> Pin<Box<dyn Future<Output = Ruling> + Send + 'a>> {
        let ours = mark == Some(MARK);
        let ruling = match (login.password.open().as_str(), access) {
            (WRITER, _) if ours => Ruling::Allowed,
            (READER, Access::Read) if ours => Ruling::Allowed,
            (WRITER | READER | STRANGER, _) => Ruling::Refused,
            ("unsure", _) => Ruling::Unsure,
            _ => Ruling::Unknown,
        };
        Box::pin(async move { ruling })
    }
}

/// This machine as a host, with its door open.
pub struct Ground {
    pub local: Local,
    pub address: SocketAddr,
    pub home: TempDir,
}

impl Ground {
    pub async fn new() -> Self {
        Self::with(Limits::default()).await
    }

    pub async fn with(limits: Limits) -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let local =
            Local::open(home.path().join("git"), &format!("http://{address}/git")).expect("it is opened");
        let door = Door::new(local.clone(), Arc::new(Three), limits);
        serve(listener, move |request| {
            let door = door.clone();
            async move {
                match door.answer(request).await {
                    PlatformAnswer::Mine(response) => response,
                    PlatformAnswer::NotMine(_) => Response::new(gateway::Body::full("not mine")),
                }
            }
        });
        Self { local, address, home }
    }

    /// Address of a repository, with a login.
    pub fn url(&self, place: &Place, login: &str) -> String {
        format!("http://{login}@{}/git/{}.git", self.address, place.path())
    }

    /// A directory of its own.
    pub fn scratch(&self) -> TempDir {
        tempfile::tempdir_in(self.home.path()).expect("a directory")
    }
}

/// Serves requests until the test ends.
pub fn serve<F>(
    listener: TcpListener,
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
) where
    F: Future<Output = Response<gateway::Body>> + Send + 'static,
{
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    let answered = answer(request);
                    async move { Ok::<_, std::convert::Infallible>(answered.await) }
                });
                let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                // Clients that go are part of the rows.
                let _ = server.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
}

/// Git as a person runs it. Answers whether it succeeded, and what it said.
pub async fn git(directory: &Path, arguments: &[&str]) -> (bool, String) {
    let told = tokio::process::Command::new("git")
        .args(["-c", "user.name=ann", "-c", "user.email=ann@example.com"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .output();
    let told = told.await.expect("git runs");
    let words = [told.stdout, told.stderr].concat();
    (told.status.success(), String::from_utf8_lossy(&words).into_owned())
}

/// Git that must succeed.
pub async fn good(directory: &Path, arguments: &[&str]) -> String {
    let (good, words) = git(directory, arguments).await;
    assert!(good, "git {arguments:?}: {words}");
    words
}

/// Clones a repository into `clone`, and gives its path.
pub async fn cloned(scratch: &Path, url: &str) -> std::path::PathBuf {
    good(scratch, &["clone", "-q", url, "clone"]).await;
    scratch.join("clone")
}

/// Writes a file, commits it, and pushes the branch that is checked out.
pub async fn push(clone: &Path, file: &str, text: &str) -> (bool, String) {
    std::fs::write(clone.join(file), text).expect("it is written");
    good(clone, &["add", "-A"]).await;
    good(clone, &["commit", "-q", "-m", file]).await;
    git(clone, &["push", "-q", "origin", "HEAD"]).await
}

/// A repository on this machine.
pub fn here(name: &str) -> Place {
    let host =
        Host { provider: GitProvider::Local, domain: None, insecure: false, username: None, token: None };
    Place { host, owner: "team".to_owned(), organization: true, name: name.to_owned() }
}

pub fn wish() -> Wish {
    Wish { visibility: Visibility::Private, default_branch: "main".to_owned(), description: MARK.to_owned() }
}

/// A commit of some files; an empty one is removed.
pub fn commit(branch: &str, from: Option<&str>, files: &[(&str, &str)]) -> CommitWish {
    let bytes = |text: &str| (!text.is_empty()).then(|| text.as_bytes().to_vec());
    CommitWish {
        branch: branch.to_owned(),
        from: from.map(str::to_owned),
        files: files.iter().map(|(path, text)| ((*path).to_owned(), bytes(text))).collect(),
        author: "terrace".to_owned(),
        email: "terrace@localhost".to_owned(),
        message: format!("change {branch}"),
    }
}

pub fn proposal(branch: &str, onto: &str) -> PullRequestWish {
    PullRequestWish {
        branch: branch.to_owned(),
        onto: onto.to_owned(),
        title: format!("take {branch}"),
        body: "with *words*".to_owned(),
    }
}

/// A deploy key of a number, with a password.
pub fn key(number: u8, read_only: bool) -> (KeyWish, String) {
    let pair = keys::key_pair(&Sealed::new([number; 32]), "").expect("a key");
    let digest = sha2::Sha256::digest(password(number));
    let digest = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let title = format!("key-{number}");
    (KeyWish { title, public: pair.public, password_digest: Some(digest), read_only }, pair.fingerprint)
}

/// The password of a deploy key.
pub fn password(number: u8) -> String {
    format!("password-of-key-{number}")
}

pub fn files(pairs: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    pairs.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
}
