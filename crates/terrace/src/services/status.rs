//! `terrace service status`.

use std::path::Path;
use std::process::ExitCode;

use agents::services::Error;
use api::services::ManagedService;
use clap::Args;
use jiff::Timestamp;
use kube::api::Api;

use super::describe::{described, page};
use super::refused;
use crate::apps::connect::{Connection, told};
use crate::say;

#[derive(Args)]
pub(crate) struct Options {
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
    let services: Api<ManagedService> = Api::namespaced(client, namespace);
    let Some(service) = services.get_opt(name).await.map_err(told)? else {
        let what = "managed service";
        return refused(Error::NotFound { what, name: name.clone(), namespace: namespace.clone() }, name);
    };
    match options.output {
        Some(_) => say::line(&serde_json::to_string_pretty(&described(&service))?)?,
        None => say::text(&page(&service, Timestamp::now()))?,
    }
    Ok(ExitCode::SUCCESS)
}
