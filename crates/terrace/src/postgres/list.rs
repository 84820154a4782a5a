//! `terrace postgres list`.

use std::path::{Path, PathBuf};

use clap::Args;
use ports::postgres::builds::{self, Found, Origin};
use serde_json::{Value, json};

use super::Place;
use crate::apps::table::table;
use crate::say;

#[derive(Args)]
pub(crate) struct Options {
    /// Another directory with the programs of PostgreSQL, as for `terrace up`; may be given several times
    #[arg(long, value_name = "DIR")]
    postgres_bin: Vec<PathBuf>,
    /// Print for programs
    #[arg(long, short, value_name = "FORMAT", value_parser = ["json"])]
    output: Option<String>,
    #[command(flatten)]
    place: Place,
}

pub(super) async fn run(dir: &Path, options: &Options) -> anyhow::Result<()> {
    let cache = options.place.cache(dir)?;
    let named = options.postgres_bin.clone();
    let found = tokio::task::spawn_blocking(move || builds::examine(&named, Some(&cache))).await?;
    let rows = rows(&found);
    match options.output.as_deref() {
        Some(_) => {
            let rows: Vec<Value> = rows.iter().map(Row::described).collect();
            say::line(&serde_json::to_string_pretty(&rows)?)
        }
        None if rows.is_empty() => {
            say::note("no PostgreSQL on this machine; `terrace postgres install 17` fetches one");
            Ok(())
        }
        None => say::text(&shown(&rows)),
    }
}

/// A build, and what it is used for.
pub(super) struct Row<'a> {
    found: &'a Found,
    usage: Usage,
}

/// What a build is used for.
#[derive(Clone, Copy, PartialEq)]
enum Usage {
    /// For services that name no version, and those that name its own.
    Default,
    /// For services that name its version.
    Named,
    /// Not at all: another of the same major version comes first.
    Hidden,
    /// It cannot be used.
    Unusable,
}

/// The builds with their use. They come in order: the first of each major version is used, the very first by default.
pub(super) fn rows(found: &[Found]) -> Vec<Row<'_>> {
    let mut last = None;
    let mut usage = |found: &Found| match &found.usable {
        Err(_) => Usage::Unusable,
        Ok(usable) => match last.replace(usable.major) {
            None => Usage::Default,
            Some(before) if before == usable.major => Usage::Hidden,
            Some(_) => Usage::Named,
        },
    };
    found.iter().map(|found| Row { found, usage: usage(found) }).collect()
}

impl Row<'_> {
    fn described(&self) -> Value {
        let usable = self.found.usable.as_ref();
        json!({
            "version": usable.ok().map(|usable| &usable.version),
            "major": usable.ok().map(|usable| usable.major),
            "tls": usable.ok().and_then(|usable| usable.tls),
            "bin": self.found.bin,
            "origin": origin(self.found.origin),
            "used": matches!(self.usage, Usage::Default | Usage::Named),
            "default": self.usage == Usage::Default,
            "problem": usable.err(),
        })
    }

    fn cells(&self) -> Vec<String> {
        let usage = match self.usage {
            Usage::Default => "by default",
            Usage::Named => "on request",
            Usage::Hidden => "no: another comes first",
            Usage::Unusable => "no",
        };
        let bin = self.found.bin.display();
        let (version, tls, place) = match &self.found.usable {
            Ok(usable) => (usable.version.as_str(), usable.tls, bin.to_string()),
            Err(why) => ("-", None, format!("{bin}: {why}")),
        };
        let tls = match tls {
            Some(true) => "yes",
            Some(false) => "no",
            None => "-",
        };
        [version, usage, tls, origin(self.found.origin), &place].map(str::to_owned).to_vec()
    }
}

/// The table for people.
pub(super) fn shown(rows: &[Row<'_>]) -> String {
    let cells: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
    table(&["VERSION", "USED", "TLS", "FROM", "WHERE"], &cells)
}

/// JSON of all rows, for tests.
#[cfg(test)]
pub(super) fn described(rows: &[Row<'_>]) -> Vec<Value> {
    rows.iter().map(Row::described).collect()
}

fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Named => "option",
        Origin::Installed => "terrace",
        Origin::Machine => "machine",
    }
}
