//! `terrace token list`.

use std::path::Path;
use std::process::ExitCode;

use agents::identity::Kept;
use clap::Args;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use serde_json::{Value, json};

use super::{Platform, all};
use crate::apps::table::{age, table};
use crate::say;

#[derive(Args)]
pub(crate) struct Options {
    /// Print for programs
    #[arg(long, short, value_name = "FORMAT", value_parser = ["json"])]
    output: Option<String>,
    #[command(flatten)]
    platform: Platform,
}

pub(crate) async fn run(data_dir: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let client = options.platform.client(data_dir).await?;
    let found = all(&client).await?;
    if options.output.is_some() {
        let all: Vec<Value> = found.iter().map(|(kept, secret)| described(kept, secret)).collect();
        say::line(&serde_json::to_string_pretty(&all)?)?;
    } else if found.is_empty() {
        say::note("no tokens; `terrace token create NAME --session` makes one");
    } else {
        say::text(&rows(&found, Timestamp::now()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A token for programs. Its digest stays where it is.
pub(super) fn described(kept: &Kept, secret: &Secret) -> Value {
    let mut object = json!({
        "name": kept.name, "role": kept.role.name(), "fingerprint": kept.caller().fingerprint,
        "namespaces": kept.namespaces,
    });
    let created = secret.metadata.creation_timestamp.as_ref().map(|time| time.0);
    for (key, time) in [("created", created), ("expires", kept.expires)] {
        if let Some(time) = time {
            object[key] = time.to_string().into();
        }
    }
    object
}

fn rows(found: &[(Kept, Secret)], now: Timestamp) -> String {
    let seconds = |from: Timestamp, to: Timestamp| age(to.duration_since(from).as_secs());
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|(kept, secret)| {
            let created = secret.metadata.creation_timestamp.as_ref();
            let ends = match kept.expires {
                None => "never".to_owned(),
                Some(_) if kept.expired(now) => "expired".into(),
                Some(end) => format!("in {}", seconds(now, end)),
            };
            let places = if kept.namespaces.is_empty() { "-".into() } else { kept.namespaces.join(",") };
            vec![
                kept.name.clone(),
                kept.role.name().to_owned(),
                kept.caller().fingerprint,
                created.map(|time| seconds(time.0, now)).unwrap_or_default(),
                ends,
                places,
            ]
        })
        .collect();
    table(&["NAME", "ROLE", "FINGERPRINT", "AGE", "EXPIRES", "NAMESPACES"], &rows)
}
