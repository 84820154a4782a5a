//! `terrace token`: what agents and scripts prove themselves with.

mod create;
mod list;
mod revoke;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agents::identity::{self, Kept, kept};
use clap::{Args, Subcommand};
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, ListParams};

use crate::apps::connect::{Connection, told};

pub(crate) use create::make;

#[derive(Subcommand)]
pub(crate) enum What {
    /// Make a token; it is shown once, and kept only as a digest
    #[command(after_help = "Examples:\n  \
        terrace token create builder --session\n  \
        terrace token create watcher --read-only --expires 30d\n  \
        terrace token create shop-ci --session --namespace shop\n  \
        terrace token create operator --admin -o json\n\n\
        Ends with the token on standard output. With --namespace its rights end there: it begins no sessions.")]
    Create(create::Options),
    /// List tokens, without what they are
    #[command(after_help = "Examples:\n  terrace token list\n  terrace token list -o json")]
    List(list::Options),
    /// Revoke a token: whoever holds it is refused within moments
    #[command(
        after_help = "Examples:\n  terrace token revoke builder\n  terrace token revoke builder --yes\n\n\
        Its sessions stay, and are named; `terrace session delete ID` ends one."
    )]
    Revoke(revoke::Options),
}

/// Which platform is meant. Tokens belong to all of it.
#[derive(Args, Clone)]
pub(crate) struct Platform {
    /// Kubeconfig of the platform or cluster; without it, and without KUBECONFIG, the platform in the data directory
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

impl Platform {
    /// A client that the platform has answered.
    pub(crate) async fn client(&self, data_dir: &Path) -> anyhow::Result<Client> {
        Connection::to(self.kubeconfig.clone()).client(data_dir).await
    }
}

pub(crate) async fn run(data_dir: &Path, what: What) -> anyhow::Result<ExitCode> {
    match what {
        What::Create(options) => create::run(data_dir, options).await,
        What::List(options) => list::run(data_dir, &options).await,
        What::Revoke(options) => revoke::run(data_dir, &options).await,
    }
}

/// All tokens with their Secrets, by name.
pub(crate) async fn all(client: &Client) -> anyhow::Result<Vec<(Kept, Secret)>> {
    let which = ListParams::default().labels(identity::LABEL);
    let found = secrets(client).list(&which).await.map_err(told)?.items;
    let mut all: Vec<(Kept, Secret)> =
        found.into_iter().filter_map(|secret| Some((kept(&secret)?, secret))).collect();
    all.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
    Ok(all)
}

fn secrets(client: &Client) -> Api<Secret> {
    Api::namespaced(client.clone(), identity::NAMESPACE)
}
