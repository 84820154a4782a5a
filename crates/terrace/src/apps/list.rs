//! `terrace apps`.

use std::path::Path;
use std::process::ExitCode;

use api::apps::Application;
use api::conditions::READY;
use clap::Args;
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

use super::connect::{Connection, told};
use super::source::Source;
use super::stand::message;
use super::table::{age, clipped, table};
use crate::paint::Paint;
use crate::say;

#[derive(Args)]
pub(crate) struct Options {
    /// All namespaces
    #[arg(long, short = 'A')]
    all_namespaces: bool,
    /// Print for programs, or more columns
    #[arg(long, short, value_name = "FORMAT", value_parser = ["json", "wide"])]
    output: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

pub(crate) async fn run(data_dir: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let client = options.connection.client(data_dir).await?;
    let namespace = &options.connection.namespace;
    let apps: Api<Application> = match options.all_namespaces {
        true => Api::all(client),
        false => Api::namespaced(client, namespace),
    };
    let found = apps.list(&ListParams::default()).await.map_err(told)?.items;
    let now = Timestamp::now();
    match options.output.as_deref() {
        Some("json") => {
            let rows: Vec<Value> = found.iter().map(described).collect();
            say::line(&serde_json::to_string_pretty(&rows)?)?;
        }
        _ if found.is_empty() => {
            let place = if options.all_namespaces { "any namespace" } else { namespace };
            say::note(&format!("no applications in {place}; `terrace deploy` makes one"));
        }
        output => {
            let wide = output == Some("wide");
            say::text(&shown(&found, options.all_namespaces, wide, now))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn described(app: &Application) -> Value {
    let status = app.status.clone().unwrap_or_default();
    let ready = status.conditions.iter().find(|condition| condition.type_ == READY);
    json!({
        "name": app.name_any(), "namespace": app.namespace(), "phase": status.phase.unwrap_or_default(),
        "ready": ready.is_some_and(|ready| ready.status == "True"), "replicas": app.spec.replicas,
        "availableReplicas": status.available_replicas, "url": status.url, "image": status.latest_image,
        "source": Source::of(app).map(|source| json!({ source.key(): source.value() })),
        "created": app.metadata.creation_timestamp, "message": message(ready),
    })
}

/// The table for people.
pub(super) fn shown(apps: &[Application], namespaces: bool, wide: bool, now: Timestamp) -> String {
    let mut head = vec!["NAME", "PHASE", "READY", "URL", "AGE", "MESSAGE"];
    if namespaces {
        head.insert(0, "NAMESPACE");
    }
    if wide {
        let message = head.pop();
        head.extend(["SOURCE", "IMAGE"].into_iter().chain(message));
    }
    let rows: Vec<Vec<String>> = apps.iter().map(|app| row(app, namespaces, wide, now)).collect();
    table(&head, &rows)
}

fn row(app: &Application, namespaces: bool, wide: bool, now: Timestamp) -> Vec<String> {
    let status = app.status.clone().unwrap_or_default();
    let ready = status.conditions.iter().find(|condition| condition.type_ == READY);
    let born = app.metadata.creation_timestamp.as_ref().map_or(now, |time| time.0);
    let mut row = Vec::new();
    if namespaces {
        row.push(app.namespace().unwrap_or_default());
    }
    row.push(app.name_any());
    row.push(format!("{:?}", status.phase.unwrap_or_default()));
    row.push(format!("{}/{}", status.available_replicas, app.spec.replicas));
    row.push(status.url.unwrap_or_else(|| "-".into()));
    row.push(age(now.as_second() - born.as_second()));
    let message = message(ready);
    if wide {
        row.push(Source::of(app).map(|source| source.to_string()).unwrap_or_default());
        row.push(status.latest_image.unwrap_or_else(|| "-".into()));
        row.push(message.replace(char::is_control, " "));
        return row;
    }
    row.push(clipped(&message));
    row
}

/// What is said of an application that is not there.
pub(super) fn missing(namespace: &str, name: &str) -> anyhow::Error {
    let name = Paint::stderr().bold(name);
    anyhow::anyhow!("there is no application {name} in namespace {namespace}; `terrace apps -A` lists all")
}
