//! One running platform that builds and runs programs, in directories of its own.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::{self, Answer};
use crate::watch::{Lines, Watch};

/// Stopping takes at most this long; `terrace up` promises it.
const STOPS_WITHIN: Duration = Duration::from_secs(5);
/// How long one command may take before it counts as stuck. The first build of a Go program compiles its whole library,
/// which is most of a minute of processor time.
const COMMAND_SECONDS: &str = "400";
/// How long is paused between two looks at what cannot be watched.
const PAUSE: Duration = Duration::from_millis(50);

/// A platform to tell a story on. Stopped, and its directory removed, when it goes.
pub struct Platform {
    directory: tempfile::TempDir,
    /// What it said when it was ready.
    pub ready: Value,
    process: Option<Child>,
}

/// How a command ended and what it said.
#[derive(Debug)]
pub struct Told {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
    asked: String,
}

impl Told {
    /// What it answered, if it did what was asked.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}\n{}{}", self.asked, self.out, self.err);
        self.out
    }

    /// Both of its outputs, if it ended with this code.
    #[track_caller]
    pub fn ends_with(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{}\n{}{}", self.asked, self.out, self.err);
        format!("{}{}", self.out, self.err)
    }
}

impl Platform {
    /// Starts the binary and waits until it says that it is ready.
    pub fn start(options: &[&str]) -> Self {
        let directory = tempfile::Builder::new().prefix("terrace-apps-").tempdir().expect("a directory");
        // Programs of other users must be able to pass through.
        let passable = std::fs::Permissions::from_mode(0o711);
        std::fs::set_permissions(directory.path(), passable).expect("it is ours");
        for folder in ["home", "here"] {
            std::fs::create_dir(directory.path().join(folder)).expect("a folder in it");
        }
        let log = std::fs::File::create(directory.path().join("stderr")).expect("a file for its words");
        let mut platform = Self { directory, ready: Value::Null, process: None };
        let shared = platform.path().join("shared");
        let mut process = Command::new(env!("CARGO_BIN_EXE_terrace"))
            .args(["up", "--port", "0", "--http-port", "0", "--agents-port", "0", "--json"])
            .args(options)
            .arg("--data-dir")
            .arg(platform.path().join("data"))
            .arg("--shared-dir")
            .arg(shared)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the binary starts");
        let stdout = BufReader::new(process.stdout.take().expect("stdout is piped"));
        platform.process = Some(process);
        let said = stdout.lines().map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok());
        let ready = said.into_iter().find(|line: &Value| line["ready"] == true);
        platform.ready =
            ready.unwrap_or_else(|| panic!("it ended before it was ready\n{}", platform.last_words()));
        platform
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A command that sees this platform, and of this machine only the PATH.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path().join("home"))
            .env("TZ", "UTC")
            .env("LC_ALL", "C.UTF-8")
            .env("KUBECONFIG", self.path().join("data/kubeconfig"))
            .env("TERRACE_DATA_DIR", self.path().join("data"))
            .current_dir(self.path().join("here"))
            .stdin(Stdio::null());
        command
    }

    /// Runs `terrace` to its end.
    pub fn terrace(&self, args: &[&str]) -> Told {
        self.run(env!("CARGO_BIN_EXE_terrace"), args)
    }

    /// Runs `kubectl` to its end.
    pub fn kubectl(&self, args: &[&str]) -> Told {
        self.run("kubectl", args)
    }

    /// Runs a program to its end, which comes in time.
    pub fn run(&self, program: &str, args: &[&str]) -> Told {
        let mut command = self.command("timeout");
        let output = command.args(["--kill-after=5", COMMAND_SECONDS, program]).args(args).output();
        let Output { status, stdout, stderr } = output.expect("timeout is on every machine");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let asked = format!("{program} {}", args.join(" "));
        Told { code: status.code(), out: text(&stdout), err: text(&stderr), asked }
    }

    /// What `terrace` says as it goes on.
    pub fn terrace_lines(&self, args: &[&str]) -> Lines {
        let mut command = self.command(env!("CARGO_BIN_EXE_terrace"));
        command.args(args);
        Lines::of(command)
    }

    /// What `kubectl` says as it goes on.
    pub fn kubectl_lines(&self, args: &[&str]) -> Lines {
        let mut command = self.command("kubectl");
        command.args(args);
        Lines::of(command)
    }

    /// The objects at a path of the API, each time one of them changes.
    pub fn watch(&self, path: &str) -> Watch {
        Watch::of(self.kubectl_lines(&["get", "--raw", &format!("{path}?watch=true")]))
    }

    /// Applications of a namespace, each time one of them changes.
    pub fn watch_apps(&self, namespace: &str) -> Watch {
        self.watch(&format!("/apis/iaf.io/v1alpha1/namespaces/{namespace}/applications"))
    }

    /// Writes objects.
    #[track_caller]
    pub fn apply(&self, objects: &[Value]) {
        let file = self.path().join("here/objects.json");
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
        std::fs::write(&file, list.to_string()).expect("the file is written");
        self.kubectl(&["apply", "-f", "objects.json"]).ok();
    }

    /// An object as it is now.
    #[track_caller]
    pub fn object(&self, namespace: &str, kind: &str, name: &str) -> Value {
        let told = self.kubectl(&["-n", namespace, "get", kind, name, "-o", "json"]).ok();
        serde_json::from_str(&told).expect("kubectl prints JSON")
    }

    /// The names of the objects of some kinds.
    #[track_caller]
    pub fn names(&self, namespace: &str, kinds: &str) -> Vec<String> {
        let told = self.kubectl(&["-n", namespace, "get", kinds, "-o", "name"]).ok();
        told.lines().map(str::to_owned).collect()
    }

    /// Writes the source of a program.
    pub fn source(&self, name: &str, files: &[(&str, &str)]) -> String {
        let folder = self.path().join("here").join(name);
        std::fs::create_dir_all(&folder).expect("a folder for it");
        for (file, text) in files {
            std::fs::write(folder.join(file), text).expect("the file is written");
        }
        folder.display().to_string()
    }

    /// Asks an application through the gateway.
    #[track_caller]
    pub fn get(&self, host: &str, path: &str) -> Answer {
        let gateway = self.ready["gateway"].as_str().expect("the gateway's address is said");
        let address = gateway.trim_start_matches("http://");
        http::get(address, host, path).unwrap_or_else(|error| panic!("{host}{path}: {error}"))
    }

    /// Processes that run because of this platform: those that lie in its directory or are told of it.
    pub fn processes(&self) -> Vec<String> {
        let own: Vec<u32> = self.process.iter().map(Child::id).chain([std::process::id()]).collect();
        let found = std::fs::read_dir("/proc").expect("there is /proc").flatten();
        let pids = found.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| !own.contains(pid)).filter_map(|pid| described(pid, self.path())).collect()
    }

    /// What the binary wrote to stderr, for the report of a failure.
    pub fn last_words(&self) -> String {
        std::fs::read_to_string(self.path().join("stderr")).unwrap_or_default()
    }

    /// Asks the binary to stop, and insists that it does in time, in peace and with everything it started.
    pub fn stop(mut self) {
        let mut process = self.process.take().expect("it was started");
        let asked = Instant::now();
        terminate(process.id());
        let status = process.wait().expect("the child is ours");
        let took = asked.elapsed();
        assert!(status.success(), "terrace up ended with {status}\n{}", self.last_words());
        assert!(took < STOPS_WITHIN, "stopping took {took:?}");
        let left = self.processes();
        assert!(left.is_empty(), "still running after the end: {left:#?}");
        let words = self.last_words();
        assert!(!words.contains("panicked"), "something in it panicked: {words}");
        let path = self.path().to_owned();
        // Finished images are sealed, also against their owner.
        let _ = Command::new("chmod").args(["-R", "u+w"]).arg(&path).status();
        drop(self);
        assert!(!path.exists(), "{} is still there", path.display());
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        // Only after a failed story: what it started would outlive it if it were killed.
        terminate(process.id());
        let end = Instant::now() + 2 * STOPS_WITHIN;
        while Instant::now() < end && matches!(process.try_wait(), Ok(None)) {
            std::thread::park_timeout(PAUSE);
        }
        let _ = process.kill();
        let _ = process.wait();
        eprintln!("--- the platform said:\n{}", self.last_words());
        for left in self.processes() {
            eprintln!("--- ended by force: {left}");
            let pid = left.split(' ').next().unwrap_or_default().to_owned();
            let _ = Command::new("kill").args(["-9", &pid]).status();
        }
    }
}

/// Looks again and again until something is there.
#[track_caller]
pub fn until<T>(within: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + within;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "not seen within {within:?}: {what}");
        std::thread::park_timeout(PAUSE);
    }
}

/// The repository.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the workspace is two folders up")
}

/// Whether a program is on the PATH. What needs it is left out otherwise, loudly.
pub fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !found {
        eprintln!("SKIPPED: there is no {program} on this machine");
    }
    found
}

fn terminate(pid: u32) {
    let signalled = Command::new("kill").arg(pid.to_string()).status();
    if !signalled.is_ok_and(|status| status.success()) {
        eprintln!("process {pid} was gone before its end");
    }
}

/// A process in words, if it has to do with a directory.
fn described(pid: u32, directory: &Path) -> Option<String> {
    let place = PathBuf::from(format!("/proc/{pid}"));
    let bytes = |file: &str| std::fs::read(place.join(file)).unwrap_or_default();
    let link = |file: &str| std::fs::read_link(place.join(file)).unwrap_or_default();
    let words = String::from_utf8_lossy(&bytes("cmdline")).replace('\0', " ");
    let environment = String::from_utf8_lossy(&bytes("environ")).into_owned();
    let needle = directory.display().to_string();
    let told = words.contains(&needle) || environment.contains(&needle);
    let lies = link("cwd").starts_with(directory) || link("exe").starts_with(directory);
    (told || lies).then(|| format!("{pid} {words} in {}", link("cwd").display()))
}
