//! `terrace service create`, and the waiting that a restore shares with it.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use agents::services::provision;
use anyhow::bail;
use api::services::ManagedService;
use clap::Args;
use kube::Client;
use kube::api::Api;

use super::describe::described;
use super::refused;
use super::stand::stand;
use super::wait::{End, INTERRUPTED, Patience, Seen, until};
use crate::apps::connect::{Connection, told};
use crate::paint::Paint;
use crate::say;

#[derive(Args)]
pub(crate) struct Options {
    /// Name of the service
    name: String,
    /// How large it is
    #[arg(long, default_value = "micro", value_name = "PLAN", value_parser = ["micro", "small", "ha"])]
    plan: String,
    /// Major version of PostgreSQL [default: the platform's]
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Database to create in it [default: app]
    #[arg(long, value_name = "NAME")]
    database: Option<String>,
    #[command(flatten)]
    patience: Patience,
    /// Print for programs
    #[arg(long, short, value_name = "FORMAT", value_parser = ["json"])]
    output: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

pub(crate) async fn run(data_dir: &Path, options: Options) -> anyhow::Result<ExitCode> {
    let client = options.connection.client(data_dir).await?;
    let Options { name, plan, version, database, patience, output, connection } = options;
    let input = provision::Input {
        name: name.clone(),
        type_: "postgres".into(),
        plan: Some(plan),
        version,
        database,
    };
    if let Err(error) = provision::run(&client, &connection.namespace, input).await {
        return refused(error, &name);
    }
    let coming =
        Coming { client: &client, namespace: &connection.namespace, name: &name, json: output.is_some() };
    coming.end(&patience, "is ready").await
}

/// A service that was asked for.
pub(super) struct Coming<'a> {
    pub client: &'a Client,
    pub namespace: &'a str,
    pub name: &'a str,
    pub json: bool,
}

impl Coming<'_> {
    /// Waits for it, if that is wanted, and says how it ended.
    pub(super) async fn end(&self, patience: &Patience, words: &str) -> anyhow::Result<ExitCode> {
        if !patience.waits() {
            return self.begun().await;
        }
        let name = self.name;
        match self.ready(patience.timeout).await? {
            End::Done(()) => {
                self.report().await?;
                if !self.json {
                    let paint = Paint::stderr();
                    say::note(&format!("{} {} {words}", paint.green("✓"), paint.bold(name)));
                    say::note(&format!("  terrace service bind {name} APP    gives it to an application"));
                }
                Ok(ExitCode::SUCCESS)
            }
            End::Failed(why) => {
                self.report().await?;
                bail!("{name} is not ready: {why}")
            }
            End::Interrupted => {
                say::note(&format!(
                    "no longer watching; {name} goes on by itself: see `terrace service status {name}`"
                ));
                Ok(ExitCode::from(INTERRUPTED))
            }
        }
    }

    async fn begun(&self) -> anyhow::Result<ExitCode> {
        self.report().await?;
        if !self.json {
            let name = self.name;
            say::note(&format!("{name} is being made: see `terrace service status {name}`"));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Waits until it is ready.
    pub(super) async fn ready(&self, timeout: Duration) -> anyhow::Result<End<()>> {
        let services: Api<ManagedService> = Api::namespaced(self.client.clone(), self.namespace);
        until(timeout, async || {
            Ok(match services.get_opt(self.name).await.map_err(told)? {
                Some(service) => stand(&service),
                None => Seen::Failed("somebody has deleted it".into()),
            })
        })
        .await
    }

    async fn report(&self) -> anyhow::Result<()> {
        if !self.json {
            return Ok(());
        }
        let services: Api<ManagedService> = Api::namespaced(self.client.clone(), self.namespace);
        match services.get_opt(self.name).await.map_err(told)? {
            Some(service) => say::line(&described(&service).to_string()),
            None => Ok(()),
        }
    }
}
