//! `terrace token`: what agents and scripts prove themselves with.

use std::path::Path;
use std::process::ExitCode;

use agents::identity::{self, Kept, Role};
use anyhow::bail;
use clap::{Args, Subcommand};
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, PostParams};

use crate::apps::connect::{Connection, told};
use crate::say;

#[derive(Subcommand)]
pub(crate) enum What {
    /// Make a token; it is shown once, and kept only as a digest
    #[command(after_help = "Examples:\n  \
        terrace token create builder --session\n  \
        terrace token create watcher --read-only\n  \
        terrace token create operator --admin\n\n\
        Ends with the token on standard output.")]
    Create(CreateOptions),
}

#[derive(Args)]
pub(crate) struct CreateOptions {
    /// A name for it
    name: String,
    /// It begins sessions and works in them
    #[arg(long, group = "role")]
    session: bool,
    /// It looks, and changes nothing
    #[arg(long, group = "role")]
    read_only: bool,
    /// It works in every namespace
    #[arg(long, group = "role")]
    admin: bool,
    #[command(flatten)]
    connection: Connection,
}

pub(crate) async fn run(data_dir: &Path, what: What) -> anyhow::Result<ExitCode> {
    match what {
        What::Create(options) => create(data_dir, options).await,
    }
}

async fn create(data_dir: &Path, options: CreateOptions) -> anyhow::Result<ExitCode> {
    let role = match (options.read_only, options.admin) {
        (true, _) => Role::ReadOnly,
        (_, true) => Role::Admin,
        _ => Role::Session,
    };
    let client = options.connection.client(data_dir).await?;
    say::line(&make(&client, &options.name, role).await?)?;
    Ok(ExitCode::SUCCESS)
}

/// Makes a token, and keeps its digest.
pub(crate) async fn make(client: &Client, name: &str, role: Role) -> anyhow::Result<String> {
    let (token, digest) = identity::mint();
    let kept = Kept { name: name.to_owned(), role, digest, expires: None, namespaces: Vec::new() };
    let secrets: Api<Secret> = Api::namespaced(client.clone(), identity::NAMESPACE);
    match secrets.create(&PostParams::default(), &kept.secret()).await {
        Ok(_) => Ok(token),
        Err(kube::Error::Api(status)) if status.code == 409 => {
            bail!("there is a token {name} already; revoke it first, or choose another name")
        }
        Err(error) => Err(told(error)),
    }
}
