//! `terrace token revoke`.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use agents::identity::Kept;
use agents::sessions;
use anyhow::anyhow;
use api::annotations::MANAGED_BY;
use clap::Args;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{Api, DeleteParams, ListParams};
use kube::{Client, ResourceExt};

use super::{Platform, all, secrets};
use crate::apps::connect::told;
use crate::paint::Paint;
use crate::say;

#[derive(Args)]
pub(crate) struct Options {
    /// Name of the token
    name: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    platform: Platform,
}

pub(crate) async fn run(data_dir: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let name = &options.name;
    let asks = !options.yes;
    if asks && !std::io::stdin().is_terminal() {
        return Ok(say::usage(&format!("nobody can be asked here; `--yes` revokes {name} without asking")));
    }
    let client = options.platform.client(data_dir).await?;
    let found = all(&client).await?.into_iter().find(|(kept, _)| kept.name == *name);
    let Some((kept, secret)) = found else {
        return Err(anyhow!("there is no token {name}; `terrace token list` lists all"));
    };
    if asks && !say::agreed(&format!("revoke token {name}, so that its holder is refused?")) {
        say::note("nothing was revoked");
        return Ok(ExitCode::FAILURE);
    }
    let left = revoke(&client, &kept, &secret.name_any()).await?;
    say::note(&format!("{} {name} is revoked", Paint::stderr().green("✓")));
    if !left.is_empty() {
        let ids = left.join(", ");
        say::note(&format!("  its sessions stay: {ids}; `terrace session delete ID` ends one"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Takes a token and the rights that were written for it away. Tells the sessions that are left without an owner.
pub(super) async fn revoke(client: &Client, kept: &Kept, secret: &str) -> anyhow::Result<Vec<String>> {
    // The token first: from then on its rights are nobody's.
    gone(secrets(client).delete(secret, &DeleteParams::default()).await)?;
    let fingerprint = kept.caller().fingerprint;
    for namespace in &kept.namespaces {
        let bindings: Api<RoleBinding> = Api::namespaced(client.clone(), namespace);
        let name = format!("terrace-agent-{fingerprint}");
        let there = bindings.get_opt(&name).await.map_err(told)?;
        if there.is_some_and(|there| there.labels().get(MANAGED_BY).is_some_and(|by| by == "terrace")) {
            gone(bindings.delete(&name, &DeleteParams::default()).await)?;
        }
    }
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let all = namespaces.list(&ListParams::default().labels(sessions::LABEL)).await.map_err(told)?.items;
    let own = all.iter().filter(|found| found.annotations().get(sessions::OWNER) == Some(&fingerprint));
    Ok(own.map(|found| sessions::id(&found.name_any()).to_owned()).collect())
}

fn gone<T>(deleted: Result<T, kube::Error>) -> anyhow::Result<()> {
    match deleted {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(told(error)),
    }
}
