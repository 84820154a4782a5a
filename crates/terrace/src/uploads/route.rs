//! The paths, from both sides: what the server understands is what the client writes.

pub(super) use agents::apps::paths::PREFIX;
pub(crate) use agents::apps::paths::{blob_path, blob_url, log_path};

/// A path, understood. Its parts are checked: none can leave its directory.
#[derive(Debug, PartialEq)]
pub(super) enum Route {
    /// An archive.
    Blob { namespace: String, digest: String },
    /// The log of an application's latest build.
    Log { namespace: String, name: String },
}

impl Route {
    /// Reads a path as it stands. Nothing is decoded, because no good path needs it.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.strip_prefix(PREFIX)?.split('/').collect();
        match parts.as_slice() {
            ["namespaces", namespace, "blobs", digest] if is_label(namespace) && is_digest(digest) => {
                Some(Self::Blob { namespace: (*namespace).into(), digest: (*digest).into() })
            }
            ["namespaces", namespace, "builds", name, "log"] if is_label(namespace) && is_label(name) => {
                Some(Self::Log { namespace: (*namespace).into(), name: (*name).into() })
            }
            _ => None,
        }
    }
}

/// Whether a word is the name of a namespace or an application: a DNS label.
pub(super) fn is_label(word: &str) -> bool {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=63).contains(&word.len()) && word.chars().all(good) && !word.starts_with('-') && !word.ends_with('-')
}

/// Whether a word is a SHA-256 digest in lower case.
pub(super) fn is_digest(word: &str) -> bool {
    word.len() == 64 && word.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}
