//! `make bench`: how fast agents are served, what they cost, and the same of `kubernetes-mcp-server` where it can be asked.
//!
//! The release binary runs on a directory of its own; this program only asks and reads counters. It prints; it judges
//! nothing. `TERRACE_BENCH_QUICK=1` asks for little of everything, to see that it works.

#[path = "../apps/figures.rs"]
mod figures;
mod line;
#[path = "../apps/platform.rs"]
#[allow(dead_code, reason = "other measurements use the rest of it")]
mod platform;
mod web;

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use agents::identity::{self, Kept, Role};
use api::apps::Application;
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::json;

use figures::{at, ms, resident_kib, share_kib};
use line::Line;
use platform::Platform;
use web::Agent;

/// Whatever went wrong, in words for the person at the terminal.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How long anything may take before it is given up.
const LIMIT: Duration = Duration::from_secs(120);
/// How often it is looked whether a token is known yet.
const LOOK: Duration = Duration::from_millis(5);

/// How much is asked for.
struct Amount {
    /// How often a server is started; the median is told.
    starts: usize,
    /// How many agents are connected at once.
    agents: usize,
    /// How long they ask.
    asking: Duration,
}

impl Amount {
    fn wanted() -> Self {
        match std::env::var_os("TERRACE_BENCH_QUICK") {
            Some(_) => Self { starts: 3, agents: 4, asking: Duration::from_secs(1) },
            None => Self { starts: 20, agents: 64, asking: Duration::from_secs(10) },
        }
    }
}

fn main() -> ExitCode {
    let outcome =
        tokio::runtime::Runtime::new().map_err(Into::into).and_then(|runtime| runtime.block_on(measure()));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "bench: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure() -> Outcome<()> {
    let amount = Amount::wanted();
    let platform = Platform::start_with(&["--agents-rate", "1000000"])?;
    let client = platform.client().await?;
    let address = std::fs::read_to_string(platform.path().join("data/agents-address"))?;
    let host = address.trim().strip_prefix("http://").ok_or("the agents' address is no http")?.to_owned();
    let token = token(&client, "line").await?;
    Agent::begun(&host, &token).await?;
    let idle = Memory::of(platform.pid());

    row("", "Terrace", "kubernetes-mcp-server", "better by")?;
    row("---", "--:", "--:", "--:")?;
    let data = platform.path().join("data");
    let ours = lines(amount.starts, || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
        command.arg("mcp").arg("--data-dir").arg(&data).env("TERRACE_TOKEN", &token);
        command
    })?;
    let peer = peer(&amount, &data.join("kubeconfig"))?;
    beside(&amount, &ours, peer.as_ref())?;
    crowd(&amount, &platform, &host, &client, idle).await?;
    if peer.is_none() {
        writeln!(
            std::io::stdout(),
            "kubernetes-mcp-server is not here: `scripts/ensure kubernetes-mcp-server` fetches it"
        )?;
    }
    platform.stop()
}

/// A session token; the server knows it within moments.
async fn token(client: &Client, name: &str) -> Outcome<String> {
    let (token, digest) = identity::mint();
    let kept = Kept { name: name.into(), role: Role::Session, digest, expires: None, namespaces: Vec::new() };
    let secrets: Api<Secret> = Api::namespaced(client.clone(), identity::NAMESPACE);
    secrets.create(&PostParams::default(), &kept.secret()).await?;
    Ok(token)
}

/// What was seen of a server on a line.
struct Lines {
    /// From its start to its list of tools, the median.
    start: Duration,
    /// Its own memory after that.
    memory: Memory,
    /// The size of the list, and how many tools are in it.
    bytes: usize,
    tools: usize,
}

#[derive(Clone, Copy)]
struct Memory {
    resident_kib: u64,
    share_kib: u64,
}

impl Memory {
    fn of(pid: u32) -> Self {
        Self { resident_kib: resident_kib(pid), share_kib: share_kib(pid) }
    }
}

/// Starts a server a few times and lists its tools.
fn lines(starts: usize, command: impl Fn() -> Command) -> Outcome<Lines> {
    let (mut times, mut last) = (Vec::new(), None);
    for _ in 0..starts {
        let begun = Instant::now();
        let mut line = Line::open(command())?;
        let list = line.tools()?;
        times.push(begun.elapsed());
        let tools = serde_json::from_str::<serde_json::Value>(&list)?;
        let tools = tools["result"]["tools"].as_array().map_or(0, Vec::len);
        last = Some((Memory::of(line.pid()), list.len(), tools));
        line.close()?;
    }
    let (memory, bytes, tools) = last.ok_or("no server was started")?;
    Ok(Lines { start: at(&mut times, 0.5), memory, bytes, tools })
}

/// The same of the peer, on the same platform. Its program is started without the script around it, which is in its favour.
fn peer(amount: &Amount, kubeconfig: &Path) -> Outcome<Option<Lines>> {
    let Some(program) = peer_program() else { return Ok(None) };
    let started = lines(amount.starts, || {
        let mut command = Command::new(&program);
        command.arg("--kubeconfig").arg(kubeconfig).env("NO_PROXY", "127.0.0.1");
        command
    })?;
    Ok(Some(started))
}

/// From `scripts/ensure kubernetes-mcp-server`.
fn peer_program() -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache");
    let cache = std::env::var_os("TERRACE_CACHE_DIR").map_or(workspace, PathBuf::from);
    let modules = cache.join("tools/kubernetes-mcp-server/node_modules");
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let name = format!("kubernetes-mcp-server-linux-{machine}");
    Some(modules.join(&name).join("bin").join(&name)).filter(|program| program.is_file())
}

fn beside(amount: &Amount, ours: &Lines, peer: Option<&Lines>) -> Outcome<()> {
    let starts = amount.starts;
    let told = |what: &str, tell: &dyn Fn(&Lines) -> String, size: &dyn Fn(&Lines) -> f64| {
        let better = peer.map(|peer| format!("{:.1}×", size(peer) / size(ours)));
        row(what, &tell(ours), &peer.map_or_else(|| "–".into(), tell), &better.unwrap_or_default())
    };
    told(
        &format!("stdio: start to the list of tools, median of {starts}"),
        &|lines| ms(lines.start),
        &|lines| lines.start.as_secs_f64(),
    )?;
    told("stdio: resident memory of the process", &|lines| mib(lines.memory.resident_kib), &|lines| {
        lines.memory.resident_kib as f64
    })?;
    told(
        "stdio: memory of the process, shared pages shared out",
        &|lines| mib(lines.memory.share_kib),
        &|lines| lines.memory.share_kib as f64,
    )?;
    told("list of tools, bytes", &|lines| lines.bytes.to_string(), &|lines| lines.bytes as f64)?;
    told(
        "list of tools, bytes of one tool",
        &|lines| format!("{} of {} tools", lines.bytes / lines.tools.max(1), lines.tools),
        &|lines| lines.bytes as f64 / lines.tools.max(1) as f64,
    )
}

/// Agents at once, each with its own token, session and application.
async fn crowd(
    amount: &Amount,
    platform: &Platform,
    host: &str,
    client: &Client,
    idle: Memory,
) -> Outcome<()> {
    let count = amount.agents;
    let own = |what: &str, value: &str| row(what, value, "", "");
    own("platform with nobody connected, resident memory", &mib(idle.resident_kib))?;
    let mut sessions = Vec::new();
    for number in 0..count {
        let token = token(client, &format!("agent-{number}")).await?;
        let session = Agent::begun(host, &token).await?;
        application(client, &session).await?;
        sessions.push((token, session));
    }
    let furnished = Memory::of(platform.pid());
    own(
        &format!("platform with {count} sessions and applications, resident memory"),
        &mib(furnished.resident_kib),
    )?;
    let mut agents = Vec::new();
    for (token, session) in &sessions {
        let mut agent = Agent::connect(host, token).await?;
        agent.status(session).await?;
        agents.push((agent, session.clone()));
    }
    let connected = Memory::of(platform.pid());
    let grown = connected.resident_kib.saturating_sub(furnished.resident_kib);
    own(
        &format!("{count} agents connected: growth of the platform for each"),
        &format!("{} KiB", grown / u64::try_from(count)?),
    )?;
    let before = platform.counters()?;
    let begun = Instant::now();
    let end = begun + amount.asking;
    let asking = agents.into_iter().map(|(agent, session)| tokio::spawn(ask(agent, session, end)));
    let mut times: Vec<Duration> = Vec::new();
    for asked in try_join_all(asking).await? {
        times.extend(asked?);
    }
    let (took, after) = (begun.elapsed(), platform.counters()?);
    let calls = times.len();
    let name = |what: &str| format!("`app_status` of {count} agents over HTTP, {what}");
    own(&name("calls per second"), &format!("{:.0} /s", calls as f64 / took.as_secs_f64()))?;
    own(&name("p50"), &ms(at(&mut times, 0.5)))?;
    own(&name("p99"), &ms(at(&mut times, 0.99)))?;
    let cpu = (after.cpu - before.cpu).as_secs_f64() * 1e6 / calls.max(1) as f64;
    own(&name("CPU of the platform for each"), &format!("{cpu:.0} µs"))?;
    own("platform after all that, resident memory", &mib(Memory::of(platform.pid()).resident_kib))
}

/// An application that runs nothing, so that only its being asked for is measured.
async fn application(client: &Client, session: &str) -> Outcome<()> {
    let apps: Api<Application> = Api::namespaced(client.clone(), &format!("iaf-{session}"));
    let app = json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "Application",
        "metadata": { "name": web::APP }, "spec": { "image": "bench:1", "replicas": 0 },
    });
    apps.create(&PostParams::default(), &serde_json::from_value(app)?).await?;
    Ok(())
}

async fn ask(mut agent: Agent, session: String, end: Instant) -> Outcome<Vec<Duration>> {
    let mut times = Vec::new();
    while Instant::now() < end {
        let begun = Instant::now();
        agent.status(&session).await?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

fn mib(kib: u64) -> String {
    format!("{:.1} MiB", kib as f64 / 1024.0)
}

fn row(what: &str, ours: &str, peer: &str, better: &str) -> Outcome<()> {
    Ok(writeln!(std::io::stdout(), "| {what:<72} | {ours:>16} | {peer:>21} | {better:>9} |")?)
}
