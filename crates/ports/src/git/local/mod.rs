//! This machine as a host: bare repositories under one directory, and the door that lets git in over HTTP.
//!
//! `root/OWNER/NAME.git` is a bare repository as git makes it; its `description` is the mark of whose it is. What git
//! has no place for (keys, people, pull requests, marks on commits) lies in `terrace/` within, one small file each.

mod door;
mod house;
mod papers;
mod pulls;
mod refs;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::run::Call;
use super::{
    CommitWish, Error, Git, Host, Key, KeyWish, Mark, Place, PullRequest, PullRequestWish, Repository, Tree,
    Wish, names, objects,
};
pub use door::{Access, Door, Judge, Limits, Login, Ruling};
pub use papers::KeyPaper;
use papers::{Keys, Marks, People, Pulls};

/// The name of this host.
const HOST: &str = "this machine";
/// How long git may take for anything here: it is a matter of milliseconds, but machines have bad days.
const LIMIT: Duration = Duration::from_secs(60);

type Listener = Arc<dyn Fn(&str) + Send + Sync>;

/// The repositories of this machine. Clones share them.
#[derive(Clone)]
pub struct Local {
    inner: Arc<Inner>,
}

struct Inner {
    root: PathBuf,
    /// What the addresses of repositories begin with: `http://gateway/git`.
    address: String,
    /// One for each repository, held while its papers change.
    locks: Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>,
    listeners: Mutex<Vec<Listener>>,
}

impl Local {
    /// The repositories under a directory, which is made if it is not there, and the address that they are served at:
    /// `http://HOST/git`. What a crash left half made or half deleted is removed.
    pub fn open(root: PathBuf, address: &str) -> Result<Self, Error> {
        house::prepare(&root)?;
        let address = address.trim_end_matches('/').to_owned();
        let inner = Inner { root, address, locks: Mutex::default(), listeners: Mutex::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Calls `listener` with `OWNER/NAME` after each push, whether it came through the door or from this process.
    pub fn on_push(&self, listener: impl Fn(&str) + Send + Sync + 'static) {
        self.inner.listeners.lock().push(Arc::new(listener));
    }

    fn pushed(&self, path: &str) {
        let listeners = self.inner.listeners.lock().clone();
        listeners.iter().for_each(|listener| listener(path));
    }

    /// Where a repository is, or would be.
    fn directory(&self, place: &Place) -> Result<PathBuf, Error> {
        names::place(place)?;
        Ok(house::directory(&self.inner.root, &place.owner, &place.name))
    }

    /// Where a repository is.
    fn there(&self, place: &Place) -> Result<PathBuf, Error> {
        let directory = self.directory(place)?;
        if directory.is_dir() { Ok(directory) } else { Err(missing(format!("repository {}", place.path()))) }
    }

    async fn held(&self, directory: &Path) -> tokio::sync::OwnedMutexGuard<()> {
        let lock = self.inner.locks.lock().entry(directory.to_owned()).or_default().clone();
        lock.lock_owned().await
    }

    fn url(&self, place: &Place) -> String {
        format!("{}/{}.git", self.inner.address, place.path())
    }
}

impl Git for Local {
    async fn knock(&self, _: &Host) -> Result<(), Error> {
        if self.inner.root.is_dir() {
            Ok(())
        } else {
            Err(unreachable(&"its directory of repositories is gone"))
        }
    }

    async fn look(&self, place: &Place) -> Result<Option<Repository>, Error> {
        let directory = self.directory(place)?;
        if !directory.is_dir() {
            return Ok(None);
        }
        let url = self.url(place);
        let keys: Keys = papers::read(&directory)?;
        let people: People = papers::read(&directory)?;
        let key =
            |key: KeyPaper| Key { title: key.title, fingerprint: key.fingerprint, read_only: key.read_only };
        Ok(Some(Repository {
            clone_url: url.clone(),
            deploy_url: url,
            known_hosts: String::new(),
            default_branch: refs::default_branch(&directory)?,
            empty: refs::is_empty(&directory)?,
            description: house::description(&directory)?,
            visibility: people.visibility,
            keys: keys.keys.into_iter().map(key).collect(),
            people: people.people.into_iter().collect(),
        }))
    }

    async fn create(&self, place: &Place, wish: &Wish) -> Result<(), Error> {
        names::branch(&wish.default_branch)?;
        let directory = self.directory(place)?;
        house::create(&self.inner.root, &directory, place, wish).await
    }

    async fn delete(&self, place: &Place) -> Result<(), Error> {
        let directory = self.directory(place)?;
        let _held = self.held(&directory).await;
        house::delete(&self.inner.root, &directory).await?;
        self.inner.locks.lock().remove(&directory);
        Ok(())
    }

    async fn add_key(&self, place: &Place, wish: &KeyWish) -> Result<(), Error> {
        let fingerprint = names::key(wish)?;
        let directory = self.there(place)?;
        let KeyWish { title, public: _, password_digest, read_only } = wish.clone();
        let fresh = KeyPaper { title, fingerprint, password_digest, read_only };
        let _held = self.held(&directory).await;
        let mut paper: Keys = papers::read(&directory)?;
        if paper.keys.contains(&fresh) {
            return Ok(());
        }
        let taken = |key: &KeyPaper| key.title == fresh.title || key.fingerprint == fresh.fingerprint;
        if paper.keys.iter().any(taken) {
            let what = format!("deploy key `{}` of {}", wish.title, place.path());
            return Err(Error::Exists { host: HOST.to_owned(), what });
        }
        paper.keys.push(fresh);
        papers::write(&directory, &paper)
    }

    async fn drop_key(&self, place: &Place, fingerprint: &str) -> Result<(), Error> {
        let directory = self.there(place)?;
        let _held = self.held(&directory).await;
        let mut paper: Keys = papers::read(&directory)?;
        let before = paper.keys.len();
        paper.keys.retain(|key| key.fingerprint != fingerprint);
        if paper.keys.len() == before { Ok(()) } else { papers::write(&directory, &paper) }
    }

    async fn invite(&self, place: &Place, person: &str) -> Result<(), Error> {
        names::person(person)?;
        let directory = self.there(place)?;
        let _held = self.held(&directory).await;
        let mut paper: People = papers::read(&directory)?;
        if paper.people.insert(person.to_owned()) { papers::write(&directory, &paper) } else { Ok(()) }
    }

    async fn read(&self, place: &Place, branch: &str, paths: &[&str]) -> Result<Option<Tree>, Error> {
        names::branch(branch)?;
        paths.iter().filter(|path| !path.is_empty()).try_for_each(|path| names::path(path))?;
        let directory = self.there(place)?;
        let Some(commit) = refs::branch(&directory, branch)? else { return Ok(None) };
        let what = format!("read {}", place.path());
        let files = objects::read(&call(&directory, &what), &commit, paths).await?;
        Ok(Some(Tree { commit, files }))
    }

    async fn commit(&self, place: &Place, wish: &CommitWish) -> Result<String, Error> {
        names::wish(wish)?;
        let directory = self.there(place)?;
        let _held = self.held(&directory).await;
        let own = refs::branch(&directory, &wish.branch)?;
        let missing = |branch: &str| missing(format!("branch {branch} of {}", place.path()));
        let base = match (&own, &wish.from) {
            (Some(own), _) => Some(own.clone()),
            (None, Some(from)) => Some(refs::branch(&directory, from)?.ok_or_else(|| missing(from))?),
            (None, None) if refs::is_empty(&directory)? => None,
            (None, None) => return Err(missing(&wish.branch)),
        };
        let what = format!("commit to {}", place.path());
        let call = call(&directory, &what);
        let made = match (objects::commit(&call, base.as_deref(), wish).await?, base) {
            (Some(made), _) => made,
            (None, Some(base)) if own.is_some() => return Ok(base),
            (None, Some(base)) => {
                refs::point(&call, &wish.branch, &base).await?;
                base
            }
            (None, None) => {
                let what = format!("there is nothing to begin {} with", place.path());
                return Err(Error::Invalid { what });
            }
        };
        self.pushed(&place.path());
        Ok(made)
    }

    async fn drop_branch(&self, place: &Place, branch: &str) -> Result<(), Error> {
        names::branch(branch)?;
        let directory = self.there(place)?;
        let _held = self.held(&directory).await;
        if refs::branch(&directory, branch)?.is_none() {
            return Ok(());
        }
        if refs::default_branch(&directory)? == branch {
            let (what, story) = (format!("to delete branch {branch}"), "it is the default branch".to_owned());
            return Err(Error::Refused { host: HOST.to_owned(), what, story });
        }
        // What was proposed from it is judged once more while its last commit is known.
        self.judged(place, &directory).await?;
        let what = format!("delete branch {branch} of {}", place.path());
        let name = format!("refs/heads/{branch}");
        call(&directory, &what).printed(&["update-ref", "-d", &name], b"").await?;
        self.judged(place, &directory).await.map(drop)
    }

    async fn propose(&self, place: &Place, wish: &PullRequestWish) -> Result<PullRequest, Error> {
        names::branch(&wish.branch)?;
        names::branch(&wish.onto)?;
        let directory = self.there(place)?;
        let _held = self.held(&directory).await;
        self.proposal(place, &directory, wish).await
    }

    async fn proposed(&self, place: &Place, branch: &str) -> Result<Option<PullRequest>, Error> {
        names::branch(branch)?;
        let directory = self.there(place)?;
        let _held = self.held(&directory).await;
        let paper = self.judged(place, &directory).await?;
        let newest = paper.pulls.iter().rev().find(|pull| pull.branch == branch);
        Ok(newest.map(|pull| self.told(place, pull)))
    }

    async fn pull_request(&self, place: &Place, number: i64) -> Result<Option<PullRequest>, Error> {
        let directory = self.there(place)?;
        let _held = self.held(&directory).await;
        let paper = self.judged(place, &directory).await?;
        let found = paper.pulls.iter().find(|pull| pull.number == number);
        Ok(found.map(|pull| self.told(place, pull)))
    }

    async fn withdraw(&self, place: &Place, number: i64) -> Result<(), Error> {
        let directory = self.there(place)?;
        let _held = self.held(&directory).await;
        let mut paper = self.judged(place, &directory).await?;
        let found = paper.pulls.iter_mut().find(|pull| pull.number == number);
        let pull = found.ok_or_else(|| missing(format!("pull request {number} of {}", place.path())))?;
        if !pull.close() {
            return Ok(());
        }
        papers::write::<Pulls>(&directory, &paper)
    }

    async fn mark(&self, place: &Place, commit: &str, context: &str) -> Result<Option<Mark>, Error> {
        names::commit(commit)?;
        let paper: Marks = papers::read(&self.there(place)?)?;
        Ok(paper.find(commit, context))
    }

    async fn set_mark(&self, place: &Place, commit: &str, mark: &Mark) -> Result<(), Error> {
        names::commit(commit)?;
        let directory = self.there(place)?;
        let _held = self.held(&directory).await;
        let mut paper: Marks = papers::read(&directory)?;
        if paper.find(commit, &mark.context).as_ref() == Some(mark) {
            return Ok(());
        }
        let what = format!("find commit {commit} of {}", place.path());
        let name = format!("{commit}^{{commit}}");
        if !call(&directory, &what).told(&["cat-file", "-e", &name], b"").await?.good {
            return Err(missing(format!("commit {commit} of {}", place.path())));
        }
        paper.put(commit, mark);
        papers::write(&directory, &paper)
    }
}

/// A call of git on a repository of this machine.
fn call<'a>(directory: &'a Path, what: &'a str) -> Call<'a> {
    Call { host: HOST, what, directory: Some(directory), environment: Vec::new(), limit: LIMIT }
}

fn missing(what: String) -> Error {
    Error::Missing { host: HOST.to_owned(), what }
}

fn unreachable(story: &dyn std::fmt::Display) -> Error {
    Error::Unreachable { host: HOST.to_owned(), story: story.to_string() }
}
