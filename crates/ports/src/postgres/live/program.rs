//! Short-lived programs of PostgreSQL, each run to its end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use api::secret::Sealed;
use kit::Dice;

use super::super::{Build, Error};
use super::{Inner, files};
use crate::process::{Cause, Id, Launch, Limits, Processes as _, State};

/// What the names of such runs begin with; no uid has a dot.
pub(super) const PREFIX: &str = "tool.";
/// How often a run is looked at whose end was told to nobody.
const LOOK: Duration = Duration::from_secs(1);
/// How much of what a program said is told.
const STORY: usize = 600;

/// One call of one program.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) program: &'static str,
    pub(super) path: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) owner: Option<u32>,
    /// Where it works, and its home: libpq looks for files there.
    pub(super) directory: PathBuf,
    pub(super) passfile: Option<PathBuf>,
}

impl Call {
    pub(super) fn new(build: &Build, program: &'static str, directory: &Path) -> Self {
        Self {
            program,
            path: build.bin.join(program),
            arguments: Vec::new(),
            owner: None,
            directory: directory.to_owned(),
            passfile: None,
        }
    }

    pub(super) fn with<const N: usize>(mut self, arguments: [&str; N]) -> Self {
        self.arguments.extend(arguments.map(str::to_owned));
        self
    }
}

/// The environment of every program: little, and nothing of the platform's own.
pub(super) fn environment(path: &Path, home: &Path) -> BTreeMap<String, Sealed<String>> {
    let bin = path.parent().unwrap_or(Path::new("/usr/bin")).display();
    BTreeMap::from([
        ("PATH".to_owned(), format!("{bin}:/usr/bin:/bin").into()),
        ("HOME".to_owned(), home.display().to_string().into()),
        ("LC_ALL".to_owned(), "C".to_owned().into()),
    ])
}

impl Inner {
    /// Runs a program to its end, and returns what it said.
    pub(super) async fn call(&self, call: Call) -> Result<String, Error> {
        let Call { program, path, arguments, owner, directory, passfile } = call;
        let id = Id::new(&format!("{PREFIX}{program}.{:016x}", Dice::fair().roll()));
        let log = self.places.runs().join(format!("{id}.log"));
        let mut env = environment(&path, &directory);
        if let Some(passfile) = passfile {
            env.insert("PGPASSFILE".to_owned(), passfile.display().to_string().into());
        }
        let mut command = vec![path.display().to_string()];
        command.extend(arguments);
        let expose = self.exposed(&path);
        let limits = Limits { log_bytes: Some(1 << 20), ..Limits::default() };
        let launch =
            Launch { id: id.clone(), command, directory, env, user: owner, expose, log: log.clone(), limits };
        self.processes.start(launch).await?;
        let cause = self.ended(&id).await?;
        let said = files::read(&log).unwrap_or_default().unwrap_or_default();
        self.processes.forget(&id).await?;
        files::remove(&log)?;
        match cause {
            Cause::Exited(0) => Ok(said),
            cause => Err(Error::Program { program, story: story(&cause, &said) }),
        }
    }

    /// Waits until a run has ended.
    pub(super) async fn ended(&self, id: &Id) -> Result<Cause, Error> {
        let mut changes = self.processes.changes();
        loop {
            match self.processes.look(id).await? {
                Some(State::Running { .. }) => {
                    let _ = tokio::time::timeout(LOOK, changes.recv()).await;
                }
                Some(State::Ended(end)) => return Ok(end.cause),
                None => return Ok(Cause::Lost),
            }
        }
    }

    /// What a user must be shown to run a program.
    pub(super) fn exposed(&self, program: &Path) -> Vec<PathBuf> {
        let cached = self.settings.cache.iter().filter(|cache| program.starts_with(cache));
        let own = program.parent().and_then(Path::parent).map(Path::to_owned);
        cached.cloned().chain(own).collect()
    }
}

/// What happened, and the end of what was said.
fn story(cause: &Cause, said: &str) -> String {
    let words = said.trim();
    let mut from = words.len().saturating_sub(STORY);
    while !words.is_char_boundary(from) {
        from += 1;
    }
    let end = words[from..].lines().map(str::trim).collect::<Vec<_>>().join("; ");
    if end.is_empty() { told(cause) } else { format!("{}: {end}", told(cause)) }
}

/// A cause in words.
pub(super) fn told(cause: &Cause) -> String {
    match cause {
        Cause::Exited(code) => format!("it ended with code {code}"),
        Cause::Signaled(signal) => format!("it was ended by signal {signal}"),
        Cause::OutOfMemory => "it needed more memory than it may have".to_owned(),
        Cause::TimedOut => "it ran for longer than it may".to_owned(),
        Cause::TooManyProcesses => "it started more processes than it may".to_owned(),
        Cause::NotStarted(why) => why.clone(),
        Cause::Lost => "it ended while nobody watched".to_owned(),
    }
}
