//! `terrace connect`: how clients of the Model Context Protocol are told about this platform.

mod clients;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agents::identity::Role;
use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};

use crate::apps::connect::Connection;
use crate::{place, say, token};
use clients::{Facts, Setup, setups};

/// What stands where a token would.
const PLACEHOLDER: &str = "YOUR_TOKEN";
/// Where agents connect, if nobody chose another port.
const ADDRESS: &str = "http://127.0.0.1:7070";

#[derive(Args)]
pub(crate) struct Options {
    /// The client; without one, all are listed
    client: Option<String>,
    /// Where the server answers [default: the platform in the data directory]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Print a token where one belongs: that of TERRACE_TOKEN, of --token-file, or a new one with --session
    #[arg(long)]
    show_token: bool,
    /// Make a session token of this name for it
    #[arg(long, value_name = "NAME", requires = "show_token", conflicts_with = "token_file")]
    session: Option<String>,
    /// File that holds the token
    #[arg(long, value_name = "FILE", requires = "show_token")]
    token_file: Option<PathBuf>,
    /// Print for programs
    #[arg(long, short, value_name = "FORMAT", value_parser = ["json"])]
    output: Option<String>,
}

pub(crate) async fn run(data_dir: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let known = |facts: &Facts| setups(facts).iter().map(|setup| setup.client).collect::<Vec<_>>().join(", ");
    let mut facts = facts(data_dir, options)?;
    if let Some(client) = &options.client
        && !setups(&facts).iter().any(|setup| setup.client == client)
    {
        let message =
            format!("{client} is not known; there are: {}; any other takes {}", known(&facts), facts.url);
        return Ok(say::usage(&message));
    }
    if options.show_token {
        facts.token = shown(data_dir, options).await?;
    }
    let mut all = setups(&facts);
    all.retain(|setup| options.client.as_ref().is_none_or(|client| setup.client == client));
    if options.output.is_some() {
        let all: Vec<Value> = all.iter().map(described).collect();
        let one = options.client.is_some().then(|| all.first().cloned()).flatten();
        say::line(&serde_json::to_string_pretty(&one.unwrap_or_else(|| all.into()))?)?;
    } else if options.client.is_some() {
        all.iter().try_for_each(|setup| say::text(&page(setup)))?;
        if !options.show_token {
            say::note(&format!(
                "{PLACEHOLDER} stands for a token: `terrace token create NAME --session` makes one"
            ));
        }
    } else {
        say::text(&overview(&all))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn facts(data_dir: &Path, options: &Options) -> anyhow::Result<Facts> {
    let address = match &options.url {
        Some(url) => url.clone(),
        None => std::fs::read_to_string(place::agents(data_dir)).unwrap_or_else(|_| ADDRESS.into()),
    };
    let address = address.trim().trim_end_matches('/').trim_end_matches("/mcp");
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let usual = place::data_dir(None).is_ok_and(|usual| usual == data_dir);
    let mut args = Vec::new();
    if !usual {
        args.extend(["--data-dir".to_owned(), data_dir.display().to_string()]);
    }
    args.push("mcp".into());
    args.extend(options.url.iter().flat_map(|_| ["--url".to_owned(), address.to_owned()]));
    Ok(Facts {
        url: format!("{address}/mcp"),
        program: program.display().to_string(),
        args,
        token: PLACEHOLDER.into(),
    })
}

/// The token that is to be shown.
async fn shown(data_dir: &Path, options: &Options) -> anyhow::Result<String> {
    if let Some(name) = &options.session {
        let client = Connection::to_platform_in(data_dir).client(data_dir).await?;
        return token::make(&client, name, Role::Session).await;
    }
    if let Some(file) = &options.token_file {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        return Ok(text.trim().to_owned());
    }
    match std::env::var("TERRACE_TOKEN").ok().filter(|token| !token.is_empty()) {
        Some(token) => Ok(token),
        None => bail!(
            "there is no token to show: set TERRACE_TOKEN, name a --token-file, or make one with --session NAME"
        ),
    }
}

fn described(setup: &Setup) -> Value {
    let ways: Vec<Value> = setup
        .ways
        .iter()
        .map(|way| {
            let mut object = json!({ "transport": way.transport, "text": way.text });
            if let Some(file) = way.file {
                object["file"] = file.into();
            }
            object
        })
        .collect();
    json!({ "client": setup.client, "title": setup.title, "ways": ways })
}

fn page(setup: &Setup) -> String {
    let mut text = String::new();
    for way in &setup.ways {
        let place = way.file.map_or_else(|| "run".to_owned(), |file| format!("in {file}"));
        text += &format!("# {} over {}: {place}\n{}\n\n", setup.title, way.transport, way.text);
    }
    text.trim_end().to_owned() + "\n"
}

fn overview(all: &[Setup]) -> String {
    let mut text = String::new();
    for setup in all {
        text += &format!("{:<16} {}\n", setup.client, setup.title);
    }
    text + "\n`terrace connect CLIENT` prints what that client is told, for example:\n\n  \
        claude mcp add terrace -- terrace mcp\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(token: &str) -> Vec<Setup> {
        let args = vec!["--data-dir".into(), "/srv/a \"b\"".into(), "mcp".into()];
        let (url, program) = ("http://127.0.0.1:7070/mcp".into(), "/opt/terrace".into());
        setups(&Facts { url, program, args, token: token.into() })
    }

    #[test]
    fn every_client_gets_what_it_can_read() {
        let mut read = 0;
        for setup in told("trc_x") {
            for way in &setup.ways {
                if way.file.is_some_and(|file| file.ends_with("json")) {
                    let parsed: Value = serde_json::from_str(&way.text).expect("JSON");
                    let text = parsed.to_string();
                    let leads = text.contains("http://127.0.0.1:7070/mcp") || text.contains("/opt/terrace");
                    assert!(leads && text.contains("\"terrace\""), "{}: {text}", setup.client);
                    read += 1;
                }
                assert!(way.transport == "http" || !way.text.contains("trc_x"), "{}", way.text);
            }
            assert!(page(&setup).contains(setup.title));
        }
        assert!(read >= 9, "{read}");
    }

    #[test]
    fn no_client_is_listed_twice_and_each_is_in_the_overview() {
        let all = told(PLACEHOLDER);
        let overview = overview(&all);
        for setup in &all {
            let same = all.iter().filter(|other| other.client == setup.client).count();
            assert!(same == 1 && overview.contains(setup.title), "{}", setup.client);
            assert_eq!(described(setup)["ways"].as_array().map(Vec::len), Some(setup.ways.len()));
        }
    }
}
