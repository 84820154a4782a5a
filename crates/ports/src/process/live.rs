//! Process groups of this machine, each with a shim as its parent.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use shim::process::Process;
use shim::{Order, Record, STARTED};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{Semaphore, broadcast};

use super::watch::{self, Adopted};
use super::{Error, Id, Launch, Processes, State};

/// Names of changes that wait for a slow listener.
const CHANGES: usize = 1024;
/// Shims that are being started at one time: each needs a few files until it has its order.
const STARTS: usize = 16;
/// How long a shim may take to say that it has its order, on the busiest machine.
const ANSWER: Duration = Duration::from_secs(30);
/// What the name of a record ends with.
const RECORD: &str = "run";

/// Where the machinery keeps its files, and how a shim is called.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Program and arguments that end in [`shim::run`].
    pub shim: Vec<String>,
    /// Directory of the records; made if it is not there, for its owner alone.
    pub dir: PathBuf,
}

/// Process groups of this machine. Dropping it leaves them running: the next to open the same directory adopts them.
#[derive(Clone)]
pub struct Live {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    settings: Settings,
    pub(super) runs: Mutex<BTreeMap<Id, Run>>,
    changes: broadcast::Sender<Id>,
    starts: Semaphore,
}

/// What is known of one run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Run {
    /// Its shim has been asked for and has not answered yet.
    Starting,
    /// Its shim has answered.
    Known(Record),
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("settings", &self.inner.settings).finish_non_exhaustive()
    }
}

impl Live {
    /// Opens the directory and adopts every run that it tells of. What lost its shim is brought to an end first.
    pub async fn open(settings: Settings) -> Result<Self, Error> {
        let dir = std::path::absolute(&settings.dir).map_err(|source| at(&settings.dir, source))?;
        DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(|source| at(&dir, source))?;
        let inner = Inner {
            settings: Settings { dir, ..settings },
            runs: Mutex::default(),
            changes: broadcast::Sender::new(CHANGES),
            starts: Semaphore::new(STARTS),
        };
        let live = Self { inner: Arc::new(inner) };
        let adopted = live.read_all()?;
        let boot = shim::process::boot().map_err(|source| at(Path::new("/proc"), source))?;
        let mut alive = Vec::new();
        for (id, record) in adopted {
            let same_boot = record.boot == boot;
            live.inner.runs.lock().insert(id.clone(), Run::Known(record.clone()));
            if record.end.is_some() {
                continue;
            }
            if same_boot && record.shim.is_alive() {
                alive.push(Adopted { id, shim: record.shim });
            } else {
                watch::shim_gone(&live, &id, watch::Trace::of(same_boot)).await?;
            }
        }
        watch::adopt(&live, alive);
        Ok(live)
    }

    /// Ends every run, all at the same time, and returns when nothing is left.
    /// Nothing can be started any more.
    pub async fn stop_all(&self, grace: Duration) -> Result<(), Error> {
        self.inner.starts.close();
        watch::stop_all(self, grace).await
    }

    /// The file of a run's record.
    pub(super) fn record(&self, id: &Id) -> PathBuf {
        self.inner.settings.dir.join(format!("{id}.{RECORD}"))
    }

    /// Writes down how a run stands, in memory, and tells who listens.
    /// A run that was forgotten meanwhile stays forgotten.
    pub(super) fn learn(&self, id: &Id, record: Record) {
        let mut runs = self.inner.runs.lock();
        let Some(run) = runs.get_mut(id) else { return };
        let news = Run::Known(record);
        if *run != news {
            *run = news;
            self.tell(id);
        }
    }

    fn tell(&self, id: &Id) {
        // Nobody listening is no failure.
        let _ = self.inner.changes.send(id.clone());
    }

    pub(super) fn known(&self, id: &Id) -> Option<Record> {
        match self.inner.runs.lock().get(id)? {
            Run::Starting => None,
            Run::Known(record) => Some(record.clone()),
        }
    }

    /// Whether anything runs, or is about to.
    pub(super) fn unsettled(&self) -> bool {
        let unsettled = |run: &Run| match run {
            Run::Starting => true,
            Run::Known(record) => record.end.is_none(),
        };
        self.inner.runs.lock().values().any(unsettled)
    }

    fn read_all(&self) -> Result<Vec<(Id, Record)>, Error> {
        let dir = &self.inner.settings.dir;
        let mut found = Vec::new();
        for entry in fs::read_dir(dir).map_err(|source| at(dir, source))? {
            let path = entry.map_err(|source| at(dir, source))?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            match (name.strip_suffix(&format!(".{RECORD}")), name.rsplit_once(Record::DRAFT)) {
                (Some(stem), _) => match Record::read(&path) {
                    Ok(record) => found.push((Id::new(stem), record)),
                    // Records change as a whole, so only a machine that lost power leaves half a one; it took the
                    // run with it.
                    Err(error) => {
                        tracing::warn!(path = %path.display(), %error, "removing a record that cannot be read");
                        fs::remove_file(&path).map_err(|source| at(&path, source))?;
                    }
                },
                // Whoever was writing it is gone.
                (None, Some((_, pid))) if pid.parse().is_ok_and(|pid| Process::find(pid).is_none()) => {
                    fs::remove_file(&path).map_err(|source| at(&path, source))?;
                }
                (None, _) => {}
            }
        }
        Ok(found)
    }

    async fn launch(&self, launch: Launch) -> Result<(), Error> {
        let id = launch.id.clone();
        let started = self.ask_shim(launch).await;
        let path = self.record(&id);
        // Whatever the shim said: a record means that the order was taken, and the run is known from here on.
        match (started, Record::read(&path)) {
            (Ok(child), Ok(record)) => {
                self.learn(&id, record.clone());
                watch::child(self, id, record.shim, child);
                Ok(())
            }
            (Err(_), Ok(record)) => {
                self.learn(&id, record.clone());
                watch::adopt(self, vec![Adopted { id, shim: record.shim }]);
                Ok(())
            }
            (started, Err(source)) => {
                self.inner.runs.lock().remove(&id);
                self.tell(&id);
                Err(started.err().unwrap_or_else(|| at(&path, source)))
            }
        }
    }

    /// Starts a shim, hands it its order, and returns once its record tells how the start went.
    async fn ask_shim(&self, launch: Launch) -> Result<Child, Error> {
        let _permit = self.inner.starts.acquire().await.map_err(|_| complaint("the platform is ending"))?;
        let (program, arguments) =
            self.inner.settings.shim.split_first().ok_or_else(|| complaint("no program is named"))?;
        let order = order(launch, |id| self.record(id)).map_err(Error::Shim)?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(Error::Shim)?;
        let text = serde_json::to_vec(&order).map_err(|error| Error::Shim(error.into()))?;
        let talk = async {
            let mut stdin = child.stdin.take().ok_or_else(|| io::Error::other("it has no input"))?;
            stdin.write_all(&text).await?;
            drop(stdin);
            let stdout = child.stdout.take().ok_or_else(|| io::Error::other("it has no output"))?;
            let mut answer = String::new();
            BufReader::new(stdout).read_line(&mut answer).await?;
            Ok::<_, io::Error>(answer)
        };
        let answer = match tokio::time::timeout(ANSWER, talk).await {
            Ok(answer) => answer.map_err(Error::Shim)?,
            Err(_) => return Err(complaint("it does not answer")),
        };
        match answer.trim() {
            STARTED => Ok(child),
            "" => Err(complaint("it ended without an answer")),
            words => Err(complaint(words)),
        }
    }
}

fn complaint(words: &str) -> Error {
    Error::Shim(io::Error::other(words.to_owned()))
}

fn order(launch: Launch, record: impl Fn(&Id) -> PathBuf) -> io::Result<Order> {
    let Launch { id, command, directory, env, user, expose, log, limits } = launch;
    Ok(Order {
        command,
        directory: std::path::absolute(directory)?,
        env: env.into_iter().map(|(name, value)| (name, value.into_open())).collect(),
        user,
        expose,
        log: std::path::absolute(log)?,
        record: record(&id),
        limits: shim::Limits {
            memory_bytes: limits.memory_bytes,
            processes: limits.processes,
            open_files: limits.open_files,
            lifetime_ms: limits.lifetime.map(milliseconds),
            log_bytes: limits.log_bytes,
        },
    })
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn at(path: &Path, source: io::Error) -> Error {
    Error::Files { path: path.to_owned(), source }
}

impl Processes for Live {
    async fn start(&self, launch: Launch) -> Result<(), Error> {
        {
            let mut runs = self.inner.runs.lock();
            if runs.contains_key(&launch.id) {
                return Ok(());
            }
            runs.insert(launch.id.clone(), Run::Starting);
        }
        // A task of its own: whoever gives up waiting must not leave a shim without its order.
        let this = self.clone();
        let task = tokio::spawn(async move { this.launch(launch).await });
        task.await.unwrap_or_else(|error| Err(Error::Shim(io::Error::other(error))))
    }

    async fn stop(&self, id: &Id, grace: Duration) -> Result<(), Error> {
        let path = self.record(id);
        let runs = self.inner.runs.lock();
        match runs.get(id) {
            Some(Run::Known(record)) if record.end.is_none() => {
                shim::grace::ask_to_end(record, &path, grace).map_err(|source| at(&path, source))
            }
            Some(Run::Known(_) | Run::Starting) | None => Ok(()),
        }
    }

    async fn look(&self, id: &Id) -> Result<Option<State>, Error> {
        self.known(id).map(|record| watch::state(&record)).transpose()
    }

    async fn list(&self) -> Result<Vec<Id>, Error> {
        Ok(self.inner.runs.lock().keys().cloned().collect())
    }

    async fn forget(&self, id: &Id) -> Result<(), Error> {
        if self.known(id).is_none_or(|record| record.end.is_none()) {
            return Ok(());
        }
        let path = self.record(id);
        for file in [shim::grace::file(&path), path] {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&file, error)),
                Ok(()) | Err(_) => {}
            }
        }
        self.inner.runs.lock().remove(id);
        Ok(())
    }

    fn changes(&self) -> broadcast::Receiver<Id> {
        self.inner.changes.subscribe()
    }
}
