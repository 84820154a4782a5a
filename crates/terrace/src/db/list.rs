//! `terrace db list`.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use serde_json::Value;

use super::describe::{described, rows};
use super::find;
use crate::apps::connect::Connection;
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
    let namespace = (!options.all_namespaces).then_some(options.connection.namespace.as_str());
    let found = find::all(&client, namespace).await?;
    if options.output.is_some() {
        let all: Vec<Value> = found.iter().map(described).collect();
        say::line(&serde_json::to_string_pretty(&all)?)?;
    } else if found.is_empty() {
        let place = namespace.unwrap_or("any namespace");
        say::note(&format!("no database claims in {place}; `kubectl apply` of a DatabaseClaim makes one"));
    } else {
        say::text(&rows(&found, options.all_namespaces, Timestamp::now()))?;
    }
    Ok(ExitCode::SUCCESS)
}
