//! What an application is written in and what has to be done with it. Pure: a list of files in, a recipe out.

mod go;
mod java;
mod listing;
mod node;
mod python;
mod ruby;
mod rust;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;

pub(super) use listing::Listing;

/// What stands for the application's cache in commands and variables.
pub(super) const CACHE: &str = "{cache}";

/// Directories where a page of static files is looked for, in this order.
const PAGES: [&str; 5] = [".", "public", "dist", "build", "out"];

/// What has to be done with an application.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Recipe {
    /// What it is written in.
    pub(super) language: &'static str,
    /// Commands that get what it depends on.
    pub(super) install: Vec<Vec<String>>,
    /// Commands that compile it.
    pub(super) build: Vec<Vec<String>>,
    /// What is started.
    pub(super) start: Start,
    /// Variables of the build.
    pub(super) build_env: BTreeMap<&'static str, String>,
    /// Variables of the running application.
    pub(super) env: BTreeMap<&'static str, String>,
    /// Directories of the application that hold programs.
    pub(super) path: Vec<&'static str>,
    /// Program of the language that has to be there when it runs.
    pub(super) runtime: Option<&'static str>,
    /// What the installed dependencies lie in and which files they follow from, where they can be used again.
    pub(super) layer: Option<Layer>,
}

/// Dependencies that a later build can use again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Layer {
    /// Directory that they lie in.
    pub(super) directory: &'static str,
    /// Files that they follow from.
    pub(super) key_files: Vec<&'static str>,
}

/// What is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Start {
    /// A line that its owner wrote for a shell, or one that holds nothing but our own words.
    Shell(String),
    /// A program with arguments.
    Program(Vec<String>),
    /// Static files in the first of these directories that has an `index.html`.
    Files(Vec<&'static str>),
    /// The one jar in the first of these directories that has one.
    Jar(Vec<&'static str>),
}

impl Default for Start {
    fn default() -> Self {
        Self::Program(Vec::new())
    }
}

/// Finds a recipe; the error says for a person what is missing. Inside, each language answers `None` if the
/// application is not its own.
pub(super) fn detect(files: &Listing) -> Result<Recipe, String> {
    let web = procfile(files)?;
    let languages = [go::detect, node::detect, python::detect, ruby::detect, java::detect, rust::detect];
    let found = languages.iter().find_map(|language| language(files, web.is_some()));
    match (web, found) {
        (Some(line), Some(recipe)) => Ok(Recipe { start: Start::Shell(line), ..recipe? }),
        (Some(line), None) => {
            Ok(Recipe { language: "procfile", start: Start::Shell(line), ..Recipe::default() })
        }
        (None, Some(recipe)) => recipe,
        (None, None) => pages(files),
    }
}

fn pages(files: &Listing) -> Result<Recipe, String> {
    let page = |directory: &&str| files.has(&format!("{directory}/index.html").replace("./", ""));
    let Some(directory) = PAGES.into_iter().find(page) else {
        return Err("found nothing to build: looked for Procfile, go.mod, package.json, requirements.txt, \
                    pyproject.toml, app.py, main.py, Gemfile, pom.xml, build.gradle, Cargo.toml, index.html"
            .into());
    };
    Ok(Recipe { language: "static", start: Start::Files(vec![directory]), ..Recipe::default() })
}

/// The `web:` line of the Procfile, if there is a Procfile.
fn procfile(files: &Listing) -> Result<Option<String>, String> {
    let Some(text) = files.text("Procfile") else { return Ok(None) };
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let web = lines.filter(|(name, _)| name.trim() == "web").map(|(_, line)| line.trim()).next();
    match web {
        Some(line) if !line.is_empty() => Ok(Some(line.to_owned())),
        _ => Err("the Procfile has no `web:` line; write `web: <command that listens on $PORT>`".into()),
    }
}

/// A command, word by word.
fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// Values of `key = "value"` lines in one kind of section of a TOML document, enough for names in manifests.
fn toml_values(text: &str, section: &str, key: &str) -> Vec<String> {
    let mut inside = false;
    let mut values = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == section;
        } else if inside
            && let Some((name, value)) = line.split_once('=')
            && name.trim().trim_matches('"') == key
        {
            let quoted = value.trim().split(['"', '\'']).nth(1);
            values.extend(quoted.map(str::to_owned));
        }
    }
    values
}
