//! `terrace service list`.

use std::path::Path;
use std::process::ExitCode;

use api::services::ManagedService;
use clap::Args;
use jiff::Timestamp;
use kube::api::{Api, ListParams};
use serde_json::Value;

use super::describe::{described, rows};
use crate::apps::connect::{Connection, told};
use crate::say;

#[derive(Args)]
pub(crate) struct Options {
    /// All namespaces
    #[arg(long, short = 'A')]
    all_namespaces: bool,
    /// Print for programs
    #[arg(long, short, value_name = "FORMAT", value_parser = ["json"])]
    output: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

pub(crate) async fn run(data_dir: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let client = options.connection.client(data_dir).await?;
    let namespace = &options.connection.namespace;
    let services: Api<ManagedService> = match options.all_namespaces {
        true => Api::all(client),
        false => Api::namespaced(client, namespace),
    };
    let found = services.list(&ListParams::default()).await.map_err(told)?.items;
    if options.output.is_some() {
        let all: Vec<Value> = found.iter().map(described).collect();
        say::line(&serde_json::to_string_pretty(&all)?)?;
    } else if found.is_empty() {
        let place = if options.all_namespaces { "any namespace" } else { namespace };
        say::note(&format!("no managed services in {place}; `terrace service create` makes one"));
    } else {
        say::text(&rows(&found, options.all_namespaces, Timestamp::now()))?;
    }
    Ok(ExitCode::SUCCESS)
}
