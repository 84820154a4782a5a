//! `terrace up`: the platform on this machine.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use api::names::HostName;
use clap::Args;
use control_plane::{Config, ControlPlane};
use controllers::claims;
use controllers::claims::book::{self, Book};
use ports::postgres::builds;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::modes::{Agents, Machine, Plan};
use crate::say::Progress;
use crate::{apps, install, place, say, uploads};

#[derive(Args)]
pub(crate) struct Options {
    /// Port of the Kubernetes API; 0 takes any that is free
    #[arg(long, default_value_t = 6443, value_name = "PORT")]
    port: u16,
    /// Port where applications answer; 0 takes any that is free
    #[arg(long, default_value_t = 8080, value_name = "PORT")]
    http_port: u16,
    /// Port where applications answer over HTTPS, with certificates of the platform's own authority; without it they
    /// answer over plain HTTP
    #[arg(long, value_name = "PORT")]
    https_port: Option<u16>,
    /// Port where agents connect, over the Model Context Protocol and REST; 0 takes any that is free
    #[arg(long, default_value_t = 7070, value_name = "PORT")]
    agents_port: u16,
    /// Calls that an agent's token has for each second; ten times as many may come at once
    #[arg(long, default_value_t = 20, value_name = "CALLS", value_parser = clap::value_parser!(u32).range(1..))]
    agents_rate: u32,
    /// How long an agent's session lasts without a call
    #[arg(long, default_value = "24h", value_name = "TIME", value_parser = apps::deploy::span)]
    session_ttl: Duration,
    /// Host of git repositories that agents may use although it lies on this machine or in a private network; may be
    /// given several times
    #[arg(long, value_name = "HOST")]
    private_git_host: Vec<String>,
    /// Domain of applications that name no host of their own
    #[arg(long, default_value = "localhost", value_name = "DOMAIN")]
    base_domain: HostName,
    /// Directory for images and running programs, where the platform is root and they run as others
    /// [default: /var/lib/terrace/..., else the data directory]
    #[arg(long, env = "TERRACE_SHARED_DIR", value_name = "DIR")]
    shared_dir: Option<PathBuf>,
    /// How long one build may take before it is ended
    #[arg(long, default_value_t = 600, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    build_timeout: u64,
    /// Another directory with the programs of PostgreSQL, which wins over others of the same major version; may be given
    /// several times
    #[arg(long, value_name = "DIR")]
    postgres_bin: Vec<PathBuf>,
    /// File with the configuration of database claims, read again whenever it changes; it may come later
    #[arg(long, value_name = "FILE", conflicts_with = "api_only")]
    claims_config: Option<PathBuf>,
    /// Deploy a directory as soon as the platform is ready, as `terrace deploy DIR` does; may be given several times
    #[arg(long, value_name = "DIR", conflicts_with = "api_only")]
    deploy: Vec<PathBuf>,
    /// Serve the Kubernetes API alone: nothing is built and nothing runs
    #[arg(long)]
    api_only: bool,
    /// Print one JSON object per line, for programs
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(dir: PathBuf, options: Options) -> anyhow::Result<ExitCode> {
    logging();
    // Signals are taken from the first moment, so that a stop during start-up is a clean one too.
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    let progress = Progress::new(options.json);
    let stop = CancellationToken::new();
    let claims = match open_claims(&options, &stop).await {
        Ok(claims) => claims,
        Err(error) => {
            return Ok(say::usage(&format!("cannot use the configuration of database claims\n{error}")));
        }
    };
    place::prepare(&dir)?;
    let api = bind(options.port, "--port").await?;
    let machine = if options.api_only { None } else { Some(plan(&dir, &options, claims).await?) };
    // Made beside the opening of the store, which takes about as long.
    let definitions = install::wanted(machine.as_ref().map(newest_postgres));
    let plane = ControlPlane::open(Config { dir: Some(dir.clone()), logs: Some(dir.join("logs")) }).await?;
    progress.part("store", "state is open", Some(&dir.display().to_string()))?;
    let parts = Parts { api, definitions, machine };
    let started = tokio::select! {
        started = start(&plane, &dir, parts, &progress, &stop) => started,
        _ = interrupted.recv() => Ok(None),
        _ = terminated.recv() => Ok(None),
    };
    if started.is_ok() {
        tokio::select! {
            () = deploy(&dir, options.deploy, options.json) => {}
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    }
    stop.cancel();
    let failed = match started {
        Ok(machine) => {
            if let Some(machine) = machine {
                machine.close().await;
            }
            None
        }
        Err(error) => Some(error),
    };
    plane.close().await;
    match failed {
        Some(error) => Err(error),
        None => progress.stopped().map(|()| ExitCode::SUCCESS),
    }
}

/// The configuration of database claims, which is first because it is cheap to get wrong.
async fn open_claims(options: &Options, stop: &CancellationToken) -> Result<Book, book::Error> {
    match &options.claims_config {
        Some(file) => Book::open(file.clone(), stop.clone()).await,
        None => Ok(Book::fixed(claims::config::Config::unconfigured())),
    }
}

/// Deploys what was asked for, one after the other. Never ends: the platform goes on whatever becomes of them.
async fn deploy(dir: &Path, sources: Vec<PathBuf>, json: bool) {
    for source in sources {
        let options = apps::deploy::Options::of_directory(source, dir, json);
        if let Err(error) = apps::deploy::run(dir, options).await {
            say::error(&error);
        }
    }
    std::future::pending().await
}

/// What is ready before the control plane is: the doors, bound first so that a taken port costs nothing, and the
/// definitions.
struct Parts {
    api: TcpListener,
    definitions: Vec<install::Wanted>,
    machine: Option<Plan>,
}

async fn plan(dir: &Path, options: &Options, claims: Book) -> anyhow::Result<Plan> {
    let https = match options.https_port {
        Some(port) => Some(bind(port, "--https-port").await?),
        None => None,
    };
    Ok(Plan {
        dir: dir.to_owned(),
        shared: place::shared(dir, options.shared_dir.clone())?,
        base_domain: options.base_domain.clone(),
        http: bind(options.http_port, "--http-port").await?,
        agents: Agents {
            listener: bind(options.agents_port, "--agents-port").await?,
            rate: options.agents_rate,
            session_ttl: options.session_ttl,
            private_git_hosts: options.private_git_host.clone(),
        },
        https,
        build_timeout: Duration::from_secs(options.build_timeout),
        postgres_bin: options.postgres_bin.iter().map(std::path::absolute).collect::<Result<_, _>>()?,
        claims,
    })
}

/// Looks for the newest PostgreSQL that services can run on here.
fn newest_postgres(plan: &Plan) -> install::Newest {
    let (named, cache) = (plan.postgres_bin.clone(), place::postgres(&plan.shared));
    Arc::new(move || builds::find(&named, Some(&cache)).into_keys().next_back())
}

async fn start(
    plane: &ControlPlane,
    dir: &Path,
    Parts { api, definitions, machine }: Parts,
    progress: &Progress,
    stop: &CancellationToken,
) -> anyhow::Result<Option<Machine>> {
    let address = format!("https://127.0.0.1:{}", api.local_addr()?.port());
    let kubeconfig = place::kubeconfig(dir);
    place::write_private(&kubeconfig, &plane.admin_kubeconfig(&address)?)?;
    let count = install::definitions(plane, definitions).await?;
    progress.part("definitions", &format!("{count} kinds are served"), None)?;
    let others = machine.as_ref().map(|plan| place::by_namespace(dir, &plan.shared)).unwrap_or_default();
    uploads::mount(plane, &uploads::Settings { others, ..uploads::Settings::under(dir) }, stop.clone());
    plane.serve(api, &[])?;
    progress.part("api", "Kubernetes API", Some(&address))?;
    let (mut web, mut running) = (None, None);
    if let Some(plan) = machine {
        let door = format!("http://127.0.0.1:{}", plan.http.local_addr()?.port());
        let agents = format!("http://127.0.0.1:{}", plan.agents.listener.local_addr()?.port());
        place::write_private(&place::agents(dir), &agents)?;
        running = Some(Machine::open(plane, plan).await?);
        progress.part("gateway", "applications answer here", Some(&door))?;
        progress.part("agents", "agents connect here", Some(&format!("{agents}/mcp")))?;
        web = Some(door);
    }
    progress.ready(&address, web.as_deref(), &kubeconfig.display().to_string())?;
    Ok(running)
}

async fn bind(port: u16, flag: &str) -> anyhow::Result<TcpListener> {
    match TcpListener::bind(("127.0.0.1", port)).await {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            bail!(
                "port {port} is taken by another process; choose another with {flag} PORT ({flag} 0 takes a free one)"
            )
        }
        Err(error) => {
            Err(error).with_context(|| format!("cannot listen on port {port}; choose another with {flag}"))
        }
    }
}

/// Parts that would tell more than anybody may read: statements that make logins, and requests with the passwords in them.
const HUSHED: [&str; 4] =
    ["tokio_postgres=warn", "aws_smithy_runtime=info", "aws_sigv4=info", "aws_runtime=info"];

/// Warnings and worse go to standard error; `RUST_LOG` asks for more.
fn logging() {
    let mut filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    for quiet in HUSHED.iter().filter_map(|word| word.parse().ok()) {
        filter = filter.add_directive(quiet);
    }
    // A second subscriber in one process is refused, which is fine: the first one stays.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
}
