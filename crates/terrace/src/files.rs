//! `terrace files DIR`: what a static site runs as.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

#[derive(Args)]
pub(crate) struct Options {
    /// Directory that is shown
    directory: PathBuf,
    /// Port to listen on, on this machine only
    #[arg(long, env = "PORT", default_value_t = 8080)]
    port: u16,
}

/// Shows the files of a directory until it is asked to stop; requests in flight are answered.
pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    let listener = TcpListener::bind(("127.0.0.1", options.port))
        .await
        .with_context(|| format!("cannot listen on port {}; set PORT to one that is free", options.port))?;
    let stop = CancellationToken::new();
    let asked = stop.clone();
    tokio::spawn(async move {
        tokio::select! { _ = terminated.recv() => {}, _ = interrupted.recv() => {} }
        asked.cancel();
    });
    let shown = gateway::files::serve(&options.directory, listener, stop).await;
    shown.with_context(|| format!("cannot show {}", options.directory.display()))
}
