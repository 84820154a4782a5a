//! `deploy_app`: runs an image, or builds a repository and runs what comes of it.

use std::collections::BTreeMap;

use api::apps::GitSource;
use schemars::JsonSchema;
use serde::Deserialize;

use super::source::Source;
use super::write::{Wish, write};
use super::{Begun, WRITER, ask_for, check_name, git_url, host_for, may_write};
use crate::Error;
use crate::tool::{Call, Hints, Stop, Tool};

/// `deploy_app`.
pub struct DeployApp;

/// Longest name of a branch, tag or commit, and of an image, that an Application takes.
const REVISION_MAX: usize = 256;
const IMAGE_MAX: usize = 1024;

/// What is deployed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Input {
    /// The app; a new name makes a new app
    pub name: String,
    /// Image to run as it is; or git_url
    #[serde(default)]
    pub image: Option<String>,
    /// Repository to build, by https or ssh; or image
    #[serde(default)]
    pub git_url: Option<String>,
    /// Branch, tag or commit; default main
    #[serde(default)]
    pub git_revision: Option<String>,
    /// Where it listens; it is told in PORT. Default 8080
    #[serde(default)]
    pub port: Option<u16>,
    /// Variables to set; others stay
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Copies; 0 stops it
    #[serde(default)]
    pub replicas: Option<u16>,
    /// DNS name; default: its name under the platform's domain
    #[serde(default)]
    pub host: Option<String>,
}

impl Tool for DeployApp {
    const NAME: &'static str = "deploy_app";
    const TITLE: &'static str = "Deploy an image or repository";
    const DESCRIPTION: &'static str = "Run an app from an image, or build it from a git repository (give \
        exactly one). For files you have yourself use push_code. Next: poll app_status. Credentials of \
        databases come by bind_service, not by env.";
    const HINTS: Hints = Hints { open_world: true, ..Hints::WRITES };
    const BEGINS: Option<&'static str> = Some("name");
    type Input = Input;
    type Output = Begun;

    async fn run(call: &Call<'_>, input: Input) -> Result<Begun, Stop> {
        let Input { name, image, git_url, git_revision, port, env, replicas, host } = input;
        check_name(&name)?;
        may_write(call).await?;
        let source = match (image, git_url) {
            (Some(image), None) if git_revision.is_none() => Source::Image(checked_image(image)?),
            (Some(_), None) => {
                return Err(Error::invalid("git_revision", "it belongs to git_url, not to image").into());
            }
            (None, Some(url)) => {
                let revision = checked_revision(git_revision.unwrap_or_else(|| "main".into()))?;
                let settings = call.agents.settings();
                let url = git_url::checked(&url, &settings.private_git_hosts).await?;
                if url.starts_with("ssh://") && !settings.git_over_ssh {
                    let why = "this platform fetches over https; write https://host/path, and add_git_credential \
                               if the repository is private";
                    return Err(Error::invalid("git_url", why).into());
                }
                Source::Git(GitSource { url, revision })
            }
            (Some(_), Some(_)) | (None, None) => {
                let why = "give exactly one of image and git_url; push_code takes files";
                return Err(Error::invalid("arguments", why).into());
            }
        };
        let done = if source.is_built() { "written; it is built now" } else { "written; it is started now" };
        let wish = ask_for(Wish::source(source), port, env, replicas, host)?;
        let wish = Wish { host: host_for(call, &name, wish.host).await?, ..wish };
        let written = write(&call.client, &call.namespace, &name, WRITER, &wish).await?;
        Ok(Begun::of(&name, &written, done))
    }
}

fn checked_image(image: String) -> Result<String, Error> {
    let good = image.chars().all(|letter| letter.is_ascii_graphic()) && !image.starts_with('-');
    match good && (1..=IMAGE_MAX).contains(&image.len()) {
        true => Ok(image),
        false => Err(Error::invalid("image", "an image is named like registry.example.com/team/app:1.2")),
    }
}

/// A revision reaches git's command line; none may look like an option of it.
fn checked_revision(revision: String) -> Result<String, Error> {
    let good = |letter: char| letter.is_ascii_graphic() && !"\\~^:?*[".contains(letter);
    let fine = revision.chars().all(good) && !revision.starts_with('-') && !revision.contains("..");
    match fine && (1..=REVISION_MAX).contains(&revision.len()) {
        true => Ok(revision),
        false => Err(Error::invalid("git_revision", "name a branch, a tag or a commit")),
    }
}
