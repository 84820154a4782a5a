//! The platform that is measured: the binary, its directories, its counters.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::{LIMIT, Outcome};

/// How often a door is knocked at.
const KNOCK: Duration = Duration::from_millis(2);
/// How long nothing may be written before all counts as settled.
const QUIET: Duration = Duration::from_secs(15);
/// Clock ticks per second, as Linux tells them in /proc.
const TICKS: f64 = 100.0;

/// A running platform; ended, with all its programs, when it is dropped.
pub struct Platform {
    directory: tempfile::TempDir,
    process: Child,
    port: u16,
}

/// What the platform has done so far.
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    pub passes: f64,
    pub writes: f64,
    pub cpu: Duration,
    pub memory_mib: u64,
}

impl Platform {
    pub fn start() -> Outcome<Self> {
        Self::start_with(&[])
    }

    /// A platform with more options.
    pub fn start_with(options: &[&str]) -> Outcome<Self> {
        let directory = tempfile::tempdir()?;
        // Programs run as others where the bench is root: they must get through.
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o711))?;
        let mut process = Command::new(env!("CARGO_BIN_EXE_terrace"))
            .args(["up", "--port", "0", "--http-port", "0", "--agents-port", "0", "--json", "--data-dir"])
            .arg(directory.path().join("data"))
            .arg("--shared-dir")
            .arg(directory.path().join("shared"))
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let lines = BufReader::new(process.stdout.take().ok_or("stdout is piped")?).lines();
        for line in lines.map_while(Result::ok) {
            let line: serde_json::Value = serde_json::from_str(&line)?;
            if line["ready"] == true {
                let gateway = line["gateway"].as_str().unwrap_or_default();
                let port = gateway.rsplit(':').next().and_then(|port| port.parse().ok());
                return Ok(Self { directory, process, port: port.ok_or("the gateway has no port")? });
            }
        }
        Err("terrace up ended before it was ready".into())
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// A copy of an example that can be changed.
    pub fn copy_of(&self, example: &str) -> Outcome<PathBuf> {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/apps").join(example);
        let to = self.path().join(example);
        let status = Command::new("cp").arg("-r").arg(from).arg(&to).status()?;
        if status.success() { Ok(to) } else { Err(format!("cannot copy the example {example}").into()) }
    }

    /// Deploys a directory; how long it takes until the application answers.
    pub fn deploy(&self, source: &Path, name: &str) -> Outcome<Duration> {
        let begun = Instant::now();
        let mut deploy = Command::new(env!("CARGO_BIN_EXE_terrace"))
            .arg("--data-dir")
            .arg(self.path().join("data"))
            .arg("deploy")
            .arg(source)
            .args(["--name", name])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let host = format!("{name}.localhost");
        while self.get(&host, "/").is_ok_and(|(code, _)| code != 200) {
            if begun.elapsed() > LIMIT {
                return Err(format!("{name} does not answer").into());
            }
            std::thread::sleep(KNOCK);
        }
        let took = begun.elapsed();
        if deploy.wait()?.success() { Ok(took) } else { Err(format!("cannot deploy {name}").into()) }
    }

    pub async fn client(&self) -> Outcome<kube::Client> {
        let file = Kubeconfig::read_from(self.path().join("data/kubeconfig"))?;
        let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        Ok(kube::Client::try_from(config)?)
    }

    /// The counters, once nothing has been written for a while.
    pub fn quiet(&self) -> Outcome<Counters> {
        let begun = Instant::now();
        let mut last = self.counters()?;
        let mut since = Instant::now();
        while since.elapsed() < QUIET {
            if begun.elapsed() > LIMIT {
                return Err("the platform does not come to rest".into());
            }
            std::thread::sleep(Duration::from_millis(500));
            let now = self.counters()?;
            if now.writes > last.writes {
                since = Instant::now();
            }
            last = now;
        }
        Ok(last)
    }

    pub fn counters(&self) -> Outcome<Counters> {
        let (_, text) = self.get("127.0.0.1", "/metrics")?;
        let sum = |name: &str| -> f64 {
            let lines = text.lines().filter(|line| line.starts_with(name));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
        };
        let (passes, writes) = (sum("terrace_passes_total"), sum("terrace_writes_total"));
        let proc = PathBuf::from(format!("/proc/{}", self.process.id()));
        let stat = std::fs::read_to_string(proc.join("stat"))?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        // utime and stime are the 14th and 15th field; two stand before the name ends.
        let ticks =
            |place: usize| fields.get(place).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
        let cpu = Duration::from_secs_f64((ticks(11) + ticks(12)) / TICKS);
        let status = std::fs::read_to_string(proc.join("status"))?;
        let rss = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok());
        Ok(Counters { passes, writes, cpu, memory_mib: rss.unwrap_or(0u64) / 1024 })
    }

    /// One request on a connection of its own.
    fn get(&self, host: &str, path: &str) -> Outcome<(u16, String)> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port))?;
        socket.set_read_timeout(Some(Duration::from_secs(30)))?;
        write!(socket, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer)?;
        let code = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
        Ok((code.ok_or("no HTTP answer")?, answer))
    }

    /// Asks it to stop, and waits until it has.
    pub fn stop(mut self) -> Outcome<()> {
        Command::new("kill").arg(self.process.id().to_string()).status()?;
        let ended = self.process.wait()?;
        if ended.success() { Ok(()) } else { Err(format!("terrace up ended with {ended}").into()) }
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        // Only after a failure: asked first, so that it ends its programs.
        if let Ok(None) = self.process.try_wait() {
            let _ = Command::new("kill").arg(self.process.id().to_string()).status();
            let _ = self.process.wait();
        }
    }
}
