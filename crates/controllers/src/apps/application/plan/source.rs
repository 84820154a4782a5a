//! Where the image comes from, and what has become of it.

use api::apps::{Application, ApplicationSpec, GitSource};
use api::conditions::{READY, Reason};
use api::foreign::{find, kpack};
use kit::{Refusal, says};
use serde_json::json;

use super::{World, program};
use crate::apps::Config;

/// Where the program comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Source<'a> {
    /// It is an image already.
    Image(&'a str),
    /// It is built from a repository.
    Git(&'a GitSource),
    /// It is built from an archive.
    Blob(&'a str),
}

impl<'a> Source<'a> {
    /// The one source of a spec. The API server lets no other specs in; those it let in before are refused here.
    pub(super) fn of(spec: &'a ApplicationSpec) -> Result<Self, Refusal> {
        match (&spec.image, &spec.git, &spec.blob) {
            (Some(image), None, None) => Ok(Self::Image(image)),
            (None, Some(git), None) => Ok(Self::Git(git)),
            (None, None, Some(blob)) => Ok(Self::Blob(blob)),
            (image, git, blob) => {
                let given = [("image", image.is_some()), ("git", git.is_some()), ("blob", blob.is_some())];
                let given: Vec<_> = given.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
                let message = if given.is_empty() {
                    "one of image, git and blob must say where the program comes from".to_owned()
                } else {
                    format!("{} exclude each other; keep one", given.join(" and "))
                };
                Err(Refusal::new(Reason::InvalidSpec, message))
            }
        }
    }

    /// The source as JSON, in the words of the spec.
    pub(super) fn json(&self) -> String {
        let source = match self {
            Self::Image(image) => json!({ "image": image }),
            Self::Git(git) => json!({ "git": git }),
            Self::Blob(blob) => json!({ "blob": blob }),
        };
        source.to_string()
    }

    /// What is asked of kpack, if anything is.
    pub(super) fn order(&self, app: &Application, config: &Config) -> Option<kpack::Image> {
        let source = match self {
            Self::Image(_) => return None,
            Self::Git(git) => kpack::Source {
                git: Some(kpack::GitSource { url: git.url.clone(), revision: git.revision.clone() }),
                ..kpack::Source::default()
            },
            Self::Blob(blob) => kpack::Source {
                blob: Some(kpack::BlobSource { url: (*blob).to_owned() }),
                ..kpack::Source::default()
            },
        };
        let (prefix, namespace) = (config.registry_prefix.trim_end_matches('/'), program::namespace(app));
        let spec = kpack::ImageSpec {
            tag: format!("{prefix}/{namespace}/{}", program::name(app)),
            builder: kpack::BuilderRef {
                kind: "ClusterBuilder".into(),
                name: config.cluster_builder.clone(),
                namespace: None,
            },
            service_account_name: Some(config.build_service_account.clone()),
            source,
            ..kpack::ImageSpec::default()
        };
        Some(kpack::Image { metadata: program::metadata(app), spec, status: None })
    }
}

/// What has become of the image.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Build {
    /// It is given.
    Given(String),
    /// It is built.
    Built(String),
    /// It is being built; in the builder's words.
    UnderWay(String),
    /// It could not be built; in the builder's words.
    Failed(String),
    /// There is nobody to build it.
    NoBuilder,
}

/// Reads off the world what has become of the image.
pub(super) fn build(source: &Source<'_>, order: Option<&kpack::Image>, world: &World) -> Build {
    let order = match (source, order) {
        (Source::Image(image), _) => return Build::Given((*image).to_owned()),
        (Source::Git(_) | Source::Blob(_), None) => return Build::NoBuilder,
        (Source::Git(_) | Source::Blob(_), Some(order)) => order,
    };
    if !world.kpack {
        return Build::NoBuilder;
    }
    let Some((image, status)) = world.image.as_ref().and_then(|image| Some((image, image.status.as_ref()?)))
    else {
        return Build::UnderWay(String::new());
    };
    // What is said of another source, or of the spec before, is no news of this one.
    let same = says(&json!(image.spec), &json!(order.spec));
    let current = status.observed_generation.is_none_or(|seen| Some(seen) >= image.metadata.generation);
    if !same || !current {
        return Build::UnderWay(String::new());
    }
    let Some(ready) = find(&status.conditions, READY) else { return Build::UnderWay(String::new()) };
    let words = ready.message.clone().unwrap_or_default();
    match (ready.status.as_str(), &status.latest_image) {
        ("True", Some(latest)) => Build::Built(latest.clone()),
        ("False", _) => Build::Failed(words),
        _ => Build::UnderWay(words),
    }
}

impl Build {
    /// The image, or why there is none.
    pub(super) fn image(&self) -> Result<String, Self> {
        match self {
            Self::Given(image) | Self::Built(image) => Ok(image.clone()),
            Self::UnderWay(_) | Self::Failed(_) | Self::NoBuilder => Err(self.clone()),
        }
    }

    /// What the last build came to, in the builder's words. An image that is given has no build.
    pub(super) fn words(&self) -> Option<String> {
        match self {
            Self::Given(_) | Self::NoBuilder => None,
            Self::Built(_) => Some("succeeded".into()),
            Self::UnderWay(words) => Some(or(words, "building")),
            Self::Failed(words) => Some(or(words, "failed")),
        }
    }

    /// What `Built` says.
    pub(super) fn condition(&self) -> (Option<bool>, Reason, String) {
        let (built, reason) = match self {
            Self::Given(_) | Self::Built(_) => (Some(true), Reason::Available),
            Self::UnderWay(_) => (None, Reason::Building),
            Self::Failed(_) => (Some(false), Reason::BuildFailed),
            Self::NoBuilder => (Some(false), Reason::KindMissing),
        };
        (built, reason, self.message())
    }

    /// How it stands, for people.
    pub(super) fn message(&self) -> String {
        match self {
            Self::Given(_) => "the image is given".into(),
            Self::Built(image) => format!("built {image}"),
            Self::UnderWay(words) if words.is_empty() => "the image is being built".into(),
            Self::UnderWay(words) => format!("the image is being built: {words}"),
            Self::Failed(words) => format!("the build failed: {}", or(words, "the builder gave no reason")),
            Self::NoBuilder => {
                "nobody can build: images.kpack.io is not installed; install kpack, or name an image in spec.image".into()
            }
        }
    }
}

fn or(words: &str, otherwise: &str) -> String {
    if words.trim().is_empty() { otherwise.to_owned() } else { words.trim().to_owned() }
}
