//! Branches, commits and pull requests of a repository in memory.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use super::super::{CommitWish, Error, Place, PullRequest, PullRequestState, PullRequestWish, Tree};
use super::Files;
use super::state::{Commit, Pull, Repo, missing};

impl Repo {
    pub(super) fn files(&self, branch: &str) -> Option<&Files> {
        Some(&self.commits.get(self.branches.get(branch)?)?.files)
    }

    pub(super) fn read(&self, branch: &str, paths: &[&str]) -> Option<Tree> {
        let commit = self.branches.get(branch)?.clone();
        let within = |file: &str, path: &str| {
            path.is_empty()
                || file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let files = self.files(branch)?.iter();
        let files = files.filter(|(file, _)| paths.iter().any(|path| within(file, path)));
        Some(Tree { commit, files: files.map(|(file, bytes)| (file.clone(), bytes.clone())).collect() })
    }

    pub(super) fn commit(&mut self, place: &Place, wish: &CommitWish) -> Result<String, Error> {
        let own = self.branches.get(&wish.branch).cloned();
        let base = match (own, &wish.from) {
            (Some(commit), _) => Some(commit),
            (None, Some(from)) => {
                let begin = self.branches.get(from).cloned();
                Some(begin.ok_or_else(|| missing(place, format!("branch {from} of {}", place.path())))?)
            }
            (None, None) if self.branches.is_empty() => None,
            (None, None) => {
                return Err(missing(place, format!("branch {} of {}", wish.branch, place.path())));
            }
        };
        let old = base.as_ref().and_then(|base| self.commits.get(base));
        let old = old.map(|commit| commit.files.clone()).unwrap_or_default();
        let mut files = old.clone();
        for (path, bytes) in &wish.files {
            match bytes {
                Some(bytes) => files.insert(path.clone(), bytes.clone()),
                None => files.remove(path),
            };
        }
        let commit = match base {
            Some(base) if files == old => base,
            None if files.is_empty() => {
                let what = format!("there is nothing to begin {} with", place.path());
                return Err(Error::Invalid { what });
            }
            base => {
                let author = format!("{} <{}>", wish.author, wish.email);
                let parents = base.into_iter().collect();
                self.add(Commit { parents, files, message: wish.message.clone(), author })
            }
        };
        self.point(&wish.branch, &commit);
        Ok(commit)
    }

    /// Moves a branch, and what was proposed from it.
    pub(super) fn point(&mut self, branch: &str, commit: &str) {
        self.branches.insert(branch.to_owned(), commit.to_owned());
        for pull in self.pulls.values_mut().filter(|pull| pull.wish.branch == branch && pull.is_open()) {
            commit.clone_into(&mut pull.commit);
        }
    }

    /// Keeps a commit under a name that is made of what it holds.
    pub(super) fn add(&mut self, commit: Commit) -> String {
        let digest = Sha256::digest(format!("{commit:?}"));
        let id: String = digest.iter().take(20).map(|byte| format!("{byte:02x}")).collect();
        self.commits.insert(id.clone(), commit);
        id
    }

    pub(super) fn drop_branch(&mut self, place: &Place, branch: &str) -> Result<(), Error> {
        if branch == self.default_branch && self.branches.contains_key(branch) {
            let (host, what) = (place.host.name().to_owned(), format!("to delete branch {branch}"));
            return Err(Error::Refused { host, what, story: "it is the default branch".to_owned() });
        }
        self.branches.remove(branch);
        for pull in self.pulls.values_mut().filter(|pull| pull.wish.branch == branch && pull.is_open()) {
            pull.state = PullRequestState::Closed;
        }
        Ok(())
    }

    pub(super) fn propose(&mut self, place: &Place, wish: &PullRequestWish) -> Result<PullRequest, Error> {
        let same =
            |pull: &&Pull| pull.is_open() && pull.wish.branch == wish.branch && pull.wish.onto == wish.onto;
        if let Some(open) = self.pulls.values().find(same) {
            return Ok(self.told(place, open));
        }
        let find = |branch: &String| {
            let commit = self.branches.get(branch).cloned();
            commit.ok_or_else(|| missing(place, format!("branch {branch} of {}", place.path())))
        };
        let (commit, onto) = (find(&wish.branch)?, find(&wish.onto)?);
        if self.ancestors(&onto).contains(&commit) {
            let (host, what) = (place.host.name().to_owned(), format!("a pull request from {}", wish.branch));
            let story = format!("No commits between {} and {}", wish.onto, wish.branch);
            return Err(Error::Refused { host, what, story });
        }
        let number = self.pulls.keys().next_back().map_or(1, |last| last + 1);
        let pull = Pull { number, wish: wish.clone(), state: PullRequestState::Open, commit };
        let told = self.told(place, &pull);
        self.pulls.insert(number, pull);
        Ok(told)
    }

    pub(super) fn told(&self, place: &Place, pull: &Pull) -> PullRequest {
        PullRequest {
            number: pull.number,
            url: format!("https://{}/{}/pulls/{}", place.host.name(), place.path(), pull.number),
            branch: pull.wish.branch.clone(),
            commit: pull.commit.clone(),
            state: pull.state,
        }
    }

    pub(super) fn withdraw(&mut self, place: &Place, number: i64) -> Result<(), Error> {
        let gone = || missing(place, format!("pull request {number} of {}", place.path()));
        let pull = self.pulls.get_mut(&number).ok_or_else(gone)?;
        if pull.is_open() {
            pull.state = PullRequestState::Closed;
        }
        Ok(())
    }

    /// Takes the changes of an open pull request, as a person does with a button.
    pub(super) fn merge(&mut self, number: i64) -> Option<String> {
        let pull = self.pulls.get(&number).filter(|pull| pull.is_open())?.clone();
        let onto = self.branches.get(&pull.wish.onto)?.clone();
        let (ours, theirs) = (self.ancestors(&onto), self.ancestors(&pull.commit));
        // The newest common one has the most before it.
        let base = ours.intersection(&theirs).max_by_key(|commit| self.ancestors(commit).len());
        let base = base.and_then(|base| self.commits.get(base)).map(|base| base.files.clone());
        let (base, new) = (base.unwrap_or_default(), self.commits.get(&pull.commit)?.files.clone());
        let mut files = self.commits.get(&onto)?.files.clone();
        files.retain(|path, _| new.contains_key(path) || !base.contains_key(path));
        files.extend(new.into_iter().filter(|(path, bytes)| base.get(path) != Some(bytes)));
        let message = format!("Merge pull request #{number}");
        let parents = vec![onto, pull.commit];
        let merged = self.add(Commit { parents, files, message, author: "a person".to_owned() });
        self.point(&pull.wish.onto, &merged);
        self.pulls.get_mut(&number)?.state = PullRequestState::Merged;
        Some(merged)
    }

    /// A commit and all before it.
    fn ancestors(&self, commit: &str) -> BTreeSet<String> {
        let (mut seen, mut next) = (BTreeSet::new(), vec![commit.to_owned()]);
        while let Some(commit) = next.pop() {
            next.extend(self.commits.get(&commit).into_iter().flat_map(|commit| commit.parents.clone()));
            seen.insert(commit);
        }
        seen
    }
}

impl Pull {
    pub(super) fn is_open(&self) -> bool {
        self.state == PullRequestState::Open
    }
}
