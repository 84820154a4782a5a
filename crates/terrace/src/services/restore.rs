//! `terrace service restore`.

use std::path::Path;
use std::process::ExitCode;

use agents::services::restore;
use clap::Args;

use super::create::Coming;
use super::refused;
use super::wait::Patience;
use crate::apps::connect::Connection;
use crate::say;

#[derive(Args)]
pub(crate) struct Options {
    /// Name of the service whose backup is used
    name: String,
    /// Name of the new service [default: the same, if that one is gone]
    #[arg(long, value_name = "NEW")]
    to: Option<String>,
    /// Moment to go back to, such as 2026-01-31T12:00:00Z [default: the last that is known]
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Backup to use [default: the newest that fits]
    #[arg(long, value_name = "NAME")]
    backup: Option<String>,
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
    let Options { name, to, at, backup, patience, output, connection } = options;
    let input = restore::Input { name: name.clone(), to, at, backup };
    let begun = match restore::run(&client, &connection.namespace, input).await {
        Ok(begun) => begun,
        Err(error) => return refused(error, &name),
    };
    let json = output.is_some();
    if !json {
        let moment = begun.at.as_ref().map(|at| format!(", as of {at}")).unwrap_or_default();
        say::note(&format!("{} is made from backup {}{moment}", begun.name, begun.backup));
    }
    let coming = Coming { client: &client, namespace: &connection.namespace, name: &begun.name, json };
    coming.end(&patience, "is back").await
}
