//! `terrace token create`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use agents::identity::{self, Kept, Role, rights};
use anyhow::{anyhow, bail};
use api::names::Label;
use clap::{ArgGroup, Args};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;

use super::{Platform, secrets};
use crate::apps::connect::told;
use crate::apps::deploy::span;
use crate::say;

/// The longest name: it is part of the name of a Secret, and shown in tables.
const NAME_MAX: usize = 40;
/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;

#[derive(Args)]
#[command(group = ArgGroup::new("role").required(true))]
pub(crate) struct Options {
    /// A name for it: lower-case letters, digits and dashes
    #[arg(value_parser = name)]
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
    /// Its rights end at this namespace; may be given several times
    #[arg(long, short, value_name = "NAME")]
    namespace: Vec<String>,
    /// How long it is good for: 12h, 30d
    #[arg(long, value_name = "TIME", value_parser = days)]
    expires: Option<Duration>,
    /// Print for programs
    #[arg(long, short, value_name = "FORMAT", value_parser = ["json"])]
    output: Option<String>,
    #[command(flatten)]
    platform: Platform,
}

pub(crate) async fn run(data_dir: &Path, options: Options) -> anyhow::Result<ExitCode> {
    let role = match (options.read_only, options.admin) {
        (true, _) => Role::ReadOnly,
        (_, true) => Role::Admin,
        _ => Role::Session,
    };
    let client = options.platform.client(data_dir).await?;
    let mut namespaces = options.namespace;
    namespaces.sort();
    namespaces.dedup();
    let expires = options.expires.map(end).transpose()?;
    let (token, digest) = identity::mint();
    let kept = Kept { name: options.name, role, digest, expires, namespaces };
    keep(&client, &kept).await?;
    if options.output.is_none() {
        say::line(&token)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut object = json!({
        "name": kept.name, "role": role.name(), "token": token, "fingerprint": kept.caller().fingerprint,
        "namespaces": kept.namespaces,
    });
    if let Some(end) = kept.expires {
        object["expires"] = end.to_string().into();
    }
    say::line(&serde_json::to_string_pretty(&object)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Makes a token that lasts, and keeps its digest.
pub(crate) async fn make(client: &Client, name: &str, role: Role) -> anyhow::Result<String> {
    let (token, digest) = identity::mint();
    let kept = Kept { name: name.to_owned(), role, digest, expires: None, namespaces: Vec::new() };
    keep(client, &kept).await?;
    Ok(token)
}

/// Keeps a token, and gives it its rights where it has rights of its own.
pub(super) async fn keep(client: &Client, kept: &Kept) -> anyhow::Result<()> {
    let name = &kept.name;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    for namespace in &kept.namespaces {
        if namespaces.get_opt(namespace).await.map_err(told)?.is_none() {
            bail!("there is no namespace {namespace}; no token was made");
        }
    }
    let secret = kept.secret();
    match secrets(client).create(&PostParams::default(), &secret).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 409 => {
            bail!("there is a token {name} already; revoke it first, or choose another name")
        }
        Err(error) => return Err(told(error)),
    }
    for namespace in &kept.namespaces {
        let granted = rights::granted(&kept.caller(), role_of(kept.role), namespace);
        if let Err(error) = rights::apply(client, &granted).await {
            // A token without its rights would only confuse: nobody has seen it yet.
            let kept = secret.metadata.name.unwrap_or_default();
            let _ = secrets(client).delete(&kept, &DeleteParams::default()).await;
            return Err(anyhow!("no token was made: its rights in {namespace} cannot be written: {error}"));
        }
    }
    Ok(())
}

/// The role that a token with an end to its rights has in a namespace.
fn role_of(role: Role) -> &'static str {
    match role {
        Role::Session => rights::TENANT,
        Role::ReadOnly => rights::READER,
        Role::Admin => rights::ADMIN,
    }
}

/// A name that a token can have.
pub(super) fn name(text: &str) -> Result<String, String> {
    text.parse::<Label>().map_err(|error| error.to_string())?;
    match text.len() > NAME_MAX {
        true => Err(format!("it has {} characters, a token's name has at most {NAME_MAX}", text.len())),
        false => Ok(text.to_owned()),
    }
}

/// A time span that may be given in days.
pub(super) fn days(text: &str) -> Result<Duration, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u64>().ok());
    let span = match days.and_then(|days| days.checked_mul(DAY)) {
        Some(seconds) => Duration::from_secs(seconds),
        None => span(text).map_err(|_| "expected a time like 12h or 30d".to_owned())?,
    };
    if span.is_zero() { Err("a token has to last for a while".into()) } else { Ok(span) }
}

/// When a span that begins now ends, in whole seconds.
fn end(span: Duration) -> anyhow::Result<Timestamp> {
    let span = SignedDuration::try_from(span)?;
    let end = Timestamp::now().checked_add(span).map_err(|_| anyhow!("--expires is too far away"))?;
    Ok(Timestamp::from_second(end.as_second())?)
}
