//! The files of a push: checked before anything is made of them.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::Deserialize;

use super::untrusted::is_hidden;
use crate::Error;

/// Longest path, and longest part of one, in bytes; Linux takes no longer parts.
const PATH_MAX: usize = 1024;
const PART_MAX: usize = 255;
/// How much of a path is repeated to whoever wrote it.
const SHOWN: usize = 120;
/// Names that belong to tools which would run what they find there.
const RESERVED: [&str; 3] = [".git", ".hg", ".svn"];

/// One file, as it is pushed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Relative, with `/`
    pub path: String,
    /// All of it
    pub content: String,
    /// How the content is written.
    #[serde(default)]
    #[schemars(with = "String", description = "utf-8 (default) or base64")]
    pub encoding: Option<Encoding>,
}

/// How a content is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Encoding {
    /// As text.
    #[default]
    #[serde(rename = "utf-8")]
    Text,
    /// As base64, for what is no text.
    #[serde(rename = "base64")]
    Base64,
}

/// How much may be pushed at once.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Most files.
    pub files: usize,
    /// Most bytes, all files together, as they are unpacked.
    pub bytes: u64,
}

/// Files by path. No path leaves its directory, none is a file and a directory at once.
pub type Tree = BTreeMap<String, Vec<u8>>;

/// A size in words.
fn size(bytes: u64) -> String {
    match bytes >> 20 {
        whole if whole > 0 && bytes.is_multiple_of(1 << 20) => format!("{whole} MiB"),
        _ => format!("{bytes} bytes"),
    }
}

/// Reads the files of a push.
pub fn tree(files: Vec<File>, bounds: Bounds) -> Result<Tree, Error> {
    if files.is_empty() {
        return Err(wrong("there is none; name at least one"));
    }
    if files.len() > bounds.files {
        let (count, most) = (files.len(), bounds.files);
        return Err(wrong(format!("{count} are too many, {most} is the most; leave out what is not source")));
    }
    let (mut tree, mut left) = (Tree::new(), bounds.bytes);
    for file in files {
        let File { path, content, encoding } = file;
        let told = |why: &str| wrong(format!("{:?}: {why}", path.chars().take(SHOWN).collect::<String>()));
        check(&path).map_err(told)?;
        let too_much =
            || format!("with it the files have more than {}, the most for one push", size(bounds.bytes));
        let content = match encoding.unwrap_or_default() {
            Encoding::Text => content.into_bytes(),
            Encoding::Base64 if content.len() as u64 / 2 > bounds.bytes => return Err(told(&too_much())),
            Encoding::Base64 => plain(&content).ok_or_else(|| told("its content is no base64"))?,
        };
        left = left.checked_sub(content.len() as u64).ok_or_else(|| told(&too_much()))?;
        if tree.contains_key(&path) {
            return Err(told("it is there twice"));
        }
        tree.insert(path, content);
    }
    match tree.keys().find_map(|path| parents(path).find(|parent| tree.contains_key(*parent))) {
        Some(both) => Err(wrong(format!("{both:?}: it cannot be a file and a directory at once"))),
        None => Ok(tree),
    }
}

fn wrong(why: impl Into<String>) -> Error {
    Error::invalid("files", why)
}

fn plain(content: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = content.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    STANDARD.decode(digits).ok()
}

/// Every directory that a path lies in.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// What is wrong with a path, if anything is.
pub fn check(path: &str) -> Result<(), &'static str> {
    if path.is_empty() {
        return Err("a path must not be empty");
    }
    if path.len() > PATH_MAX {
        return Err("a path has at most 1024 bytes");
    }
    if path.chars().any(is_hidden) {
        return Err("a path has no control or invisible characters");
    }
    if path.contains('\\') {
        return Err("a path has no backslash; write /");
    }
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    if path.starts_with(['/', '~']) || drive {
        return Err("a path is relative: it begins with the name of a file or directory");
    }
    path.split('/').try_for_each(check_part)
}

fn check_part(part: &str) -> Result<(), &'static str> {
    // Some file systems pass over dots and blanks at the end, and know no case.
    let meant = part.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    match part {
        "" => Err("no part of a path is empty, and none ends it with /"),
        "." | ".." => Err("no part of a path is . or .."),
        part if part.len() > PART_MAX => Err("a part of a path has at most 255 bytes"),
        _ if RESERVED.contains(&meant.as_str()) => Err("this name is reserved; leave it out"),
        _ => Ok(()),
    }
}
