//! The servers that are measured, as processes of their own that end with the measurement.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use control_plane::identity::authority::Authority;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use crate::client::Endpoint;
use crate::{Outcome, machine};

/// A server that is not ready by then never will be.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a server that starts is asked whether it is ready.
const ASK_EVERY: Duration = Duration::from_millis(1);

/// What is measured.
pub enum Subject {
    /// The binary of this build.
    Terrace(PathBuf),
    /// The real thing.
    Peer {
        /// Its server.
        server: PathBuf,
        /// Its store.
        etcd: PathBuf,
    },
}

/// A server that answers. Dropping it ends its processes.
pub struct Started {
    /// Where it answers.
    pub endpoint: Endpoint,
    /// From the start of the process to its word that it is ready.
    pub line_after: Option<Duration>,
    /// From the start of the process to 200 from `/readyz`.
    pub ready_after: Duration,
    processes: Vec<Child>,
    directory: Arc<TempDir>,
}

impl Subject {
    /// The binary beside this program in the build's directory.
    pub fn terrace() -> Outcome<Self> {
        let here = std::env::current_exe()?;
        let binary = here.ancestors().nth(2).map(|folder| folder.join("terrace"));
        let binary = binary.filter(|binary| binary.exists());
        Ok(Self::Terrace(binary.ok_or("no release build of terrace beside this program: use `make bench`")?))
    }

    /// `kube-apiserver` and `etcd`, if both are on the PATH.
    pub fn peer() -> Option<Self> {
        Some(Self::Peer { server: on_path("kube-apiserver")?, etcd: on_path("etcd")? })
    }

    /// For the head of the table.
    pub fn name(&self) -> String {
        match self {
            Self::Terrace(_) => "Terrace".into(),
            Self::Peer { .. } => "kube-apiserver + etcd".into(),
        }
    }

    /// How many starts are measured; the peer's take seconds.
    pub fn starts(&self) -> usize {
        match self {
            Self::Terrace(_) => 7,
            Self::Peer { .. } => 3,
        }
    }

    /// Starts it on a directory, or on an empty one, and waits until it answers.
    pub async fn start(&self, directory: Option<Arc<TempDir>>) -> Outcome<Started> {
        let directory = match directory {
            Some(directory) => directory,
            None => Arc::new(machine::directory()?),
        };
        let starting = async {
            match self {
                Self::Terrace(binary) => terrace(binary, directory.clone()).await,
                Self::Peer { server, etcd } => peer(server, etcd, directory.clone()).await,
            }
        };
        let late =
            || format!("{} is not ready after {PATIENCE:?}\n{}", self.name(), last_words(directory.path()));
        match tokio::time::timeout(PATIENCE, starting).await {
            Ok(started) => started,
            Err(_) => Err(late().into()),
        }
    }
}

impl Started {
    /// Ends its processes and waits for their end.
    pub async fn stop(&mut self) {
        for process in &mut self.processes {
            // One that has ended already is what we want.
            let _ = process.kill().await;
        }
    }

    /// Where its state lies.
    pub fn directory(&self) -> Option<Arc<TempDir>> {
        Some(self.directory.clone())
    }

    /// What all its processes have taken of the processors, to a hundredth of a second.
    pub fn processor_time(&self) -> Outcome<Duration> {
        let mut hundredths = 0;
        for process in &self.processes {
            let id = process.id().ok_or("the server has ended")?;
            let text = fs::read_to_string(format!("/proc/{id}/stat"))?;
            // The name in parentheses may hold spaces; user and system time are the 12th and 13th behind it.
            let behind = text.rsplit(')').next().unwrap_or_default();
            let times = behind.split_whitespace().skip(11).take(2);
            hundredths += times.filter_map(|time| time.parse::<u64>().ok()).sum::<u64>();
        }
        Ok(Duration::from_millis(hundredths * 10))
    }

    /// Resident bytes of all its processes.
    pub fn resident(&self) -> Outcome<u64> {
        let mut sum = 0;
        for process in &self.processes {
            let id = process.id().ok_or("the server has ended")?;
            let text = fs::read_to_string(format!("/proc/{id}/status"))?;
            let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
            sum += line.trim().trim_end_matches(" kB").parse::<u64>()? << 10;
        }
        Ok(sum)
    }
}

async fn terrace(binary: &Path, directory: Arc<TempDir>) -> Outcome<Started> {
    let data = directory.path().join("data");
    let kubeconfig = data.join("kubeconfig");
    // One from before names a port that is no longer served.
    let _ = fs::remove_file(&kubeconfig);
    let port = free_port()?;
    let mut command = Command::new(binary);
    command
        .args([
            "up",
            "--json",
            "--http-port",
            "0",
            "--agents-port",
            "0",
            "--port",
            &port.to_string(),
            "--data-dir",
        ])
        .arg(&data);
    let begun = Instant::now();
    let mut process = spawn(command, &directory, Stdio::piped())?;
    let line = tokio::spawn(ready_line(process.stdout.take().ok_or("stdout is piped")?, begun));
    let mut clock = tokio::time::interval(ASK_EVERY);
    let endpoint = loop {
        clock.tick().await;
        alive(&mut process, &directory)?;
        if let Ok(text) = fs::read_to_string(&kubeconfig) {
            break from_kubeconfig(port, &text)?;
        }
    };
    let mut processes = vec![process];
    let ready_after = ready(&endpoint, begun, &mut processes, &directory).await?;
    let line_after = Some(line.await??);
    Ok(Started { endpoint, line_after, ready_after, processes, directory })
}

async fn ready_line(stdout: ChildStdout, begun: Instant) -> Outcome<Duration> {
    let mut lines = BufReader::new(stdout).lines();
    let mut after = None;
    while let Some(line) = lines.next_line().await? {
        let ready = serde_json::from_str::<serde_json::Value>(&line).is_ok_and(|line| line["ready"] == true);
        if ready {
            after = Some(begun.elapsed());
            break;
        }
    }
    // Nobody reads on, and the server says nothing more before its end.
    after.ok_or_else(|| "terrace ended before it was ready".into())
}

fn from_kubeconfig(port: u16, text: &str) -> Outcome<Endpoint> {
    let part = |name: &str| -> Outcome<String> {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
        let encoded = line.ok_or_else(|| format!("the kubeconfig has no {name}"))?.trim();
        Ok(String::from_utf8(STANDARD.decode(encoded)?)?)
    };
    let [authority, certificate, key] =
        ["certificate-authority-data:", "client-certificate-data:", "client-key-data:"].map(part);
    Endpoint::new(port, &authority?, &certificate?, &key?)
}

async fn peer(server: &Path, etcd: &Path, directory: Arc<TempDir>) -> Outcome<Started> {
    let now = jiff::Timestamp::now();
    let authority = Authority::open(&directory.path().join("pki"), now)?;
    let certificate = authority.server(&[], now)?;
    let client = authority.client("bench", &["system:masters"], now)?;
    let token_key = rcgen::KeyPair::from_pem(authority.token_key())?.public_key_pem();
    let files = [
        ("ca.crt", authority.certificate()),
        ("tls.crt", &certificate.certificate),
        ("tls.key", &certificate.key),
        ("token.key", authority.token_key()),
        ("token.pub", &token_key),
    ];
    for (name, text) in files {
        fs::write(directory.path().join(name), text)?;
    }
    let (store, port) = (free_port()?, free_port()?);
    let endpoint = Endpoint::new(port, authority.certificate(), &client.certificate, &client.key)?;
    let begun = Instant::now();
    let mut processes = vec![spawn(etcd_command(etcd, directory.path(), store)?, &directory, Stdio::null())?];
    let command = server_command(server, directory.path(), store, port);
    processes.push(spawn(command, &directory, Stdio::null())?);
    let ready_after = ready(&endpoint, begun, &mut processes, &directory).await?;
    Ok(Started { endpoint, line_after: None, ready_after, processes, directory })
}

fn etcd_command(etcd: &Path, directory: &Path, port: u16) -> Outcome<Command> {
    let (clients, members) =
        (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{}", free_port()?));
    let mut command = Command::new(etcd);
    command.arg("--data-dir").arg(directory.join("etcd")).args(["--log-level", "error"]);
    command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
    command.args(["--listen-peer-urls", &members, "--initial-advertise-peer-urls", &members]);
    command.args(["--initial-cluster", &format!("default={members}")]);
    Ok(command)
}

fn server_command(server: &Path, directory: &Path, store: u16, port: u16) -> Command {
    let mut command = Command::new(server);
    let flag = |name: &str, file: &str| format!("--{name}={}", directory.join(file).display());
    command.args([
        format!("--etcd-servers=http://127.0.0.1:{store}"),
        format!("--secure-port={port}"),
        "--bind-address=127.0.0.1".into(),
        "--authorization-mode=RBAC".into(),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        // Streaming lists need an etcd of 3.5.13 at least, and Debian's is older.
        "--feature-gates=WatchList=false".into(),
        flag("service-account-key-file", "token.pub"),
        flag("service-account-signing-key-file", "token.key"),
        flag("client-ca-file", "ca.crt"),
        flag("tls-cert-file", "tls.crt"),
        flag("tls-private-key-file", "tls.key"),
        flag("cert-dir", "certificates"),
    ]);
    command
}

fn spawn(mut command: Command, directory: &TempDir, stdout: Stdio) -> Outcome<Child> {
    let words = File::options().create(true).append(true).open(directory.path().join("stderr"))?;
    command.stdin(Stdio::null()).stdout(stdout).stderr(words).kill_on_drop(true);
    command.spawn().map_err(|error| format!("{:?}: {error}", command.as_std().get_program()).into())
}

/// When `/readyz` first says yes. Every refusal until then is a server that is still starting.
async fn ready(
    endpoint: &Endpoint,
    begun: Instant,
    all: &mut [Child],
    directory: &TempDir,
) -> Outcome<Duration> {
    let mut clock = tokio::time::interval(ASK_EVERY);
    loop {
        clock.tick().await;
        for process in all.iter_mut() {
            alive(process, directory)?;
        }
        let Ok(mut client) = endpoint.connect().await else { continue };
        if client.get("/readyz").await.is_ok() {
            return Ok(begun.elapsed());
        }
    }
}

fn alive(process: &mut Child, directory: &TempDir) -> Outcome<()> {
    match process.try_wait()? {
        None => Ok(()),
        Some(status) => Err(format!("a server ended with {status}\n{}", last_words(directory.path())).into()),
    }
}

/// The end of what the processes wrote to stderr.
fn last_words(directory: &Path) -> String {
    let text = fs::read_to_string(directory.join("stderr")).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

fn free_port() -> Outcome<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
