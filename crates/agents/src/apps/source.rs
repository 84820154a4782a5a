//! Where a program comes from, as an Application says it and as its Deployment remembers it.

use std::fmt;

use api::apps::{Application, GitSource};
use serde_json::{Value, json};

/// The fields of which an Application has exactly one.
pub const KEYS: [&str; 3] = ["image", "git", "blob"];

/// One of the three sources.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// An image to run as it is.
    Image(String),
    /// A repository to build.
    Git(GitSource),
    /// An archive to build.
    Blob(String),
}

impl Source {
    /// What an Application says.
    pub fn of(app: &Application) -> Option<Self> {
        let spec = &app.spec;
        let image = spec.image.clone().map(Self::Image);
        image.or(spec.git.clone().map(Self::Git)).or(spec.blob.clone().map(Self::Blob))
    }

    /// What a Deployment remembers in its annotation.
    pub fn remembered(json: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(json).ok()?;
        let fields = value.as_object().filter(|fields| fields.len() == 1)?;
        let (key, value) = fields.iter().next()?;
        match key.as_str() {
            "image" => Some(Self::Image(value.as_str()?.to_owned())),
            "git" => serde_json::from_value(value.clone()).ok().map(Self::Git),
            "blob" => Some(Self::Blob(value.as_str()?.to_owned())),
            _ => None,
        }
    }

    /// The field of the spec that it stands in.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Image(_) => "image",
            Self::Git(_) => "git",
            Self::Blob(_) => "blob",
        }
    }

    /// What stands in that field.
    pub fn value(&self) -> Value {
        match self {
            Self::Image(image) => json!(image),
            Self::Git(git) => json!(git),
            Self::Blob(url) => json!(url),
        }
    }

    /// Whether it has to be built.
    pub fn is_built(&self) -> bool {
        !matches!(self, Self::Image(_))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image(image) => write!(f, "image {image}"),
            Self::Git(git) => write!(f, "git {} at {}", git.url, git.revision),
            Self::Blob(url) => match url.rsplit_once('/').filter(|_| url.starts_with("terrace-blob://")) {
                Some((_, digest)) => write!(f, "upload {}", digest.get(..12).unwrap_or(digest)),
                None => write!(f, "archive {url}"),
            },
        }
    }
}
