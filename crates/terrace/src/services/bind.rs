//! `terrace service bind` and `unbind`.

use std::path::Path;
use std::process::ExitCode;

use agents::services::{bind, unbind};
use clap::Args;

use super::refused;
use crate::apps::connect::Connection;
use crate::paint::Paint;
use crate::say;

#[derive(Args)]
pub(crate) struct Options {
    /// Name of the service
    name: String,
    /// Name of the application
    app: String,
    /// Print for programs
    #[arg(long, short, value_name = "FORMAT", value_parser = ["json"])]
    output: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

pub(crate) async fn bind(data_dir: &Path, options: Options) -> anyhow::Result<ExitCode> {
    let client = options.connection.client(data_dir).await?;
    let Options { name, app, output, connection } = options;
    let input = bind::Input { service_name: name.clone(), app_name: app.clone() };
    let bound = match bind::run(&client, &connection.namespace, input).await {
        Ok(bound) => bound,
        Err(error) => return refused(error, &name),
    };
    if output.is_some() {
        say::line(&serde_json::to_string(&bound)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let names = bound.injected_env_vars.join(", ");
    say::note(&match bound.already_bound {
        true => format!("nothing changed; {app} is bound to {name}"),
        false => format!("{} {app} is bound to {name} and starts anew with {names}", tick()),
    });
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn unbind(data_dir: &Path, options: Options) -> anyhow::Result<ExitCode> {
    let client = options.connection.client(data_dir).await?;
    let Options { name, app, output, connection } = options;
    let input = unbind::Input { service_name: name.clone(), app_name: app.clone() };
    let parted = match unbind::run(&client, &connection.namespace, input).await {
        Ok(parted) => parted,
        Err(error) => return refused(error, &name),
    };
    let ended = if parted.unbound { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if output.is_some() {
        say::line(&serde_json::to_string(&parted)?)?;
        return Ok(ended);
    }
    if !parted.unbound {
        let names = parted.still_referring.join(", ");
        anyhow::bail!(
            "{app} still uses {name} in {names}, which no binding has written; take that out of its spec.env"
        );
    }
    say::note(&match parted.removed_env_vars.is_empty() {
        true => format!("nothing changed; {app} was not bound to {name}"),
        false => format!("{} {app} is free of {name} and starts anew", tick()),
    });
    Ok(ended)
}

fn tick() -> String {
    Paint::stderr().green("✓")
}
