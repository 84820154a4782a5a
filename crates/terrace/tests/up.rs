//! `terrace up` and its sisters as a person meets them: started, stopped, killed, asked the wrong thing.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

fn terrace(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
    command.arg("--data-dir").arg(dir).env_remove("TERRACE_DATA_DIR").stdin(Stdio::null());
    command.env("TERRACE_SHARED_DIR", dir.join("shared"));
    command
}

/// A running `terrace up --json`, killed when it is dropped.
struct Up {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Up {
    /// Starts it on free ports and reads its lines until it is ready.
    fn start(dir: &Path) -> (Self, Value) {
        let mut child = terrace(dir)
            .args(["up", "--port", "0", "--http-port", "0", "--agents-port", "0", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("starts");
        let lines = BufReader::new(child.stdout.take().expect("is piped"));
        let mut up = Self { child, lines };
        loop {
            let line = up.line().expect("it gets ready before it ends");
            if line["ready"] == true {
                return (up, line);
            }
        }
    }

    fn line(&mut self) -> Option<Value> {
        let mut text = String::new();
        let read = self.lines.read_line(&mut text).expect("can be read");
        (read > 0).then(|| serde_json::from_str(&text).unwrap_or_else(|_| panic!("not JSON: {text}")))
    }

    /// Sends a signal and waits for the end.
    fn signal(mut self, name: &str) -> (std::process::ExitStatus, Duration) {
        let asked = Instant::now();
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(sent.expect("kill is there").success());
        (self.child.wait().expect("is ours"), asked.elapsed())
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn kubectl(dir: &Path, args: &[&str]) -> Output {
    Command::new("kubectl")
        .arg("--kubeconfig")
        .arg(dir.join("kubeconfig"))
        .args(args)
        .output()
        .expect("kubectl is there")
}

fn error_of(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn both_signals_end_it_cleanly_within_five_seconds() {
    for signal in ["TERM", "INT"] {
        let dir = tempfile::tempdir().expect("a directory");
        let (up, _) = Up::start(dir.path());
        let (status, took) = up.signal(signal);
        assert!(status.success(), "{signal}: {status}");
        assert!(took < Duration::from_secs(5), "{signal} took {took:?}");
    }
}

#[test]
fn what_it_keeps_is_for_its_owner_alone() {
    let parent = tempfile::tempdir().expect("a directory");
    let dir = parent.path().join("data");
    let (_up, _) = Up::start(&dir);
    let mode = |path: &Path| std::fs::metadata(path).expect("is there").permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(mode(&dir.join("kubeconfig")), 0o600);
    for entry in std::fs::read_dir(dir.join("pki")).expect("is there") {
        let path = entry.expect("can be read").path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn stopped_or_killed_it_comes_back_as_it_was() {
    let dir = tempfile::tempdir().expect("a directory");
    for (round, signal) in ["TERM", "KILL", "KILL", "TERM"].into_iter().enumerate() {
        let (up, _) = Up::start(dir.path());
        let made = kubectl(dir.path(), &["create", "configmap", &format!("round-{round}")]);
        assert!(made.status.success(), "{made:?}");
        let names = kubectl(dir.path(), &["get", "configmaps", "-o", "name"]);
        let names = String::from_utf8_lossy(&names.stdout).into_owned();
        for earlier in 0..=round {
            assert!(names.contains(&format!("configmap/round-{earlier}")), "round {round}: {names}");
        }
        up.signal(signal);
    }
}

#[test]
fn a_second_one_on_the_same_directory_is_told_who_holds_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let (up, _) = Up::start(dir.path());
    let second = terrace(dir.path())
        .args(["up", "--port", "0", "--http-port", "0", "--agents-port", "0"])
        .output()
        .expect("runs");
    let error = error_of(&second);
    assert!(error.contains(&up.child.id().to_string()), "names the process: {error}");
    assert!(error.contains(&dir.path().display().to_string()), "names the directory: {error}");
    let after = kubectl(dir.path(), &["get", "namespaces"]);
    assert!(after.status.success(), "the first one goes on, and its kubeconfig is still its own: {after:?}");
}

#[test]
fn a_port_that_is_taken_is_named_with_the_flag_that_changes_it() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("has one").port().to_string();
    let flags = ["--port", "--http-port", "--agents-port"];
    for flag in flags {
        let dir = tempfile::tempdir().expect("a directory");
        let others = flags.into_iter().filter(|other| *other != flag).flat_map(|other| [other, "0"]);
        let output = terrace(dir.path()).args(["up", flag, &port]).args(others).output().expect("runs");
        let error = error_of(&output);
        assert!(error.contains(&format!("port {port} is taken")) && error.contains(flag), "{error}");
    }
}

#[test]
fn the_gateway_and_the_api_answer_where_they_say() {
    let dir = tempfile::tempdir().expect("a directory");
    let (_up, ready) = Up::start(dir.path());
    let address = ready["gateway"].as_str().expect("is said").trim_start_matches("http://").to_owned();
    let mut socket = std::net::TcpStream::connect(address).expect("somebody answers");
    std::io::Write::write_all(
        &mut socket,
        b"GET / HTTP/1.1\r\nHost: shop.localhost\r\nConnection: close\r\n\r\n",
    )
    .expect("is sent");
    let answer = std::io::read_to_string(socket).expect("is read");
    assert!(
        answer.starts_with("HTTP/1.1 404") && answer.contains("no application answers at shop.localhost"),
        "{answer}"
    );
    let version = kubectl(dir.path(), &["get", "--raw", "/readyz"]);
    assert_eq!(String::from_utf8_lossy(&version.stdout), "ok");
}

#[test]
fn every_definition_is_installed_and_printed() {
    let dir = tempfile::tempdir().expect("a directory");
    let (_up, _) = Up::start(dir.path());
    let printed = terrace(dir.path()).arg("crds").output().expect("runs");
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    let listed = kubectl(dir.path(), &["get", "crd", "-o", "jsonpath={.items[*].metadata.name}"]);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for definition in api::crds() {
        let name = definition.metadata.name.expect("has a name");
        assert!(printed.contains(&format!("name: {name}")), "{name} is not printed");
        assert!(listed.split(' ').any(|one| one == name), "{name} is not installed");
    }
}

#[test]
fn every_example_is_taken_and_shown() {
    let dir = tempfile::tempdir().expect("a directory");
    let (_up, _) = Up::start(dir.path());
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let applied = kubectl(dir.path(), &["apply", "-f", examples]);
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    let again = kubectl(dir.path(), &["apply", "-f", examples]);
    let again = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(again.lines().all(|line| line.ends_with("unchanged")), "{again}");
    for definition in api::crds() {
        let plural = format!("{}.{}", definition.spec.names.plural, definition.spec.group);
        let listed = kubectl(dir.path(), &["get", &plural, "-A", "--no-headers"]);
        assert!(!listed.stdout.is_empty(), "{plural}: {}", String::from_utf8_lossy(&listed.stderr));
    }
}

#[test]
fn commands_say_what_to_do_when_nothing_runs_yet() {
    let parent = tempfile::tempdir().expect("a directory");
    let dir = parent.path().join("nothing");
    let error = error_of(&terrace(&dir).arg("kubeconfig").output().expect("runs"));
    assert!(error.contains("terrace up"), "{error}");
    let path = terrace(&dir).args(["kubeconfig", "--path"]).output().expect("runs");
    assert_eq!(String::from_utf8_lossy(&path.stdout).trim(), dir.join("kubeconfig").display().to_string());
    let file = parent.path().join("file");
    std::fs::write(&file, "").expect("is written");
    let error = error_of(
        &terrace(&file)
            .args(["up", "--port", "0", "--http-port", "0", "--agents-port", "0"])
            .output()
            .expect("runs"),
    );
    assert!(error.contains("--data-dir"), "{error}");
}

#[test]
fn the_data_directory_can_come_from_the_environment() {
    let dir = tempfile::tempdir().expect("a directory");
    let told = Command::new(env!("CARGO_BIN_EXE_terrace"))
        .args(["kubeconfig", "--path"])
        .env("TERRACE_DATA_DIR", dir.path())
        .output()
        .expect("runs");
    assert_eq!(
        String::from_utf8_lossy(&told.stdout).trim(),
        dir.path().join("kubeconfig").display().to_string()
    );
}

#[test]
fn help_version_and_completions_are_there() {
    let dir = tempfile::tempdir().expect("a directory");
    let told = |args: &[&str]| {
        String::from_utf8_lossy(&terrace(dir.path()).args(args).output().expect("runs").stdout).into_owned()
    };
    assert!(told(&["--help"]).contains("Examples:"));
    assert!(told(&["up", "--help"]).contains("--http-port"));
    let version: Value = serde_json::from_str(&told(&["version", "-o", "json"])).expect("is JSON");
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(told(&["completions", shell]).contains("terrace"), "{shell}");
    }
}

#[test]
fn a_configuration_of_claims_that_is_wrong_is_told_line_by_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("claims.yaml");
    std::fs::write(&file, "passwordConfig:\n  minPasswordLength: 14\natlas:\n  port: 0\n")
        .expect("is written");
    let data = dir.path().join("data");
    let output = terrace(&data).args(["up", "--claims-config"]).arg(&file).output().expect("runs");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let (error, name) = (String::from_utf8_lossy(&output.stderr), file.display());
    for said in [
        format!("{name}:2: `minPasswordLength` is `14`; write a number of characters between 15 and 99\n"),
        format!("{name}:4: `port` is `0`; write a port between 1 and 65535\n"),
    ] {
        assert!(error.contains(&said), "{error}");
    }
    assert!(!data.exists(), "nothing was begun");
}

#[test]
fn a_configuration_of_claims_that_turns_bad_is_told_and_survived() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("claims.yaml");
    let mut child = terrace(&dir.path().join("data"))
        .args(["up", "--port", "0", "--http-port", "0", "--agents-port", "0", "--json", "--claims-config"])
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut complaints = BufReader::new(child.stderr.take().expect("is piped")).lines();
    let lines = BufReader::new(child.stdout.take().expect("is piped"));
    let mut up = Up { child, lines };
    while up.line().expect("it gets ready, though the file is not there yet")["ready"] != true {}
    std::fs::write(&file, "region:\n").expect("is written");
    let wanted = format!("{}:1: `region` is nothing; write a word", file.display());
    let said = complaints.find(|line| line.as_ref().expect("can be read").contains(&wanted));
    assert!(said.is_some(), "it ended without a word");
    let (status, _) = up.signal("TERM");
    assert!(status.success(), "{status}");
}
