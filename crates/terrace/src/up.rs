//! `terrace up`: the platform on this machine.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use control_plane::{Config, ControlPlane};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::say::Progress;
use crate::{gateway, install, place};

#[derive(Args)]
pub(crate) struct Options {
    /// Port of the Kubernetes API; 0 takes any that is free
    #[arg(long, default_value_t = 6443, value_name = "PORT")]
    port: u16,
    /// Port where applications answer; 0 takes any that is free
    #[arg(long, default_value_t = 8080, value_name = "PORT")]
    http_port: u16,
    /// Print one JSON object per line, for programs
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(dir: PathBuf, options: Options) -> anyhow::Result<()> {
    logging();
    // Signals are taken from the first moment, so that a stop during start-up is a clean one too.
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    let progress = Progress::new(options.json);
    place::prepare(&dir)?;
    let api = bind(options.port, "--port").await?;
    let http = bind(options.http_port, "--http-port").await?;
    // Made beside the opening of the store, which takes about as long.
    let definitions = install::wanted();
    let plane = ControlPlane::open(Config { dir: Some(dir.clone()), logs: Some(dir.join("logs")) }).await?;
    progress.part("store", "state is open", Some(&dir.display().to_string()))?;
    let stop = CancellationToken::new();
    let parts = Parts { api, http, definitions };
    let started = tokio::select! {
        started = start(&plane, &dir, parts, &progress, &stop) => started,
        _ = interrupted.recv() => Ok(()),
        _ = terminated.recv() => Ok(()),
    };
    if started.is_ok() {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    }
    stop.cancel();
    plane.close().await;
    started?;
    progress.stopped()
}

/// What is ready before the control plane is: the two doors, bound first so that a taken port costs nothing, and
/// the definitions.
struct Parts {
    api: TcpListener,
    http: TcpListener,
    definitions: Vec<install::Wanted>,
}

async fn start(
    plane: &ControlPlane,
    dir: &std::path::Path,
    Parts { api, http, definitions }: Parts,
    progress: &Progress,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let address = format!("https://127.0.0.1:{}", api.local_addr()?.port());
    let web = format!("http://127.0.0.1:{}", http.local_addr()?.port());
    let kubeconfig = place::kubeconfig(dir);
    place::write_private(&kubeconfig, &plane.admin_kubeconfig(&address)?)?;
    let count = install::definitions(plane, definitions).await?;
    progress.part("definitions", &format!("{count} kinds are served"), None)?;
    plane.serve(api, &[])?;
    progress.part("api", "Kubernetes API", Some(&address))?;
    tokio::spawn(gateway::serve(http, stop.clone()));
    progress.part("gateway", "applications answer here", Some(&web))?;
    progress.ready(&address, &web, &kubeconfig.display().to_string())
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

/// Warnings and worse go to standard error; `RUST_LOG` asks for more.
fn logging() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    // A second subscriber in one process is refused, which is fine: the first one stays.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
}
