//! One running platform: the real binary on a data directory and ports of its own.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Stopping takes at most this long; `terrace up` promises it.
const STOPS_WITHIN: Duration = Duration::from_secs(5);

/// A platform to tell a story on. Stopped, and its directory removed, when it goes.
pub struct Platform {
    directory: tempfile::TempDir,
    kubeconfig: PathBuf,
    process: Option<Child>,
}

impl Platform {
    /// Starts the binary and waits until it says that it is ready.
    ///
    /// With `TERRACE_STORY_KUBECONFIG` set, no binary starts: the story plays on that server, which is how
    /// its answers are compared with those of a real kube-apiserver.
    pub fn start() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for folder in ["home", "here"] {
            std::fs::create_dir(directory.path().join(folder)).expect("a folder in it");
        }
        if let Some(kubeconfig) = std::env::var_os("TERRACE_STORY_KUBECONFIG") {
            return Self { directory, kubeconfig: kubeconfig.into(), process: None };
        }
        let data = directory.path().join("data");
        let log = std::fs::File::create(directory.path().join("stderr")).expect("a file for its words");
        let mut process = Command::new(env!("CARGO_BIN_EXE_terrace"))
            .args(["up", "--api-only", "--port", "0", "--json", "--data-dir"])
            .arg(&data)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the binary starts");
        let stdout = BufReader::new(process.stdout.take().expect("stdout is piped"));
        let platform = Self { directory, kubeconfig: data.join("kubeconfig"), process: Some(process) };
        let ready = stdout.lines().map_while(Result::ok).any(|line| is_ready(&line));
        assert!(ready, "terrace up ended before it was ready\n{}", platform.last_words());
        platform
    }

    /// A command that sees this platform, and of this machine only the PATH.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.directory.path().join("home"))
            .env("TZ", "UTC")
            .env("LC_ALL", "C.UTF-8")
            .env("KUBECONFIG", &self.kubeconfig)
            .env("TERRACE_DATA_DIR", self.directory.path().join("data"))
            .current_dir(self.directory.path().join("here"))
            .stdin(Stdio::null());
        command
    }

    /// Everything that changes from run to run: the directory of this platform.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// What the binary wrote to stderr, for the report of a failure.
    pub fn last_words(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("stderr")).unwrap_or_default()
    }

    /// Asks the binary to stop, and insists that it does in time and in peace.
    pub fn stop(mut self) {
        let Some(mut process) = self.process.take() else { return };
        let asked = Instant::now();
        let signalled = Command::new("kill").arg(process.id().to_string()).status();
        assert!(signalled.is_ok_and(|status| status.success()), "the platform was gone before its end");
        let status = process.wait().expect("the child is ours");
        let took = asked.elapsed();
        assert!(status.success(), "terrace up ended with {status}\n{}", self.last_words());
        assert!(took < STOPS_WITHIN, "stopping took {took:?}");
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // Only after a failed story; there is nobody left to tell.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn is_ready(line: &str) -> bool {
    serde_json::from_str::<Value>(line).is_ok_and(|line| line["ready"] == true)
}
