//! `terrace db status`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use kube::Client;

use super::Which;
use super::claim::Claim;
use super::describe::{described_whole, page};
use super::find::{self, Found, find};
use crate::apps::deploy::span;
use crate::say;
use crate::services::wait::{End, INTERRUPTED, Seen, until};

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    which: Which,
    /// Print for programs
    #[arg(long, short, value_name = "FORMAT", value_parser = ["json"])]
    output: Option<String>,
    /// Wait until it is ready
    #[arg(long)]
    wait: bool,
    /// How long to wait
    #[arg(long, default_value = "10m", value_name = "TIME", value_parser = span, requires = "wait")]
    timeout: Duration,
}

pub(crate) async fn run(data_dir: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let client = options.which.connection.client(data_dir).await?;
    let mut claim = match find(&client, &options.which).await? {
        Found::One(claim) => *claim,
        Found::Both(why) => return Ok(say::usage(&why)),
    };
    if options.wait {
        match settled(&client, &claim, options.timeout).await? {
            End::Done(last) => claim = *last,
            End::Failed(why) => {
                say::note(&format!("{} is not ready: {why}", claim.name));
                let last = find::get(&client, claim.kind, &claim.namespace, &claim.name).await?;
                claim = last.unwrap_or(claim);
            }
            End::Interrupted => {
                say::note("no longer watching");
                return Ok(ExitCode::from(INTERRUPTED));
            }
        }
    }
    match options.output {
        Some(_) => say::line(&serde_json::to_string_pretty(&described_whole(&claim))?)?,
        None => say::text(&page(&claim, Timestamp::now()))?,
    }
    Ok(if claim.is_ready() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Waits until a claim is ready, or cannot be.
async fn settled(client: &Client, claim: &Claim, timeout: Duration) -> anyhow::Result<End<Box<Claim>>> {
    until(timeout, async || {
        let Some(last) = find::get(client, claim.kind, &claim.namespace, &claim.name).await? else {
            return Ok(Seen::Failed("somebody has deleted it".into()));
        };
        Ok(match last.stand() {
            Seen::Done(()) => Seen::Done(Box::new(last)),
            Seen::Waiting(words) => Seen::Waiting(words),
            Seen::Failed(why) => Seen::Failed(why),
        })
    })
    .await
}
