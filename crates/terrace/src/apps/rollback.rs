//! `terrace rollback`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use api::annotations::{APPLICATION, SOURCE};
use api::apps::Application;
use clap::Args;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::ReplicaSet;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::connect::{Connection, told};
use super::deploy::span;
use super::follow::Follow;
use super::list::missing;
use super::source::Source;
use super::table::{age, table};
use super::write::{self, Wish};
use crate::say;

/// Where a Deployment counts its versions.
const REVISION: &str = "deployment.kubernetes.io/revision";

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

/// One version of an application.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Revision {
    pub number: u64,
    pub source: Source,
    pub created: Option<Timestamp>,
}

pub(crate) async fn run(data_dir: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let client = options.connection.client(data_dir).await?;
    let (namespace, name, json) = (&options.connection.namespace, &options.name, options.output.is_some());
    let apps: Api<Application> = Api::namespaced(client.clone(), namespace);
    let Some(app) = apps.get_opt(name).await.map_err(told)? else { return Err(missing(namespace, name)) };
    let now = Source::of(&app);
    let revisions = revisions(&client, namespace, name).await?;
    if options.list {
        return list(&revisions, now.as_ref(), json);
    }
    let target = chosen(&revisions, now.as_ref(), options.to, name)?;
    say::note(&format!("{name} goes back to revision {}: {}", target.number, target.source));
    let follow = Follow { client: &client, namespace, name, timeout: options.timeout, json };
    let builds = if target.source.is_built() { Some(follow.builds_before().await) } else { None };
    let written = write::write(&client, namespace, name, &Wish::source(target.source.clone())).await?;
    follow.until_settled(&written, builds).await
}

/// The versions that the platform still knows, the oldest first.
async fn revisions(client: &Client, namespace: &str, name: &str) -> anyhow::Result<Vec<Revision>> {
    let sets: Api<ReplicaSet> = Api::namespaced(client.clone(), namespace);
    let own = ListParams::default().labels(&format!("{APPLICATION}={name}"));
    let sets = sets.list(&own).await.map_err(told)?.items;
    let mut found: Vec<Revision> = sets.iter().filter_map(revision).collect();
    found.sort_by_key(|revision| revision.number);
    Ok(found)
}

fn revision(set: &ReplicaSet) -> Option<Revision> {
    let annotations = set.annotations();
    Some(Revision {
        number: annotations.get(REVISION)?.parse().ok()?,
        source: Source::remembered(annotations.get(SOURCE)?)?,
        created: set.creation_timestamp().map(|time| time.0),
    })
}

/// The version to go back to: the one named, else the last that has another source than the application has now.
pub(super) fn chosen<'a>(
    revisions: &'a [Revision],
    now: Option<&Source>,
    to: Option<u64>,
    name: &str,
) -> anyhow::Result<&'a Revision> {
    let found = match to {
        Some(number) => revisions.iter().find(|revision| revision.number == number),
        None => revisions.iter().rev().find(|revision| Some(&revision.source) != now),
    };
    match (found, to) {
        (Some(found), _) => Ok(found),
        (None, Some(number)) => {
            let known: Vec<String> = revisions.iter().map(|revision| revision.number.to_string()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            bail!("{name} has no revision {number}; there are: {known}")
        }
        (None, None) => bail!("{name} has no earlier version with another source to go back to"),
    }
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
