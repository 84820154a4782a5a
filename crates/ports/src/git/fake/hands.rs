//! What tests see of the hosts, and do to them.

use std::fmt::Write as _;
use std::sync::Arc;

use super::super::{CommitWish, Error, Host, Key, Mark, Place, PullRequestWish, Wish};
use super::state::{Repo, State};
use super::{Fake, Files};

impl Fake {
    /// Calls `hook` with the name of each call before it takes effect; what it refuses does not happen.
    pub fn before_each(&self, hook: impl Fn(&str) -> Result<(), Error> + Send + Sync + 'static) {
        *self.inner.hook.lock() = Some(Arc::new(hook));
    }

    /// Lets every call to a host fail with this, until it is taken back with `None`.
    pub fn break_down(&self, host: &Host, error: Option<Error>) {
        let mut state = self.inner.state.lock();
        match error {
            Some(error) => state.broken.insert(host.name().to_owned(), error),
            None => state.broken.remove(host.name()),
        };
    }

    /// Lets a host know only this token from now on. Before, it knows every token.
    pub fn admit(&self, host: &Host, token: &str) {
        self.inner.state.lock().tokens.insert(host.name().to_owned(), token.to_owned());
    }

    /// Names of the calls so far, the failed ones included.
    pub fn calls(&self) -> Vec<String> {
        self.inner.state.lock().calls.clone()
    }

    /// How many calls changed anything.
    pub fn writes(&self) -> usize {
        self.inner.state.lock().writes
    }

    /// Whether there is such a repository.
    pub fn exists(&self, place: &Place) -> bool {
        self.inner.state.lock().find(place).is_some()
    }

    /// A repository that somebody else made.
    pub fn add_repository(&self, place: &Place, wish: &Wish) {
        self.inner.state.lock().repositories.insert(State::key(place), Repo::new(wish));
    }

    /// The files of a branch; none if there is no such branch.
    pub fn files(&self, place: &Place, branch: &str) -> Option<Files> {
        self.reach(place, |repo| repo.files(branch).cloned()).flatten()
    }

    /// The branches of a repository.
    pub fn branches(&self, place: &Place) -> Vec<String> {
        self.reach(place, |repo| repo.branches.keys().cloned().collect()).unwrap_or_default()
    }

    /// Messages of the commits of a branch, the newest first; of merged ones only what they were merged into.
    pub fn log(&self, place: &Place, branch: &str) -> Vec<String> {
        let told = self.reach(place, |repo| {
            let mut at = repo.branches.get(branch).cloned();
            let mut told = Vec::new();
            while let Some(commit) = at.as_ref().and_then(|commit| repo.commits.get(commit)) {
                told.push(commit.message.clone());
                at = commit.parents.first().cloned();
            }
            told
        });
        told.unwrap_or_default()
    }

    /// The deploy keys of a repository.
    pub fn keys(&self, place: &Place) -> Vec<Key> {
        self.reach(place, |repo| repo.keys()).unwrap_or_default()
    }

    /// Hex SHA-256 of the password that goes with a deploy key.
    pub fn password_digest(&self, place: &Place, fingerprint: &str) -> Option<String> {
        let of = |repo: &mut Repo| {
            let held = repo.keys.iter().find(|(held, _)| held == fingerprint);
            held.and_then(|(_, wish)| wish.password_digest.clone())
        };
        self.reach(place, of).flatten()
    }

    /// What was asked for in a pull request.
    pub fn proposal(&self, place: &Place, number: i64) -> Option<PullRequestWish> {
        self.reach(place, |repo| repo.pulls.get(&number).map(|pull| pull.wish.clone())).flatten()
    }

    /// The marks on a commit.
    pub fn marks(&self, place: &Place, commit: &str) -> Vec<Mark> {
        let of = |repo: &mut Repo| {
            let marks = repo.marks.iter().filter(|((marked, _), _)| marked == commit);
            marks.map(|(_, mark)| mark.clone()).collect()
        };
        self.reach(place, of).unwrap_or_default()
    }

    /// Merges an open pull request, as a person does. Answers the commit that the branch it goes to then is at.
    pub fn merge(&self, place: &Place, number: i64) -> Option<String> {
        self.reach(place, |repo| repo.merge(number)).flatten()
    }

    /// Commits as a person does, behind everybody's back.
    pub fn push(&self, place: &Place, wish: &CommitWish) -> Result<String, Error> {
        self.inner.state.lock().repository(place)?.commit(place, wish)
    }

    /// Changes the name of the default branch, as a person does.
    pub fn rename_default_branch(&self, place: &Place, name: &str) {
        self.reach(place, |repo| {
            let old = std::mem::replace(&mut repo.default_branch, name.to_owned());
            if let Some(commit) = repo.branches.remove(&old) {
                repo.branches.insert(name.to_owned(), commit);
            }
        });
    }

    /// Everything there is, a line each, without what differs from run to run: keys are told by their titles.
    pub fn dump(&self) -> String {
        let state = self.inner.state.lock();
        let mut text = String::new();
        for (key, repo) in &state.repositories {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "repository {key} `{}` {:?}", repo.description, repo.visibility);
            for (_, wish) in &repo.keys {
                let _ = writeln!(text, "{key} key {} read only {}", wish.title, wish.read_only);
            }
            for person in &repo.people {
                let _ = writeln!(text, "{key} person {person}");
            }
            for branch in repo.branches.keys() {
                let files = repo.files(branch).map(|files| files.keys().cloned().collect::<Vec<_>>());
                let _ = writeln!(text, "{key} branch {branch} {}", files.unwrap_or_default().join(" "));
            }
            for pull in repo.pulls.values() {
                let _ = writeln!(text, "{key} pull request {} {:?}", pull.wish.branch, pull.state);
            }
            for mark in repo.marks.values() {
                let _ = writeln!(text, "{key} mark {} {:?}", mark.context, mark.verdict);
            }
        }
        text
    }

    fn reach<T>(&self, place: &Place, work: impl FnOnce(&mut Repo) -> T) -> Option<T> {
        self.inner.state.lock().repository(place).ok().map(work)
    }
}
