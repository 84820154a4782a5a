//! One platform with everything running: started, killed, started again, stopped.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::web::{Answer, Browser};

/// Stopping takes at most this long; `terrace up` promises it.
pub const STOPS_WITHIN: Duration = Duration::from_secs(5);
/// How long a person on a busy machine bears to wait.
pub const SOON: Duration = Duration::from_secs(60);

/// A platform, and a namespace in it that no other platform on this machine has: so are the users of its programs.
pub struct Platform {
    directory: tempfile::TempDir,
    pub namespace: String,
    options: Vec<String>,
    environment: Vec<(String, String)>,
    api_port: u16,
    pub gateway: SocketAddr,
    process: Option<(Child, BufReader<ChildStdout>)>,
}

impl Platform {
    pub fn start(options: &[&str]) -> Self {
        Self::start_in(options, &[])
    }

    /// The same, with more in its environment.
    pub fn start_in(options: &[&str], environment: &[(&str, &str)]) -> Self {
        let directory = tempfile::Builder::new().prefix("terrace-hard-").tempdir().expect("a directory");
        // Programs run as other users, and must get through here.
        let through = std::fs::Permissions::from_mode(0o711);
        std::fs::set_permissions(directory.path(), through).expect("the directory is ours");
        let name = directory.path().file_name().expect("it has a name").to_string_lossy().to_lowercase();
        let mut platform = Self {
            directory,
            namespace: name,
            options: options.iter().map(|&word| word.to_owned()).collect(),
            environment: environment.iter().map(|&(key, value)| (key.into(), value.into())).collect(),
            api_port: 0,
            gateway: SocketAddr::from(([127, 0, 0, 1], 0)),
            process: None,
        };
        platform.rise();
        platform.kubectl(&["create", "namespace", &platform.namespace.clone()]);
        platform
    }

    /// Starts the binary, where it was before if it ran before, and waits until it says that it is ready.
    pub fn rise(&mut self) {
        self.begin();
        let (_, lines) = self.process.as_mut().expect("it was just started");
        let ready = lines.lines().map_while(Result::ok).find_map(|line| {
            let line: Value = serde_json::from_str(&line).ok()?;
            (line["ready"] == true).then_some(line)
        });
        let ready =
            ready.unwrap_or_else(|| panic!("terrace up ended before it was ready\n{}", self.last_words()));
        let port = |name: &str| -> u16 {
            ready[name].as_str().and_then(|url| url.rsplit(':').next()?.parse().ok()).expect("a port")
        };
        self.api_port = port("api");
        self.gateway.set_port(port("gateway"));
    }

    /// Starts the binary and does not wait.
    pub fn begin(&mut self) {
        assert!(self.process.is_none(), "it runs already");
        let log = std::fs::File::options().create(true).append(true).open(self.path().join("stderr"));
        let mut process = Command::new(env!("CARGO_BIN_EXE_terrace"))
            .args(["up", "--json", "--port", &self.api_port.to_string()])
            .args(["--http-port", &self.gateway.port().to_string(), "--agents-port", "0"])
            .arg("--data-dir")
            .arg(self.data())
            .arg("--shared-dir")
            .arg(self.path().join("shared"))
            .args(&self.options)
            .env("TERRACE_PLANTED_SECRET", "the-platforms-own")
            .envs(self.environment.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log.expect("a file for its words"))
            .spawn()
            .expect("the binary starts");
        let lines = BufReader::new(process.stdout.take().expect("stdout is piped"));
        self.process = Some((process, lines));
    }

    /// Reads so many lines of what it says.
    pub fn read_lines(&mut self, count: usize) {
        let (_, lines) = self.process.as_mut().expect("it runs");
        for _ in 0..count {
            let mut line = String::new();
            lines.read_line(&mut line).expect("it can be read");
            assert!(!line.is_empty(), "it ended by itself");
        }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    pub fn pid(&self) -> u32 {
        self.process.as_ref().expect("it runs").0.id()
    }

    /// What the binary wrote to stderr, for the report of a failure.
    pub fn last_words(&self) -> String {
        let text = std::fs::read_to_string(self.path().join("stderr")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// Kills the binary where it stands. What it started goes on.
    pub fn kill(&mut self) {
        let (mut process, _) = self.process.take().expect("it runs");
        process.kill().expect("it is ours");
        process.wait().expect("it is ours");
    }

    /// Asks the binary to stop and insists that it does in time, in peace, and leaves nothing running.
    pub fn stop(&mut self, signal: &str) -> Duration {
        let (mut process, _) = self.process.take().expect("it runs");
        let asked = Instant::now();
        let sent = Command::new("kill").args([signal, &process.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the platform was gone before its end");
        let status = process.wait().expect("it is ours");
        let took = asked.elapsed();
        assert!(status.success(), "terrace up ended with {status}\n{}", self.last_words());
        assert_eq!(self.left_running(), Vec::<String>::new(), "after {took:?}\n{}", self.last_words());
        took
    }

    /// The user of this namespace's programs, that of its builds, and that of its databases.
    pub fn users(&self) -> [u32; 3] {
        let digest = Sha256::digest(&self.namespace);
        let number = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]) % 1_000_000;
        [200_000, 1_200_000, 2_200_000].map(|first| first + number)
    }

    /// Every process that has to do with this platform: by what it runs, where, with which words, or as whom.
    pub fn left_running(&self) -> Vec<String> {
        self.processes().into_iter().map(|(pid, words)| format!("{pid} {words}")).collect()
    }

    fn processes(&self) -> Vec<(u32, String)> {
        let (place, users) = (self.path().display().to_string(), self.users());
        let pids = std::fs::read_dir("/proc")
            .expect("it is there")
            .filter_map(|entry| entry.ok().and_then(|entry| entry.file_name().to_str()?.parse::<u32>().ok()));
        let related = |pid: u32| {
            let file = |name: &str| PathBuf::from(format!("/proc/{pid}/{name}"));
            let text = |name: &str| {
                String::from_utf8_lossy(&std::fs::read(file(name)).unwrap_or_default()).into_owned()
            };
            let link = |name: &str| {
                std::fs::read_link(file(name)).map(|path| path.display().to_string()).unwrap_or_default()
            };
            let owner = std::fs::metadata(file("")).map(|found| found.uid()).unwrap_or_default();
            let words = text("cmdline").replace('\0', " ");
            let told = [words.clone(), text("environ"), link("cwd"), link("exe")];
            // Who has ended and waits to be collected has no words.
            let ours = told.iter().any(|told| told.contains(&place))
                || (users.contains(&owner) && !words.is_empty());
            ours.then_some((pid, words))
        };
        pids.filter_map(related).collect()
    }

    /// A command that sees this platform, and of this machine only the PATH.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .env("LC_ALL", "C.UTF-8")
            .env("KUBECONFIG", self.data().join("kubeconfig"))
            .env("TERRACE_DATA_DIR", self.data())
            .stdin(Stdio::null());
        command
    }

    pub fn try_kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        let output = self.command("kubectl").args(["-n", &self.namespace]).args(arguments).output();
        let output = output.expect("kubectl is there");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    pub fn kubectl(&self, arguments: &[&str]) -> String {
        self.try_kubectl(arguments)
            .unwrap_or_else(|error| panic!("kubectl {arguments:?}: {error}\n{}", self.last_words()))
    }

    /// Applies an Application, in the platform's own namespace unless it names another.
    pub fn try_apply(&self, name: &str, spec: &Value) -> Result<(), String> {
        self.try_apply_object(&json!({
            "apiVersion": "iaf.io/v1alpha1", "kind": "Application",
            "metadata": { "name": name }, "spec": spec,
        }))
    }

    /// Applies any object, in the platform's own namespace unless it names another.
    pub fn try_apply_object(&self, manifest: &Value) -> Result<(), String> {
        let mut child = self
            .command("kubectl")
            .args(["-n", &self.namespace, "apply", "-f", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl is there");
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(manifest.to_string().as_bytes()).expect("kubectl reads");
        drop(stdin);
        let output = child.wait_with_output().expect("it is ours");
        if output.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    pub fn apply(&self, name: &str, spec: &Value) {
        self.try_apply(name, spec).unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    /// `terrace deploy` of a directory; waits until it answers.
    pub fn deploy(&self, directory: &Path, name: &str, options: &[&str]) {
        let output = self
            .command(env!("CARGO_BIN_EXE_terrace"))
            .arg("deploy")
            .arg(directory)
            .args(["--name", name])
            .args(if options.contains(&"-n") { vec![] } else { vec!["-n", &self.namespace] })
            .args(options)
            .output()
            .expect("the binary is there");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "terrace deploy {name}: {words}\n{}", self.last_words());
    }

    /// The test's own program in a directory of its own, to be changed and deployed.
    pub fn program(&self, name: &str) -> PathBuf {
        let (from, to) =
            (Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hard/program"), self.path().join(name));
        std::fs::create_dir(&to).expect("a new directory");
        for file in ["Procfile", "server.py"] {
            std::fs::copy(from.join(file), to.join(file)).expect("a copy");
        }
        to
    }

    pub fn application(&self, name: &str) -> Value {
        self.object("application", name)
    }

    /// An object as it is now; nothing if it is not there.
    pub fn object(&self, kind: &str, name: &str) -> Value {
        let text = self.try_kubectl(&["get", kind, name, "-o", "json"]).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Runs `terrace` to its end: its code, and both of its outputs.
    #[allow(dead_code, reason = "the stories of services use it")]
    pub fn terrace(&self, arguments: &[&str]) -> (i32, String) {
        let mut command = self.command("timeout");
        let output = command.args(["300", env!("CARGO_BIN_EXE_terrace")]).args(arguments).output();
        let output = output.expect("timeout is on every machine");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout) + &text(&output.stderr))
    }

    /// Waits until an application has failed, and returns what it says.
    pub fn failure(&self, name: &str) -> String {
        wait(&format!("{name} to fail"), SOON, || {
            let app = self.application(name);
            let failed = app["status"]["phase"] == "Failed";
            failed.then(|| app["status"]["conditions"].to_string())
        })
    }

    /// Waits until an application answers well.
    pub fn answer(&self, name: &str, path: &str) -> Answer {
        wait(&format!("{name} to answer"), SOON, || {
            let answer = Browser::new(self.gateway).get(&host(name), path).ok()?;
            (answer.status == 200).then_some(answer)
        })
    }

    /// The pods of an application.
    pub fn pods(&self, name: &str) -> BTreeSet<String> {
        let label = format!("iaf.io/application={name}");
        let names = self.kubectl(&["get", "pods", "-l", &label, "-o", "name"]);
        names.lines().map(|line| line.trim_start_matches("pod/").to_owned()).collect()
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        // Only after a failed story is there anything left to end.
        if let Some((mut process, _)) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
        for (pid, _) in self.processes() {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
        }
    }
}

/// Where an application answers.
pub fn host(name: &str) -> String {
    format!("{name}.localhost")
}

/// Waits for something to be seen.
pub fn wait<T>(what: &str, within: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + within;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < deadline, "waited {within:?} in vain for {what}");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}
