//! `terrace plan`: what the platform would do about a file, without doing it.

mod asked;
mod changes;
mod documents;
mod planner;
mod render;
pub(crate) mod settings;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use controllers::claims::book::Book;
use controllers::claims::config::Config;
use controllers::claims::{Office, Settings};
use controllers::infra::Desk;
use kit::{Reader, Tools};
use ports::admin;

use crate::apps::connect::Connection;
use crate::paint::Paint;
use crate::say;
use asked::{Asked, Preview, Writer};
use documents::documents;
pub(crate) use planner::Planner;

/// What the command ends with when something would change.
const CHANGES: u8 = 2;
/// Who asks the server what a file would make of an object.
const WRITER: Writer = Writer { name: "terrace-plan", force: true, namespaced: false };
/// Largest file; an object has at most 3 MiB.
const FILE_MAX: u64 = 64 * 1024 * 1024;

#[derive(Args)]
pub(crate) struct Options {
    /// YAML or JSON with one object or several; `-` reads standard input
    #[arg(long, short, value_name = "FILE")]
    file: PathBuf,
    /// Print for programs
    #[arg(long, short, value_name = "FORMAT", value_parser = ["json"])]
    output: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

/// Claims as they are served where nobody configured anything: the platform's own configuration is not published.
pub(crate) fn claims() -> Office<admin::Live> {
    let book = Book::fixed(Config::unconfigured());
    Office::new(Arc::new(admin::Live::default()), book, Settings::default())
}

/// Prints what would be done.
pub(crate) async fn run(data_dir: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let documents = documents(&read(&options.file)?)?;
    if documents.is_empty() {
        return Ok(say::usage(&format!("{} holds no object", options.file.display())));
    }
    let client = options.connection.client(data_dir).await?;
    let config = settings::published(&client)
        .await
        .context("the platform's settings in kube-public cannot be read")?;
    let rooms = controllers::all(
        config,
        controllers::services::Config::default(),
        claims(),
        Desk::new(Arc::default()),
    );
    let tools = Tools::new(Reader::direct(client.clone()));
    let asked = Asked { tools, client, rooms: rooms.into(), writer: WRITER };
    let mut previews = Vec::new();
    for document in documents {
        previews.push(asked.preview(document, &options.connection.namespace).await);
    }
    match options.output {
        Some(_) => say::line(&serde_json::to_string_pretty(&previews)?)?,
        None => say::text(&render::text(&previews, Paint::stdout()))?,
    }
    Ok(verdict(&previews))
}

fn verdict(previews: &[Preview]) -> ExitCode {
    if previews.iter().any(Preview::is_error) {
        ExitCode::FAILURE
    } else if previews.iter().all(Preview::is_empty) {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(CHANGES)
    }
}

fn read(file: &Path) -> anyhow::Result<String> {
    let told = || format!("cannot read {}", file.display());
    let mut text = String::new();
    let size = if file == Path::new("-") {
        std::io::stdin().lock().take(FILE_MAX + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).with_context(told)?.take(FILE_MAX + 1).read_to_string(&mut text)
    };
    if size.with_context(told)? as u64 > FILE_MAX {
        bail!("{} is larger than {} MiB", file.display(), FILE_MAX >> 20);
    }
    Ok(text)
}
