//! The programs of one build, one after the other, each a process group within the build's bounds.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use api::secret::Sealed;
use tokio::sync::watch;
use tokio::time::Instant;

use super::{CANCELLED, Error, Limits};
use crate::process::{self, Cause, Id, Launch, Processes, State};

/// What the names of process groups of builds begin with.
pub(super) const PREFIX: &str = "build.";
/// How long a program has between being asked to end and being ended.
const GRACE: Duration = Duration::from_secs(2);
/// How often a program is looked at where no change was told: only the safety net.
const LOOK: Duration = Duration::from_secs(2);
/// How much of the end of a log is searched for the last words of a program.
const TAIL_BYTES: u64 = 64 << 10;
/// How many lines of a compiler a condition shows.
const TAIL_LINES: usize = 20;
/// How long those lines may be together.
const TAIL_CHARS: usize = 2000;
/// Files that one process of a build has open.
const OPEN_FILES: u64 = 4096;
/// What our own lines in a log begin with.
const MARK: &str = "==> ";

/// What its owner wants of a build that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// It goes on.
    Go,
    /// It ends and has failed.
    Cancel,
    /// It ends because the platform does, and begins again when that comes back.
    Close,
}

/// Why a build has no image.
#[derive(Debug)]
pub(super) enum Failure {
    /// Its own fault; the message is for its owner.
    Told(String),
    /// Nobody wants it any more.
    Unwanted,
    /// The machinery's fault.
    Machinery(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Machinery(error)
    }
}

impl Failure {
    /// What its owner is told.
    pub(super) fn message(&self) -> String {
        match self {
            Self::Told(message) => message.clone(),
            Self::Unwanted => CANCELLED.to_owned(),
            Self::Machinery(error) => {
                let first: &dyn std::error::Error = error;
                let chain = std::iter::successors(Some(first), |error| error.source());
                chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
            }
        }
    }
}

/// A program of a build.
pub(super) struct Command {
    /// Program and arguments, the program by its whole path.
    pub(super) words: Vec<String>,
    /// What is shown of it.
    pub(super) shown: String,
    /// Working directory.
    pub(super) directory: PathBuf,
    /// Its whole environment.
    pub(super) env: BTreeMap<String, String>,
    /// Directories that its user must be able to reach.
    pub(super) expose: Vec<PathBuf>,
}

/// Runs the programs of one build.
pub(super) struct Runner<P> {
    pub(super) processes: Arc<P>,
    /// What the names of its process groups begin with.
    pub(super) prefix: String,
    pub(super) user: Option<u32>,
    pub(super) limits: Limits,
    pub(super) log: PathBuf,
    pub(super) wish: watch::Receiver<Wish>,
    pub(super) deadline: Instant,
    pub(super) count: u32,
}

impl<P: Processes> Runner<P> {
    /// Runs one program to its end, which is good only if it exits with 0.
    pub(super) async fn run(&mut self, command: Command) -> Result<(), Failure> {
        self.go_on()?;
        self.note(&format!("$ {}", command.shown))?;
        self.count += 1;
        let id = Id::new(&format!("{}.{}", self.prefix, self.count));
        let shown = command.shown.clone();
        let launch = self.launch(&id, command);
        let cause = self.ended(&id, launch).await?;
        self.wanted()?;
        match self.verdict(&cause) {
            None => Ok(()),
            Some(what) => Err(Failure::Told(told(&format!("`{shown}` {what}"), &self.log))),
        }
    }

    /// Writes a line of our own into the log.
    pub(super) fn note(&self, line: &str) -> Result<(), Error> {
        let file = OpenOptions::new().append(true).create(true).open(&self.log);
        let written = file.and_then(|mut file| file.write_all(format!("{MARK}{line}\n").as_bytes()));
        written.map_err(Error::at(&self.log))
    }

    /// Ends a build that nobody wants any more, or that took too long.
    pub(super) fn go_on(&self) -> Result<(), Failure> {
        self.wanted()?;
        if Instant::now() >= self.deadline {
            return Err(Failure::Told(self.too_long()));
        }
        Ok(())
    }

    fn wanted(&self) -> Result<(), Failure> {
        if *self.wish.borrow() == Wish::Go { Ok(()) } else { Err(Failure::Unwanted) }
    }

    fn launch(&self, id: &Id, command: Command) -> Launch {
        Launch {
            id: id.clone(),
            command: command.words,
            directory: command.directory,
            env: command.env.into_iter().map(|(name, value)| (name, Sealed::new(value))).collect(),
            user: self.user,
            expose: command.expose,
            log: self.log.clone(),
            limits: process::Limits {
                memory_bytes: Some(self.limits.memory_bytes),
                processes: Some(self.limits.processes),
                open_files: Some(OPEN_FILES),
                lifetime: Some(self.deadline.saturating_duration_since(Instant::now())),
                log_bytes: Some(self.limits.log_bytes),
            },
        }
    }

    async fn ended(&mut self, id: &Id, launch: Launch) -> Result<Cause, Error> {
        let mut changes = self.processes.changes();
        // A run of this name can only be left from an earlier life, and has been ended since.
        self.processes.forget(id).await?;
        self.processes.start(launch).await?;
        let mut stopped = false;
        let cause = loop {
            match self.processes.look(id).await? {
                Some(State::Ended(end)) => break end.cause,
                None => break Cause::Lost,
                Some(State::Running { .. }) => {}
            }
            if *self.wish.borrow() != Wish::Go && !stopped {
                self.processes.stop(id, GRACE).await?;
                stopped = true;
            }
            tokio::select! {
                _ = changes.recv() => {}
                _ = self.wish.changed(), if !stopped => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        };
        self.processes.forget(id).await?;
        Ok(cause)
    }

    /// What is told of an end that is not good.
    fn verdict(&self, cause: &Cause) -> Option<String> {
        Some(match cause {
            Cause::Exited(0) => return None,
            Cause::Exited(code) => format!("exited with code {code}"),
            Cause::Signaled(signal) => format!("was ended by signal {signal}"),
            Cause::OutOfMemory => {
                format!("needed more than {} MiB of memory", self.limits.memory_bytes >> 20)
            }
            Cause::TimedOut => format!("did not end in time; {}", self.too_long()),
            Cause::TooManyProcesses => {
                format!("started more than {} processes at one time", self.limits.processes)
            }
            Cause::NotStarted(why) => format!("could not be started: {why}"),
            Cause::Lost => "ended while nobody watched".into(),
        })
    }

    fn too_long(&self) -> String {
        format!("a build may take {} seconds", self.limits.time.as_secs())
    }
}

/// A sentence with the last lines that a program printed.
fn told(sentence: &str, log: &Path) -> String {
    match last_lines(log) {
        lines if lines.is_empty() => sentence.to_owned(),
        lines => format!("{sentence}:\n{lines}"),
    }
}

fn last_lines(log: &Path) -> String {
    let Ok(text) = tail(log) else { return String::new() };
    let text = readable(&text);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let own = lines.iter().rposition(|line| line.starts_with(MARK)).map_or(0, |mark| mark + 1);
    let lines = &lines[own..];
    let mut shown = lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n");
    let count = shown.chars().count();
    if let Some((start, _)) = shown.char_indices().nth(count.saturating_sub(TAIL_CHARS))
        && start > 0
    {
        shown = format!("…{}", &shown[start..]);
    }
    shown
}

fn tail(log: &Path) -> std::io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Text without colours and other control sequences.
fn readable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            if chars.next_if_eq(&'[').is_some() {
                while chars.next().is_some_and(|c| !c.is_ascii_alphabetic()) {}
            }
        } else if c == '\n' || c == '\t' || !c.is_control() {
            out.push(c);
        }
    }
    out
}

/// Ends every program of a build that is still there, and forgets it.
pub(super) async fn end_all<P: Processes>(processes: &P) -> Result<(), Error> {
    let mut changes = processes.changes();
    let ids = processes.list().await?;
    for id in ids.iter().filter(|id| id.as_str().starts_with(PREFIX)) {
        processes.stop(id, Duration::ZERO).await?;
        while let Some(State::Running { .. }) = processes.look(id).await? {
            tokio::select! {
                _ = changes.recv() => {}
                () = tokio::time::sleep(Duration::from_millis(200)) => {}
            }
        }
        processes.forget(id).await?;
    }
    Ok(())
}

/// Removes the logs of an application's older builds, so that this many stay with the one to come.
pub(super) fn keep_logs(directory: &Path, name: &str, kept: usize) -> Result<(), Error> {
    let mut logs = logs(directory, name)?;
    logs.sort();
    for (_, path) in logs.iter().rev().skip(kept.saturating_sub(1)) {
        fs::remove_file(path).map_err(Error::at(path))?;
    }
    Ok(())
}

/// The logs of an application, by their number.
pub(super) fn logs(directory: &Path, name: &str) -> Result<Vec<(u64, PathBuf)>, Error> {
    let mut logs = Vec::new();
    for entry in fs::read_dir(directory).map_err(Error::at(directory))? {
        let entry = entry.map_err(Error::at(directory))?;
        let file = entry.file_name().to_string_lossy().into_owned();
        let number = file.strip_prefix(name).and_then(|rest| rest.strip_prefix('-')?.strip_suffix(".log"));
        if let Some(number) = number.and_then(|digits| digits.parse().ok()) {
            logs.push((number, entry.path()));
        }
    }
    Ok(logs)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn the_last_words_are_those_of_the_last_program_and_readable() {
        let place = TempDir::new().expect("a directory");
        let log = place.path().join("log");
        fs::write(&log, "old\n==> $ make\n\n\u{1b}[31merror\u{1b}[0m: no\u{7} semicolon\n").expect("a file");
        assert_eq!(
            told("`make` exited with code 2", &log),
            "`make` exited with code 2:\nerror: no semicolon"
        );
        fs::write(&log, "==> $ make\n").expect("a file");
        assert_eq!(told("`make` exited with code 2", &log), "`make` exited with code 2");
        fs::write(&log, "x".repeat(1 << 20)).expect("a file");
        assert_eq!(last_lines(&log).chars().count(), TAIL_CHARS + 1);
        fs::write(&log, "line\n".repeat(1000)).expect("a file");
        assert_eq!(last_lines(&log).lines().count(), TAIL_LINES);
    }

    #[test]
    fn the_last_logs_of_an_application_are_kept_and_those_of_others_too() {
        let place = TempDir::new().expect("a directory");
        for name in ["a-1.log", "a-2.log", "a-10.log", "a-b-1.log", "a-1-1.log", "note"] {
            fs::write(place.path().join(name), "").expect("a file");
        }
        keep_logs(place.path(), "a", 3).expect("they can be removed");
        let mut names: Vec<_> = fs::read_dir(place.path())
            .expect("it is there")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(names, ["a-1-1.log", "a-10.log", "a-2.log", "a-b-1.log", "note"]);
    }
}
