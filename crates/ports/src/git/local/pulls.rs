//! Pull requests on this machine: who proposes says so, who takes the changes merges and pushes, and this sees it.

use std::path::Path;

use super::super::{Error, Place, PullRequest, PullRequestWish};
use super::papers::{self, Pull, Pulls, State};
use super::{HOST, Local, call, missing, refs};

impl Local {
    /// The pull requests of a repository as they stand now.
    pub(super) async fn judged(&self, place: &Place, directory: &Path) -> Result<Pulls, Error> {
        let mut paper: Pulls = papers::read(directory)?;
        let mut changed = false;
        for pull in paper.pulls.iter_mut().filter(|pull| pull.state == State::Open) {
            let before = pull.clone();
            judge(place, directory, pull).await?;
            changed |= *pull != before;
        }
        if changed {
            papers::write(directory, &paper)?;
        }
        Ok(paper)
    }

    /// Opens a pull request, or finds the open one.
    pub(super) async fn proposal(
        &self,
        place: &Place,
        directory: &Path,
        wish: &PullRequestWish,
    ) -> Result<PullRequest, Error> {
        let mut paper = self.judged(place, directory).await?;
        let same =
            |pull: &&Pull| pull.state == State::Open && pull.branch == wish.branch && pull.onto == wish.onto;
        if let Some(open) = paper.pulls.iter().find(same) {
            return Ok(self.told(place, open));
        }
        let find = |branch: &str| {
            let found = refs::branch(directory, branch)?;
            found.ok_or_else(|| missing(format!("branch {branch} of {}", place.path())))
        };
        let (commit, onto) = (find(&wish.branch)?, find(&wish.onto)?);
        if taken(place, directory, &commit, &onto).await? {
            let what = format!("a pull request from {}", wish.branch);
            let story = format!("there is nothing in {} that {} has not", wish.branch, wish.onto);
            return Err(Error::Refused { host: HOST.to_owned(), what, story });
        }
        let PullRequestWish { branch, onto, title, body } = wish.clone();
        let number = paper.pulls.iter().map(|pull| pull.number).max().unwrap_or_default() + 1;
        let pull = Pull { number, branch, onto, title, body, commit, state: State::Open };
        let told = self.told(place, &pull);
        paper.pulls.push(pull);
        papers::write(directory, &paper)?;
        Ok(told)
    }

    /// A pull request as others see it.
    pub(super) fn told(&self, place: &Place, pull: &Pull) -> PullRequest {
        PullRequest {
            number: pull.number,
            url: format!("{}/pulls/{}", self.url(place), pull.number),
            branch: pull.branch.clone(),
            commit: pull.commit.clone(),
            state: pull.state.into(),
        }
    }
}

/// How an open pull request stands: merged, if what it would bring is there; closed, if its branch is gone without that.
async fn judge(place: &Place, directory: &Path, pull: &mut Pull) -> Result<(), Error> {
    let Some(onto) = refs::branch(directory, &pull.onto)? else {
        pull.state = State::Closed;
        return Ok(());
    };
    let head = refs::branch(directory, &pull.branch)?;
    if let Some(head) = &head {
        head.clone_into(&mut pull.commit);
    }
    if taken(place, directory, &pull.commit, &onto).await? {
        pull.state = State::Merged;
    } else if head.is_none() {
        pull.state = State::Closed;
    }
    Ok(())
}

/// Whether the changes of a commit are in another: it comes before it, or (where they were squashed) every file that it
/// changed is there as it has it.
async fn taken(place: &Place, directory: &Path, commit: &str, onto: &str) -> Result<bool, Error> {
    if commit == onto {
        return Ok(true);
    }
    let what = format!("compare branches of {}", place.path());
    let call = call(directory, &what);
    let base = call.told(&["merge-base", onto, commit], b"").await?;
    let base = String::from_utf8_lossy(&base.output).trim().to_owned();
    if base == commit {
        return Ok(true);
    }
    if base.is_empty() || base == onto {
        // Where the other branch did not move, nothing was squashed into it.
        return same_tree(&call, commit, onto).await;
    }
    let list = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", &base, commit];
    let changed = call.printed(&list, b"").await?;
    let paths: Vec<&str> = changed
        .split(|byte| *byte == 0)
        .filter_map(|path| std::str::from_utf8(path).ok())
        .filter(|path| !path.is_empty())
        .collect();
    if paths.is_empty() || paths.len() > PATHS_MAX {
        return same_tree(&call, commit, onto).await;
    }
    let mut compare = vec!["--literal-pathspecs", "diff-tree", "-r", "--quiet", commit, onto, "--"];
    compare.extend(paths);
    Ok(call.told(&compare, b"").await?.good)
}

/// As many paths as fit into arguments; beyond, a squashed merge is seen only where nothing else changed.
const PATHS_MAX: usize = 200;

async fn same_tree(call: &super::super::run::Call<'_>, one: &str, other: &str) -> Result<bool, Error> {
    Ok(call.told(&["diff-tree", "-r", "--quiet", one, other], b"").await?.good)
}
