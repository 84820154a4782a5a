//! A directory with a platform in it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ports::process::{End, Id, Launch, Limits, Live, Processes, Settings, State};
use shim::Record;
use shim::process::Process;
use tempfile::TempDir;

/// How long anything may take on the busiest machine before it counts as never.
const DEADLINE: Duration = Duration::from_secs(30);
/// How often what cannot be waited for is looked at.
const LOOK: Duration = Duration::from_millis(10);

pub struct Room {
    pub live: Live,
    pub dir: TempDir,
}

impl Room {
    pub async fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("the directory is ours");
        let live = open(dir.path()).await;
        Self { live, dir }
    }

    pub fn launch(&self, id: &str, command: &[&str]) -> Launch {
        launch(self.dir.path(), id, command)
    }

    /// Starts a script of the shell.
    pub async fn shell(&self, id: &str, script: &str) -> Id {
        self.start(self.launch(id, &["/bin/sh", "-c", script])).await
    }

    pub async fn start(&self, launch: Launch) -> Id {
        let id = launch.id.clone();
        self.live.start(launch).await.expect("the shim starts");
        id
    }

    pub fn log(&self, id: &Id) -> String {
        let bytes = fs::read(self.dir.path().join(format!("{id}.log"))).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub fn record_path(&self, id: &Id) -> PathBuf {
        self.dir.path().join(format!("runs/{id}.run"))
    }

    pub fn record(&self, id: &Id) -> Record {
        Record::read(&self.record_path(id)).expect("a record")
    }

    pub async fn printed(&self, id: &Id, text: &str) {
        until(&format!("{id} printed {text}"), || self.log(id).contains(text)).await;
    }
}

pub async fn open(dir: &Path) -> Live {
    let this = std::env::current_exe().expect("this program");
    let shim = vec![this.to_str().expect("a plain path").to_owned(), "shim".to_owned()];
    Live::open(Settings { shim, dir: dir.join("runs") }).await.expect("the directory can be used")
}

pub fn launch(dir: &Path, id: &str, command: &[&str]) -> Launch {
    let path = std::env::var("PATH").expect("a path");
    Launch {
        id: Id::new(id),
        command: command.iter().map(|&word| word.to_owned()).collect(),
        directory: dir.to_owned(),
        env: BTreeMap::from([("PATH".to_owned(), path.into())]),
        user: None,
        expose: Vec::new(),
        log: dir.join(format!("{id}.log")),
        limits: Limits::default(),
    }
}

/// Waits until a run has ended.
pub async fn ended(processes: &impl Processes, id: &Id) -> End {
    let mut changes = processes.changes();
    let wait = async {
        loop {
            match processes.look(id).await.expect("a look") {
                Some(State::Ended(end)) => return end,
                Some(State::Running { .. }) => drop(changes.recv().await),
                None => panic!("{id} is unknown"),
            }
        }
    };
    tokio::time::timeout(DEADLINE, wait).await.unwrap_or_else(|_| panic!("{id} does not end"))
}

/// Waits until something can be seen that nobody tells.
pub async fn until(what: &str, seen: impl Fn() -> bool) {
    let look = async {
        let mut ticks = tokio::time::interval(LOOK);
        while !seen() {
            ticks.tick().await;
        }
    };
    tokio::time::timeout(DEADLINE, look).await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// The processes whose numbers a program printed behind the word `pid`.
pub fn printed_processes(log: &str) -> Vec<Process> {
    let numbers = log.lines().filter_map(|line| line.strip_prefix("pid ")?.trim().parse().ok());
    numbers.filter_map(Process::find).collect()
}

/// How many processes carry this word among their arguments.
pub fn carrying(word: &str) -> usize {
    let processes = fs::read_dir("/proc").expect("proc").flatten();
    let arguments = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    arguments.filter(|bytes| String::from_utf8_lossy(bytes).contains(word)).count()
}

pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}
