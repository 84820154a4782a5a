//! A machine for one test: directories of its own, and programs started without a shim.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::sync::broadcast;

use super::super::digest;
use super::super::{Images, Limits, Live, Order, Settings, Source};
use crate::process::{Cause, End, Error, Id, Launch, Processes, State};

/// A package whose build does not end by itself.
pub(super) const SLOW_PACKAGE: (&str, &str) =
    ("package.json", r#"{"scripts":{"build":"echo started; exec sleep 600","start":"true"}}"#);

/// Process groups without a shim: all that a build needs of them.
pub(super) struct Direct {
    runs: Mutex<BTreeMap<Id, State>>,
    launched: Mutex<Vec<Launch>>,
    changes: broadcast::Sender<Id>,
}

impl Direct {
    /// Whether nothing runs.
    pub(super) fn is_idle(&self) -> bool {
        self.runs.lock().values().all(|state| matches!(state, State::Ended(_)))
    }

    /// Everything that was started.
    pub(super) fn launched(&self) -> Vec<Launch> {
        self.launched.lock().clone()
    }
}

impl Processes for Arc<Direct> {
    async fn start(&self, launch: Launch) -> Result<(), Error> {
        if self.runs.lock().contains_key(&launch.id) {
            return Ok(());
        }
        self.launched.lock().push(launch.clone());
        let log = fs::OpenOptions::new().append(true).create(true).open(&launch.log).expect("the log opens");
        let mut command = tokio::process::Command::new(&launch.command[0]);
        command.args(&launch.command[1..]).current_dir(&launch.directory).env_clear().process_group(0);
        command.envs(launch.env.iter().map(|(name, value)| (name, value.open())));
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a second handle")).stderr(log);
        if let Some(user) = launch.user {
            command.uid(user).gid(user);
        }
        let since = Timestamp::now();
        let child = command.spawn();
        let running = child.as_ref().ok().and_then(|child| child.id());
        let state = match (&child, running) {
            (Ok(_), Some(pid)) => State::Running { pid, since },
            (Err(error), _) => ended(since, Cause::NotStarted(error.to_string())),
            (Ok(_), None) => ended(since, Cause::Lost),
        };
        self.runs.lock().insert(launch.id.clone(), state);
        let runs = Arc::clone(self);
        tokio::spawn(async move {
            if let (Ok(mut child), Some(pid)) = (child, running) {
                let life = launch.limits.lifetime.unwrap_or(Duration::MAX);
                let cause = match tokio::time::timeout(life, child.wait()).await {
                    Ok(Ok(status)) => {
                        status.code().map_or(Cause::Signaled(status.signal().unwrap_or(0)), Cause::Exited)
                    }
                    Ok(Err(_)) => Cause::Lost,
                    Err(_) => Cause::TimedOut,
                };
                kill(pid, Signal::SIGKILL);
                runs.runs.lock().insert(launch.id.clone(), ended(since, cause));
            }
            let _ = runs.changes.send(launch.id);
        });
        Ok(())
    }

    async fn stop(&self, id: &Id, _: Duration) -> Result<(), Error> {
        if let Some(State::Running { pid, .. }) = self.runs.lock().get(id) {
            kill(*pid, Signal::SIGKILL);
        }
        Ok(())
    }

    async fn look(&self, id: &Id) -> Result<Option<State>, Error> {
        Ok(self.runs.lock().get(id).cloned())
    }

    async fn list(&self) -> Result<Vec<Id>, Error> {
        Ok(self.runs.lock().keys().cloned().collect())
    }

    async fn forget(&self, id: &Id) -> Result<(), Error> {
        self.runs.lock().retain(|known, state| known != id || matches!(state, State::Running { .. }));
        Ok(())
    }

    fn changes(&self) -> broadcast::Receiver<Id> {
        self.changes.subscribe()
    }
}

fn ended(since: Timestamp, cause: Cause) -> State {
    State::Ended(End { since, at: Timestamp::now(), cause, last_line: None })
}

fn kill(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).expect("process numbers are small");
    // It may have ended by itself.
    let _ = killpg(Pid::from_raw(pid), signal);
}

/// A machine.
pub(super) struct Bench {
    pub(super) data: TempDir,
    pub(super) shared: TempDir,
    pub(super) processes: Arc<Direct>,
    pub(super) images: Images,
    pub(super) live: Live<Arc<Direct>>,
}

impl Bench {
    /// A machine on which nothing was built yet.
    pub(super) async fn open() -> Self {
        let (data, shared) = (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
        fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o711)).expect("a mode");
        let (runs, launched) = (Mutex::default(), Mutex::default());
        let processes = Arc::new(Direct { runs, launched, changes: broadcast::Sender::new(64) });
        let images = Images::open(shared.path(), vec!["serve".into()]).expect("a store");
        let live = live(data.path(), shared.path(), &images, &processes).await;
        Self { data, shared, processes, images, live }
    }

    /// The platform comes back after it was killed; its programs still run.
    pub(super) async fn reopen(self) -> Self {
        let Self { data, shared, processes, images, live: before } = self;
        before.die();
        let live = live(data.path(), shared.path(), &images, &processes).await;
        Self { data, shared, processes, images, live }
    }

    /// An order for an upload of these files.
    pub(super) fn upload(&self, name: &str, files: &[(&str, &str)]) -> Order {
        let mut archive = tar::Builder::new(Vec::new());
        for (path, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, path, text.as_bytes()).expect("it fits");
        }
        self.store(name, archive.into_inner().expect("it ends"))
    }

    /// An order for an upload of a directory.
    pub(super) fn upload_directory(&self, name: &str, directory: &Path) -> Order {
        let mut archive = tar::Builder::new(Vec::new());
        archive.append_dir_all(".", directory).expect("it can be read");
        self.store(name, archive.into_inner().expect("it ends"))
    }

    /// An order for an upload of these bytes.
    pub(super) fn store(&self, name: &str, bytes: Vec<u8>) -> Order {
        let file = self.data.path().join("upload");
        fs::write(&file, bytes).expect("it can be written");
        let hex = digest::file(&file).expect("it can be read");
        let place = self.data.path().join("blobs/shop");
        fs::create_dir_all(&place).expect("a directory");
        fs::rename(file, place.join(format!("{hex}.tar.gz"))).expect("it moves");
        order(name, Source::Blob { url: format!("terrace-blob://shop/{hex}") })
    }

    /// What a build printed.
    pub(super) fn log(&self, order: &Order) -> String {
        use super::super::Builds as _;
        let path = self.live.log(&order.namespace, &order.name, order.number);
        fs::read_to_string(path).expect("there is a log")
    }

    /// Nothing that a build worked with is left.
    pub(super) fn is_clean(&self) {
        for place in ["builds", "staging"] {
            let left: Vec<_> = fs::read_dir(self.shared.path().join(place)).expect("it is there").collect();
            assert!(left.is_empty(), "{place}: {left:?}");
        }
    }
}

async fn live(data: &Path, shared: &Path, images: &Images, processes: &Arc<Direct>) -> Live<Arc<Direct>> {
    let settings = Settings {
        data: data.to_owned(),
        shared: shared.to_owned(),
        environment: std::env::vars().collect(),
        file_urls: true,
        parallel: 2,
    };
    Live::open(settings, images.clone(), Arc::new(Arc::clone(processes))).await.expect("it opens")
}

/// An order with the usual bounds.
pub(super) fn order(name: &str, source: Source) -> Order {
    Order {
        id: format!("shop.{name}.1"),
        namespace: "shop".into(),
        name: name.into(),
        number: 1,
        tag: format!("registry.localhost:5000/iaf/shop/{name}"),
        source,
        sub_path: None,
        env: BTreeMap::new(),
        user: None,
        limits: Limits::default(),
        login: None,
    }
}
