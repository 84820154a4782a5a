//! The files of an application, as far as a recipe depends on them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};
use std::path::Path;

use super::super::digest::{self, Kind};

/// How deep files are listed: manifests of a workspace's members lie two or three directories down.
const DEPTH: usize = 4;
/// How much of a manifest is read; real ones are far shorter.
const TEXT_BYTES: u64 = 256 << 10;
/// How many texts are read; a workspace with more members than that needs a Procfile.
const TEXTS: usize = 200;
/// Files whose text matters, wherever they lie.
const READ: [&str; 10] = [
    "Procfile",
    "package.json",
    "requirements.txt",
    "pyproject.toml",
    "Cargo.toml",
    "go.mod",
    "Gemfile",
    "main.go",
    "build.gradle",
    "pom.xml",
];
/// Directories that are never looked into: what lies there was installed or built.
const INSTALLED: [&str; 6] = ["node_modules", ".venv", "venv", "target", "vendor", ".git"];

/// The files of an application: their paths from its root, and the texts of those that say what it is.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Listing {
    paths: BTreeSet<String>,
    texts: BTreeMap<String, String>,
}

impl Listing {
    /// Whether there is a file of this path.
    pub(super) fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// The text of a file.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// All paths, in order.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }

    /// Texts by their paths, in order.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Reads it from a directory that nobody changes meanwhile. Links are not followed.
    pub(in super::super) fn read(root: &Path) -> io::Result<Self> {
        let mut listing = Self::default();
        for entry in digest::walk(root)? {
            let Some(path) = entry.path.to_str() else { continue };
            let names: Vec<&str> = path.split('/').collect();
            let Kind::File { bytes, .. } = entry.kind else { continue };
            if names.len() > DEPTH || names.iter().any(|name| INSTALLED.contains(name)) {
                continue;
            }
            let name = names.last().copied().unwrap_or_default();
            // Programs in the root tell by their text whether they are what is started.
            let wanted =
                READ.contains(&name) || names.len() == 1 && (name.ends_with(".py") || name.ends_with(".go"));
            if wanted && bytes <= TEXT_BYTES && listing.texts.len() < TEXTS {
                let mut bytes = Vec::new();
                digest::open(&root.join(path))?.take(TEXT_BYTES).read_to_end(&mut bytes)?;
                listing.texts.insert(path.to_owned(), String::from_utf8_lossy(&bytes).into_owned());
            }
            listing.paths.insert(path.to_owned());
        }
        Ok(listing)
    }

    /// A listing of these files, for tables.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let paths = files.iter().map(|(path, _)| path.to_string()).collect();
        let texts = files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
        Self { paths, texts }
    }
}
