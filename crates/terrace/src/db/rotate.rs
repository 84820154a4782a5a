//! `terrace db rotate`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use api::annotations::ROTATE;
use api::claims::{DatabaseClaim, DbRoleClaim};
use clap::Args;
use jiff::Timestamp;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::Which;
use super::claim::{Claim, Kind};
use super::find::{self, Found, find};
use crate::apps::connect::told;
use crate::apps::deploy::span;
use crate::paint::Paint;
use crate::say;
use crate::services::wait::{End, INTERRUPTED, Seen, until};

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    which: Which,
    /// Do not wait
    #[arg(long)]
    no_wait: bool,
    /// How long to wait
    #[arg(long, default_value = "60s", value_name = "TIME", value_parser = span)]
    timeout: Duration,
}

pub(crate) async fn run(data_dir: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let client = options.which.connection.client(data_dir).await?;
    let claim = match find(&client, &options.which).await? {
        Found::One(claim) => *claim,
        Found::Both(why) => return Ok(say::usage(&why)),
    };
    let name = claim.name.clone();
    if claim.deleting || claim.held.is_some() {
        bail!("{name} is being deleted; its logins are not rotated any more");
    }
    let before = ask(&client, &claim, Timestamp::now()).await?;
    if options.no_wait {
        say::note(&format!("a rotation of {name} is asked for: see `terrace db status {name}`"));
        return Ok(ExitCode::SUCCESS);
    }
    match rotated(&client, &before, options.timeout).await? {
        End::Done(now) => {
            let login = |claim: &Claim| claim.login.clone().unwrap_or_else(|| "none".into());
            let paint = Paint::stderr();
            say::note(&format!("{} {} is rotated", paint.green("✓"), paint.bold(&name)));
            say::line(&format!("{} -> {}", login(&before), login(&now)))?;
            Ok(ExitCode::SUCCESS)
        }
        End::Failed(why) => bail!("{name} is not rotated: {why}"),
        End::Interrupted => {
            say::note(&format!(
                "no longer watching; {name} goes on by itself: see `terrace db status {name}`"
            ));
            Ok(ExitCode::from(INTERRUPTED))
        }
    }
}

/// Asks for a rotation, and returns the claim as it was at that moment.
pub(super) async fn ask(client: &Client, claim: &Claim, now: Timestamp) -> anyhow::Result<Claim> {
    // With a fraction, so that two within one second are two.
    let value = format!("{now:.6}");
    let patch = Patch::Merge(json!({ "metadata": { "annotations": { ROTATE: value } } }));
    let (params, name) = (PatchParams::default(), &claim.name);
    Ok(match claim.kind {
        Kind::Database => {
            let claims: Api<DatabaseClaim> = Api::namespaced(client.clone(), &claim.namespace);
            claims.patch(name, &params, &patch).await.map_err(told)?.into()
        }
        Kind::Role => {
            let claims: Api<DbRoleClaim> = Api::namespaced(client.clone(), &claim.namespace);
            claims.patch(name, &params, &patch).await.map_err(told)?.into()
        }
    })
}

/// Waits until another login is issued than there was.
pub(super) async fn rotated(
    client: &Client,
    before: &Claim,
    timeout: Duration,
) -> anyhow::Result<End<Box<Claim>>> {
    until(timeout, async || {
        let Some(now) = find::get(client, before.kind, &before.namespace, &before.name).await? else {
            return Ok(Seen::Failed("somebody has deleted it".into()));
        };
        Ok(match now.rotated(before) {
            Seen::Done(()) => Seen::Done(Box::new(now)),
            Seen::Waiting(words) => Seen::Waiting(words),
            Seen::Failed(why) => Seen::Failed(why),
        })
    })
    .await
}
