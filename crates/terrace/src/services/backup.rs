//! `terrace service backup` and `backups`.

use std::path::Path;
use std::process::ExitCode;

use agents::services::{backup, backups};
use anyhow::bail;
use api::foreign::cnpg::Backup;
use clap::Args;
use jiff::Timestamp;
use kube::api::Api;
use serde_json::json;

use super::refused;
use super::wait::{End, INTERRUPTED, Patience, Seen, until};
use crate::apps::connect::{Connection, told};
use crate::apps::table::{age, clipped, table};
use crate::paint::Paint;
use crate::say;

#[derive(Args)]
pub(crate) struct Options {
    /// Name of the service
    name: String,
    #[command(flatten)]
    patience: Patience,
    /// Print for programs
    #[arg(long, short, value_name = "FORMAT", value_parser = ["json"])]
    output: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Args)]
pub(crate) struct ListOptions {
    /// Name of the service
    name: String,
    /// Print for programs
    #[arg(long, short, value_name = "FORMAT", value_parser = ["json"])]
    output: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

pub(crate) async fn run(data_dir: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let client = options.connection.client(data_dir).await?;
    let (namespace, name) = (&options.connection.namespace, &options.name);
    let begun = match backup::run(&client, namespace, backup::Input { name: name.clone() }).await {
        Ok(begun) => begun.backup,
        Err(error) => return refused(error, name),
    };
    let report = |phase: &str, why: &str| match options.output {
        Some(_) => {
            say::line(&json!({ "name": name, "backup": begun, "phase": phase, "message": why }).to_string())
        }
        None => Ok(()),
    };
    if !options.patience.waits() {
        report("pending", "")?;
        return shown(options, &begun, &format!("backup {begun} has begun"));
    }
    let all: Api<Backup> = Api::namespaced(client, namespace);
    let end = until(options.patience.timeout, async || {
        let found = all.get_opt(&begun).await.map_err(told)?;
        Ok(found.map_or_else(|| Seen::Failed("somebody has deleted it".into()), |backup| seen(&backup)))
    });
    match end.await? {
        End::Done(()) => {
            report("completed", "")?;
            shown(options, &begun, &format!("{} {name} is backed up", Paint::stderr().green("✓")))
        }
        End::Failed(why) => {
            report("failed", &why)?;
            bail!("backup {begun} is not complete: {why}")
        }
        End::Interrupted => {
            say::note(&format!("no longer watching; backup {begun} goes on by itself"));
            Ok(ExitCode::from(INTERRUPTED))
        }
    }
}

fn shown(options: &Options, backup: &str, words: &str) -> anyhow::Result<ExitCode> {
    if options.output.is_none() {
        say::note(words);
        say::line(backup)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// How far a backup is.
pub(super) fn seen(backup: &Backup) -> Seen<()> {
    let status = backup.status.clone().unwrap_or_default();
    let name = backup.metadata.name.clone().unwrap_or_default();
    let error = status.error.unwrap_or_default();
    match status.phase.as_deref().unwrap_or("pending") {
        "completed" => Seen::Done(()),
        "failed" if error.is_empty() => Seen::Failed("it failed, and nobody said why".into()),
        "failed" => Seen::Failed(error),
        phase if error.is_empty() => Seen::Waiting(format!("{name}: {phase}")),
        phase => Seen::Waiting(format!("{name}: {phase}: {error}")),
    }
}

pub(crate) async fn list(data_dir: &Path, options: &ListOptions) -> anyhow::Result<ExitCode> {
    let client = options.connection.client(data_dir).await?;
    let (namespace, name) = (&options.connection.namespace, &options.name);
    let found = match backups::run(&client, namespace, backups::Input { name: name.clone() }).await {
        Ok(found) => found,
        Err(error) => return refused(error, name),
    };
    if options.output.is_some() {
        say::line(&serde_json::to_string_pretty(&found)?)?;
    } else if found.is_empty() {
        say::note(&format!("{name} has no backups; `terrace service backup {name}` makes one"));
    } else {
        say::text(&rows(&found, Timestamp::now()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Backups for people.
pub(super) fn rows(backups: &[backups::Listed], now: Timestamp) -> String {
    let row = |backup: &backups::Listed| {
        let seconds = |time: Timestamp| age(now.as_second() - time.as_second());
        let or_dash = |words: Option<String>| words.unwrap_or_else(|| "-".into());
        vec![
            backup.name.clone(),
            backup.phase.clone(),
            or_dash(backup.created.map(seconds)),
            or_dash(backup.completed.map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())),
            or_dash(backup.kept_until.clone()),
            clipped(backup.error.as_deref().unwrap_or_default()),
        ]
    };
    let rows: Vec<Vec<String>> = backups.iter().map(row).collect();
    table(&["NAME", "PHASE", "AGE", "BACK TO", "KEPT UNTIL", "MESSAGE"], &rows)
}
