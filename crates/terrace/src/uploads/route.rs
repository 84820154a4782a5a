//! The paths, from both sides: what the server understands is what the client writes.

/// What every path begins with.
pub(super) const PREFIX: &str = "/terrace/v1/";

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

/// Path of an archive.
pub(crate) fn blob_path(namespace: &str, digest: &str) -> String {
    format!("{PREFIX}namespaces/{namespace}/blobs/{digest}")
}

/// The archive as an Application names it.
pub(crate) fn blob_url(namespace: &str, digest: &str) -> String {
    format!("terrace-blob://{namespace}/{digest}")
}

/// Path of the log of an application's latest build.
pub(crate) fn log_path(namespace: &str, name: &str) -> String {
    format!("{PREFIX}namespaces/{namespace}/builds/{name}/log")
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
