//! `terrace session`: the sessions of agents.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use agents::sessions::ending::{self, Kind, Thing};
use agents::sessions::{self, EXPIRED, LABEL, OWNER};
use anyhow::{anyhow, bail};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::apps::connect::told;
use crate::apps::table::{age, table};
use crate::paint::Paint;
use crate::say;
use crate::services::wait::{End, INTERRUPTED, Patience, Seen, until};
use crate::token::{self, Platform};

#[derive(Subcommand)]
pub(crate) enum What {
    /// List sessions: whose they are, when they were used, and what they hold
    #[command(after_help = "Examples:\n  terrace session list\n  terrace session list -o json")]
    List(ListOptions),
    /// Delete a session with its applications, its databases and their data
    #[command(after_help = "Examples:\n  \
        terrace session delete 3f1c09aa52d7be60\n  \
        terrace session delete 3f1c09aa52d7be60 --yes\n\n\
        Nothing is kept, not even for a while. Ctrl-C stops the waiting, not the deletion.")]
    Delete(DeleteOptions),
}

#[derive(Args)]
pub(crate) struct ListOptions {
    /// Print for programs
    #[arg(long, short, value_name = "FORMAT", value_parser = ["json"])]
    output: Option<String>,
    #[command(flatten)]
    platform: Platform,
}

#[derive(Args)]
pub(crate) struct DeleteOptions {
    /// The session's id, or its namespace
    id: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    patience: Patience,
    #[command(flatten)]
    platform: Platform,
}

pub(crate) async fn run(data_dir: &Path, what: What) -> anyhow::Result<ExitCode> {
    match what {
        What::List(options) => list(data_dir, &options).await,
        What::Delete(options) => delete(data_dir, &options).await,
    }
}

async fn list(data_dir: &Path, options: &ListOptions) -> anyhow::Result<ExitCode> {
    let client = options.platform.client(data_dir).await?;
    let tokens = token::all(&client).await?;
    let names: BTreeMap<String, String> =
        tokens.into_iter().map(|(kept, _)| (kept.caller().fingerprint, kept.name)).collect();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let found = namespaces.list(&ListParams::default().labels(LABEL)).await.map_err(told)?.items;
    let mut all = Vec::new();
    for namespace in &found {
        let things = ending::things(&client, &namespace.name_any()).await?;
        all.push(described(namespace, &names, &things));
    }
    if options.output.is_some() {
        say::line(&serde_json::to_string_pretty(&all)?)?;
    } else if all.is_empty() {
        say::note("no sessions; agents begin them with `register`");
    } else {
        say::text(&rows(&all, Timestamp::now()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A session for programs.
fn described(namespace: &Namespace, tokens: &BTreeMap<String, String>, things: &[Thing]) -> Value {
    let of = |kind: Kind| -> Vec<&str> {
        things.iter().filter(|thing| thing.kind == kind).map(|thing| thing.name.as_str()).collect()
    };
    let name = namespace.name_any();
    let owner = namespace.annotations().get(OWNER).cloned().unwrap_or_default();
    let state = match (sessions::is_ending(namespace), namespace.annotations().contains_key(EXPIRED)) {
        (true, _) => "ending",
        (false, true) => "expired",
        (false, false) => "active",
    };
    let mut object = json!({
        "id": sessions::id(&name), "namespace": name, "owner": owner, "state": state,
        "apps": of(Kind::App), "services": of(Kind::Service), "backups": of(Kind::Backup),
    });
    let created = namespace.metadata.creation_timestamp.as_ref().map(|time| time.0.to_string());
    let used = sessions::last_activity(namespace).map(|time| time.to_string());
    let token = tokens.get(&owner).cloned();
    let said = namespace.annotations().get(sessions::NAME).cloned();
    for (key, value) in [("token", token), ("name", said), ("created", created), ("lastActivity", used)] {
        if let Some(value) = value {
            object[key] = value.into();
        }
    }
    object
}

fn rows(all: &[Value], now: Timestamp) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("-").replace(char::is_control, " ");
    let ago = |value: &Value| {
        let time = value.as_str().and_then(|time| time.parse::<Timestamp>().ok());
        time.map_or_else(|| "-".to_owned(), |time| age(now.duration_since(time).as_secs()))
    };
    let count = |value: &Value| value.as_array().map_or(0, Vec::len).to_string();
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|one| {
            let token = if one["token"].is_string() { text(&one["token"]) } else { "(revoked)".into() };
            vec![
                text(&one["id"]),
                token,
                text(&one["state"]),
                ago(&one["created"]),
                ago(&one["lastActivity"]),
                count(&one["apps"]),
                count(&one["services"]),
                text(&one["name"]),
            ]
        })
        .collect();
    table(&["ID", "TOKEN", "STATE", "AGE", "LAST-USED", "APPS", "SERVICES", "NAME"], &rows)
}

async fn delete(data_dir: &Path, options: &DeleteOptions) -> anyhow::Result<ExitCode> {
    let id = sessions::id(&options.id);
    let asks = !options.yes;
    if asks && !std::io::stdin().is_terminal() {
        return Ok(say::usage(&format!("nobody can be asked here; `--yes` deletes {id} without asking")));
    }
    let client = options.platform.client(data_dir).await?;
    let namespace = format!("{}{id}", sessions::PREFIX);
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let found = namespaces.get_opt(&namespace).await.map_err(told)?.filter(sessions::is_session);
    let Some(found) = found else {
        return Err(anyhow!("there is no session {id}; `terrace session list` lists all"));
    };
    if !sessions::is_ending(&found) {
        let things = ending::things(&client, &namespace).await?;
        if asks {
            ending::plan(&namespace, &things).iter().for_each(|line| say::note(&format!("- {line}")));
            if !say::agreed(&format!("delete session {id} and everything in it?")) {
                say::note("nothing was deleted");
                return Ok(ExitCode::FAILURE);
            }
        }
        ending::mark(&client, &namespace).await?;
    }
    if !options.patience.waits() {
        say::note(&format!("{id} goes"));
        return Ok(ExitCode::SUCCESS);
    }
    match gone(&client, &namespace, options).await? {
        End::Done(()) => {
            say::note(&format!("{} {id} is gone", Paint::stderr().green("✓")));
            Ok(ExitCode::SUCCESS)
        }
        End::Failed(why) => bail!("{id} is not gone: {why}"),
        End::Interrupted => {
            say::note(&format!("no longer watching; {id} goes on going by itself"));
            Ok(ExitCode::from(INTERRUPTED))
        }
    }
}

/// Takes the session to its end, step by step, as the platform itself does.
async fn gone(client: &Client, namespace: &str, options: &DeleteOptions) -> anyhow::Result<End<()>> {
    until(options.patience.timeout, async || {
        let (_, left) = ending::carry(client, namespace, Timestamp::now()).await?;
        Ok(match left {
            None => Seen::Done(()),
            Some(left) => Seen::Waiting(format!("going: {} left", left.join(", "))),
        })
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_told_with_its_owner_its_state_and_what_it_holds() {
        let thing = |kind: Kind, name: &str| Thing { kind, name: name.into(), uid: None, goes: false };
        let things = [thing(Kind::App, "shop"), thing(Kind::Service, "db"), thing(Kind::Database, "db")];
        let tokens = BTreeMap::from([("f00".to_owned(), "builder".to_owned())]);
        let namespace = |annotations: Value| -> Namespace {
            let meta = json!({
                "name": "iaf-1", "annotations": annotations, "creationTimestamp": "2026-01-01T00:00:00Z",
            });
            serde_json::from_value(json!({ "metadata": meta })).expect("a namespace")
        };
        let used = "2026-01-01T11:59:00Z";
        let table = [
            (json!({ OWNER: "f00", sessions::LAST_ACTIVITY: used }), "1 builder active 12h 60s 1 1 -"),
            (json!({ OWNER: "bad", EXPIRED: used }), "1 (revoked) expired 12h 12h 1 1 -"),
            (json!({ OWNER: "f00", sessions::ENDED: used }), "1 builder ending 12h 12h 1 1 -"),
        ];
        let now: Timestamp = "2026-01-01T12:00:00Z".parse().expect("a time");
        for (annotations, want) in table {
            let described = described(&namespace(annotations), &tokens, &things);
            assert_eq!(described["services"], json!(["db"]));
            let words: Vec<&str> = want.split_whitespace().collect();
            let text = rows(&[described], now);
            let last: Vec<&str> = text.lines().last().unwrap_or_default().split_whitespace().collect();
            assert_eq!(last, words);
        }
    }
}
