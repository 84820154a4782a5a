//! Where everything of the builds lies.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::{Error, digest, tree};

/// The directories of the builds.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// State of builds: what was ordered and what came of it.
    pub(super) state: PathBuf,
    /// Images by the source and recipe that they were made of.
    pub(super) keys: PathBuf,
    /// Dependencies for the next build, the platform's own.
    pub(super) layers: PathBuf,
    /// Uploaded archives.
    pub(super) blobs: PathBuf,
    /// Logs.
    pub(super) logs: PathBuf,
    /// Where programs of a build work; reachable for their users.
    pub(super) work: PathBuf,
    /// What the languages' own programs keep; reachable for their users.
    pub(super) caches: PathBuf,
    /// Where the platform looks at a tree: nobody else can enter. On the file system of the images.
    pub(super) staging: PathBuf,
}

impl Places {
    /// Makes them.
    pub(super) fn make(data: &Path, shared: &Path) -> Result<Self, Error> {
        let places = Self {
            state: data.join("builds"),
            keys: data.join("builds/keys"),
            layers: data.join("builds/layers"),
            blobs: data.join("blobs"),
            logs: data.join("build-logs"),
            work: shared.join("builds"),
            caches: shared.join("caches"),
            staging: shared.join("staging"),
        };
        let private =
            [&places.state, &places.keys, &places.layers, &places.blobs, &places.logs, &places.staging];
        for path in private {
            tree::make_private(path, tree::PRIVATE)?;
        }
        for path in [&places.work, &places.caches] {
            tree::make_private(path, tree::PASSABLE)?;
        }
        Ok(places)
    }

    /// File that holds the state of a build.
    pub(super) fn state_file(&self, id: &str) -> PathBuf {
        self.state.join(format!("{}.json", short(id)))
    }

    /// File that holds what a build printed.
    pub(super) fn log(&self, namespace: &str, name: &str, number: u64) -> PathBuf {
        self.logs.join(part(namespace)).join(format!("{}-{number}.log", part(name)))
    }

    /// A directory per application in one of the places.
    pub(super) fn of_app(place: &Path, namespace: &str, name: &str) -> PathBuf {
        place.join(part(namespace)).join(part(name))
    }
}

/// A short name that differs where the text does.
pub(super) fn short(text: &str) -> String {
    digest::hex(&Sha256::digest(text.as_bytes())[..8])
}

/// A name that is safe as one part of a path: the text itself wherever it follows the rules of names.
pub(super) fn part(text: &str) -> String {
    let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
    let good = !text.is_empty() && text.len() <= 200 && !text.starts_with('.') && text.bytes().all(plain);
    // The upper case keeps it apart from every real name.
    if good { text.to_owned() } else { format!("X{}", short(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leaves_its_directory() {
        assert_eq!(part("shop-2.eu"), "shop-2.eu");
        for text in ["", ".", "..", "../x", "a/b", "A", "a\0", ".hidden", &"a".repeat(300)] {
            let part = part(text);
            assert!(
                part.len() == 17 && part.starts_with('X') && part.bytes().all(|b| b.is_ascii_alphanumeric())
            );
        }
    }
}
