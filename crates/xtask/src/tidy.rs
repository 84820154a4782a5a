//! The rules of STYLE.md that a program can hold, so that nobody has to remember them.
//!
//! Files are read once into a [`Tree`]; every rule is a pure function from the tree to findings. Rules
//! that clippy knows (unwrap, missing docs) stay with clippy.

mod rules;
mod source;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use source::Source;

/// Findings that were looked at and allowed, each with its reason.
const EXCEPTIONS: &str = include_str!("tidy/exceptions.txt");

/// Directories that hold nothing we wrote.
const FOREIGN: [&str; 4] = ["target", "corpus", "artifacts", "node_modules"];

/// Files of text that people write; everything else is not read.
const TEXT: [&str; 12] =
    ["rs", "toml", "md", "yaml", "yml", "json", "sh", "py", "story", "txt", "html", "css"];

/// Checks the workspace around the current directory. Fails when anything is found.
pub fn run(args: &[String]) -> anyhow::Result<()> {
    if let Some(first) = args.first() {
        bail!("`xtask tidy` takes no arguments, but was given `{first}`");
    }
    let root = workspace_root(&std::env::current_dir()?)?;
    let tree = Tree::read(&root)?;
    let findings = tree.findings(EXCEPTIONS)?;
    let mut out = std::io::stdout().lock();
    for finding in &findings {
        writeln!(out, "{finding}")?;
    }
    match findings.len() {
        0 => Ok(writeln!(out, "tidy: {} files, nothing found", tree.texts.len())?),
        count => bail!("tidy found {count} things; the rules stand in STYLE.md"),
    }
}

/// One place that breaks one rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    rule: &'static str,
    message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: [{}] {}", self.path, self.line, self.rule, self.message)
    }
}

/// The files of the workspace, by their path from its root with `/` between.
struct Tree {
    texts: Vec<(String, String)>,
    sources: Vec<Source>,
}

impl Tree {
    fn new(mut texts: Vec<(String, String)>) -> Self {
        texts.sort();
        let rust = texts.iter().filter(|(path, _)| path.ends_with(".rs"));
        let sources = rust.map(|(path, text)| Source::new(path, text)).collect();
        Self { texts, sources }
    }

    fn read(root: &Path) -> anyhow::Result<Self> {
        let mut texts = Vec::new();
        let mut waiting = vec![root.to_owned()];
        while let Some(directory) = waiting.pop() {
            let entries = std::fs::read_dir(&directory)
                .with_context(|| format!("reading the directory {}", directory.display()))?;
            for entry in entries {
                let path = entry?.path();
                if path.is_dir() && ours(&path) {
                    waiting.push(path);
                } else if path.is_file() && is_text(&path) {
                    let text = std::fs::read_to_string(&path)
                        .with_context(|| format!("reading {} as text", path.display()))?;
                    texts.push((relative(root, &path), text));
                }
            }
        }
        Ok(Self::new(texts))
    }

    /// All findings in order, without the excepted ones; an exception that excepts nothing is a finding too.
    fn findings(&self, exceptions: &str) -> anyhow::Result<Vec<Finding>> {
        let mut found: Vec<Finding> = rules::ALL.iter().flat_map(|rule| rule(self)).collect();
        for (number, line) in exceptions.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let exception = Exception::parse(line).with_context(|| format!("exception {}", number + 1))?;
            let before = found.len();
            found.retain(|finding| !exception.covers(finding));
            if found.len() == before {
                found.push(Finding {
                    path: "crates/xtask/src/tidy/exceptions.txt".into(),
                    line: number + 1,
                    rule: "exception",
                    message: format!("excepts nothing any more: {} | {}", exception.path, exception.rule),
                });
            }
        }
        found.sort();
        Ok(found)
    }
}

/// `path | rule | reason`: this rule says nothing about this file, because of that.
struct Exception<'a> {
    path: &'a str,
    rule: &'a str,
}

impl<'a> Exception<'a> {
    fn parse(line: &'a str) -> anyhow::Result<Self> {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        match fields.as_slice() {
            [path, rule, reason] if !reason.is_empty() => Ok(Self { path, rule }),
            _ => bail!("expected `path | rule | reason`, found `{line}`"),
        }
    }

    fn covers(&self, finding: &Finding) -> bool {
        finding.path == self.path && finding.rule == self.rule
    }
}

/// The nearest directory above that holds the workspace's Cargo.toml.
pub(crate) fn workspace_root(start: &Path) -> anyhow::Result<PathBuf> {
    let holds = |directory: &Path| {
        std::fs::read_to_string(directory.join("Cargo.toml")).is_ok_and(|text| text.contains("[workspace]"))
    };
    let found = start.ancestors().find(|directory| holds(directory));
    found.map(Path::to_owned).with_context(|| format!("no workspace around {}", start.display()))
}

fn ours(directory: &Path) -> bool {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    name == ".ci" || !(name.starts_with('.') || FOREIGN.contains(&name.as_ref()))
}

fn is_text(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    name == "Makefile" || name == "run" || TEXT.contains(&extension.as_ref())
}

fn relative(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path);
    inside.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}
