//! `terrace service delete`.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use agents::services::{Error, backups, deprovision};
use anyhow::bail;
use api::services::ManagedService;
use clap::Args;
use kube::api::Api;
use kube::{Client, ResourceExt};

use super::refused;
use super::wait::{End, INTERRUPTED, Patience, Seen, until};
use crate::apps::connect::{Connection, told};
use crate::paint::Paint;
use crate::say;

#[derive(Args)]
pub(crate) struct Options {
    /// Name of the service
    name: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    patience: Patience,
    #[command(flatten)]
    connection: Connection,
}

pub(crate) async fn run(data_dir: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let (namespace, name) = (&options.connection.namespace, &options.name);
    let asks = !options.yes;
    if asks && !std::io::stdin().is_terminal() {
        return Ok(say::usage(&format!("nobody can be asked here; `--yes` deletes {name} without asking")));
    }
    let client = options.connection.client(data_dir).await?;
    let services: Api<ManagedService> = Api::namespaced(client.clone(), namespace);
    let Some(service) = services.get_opt(name).await.map_err(told)? else {
        let what = "managed service";
        return refused(Error::NotFound { what, name: name.clone(), namespace: namespace.clone() }, name);
    };
    let question = format!("delete service {name} in namespace {namespace} with all its data?");
    if asks && !say::agreed(&question) {
        say::note("nothing was deleted");
        return Ok(ExitCode::FAILURE);
    }
    let input = deprovision::Input { name: name.clone() };
    if let Err(error) = deprovision::run(&client, namespace, input).await {
        return refused(error, name);
    }
    if !options.patience.waits() {
        say::note(&format!("{name} goes"));
        return Ok(ExitCode::SUCCESS);
    }
    match gone(&services, &service, options).await? {
        End::Done(()) => {
            say::note(&format!("{} {name} is gone", Paint::stderr().green("✓")));
            kept(&client, namespace, name).await;
            Ok(ExitCode::SUCCESS)
        }
        End::Failed(why) => bail!("{name} is not gone: {why}"),
        End::Interrupted => {
            say::note(&format!("no longer watching; {name} goes on going by itself"));
            Ok(ExitCode::from(INTERRUPTED))
        }
    }
}

/// Waits until the service is gone.
async fn gone(
    services: &Api<ManagedService>,
    service: &ManagedService,
    options: &Options,
) -> anyhow::Result<End<()>> {
    let name = &options.name;
    let service_phase = service.status.as_ref().and_then(|status| status.phase);
    until(options.patience.timeout, async || {
        let there = services.get_opt(name).await.map_err(told)?;
        Ok(match there.filter(|there| there.uid() == service.uid()) {
            None => Seen::Done(()),
            Some(there) => {
                // What it said before it was to go is of no interest any more.
                let status = there.status.filter(|status| status.phase != service_phase);
                let message = status.and_then(|status| status.message);
                Seen::Waiting(format!("{name}: {}", message.unwrap_or_else(|| "going".into())))
            }
        })
    })
    .await
}

/// Tells how to undo it, where that can be done.
async fn kept(client: &Client, namespace: &str, name: &str) {
    let input = backups::Input { name: name.to_owned() };
    // Who may not list backups is told nothing of them.
    let found = backups::run(client, namespace, input).await.unwrap_or_default();
    if let Some(until) = found.into_iter().find_map(|backup| backup.kept_until) {
        say::note(&format!(
            "  its data is kept until {until}; `terrace service restore {name}` brings it back"
        ));
    }
}
