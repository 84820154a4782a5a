//! What git has no place for, in small files of JSON that are replaced as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use api::projects::Visibility;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::super::{Error, Mark, PullRequestState, Verdict};
use super::unreachable;

/// The directory of the papers in a repository.
const FOLDER: &str = "terrace";

/// A paper: what is in one file.
pub(super) trait Paper: Default + Serialize + DeserializeOwned {
    /// Name of the file.
    const NAME: &'static str;
}

/// Who is let in.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Keys {
    pub(super) keys: Vec<KeyPaper>,
}

impl Paper for Keys {
    const NAME: &'static str = "keys.json";
}

/// A deploy key as it is kept: of its password only the digest.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPaper {
    /// Its title.
    pub title: String,
    /// Its fingerprint.
    pub fingerprint: String,
    /// Hex SHA-256 of its password.
    pub password_digest: Option<String>,
    /// Whether it may only read.
    pub read_only: bool,
}

/// Who maintains a repository, and who was to see it.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct People {
    pub(super) visibility: Visibility,
    pub(super) people: BTreeSet<String>,
}

impl Paper for People {
    const NAME: &'static str = "people.json";
}

/// What was proposed, the oldest first.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Pulls {
    pub(super) pulls: Vec<Pull>,
}

impl Paper for Pulls {
    const NAME: &'static str = "pulls.json";
}

/// A pull request.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pull {
    pub(super) number: i64,
    pub(super) branch: String,
    pub(super) onto: String,
    pub(super) title: String,
    pub(super) body: String,
    /// What the branch was at when it was last seen.
    pub(super) commit: String,
    pub(super) state: State,
}

impl Pull {
    /// Closes it. Answers whether it was open.
    pub(super) fn close(&mut self) -> bool {
        let open = self.state == State::Open;
        if open {
            self.state = State::Closed;
        }
        open
    }
}

/// How a pull request stands.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    Open,
    Merged,
    Closed,
}

impl From<State> for PullRequestState {
    fn from(state: State) -> Self {
        match state {
            State::Open => Self::Open,
            State::Merged => Self::Merged,
            State::Closed => Self::Closed,
        }
    }
}

/// What was judged, by commit and context.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Marks {
    marks: BTreeMap<String, BTreeMap<String, (Word, String)>>,
}

impl Paper for Marks {
    const NAME: &'static str = "marks.json";
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Word {
    Pending,
    Success,
    Failure,
}

impl Marks {
    pub(super) fn find(&self, commit: &str, context: &str) -> Option<Mark> {
        let (word, description) = self.marks.get(commit)?.get(context)?.clone();
        let verdict = match word {
            Word::Pending => Verdict::Pending,
            Word::Success => Verdict::Success,
            Word::Failure => Verdict::Failure,
        };
        Some(Mark { context: context.to_owned(), verdict, description })
    }

    pub(super) fn put(&mut self, commit: &str, mark: &Mark) {
        let word = match mark.verdict {
            Verdict::Pending => Word::Pending,
            Verdict::Success => Word::Success,
            Verdict::Failure => Word::Failure,
        };
        let marks = self.marks.entry(commit.to_owned()).or_default();
        marks.insert(mark.context.clone(), (word, mark.description.clone()));
    }
}

/// Reads a paper of a repository; one that is not there is empty.
pub(super) fn read<P: Paper>(directory: &Path) -> Result<P, Error> {
    match fs::read(directory.join(FOLDER).join(P::NAME)) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
            unreachable(&format!("{} in {} is damaged: {error}", P::NAME, directory.display()))
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(P::default()),
        Err(error) => Err(unreachable(&error)),
    }
}

/// Replaces a paper of a repository.
pub(super) fn write<P: Paper>(directory: &Path, paper: &P) -> Result<(), Error> {
    let folder = directory.join(FOLDER);
    let bytes = serde_json::to_vec(paper).map_err(|error| unreachable(&error))?;
    fs::create_dir_all(&folder).map_err(|error| unreachable(&error))?;
    replace(&folder.join(P::NAME), &bytes)
}

/// Replaces a file as a whole; only this user reads it.
pub(super) fn replace(file: &Path, bytes: &[u8]) -> Result<(), Error> {
    let new = file.with_extension("new");
    let written = || -> std::io::Result<()> {
        let mut open = fs::OpenOptions::new();
        let mut to = open.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        to.write_all(bytes)?;
        to.sync_data()?;
        fs::rename(&new, file)
    };
    written().map_err(|error| unreachable(&error))
}
