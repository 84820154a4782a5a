//! `terrace delete`.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use api::annotations::APPLICATION;
use api::apps::Application;
use clap::{Args, Subcommand};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, ListParams};
use kube::{Client, ResourceExt};

use super::connect::{Connection, told};
use super::deploy::span;
use super::list::missing;
use super::progress::Progress;
use crate::paint::Paint;
use crate::say;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(200);

#[derive(Subcommand)]
pub(crate) enum What {
    /// Delete an application with all its pods; its address stops to answer
    #[command(after_help = "Examples:\n  \
        terrace delete app shop\n  \
        terrace delete app shop --yes --wait=false")]
    App(Options),
}

#[derive(Args)]
pub(crate) struct Options {
    /// Name of the application
    name: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Wait until it is gone, with its pods
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1)]
    #[arg(default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    wait: bool,
    /// How long to wait
    #[arg(long, default_value = "2m", value_name = "TIME", value_parser = span)]
    timeout: Duration,
    #[command(flatten)]
    connection: Connection,
}

pub(crate) async fn run(data_dir: &Path, What::App(options): &What) -> anyhow::Result<ExitCode> {
    let (namespace, name) = (&options.connection.namespace, &options.name);
    let asks = !options.yes;
    if asks && !std::io::stdin().is_terminal() {
        return Ok(say::usage(&format!("nobody can be asked here; `--yes` deletes {name} without asking")));
    }
    let client = options.connection.client(data_dir).await?;
    let apps: Api<Application> = Api::namespaced(client.clone(), namespace);
    let Some(app) = apps.get_opt(name).await.map_err(told)? else { return Err(missing(namespace, name)) };
    if asks && !say::agreed(&format!("delete application {name} in namespace {namespace}?")) {
        say::note("nothing was deleted");
        return Ok(ExitCode::FAILURE);
    }
    // Only the one that was looked at: another of the same name may have come since.
    let params = match app.uid() {
        Some(uid) => DeleteParams::default()
            .preconditions(kube::api::Preconditions { uid: Some(uid), resource_version: None }),
        None => DeleteParams::default(),
    };
    match apps.delete(name, &params).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        Err(error) => return Err(told(error)),
    }
    if options.wait {
        gone(&client, &app, options).await?;
    }
    let word = if options.wait { "is gone" } else { "goes" };
    say::note(&format!("{} {name} {word}", Paint::stderr().green("✓")));
    Ok(ExitCode::SUCCESS)
}

/// Waits until the application and its pods are gone.
async fn gone(client: &Client, app: &Application, options: &Options) -> anyhow::Result<()> {
    let (namespace, name) = (&options.connection.namespace, &options.name);
    let apps: Api<Application> = Api::namespaced(client.clone(), namespace);
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let own = ListParams::default().labels(&format!("{APPLICATION}={name}"));
    let begun = Instant::now();
    let mut progress = Progress::new();
    loop {
        let there = apps.get_opt(name).await.map_err(told)?.filter(|found| found.uid() == app.uid());
        let left = pods.list(&own).await.map_err(told)?.items.len();
        if there.is_none() && left == 0 {
            progress.clear();
            return Ok(());
        }
        if begun.elapsed() > options.timeout {
            progress.clear();
            bail!(
                "{name} is not gone after {} s, {left} pods are left; it goes on",
                options.timeout.as_secs()
            );
        }
        progress.tell(&format!("{name}: going, {left} pods left"));
        tokio::time::sleep(LOOK).await;
    }
}
