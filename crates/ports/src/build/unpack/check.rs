//! What an archive may hold: every rule, and no disk. Archives are hostile.

use std::collections::BTreeMap;

/// Longest name of one file that file systems take.
const NAME_BYTES: usize = 255;
/// Longest path from the root; leaves room for the directories above it within the 4,096 bytes of a path.
const PATH_BYTES: usize = 1024;
/// How much of a name a message shows.
const SHOWN_CHARS: usize = 120;

/// One entry, as the archive describes it.
#[derive(Clone, Debug)]
pub(super) struct Entry<'a> {
    pub(super) path: &'a [u8],
    pub(super) kind: Kind<'a>,
    pub(super) bytes: u64,
    pub(super) mode: u32,
}

/// What the archive says an entry is.
#[derive(Clone, Debug)]
pub(super) enum Kind<'a> {
    File,
    Directory,
    SymbolicLink(&'a [u8]),
    HardLink(&'a [u8]),
    /// Anything else, by a name for people.
    Other(&'static str),
}

/// What is done with an entry that passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Nothing: it is the root itself.
    Skip,
    MakeDirectory(String),
    WriteFile {
        path: String,
        executable: bool,
    },
    MakeLink {
        path: String,
        target: String,
    },
    CopyFile {
        path: String,
        from: String,
    },
}

/// What stands at a path already.
enum Seen {
    Directory,
    File { bytes: u64 },
    Link,
}

/// Judges the entries of one archive, in their order.
pub(super) struct Checker {
    bytes_left: u64,
    files_left: u64,
    bytes_most: u64,
    files_most: u64,
    seen: BTreeMap<String, Seen>,
}

impl Checker {
    /// A checker that allows so many bytes and entries.
    pub(super) fn new(bytes: u64, files: u64) -> Self {
        let seen = BTreeMap::new();
        Self { bytes_left: bytes, files_left: files, bytes_most: bytes, files_most: files, seen }
    }

    /// What is to be done with the next entry, or why the whole archive is refused.
    pub(super) fn judge(&mut self, entry: &Entry<'_>) -> Result<Action, String> {
        let shown = shown(entry.path);
        let refuse = |why: String| format!("entry `{shown}` {why}");
        let parts = parts(entry.path).map_err(refuse)?;
        if parts.is_empty() {
            return match entry.kind {
                Kind::Directory => Ok(Action::Skip),
                _ => Err(refuse("has no name".into())),
            };
        }
        let path = parts.join("/");
        self.count(1, 0).map_err(refuse)?;
        self.parents(&parts).map_err(refuse)?;
        self.place(path, parts.len() - 1, entry).map_err(refuse)
    }

    /// Every directory above an entry is a directory: behind a link or a file nothing is written.
    fn parents(&mut self, parts: &[&str]) -> Result<(), String> {
        for depth in 1..parts.len() {
            let parent = parts[..depth].join("/");
            match self.seen.get(&parent) {
                Some(Seen::Directory) => {}
                Some(Seen::Link) => return Err(format!("lies behind the link `{parent}`")),
                Some(Seen::File { .. }) => return Err(format!("lies below `{parent}`, which is a file")),
                None => {
                    self.count(1, 0)?;
                    self.seen.insert(parent, Seen::Directory);
                }
            }
        }
        Ok(())
    }

    fn place(&mut self, path: String, depth: usize, entry: &Entry<'_>) -> Result<Action, String> {
        let taken = self.seen.get(&path);
        if let (Some(Seen::Directory), Kind::Directory) = (taken, &entry.kind) {
            return Ok(Action::MakeDirectory(path));
        }
        if taken.is_some() {
            return Err("is there twice".into());
        }
        let (seen, action) = match entry.kind {
            Kind::Directory => (Seen::Directory, Action::MakeDirectory(path.clone())),
            Kind::File => {
                self.count(0, entry.bytes)?;
                let executable = entry.mode & 0o100 != 0;
                (Seen::File { bytes: entry.bytes }, Action::WriteFile { path: path.clone(), executable })
            }
            Kind::SymbolicLink(target) => {
                let target = link_target(target, depth)?;
                (Seen::Link, Action::MakeLink { path: path.clone(), target })
            }
            Kind::HardLink(target) => {
                let from = parts(target).map_err(|why| format!("is a link to a name that {why}"))?.join("/");
                let Some(&Seen::File { bytes }) = self.seen.get(&from) else {
                    return Err(format!("is a hard link to `{}`, no file before it", shown(target)));
                };
                self.count(0, bytes)?;
                (Seen::File { bytes }, Action::CopyFile { path: path.clone(), from })
            }
            Kind::Other(what) => {
                return Err(format!("is {what}; only files, directories and links are taken"));
            }
        };
        self.seen.insert(path, seen);
        Ok(action)
    }

    fn count(&mut self, files: u64, bytes: u64) -> Result<(), String> {
        let most = self.files_most;
        self.files_left = self
            .files_left
            .checked_sub(files)
            .ok_or_else(|| format!("is one too many; at most {most} files and directories are taken"))?;
        let most = self.bytes_most;
        self.bytes_left = self
            .bytes_left
            .checked_sub(bytes)
            .ok_or_else(|| format!("makes the source larger than {most} bytes"))?;
        Ok(())
    }
}

/// The names that a path consists of, without `.`.
fn parts(path: &[u8]) -> Result<Vec<&str>, String> {
    let path = std::str::from_utf8(path).map_err(|_| "has a name that is not UTF-8")?;
    if path.starts_with('/') {
        return Err("has an absolute path".into());
    }
    if path.len() > PATH_BYTES {
        return Err(format!("has a path longer than {PATH_BYTES} bytes"));
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    for part in &parts {
        match *part {
            ".." => return Err("has `..` in its path".into()),
            part if part.len() > NAME_BYTES => {
                return Err(format!("has a name longer than {NAME_BYTES} bytes"));
            }
            part if part.contains('\0') => return Err("has a zero byte in its name".into()),
            _ => {}
        }
    }
    Ok(parts)
}

/// A link's target that stays inside. `..` may only stand in front: behind a name it would go up from wherever that
/// name points to, which no look at the text can tell.
fn link_target(target: &[u8], depth: usize) -> Result<String, String> {
    let shown = shown(target);
    let text = std::str::from_utf8(target).map_err(|_| "is a link to a name that is not UTF-8")?;
    if text.is_empty() || text.len() > PATH_BYTES || text.contains('\0') {
        return Err("is a link to a name that is empty, too long or has a zero byte".into());
    }
    if text.starts_with('/') {
        return Err(format!("is a link to the absolute path `{shown}`"));
    }
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let up = parts.iter().take_while(|part| **part == "..").count();
    if up > depth {
        return Err(format!("is a link out of the tree, to `{shown}`"));
    }
    if parts[up..].contains(&"..") {
        return Err(format!("is a link with `..` behind a name, to `{shown}`"));
    }
    Ok(text.to_owned())
}

/// A name for a message: readable, without control characters, not too long.
fn shown(name: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(name).chars().flat_map(char::escape_debug).collect();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
