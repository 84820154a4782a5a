//! Hosts in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{
    CommitWish, Error, Git, Host, KeyWish, Mark, Place, PullRequest, PullRequestWish, Repository, Tree, Wish,
    names,
};
use state::{Repo, State};

mod hands;
mod repo;
mod state;
#[cfg(test)]
mod tests;

type Hook = dyn Fn(&str) -> Result<(), Error> + Send + Sync;

/// Hosts in memory, all providers. Clones share what they hold.
#[derive(Clone, Default)]
pub struct Fake {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    hook: Mutex<Option<Arc<Hook>>>,
}

impl fmt::Debug for Fake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fake").field("repositories", &self.dump()).finish_non_exhaustive()
    }
}

impl Fake {
    /// One call at a host: written down, let through by the hook and by the host, then done.
    fn call<T>(
        &self,
        host: &Host,
        what: &str,
        work: impl FnOnce(&mut State) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.inner.state.lock().calls.push(what.to_owned());
        let hook = self.inner.hook.lock().clone();
        hook.map_or(Ok(()), |hook| hook(what))?;
        let mut state = self.inner.state.lock();
        state.admits(host)?;
        let before = state.repositories.clone();
        let done = work(&mut state);
        if state.repositories != before {
            state.writes += 1;
        }
        done
    }

    /// One call at a repository that must be there.
    fn at<T>(
        &self,
        place: &Place,
        what: &str,
        work: impl FnOnce(&mut Repo) -> Result<T, Error>,
    ) -> Result<T, Error> {
        names::place(place)?;
        self.call(&place.host, what, |state| work(state.repository(place)?))
    }
}

impl Git for Fake {
    async fn knock(&self, host: &Host) -> Result<(), Error> {
        self.call(host, "knock", |_| Ok(()))
    }

    async fn look(&self, place: &Place) -> Result<Option<Repository>, Error> {
        names::place(place)?;
        self.call(&place.host, "look", |state| Ok(state.find(place).map(|repo| repo.seen(place))))
    }

    async fn create(&self, place: &Place, wish: &Wish) -> Result<(), Error> {
        names::place(place)?;
        names::branch(&wish.default_branch)?;
        self.call(&place.host, "create", |state| state.create(place, wish))
    }

    async fn delete(&self, place: &Place) -> Result<(), Error> {
        names::place(place)?;
        self.call(&place.host, "delete", |state| {
            state.repositories.remove(&State::key(place));
            Ok(())
        })
    }

    async fn add_key(&self, place: &Place, key: &KeyWish) -> Result<(), Error> {
        let fingerprint = names::key(key)?;
        self.at(place, "add_key", |repo| repo.add_key(place, key, fingerprint))
    }

    async fn drop_key(&self, place: &Place, fingerprint: &str) -> Result<(), Error> {
        self.at(place, "drop_key", |repo| {
            repo.keys.retain(|(held, _)| held != fingerprint);
            Ok(())
        })
    }

    async fn invite(&self, place: &Place, person: &str) -> Result<(), Error> {
        names::person(person)?;
        self.at(place, "invite", |repo| {
            repo.people.insert(person.to_owned());
            Ok(())
        })
    }

    async fn read(&self, place: &Place, branch: &str, paths: &[&str]) -> Result<Option<Tree>, Error> {
        names::branch(branch)?;
        paths.iter().filter(|path| !path.is_empty()).try_for_each(|path| names::path(path))?;
        self.at(place, "read", |repo| Ok(repo.read(branch, paths)))
    }

    async fn commit(&self, place: &Place, wish: &CommitWish) -> Result<String, Error> {
        names::wish(wish)?;
        self.at(place, "commit", |repo| repo.commit(place, wish))
    }

    async fn drop_branch(&self, place: &Place, branch: &str) -> Result<(), Error> {
        names::branch(branch)?;
        self.at(place, "drop_branch", |repo| repo.drop_branch(place, branch))
    }

    async fn propose(&self, place: &Place, wish: &PullRequestWish) -> Result<PullRequest, Error> {
        names::branch(&wish.branch)?;
        names::branch(&wish.onto)?;
        self.at(place, "propose", |repo| repo.propose(place, wish))
    }

    async fn proposed(&self, place: &Place, branch: &str) -> Result<Option<PullRequest>, Error> {
        names::branch(branch)?;
        self.at(place, "proposed", |repo| {
            let newest = repo.pulls.values().rev().find(|pull| pull.wish.branch == branch);
            Ok(newest.map(|pull| repo.told(place, pull)))
        })
    }

    async fn pull_request(&self, place: &Place, number: i64) -> Result<Option<PullRequest>, Error> {
        self.at(place, "pull_request", |repo| Ok(repo.pulls.get(&number).map(|pull| repo.told(place, pull))))
    }

    async fn withdraw(&self, place: &Place, number: i64) -> Result<(), Error> {
        self.at(place, "withdraw", |repo| repo.withdraw(place, number))
    }

    async fn mark(&self, place: &Place, commit: &str, context: &str) -> Result<Option<Mark>, Error> {
        names::commit(commit)?;
        self.at(place, "mark", |repo| Ok(repo.marks.get(&(commit.to_owned(), context.to_owned())).cloned()))
    }

    async fn set_mark(&self, place: &Place, commit: &str, mark: &Mark) -> Result<(), Error> {
        names::commit(commit)?;
        self.at(place, "set_mark", |repo| {
            if !repo.commits.contains_key(commit) {
                return Err(Error::Missing {
                    host: place.host.name().to_owned(),
                    what: format!("commit {commit}"),
                });
            }
            repo.marks.insert((commit.to_owned(), mark.context.clone()), mark.clone());
            Ok(())
        })
    }
}

/// Files by path.
type Files = BTreeMap<String, Vec<u8>>;
