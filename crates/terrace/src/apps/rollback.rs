//! `terrace rollback`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use agents::apps::revisions::{Revision, chosen, revisions};
use api::apps::Application;
use clap::Args;
use jiff::Timestamp;
use kube::api::Api;
use serde_json::{Value, json};

use super::connect::{Connection, told};
use super::deploy::span;
use super::follow::Follow;
use super::list::missing;
use super::source::Source;
use super::table::{age, table};
use super::write::{self, Wish};
use crate::say;

#[derive(Args)]
pub(crate) struct Options {
    /// Name of the application
    name: String,
    /// Revision to go back to [default: the last one with another source]
    #[arg(long, value_name = "REVISION")]
    to: Option<u64>,
    /// Only list the revisions there are
    #[arg(long, conflicts_with = "to")]
    list: bool,
    /// How long to wait until it runs
    #[arg(long, default_value = "10m", value_name = "TIME", value_parser = span)]
    timeout: Duration,
    /// Print for programs
    #[arg(long, short, value_name = "FORMAT", value_parser = ["json"])]
    output: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

pub(crate) async fn run(data_dir: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let client = options.connection.client(data_dir).await?;
    let (namespace, name, json) = (&options.connection.namespace, &options.name, options.output.is_some());
    let apps: Api<Application> = Api::namespaced(client.clone(), namespace);
    let Some(app) = apps.get_opt(name).await.map_err(told)? else { return Err(missing(namespace, name)) };
    let now = Source::of(&app);
    let revisions = revisions(&client, namespace, name).await.map_err(write::refused)?;
    if options.list {
        return list(&revisions, now.as_ref(), json);
    }
    let target = chosen(&revisions, now.as_ref(), options.to, name).map_err(write::refused)?;
    say::note(&format!("{name} goes back to revision {}: {}", target.number, target.source));
    let follow = Follow { client: &client, namespace, name, timeout: options.timeout, json };
    let builds = if target.source.is_built() { Some(follow.builds_before().await) } else { None };
    let written = write::write(&client, namespace, name, &Wish::source(target.source.clone())).await?;
    follow.until_settled(&written, builds).await
}

fn list(revisions: &[Revision], now: Option<&Source>, json: bool) -> anyhow::Result<ExitCode> {
    let newest = revisions.iter().rev().find(|revision| Some(&revision.source) == now);
    let current = |revision: &Revision| newest == Some(revision);
    if json {
        let rows: Vec<Value> = revisions
            .iter()
            .map(|revision| {
                let source = json!({ revision.source.key(): revision.source.value() });
                let created = revision.created.map(|time| time.to_string());
                json!({ "revision": revision.number, "source": source, "created": created, "current": current(revision) })
            })
            .collect();
        say::line(&serde_json::to_string_pretty(&rows)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let seconds = |time: Timestamp| age(Timestamp::now().as_second() - time.as_second());
    let rows: Vec<Vec<String>> = revisions
        .iter()
        .map(|revision| {
            let mark = if current(revision) { "current" } else { "" };
            let age = revision.created.map(seconds).unwrap_or_default();
            vec![revision.number.to_string(), age, revision.source.to_string(), mark.to_owned()]
        })
        .collect();
    say::text(&table(&["REVISION", "AGE", "SOURCE", ""], &rows))?;
    Ok(ExitCode::SUCCESS)
}
