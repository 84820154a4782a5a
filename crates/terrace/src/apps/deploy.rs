//! `terrace deploy`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow};
use api::apps::GitSource;
use clap::Args;
use http::Method;
use kube::Client;
use kube::client::Body;

use super::connect::{Connection, ask};
use super::follow::Follow;
use super::source::Source;
use super::write::{self, Wish};
use super::{name, pack};
use crate::{say, uploads};

/// How long an application that comes with the platform may take; a first build may fetch its dependencies.
const FIRST_TIMEOUT: Duration = Duration::from_secs(600);

#[derive(Args)]
pub(crate) struct Options {
    /// Directory with the program's source
    #[arg(value_name = "DIR", default_value = ".", conflicts_with_all = ["image", "git"])]
    dir: PathBuf,
    /// Name of the application [default: that of the directory, as a DNS label]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Port that the program listens on; it is told in the variable PORT
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Variable of its environment; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Takes away a variable that an earlier deploy has set; may be given several times
    #[arg(long, value_name = "NAME")]
    unset: Vec<String>,
    /// How many copies run; 0 stops it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=1000))]
    replicas: Option<u16>,
    /// Host under which it is reached
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Runs an image as it is, instead of building a directory
    #[arg(long, value_name = "IMAGE", requires = "name", conflicts_with = "git")]
    image: Option<String>,
    /// Builds from a git repository, instead of a directory
    #[arg(long, value_name = "URL", requires = "name")]
    git: Option<String>,
    /// Branch, tag or commit of that repository
    #[arg(long, value_name = "REVISION", requires = "git", default_value = "main")]
    revision: String,
    /// How long to wait until it runs
    #[arg(long, default_value = "10m", value_name = "TIME", value_parser = span)]
    timeout: Duration,
    /// Print for programs
    #[arg(long, short, value_name = "FORMAT", value_parser = ["json"])]
    output: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

impl Options {
    /// What `terrace up --deploy DIR` asks for.
    pub(crate) fn of_directory(dir: PathBuf, data_dir: &Path, json: bool) -> Self {
        Self {
            dir,
            name: None,
            port: None,
            env: Vec::new(),
            unset: Vec::new(),
            replicas: None,
            host: None,
            image: None,
            git: None,
            revision: "main".into(),
            timeout: FIRST_TIMEOUT,
            output: json.then(|| "json".into()),
            connection: Connection::to_platform_in(data_dir),
        }
    }
}

pub(crate) async fn run(data_dir: &Path, options: Options) -> anyhow::Result<ExitCode> {
    let name = match &options.name {
        Some(name) => name.clone(),
        None => named_after(&options.dir)?,
    };
    let client = options.connection.client(data_dir).await?;
    let namespace = &options.connection.namespace;
    let source = match (&options.image, &options.git) {
        (Some(image), _) => Source::Image(image.clone()),
        (None, Some(url)) => Source::Git(GitSource { url: url.clone(), revision: options.revision.clone() }),
        (None, None) => upload(&client, namespace, &options.dir).await?,
    };
    let follow = Follow {
        client: &client,
        namespace,
        name: &name,
        timeout: options.timeout,
        json: options.output.is_some(),
    };
    let builds = if source.is_built() { Some(follow.builds_before().await) } else { None };
    let wish = Wish {
        source,
        port: options.port,
        replicas: options.replicas,
        host: options.host,
        env: options.env,
        unset: options.unset,
    };
    let written = write::write(&client, namespace, &name, &wish).await?;
    follow.until_settled(&written, builds).await
}

/// Packs a directory and brings it to the platform, unless it is there already.
pub(super) async fn upload(client: &Client, namespace: &str, dir: &Path) -> anyhow::Result<Source> {
    let from = dir.to_owned();
    let packed = tokio::task::spawn_blocking(move || pack::pack(&from, pack::BOUNDS)).await??;
    let path = uploads::blob_path(namespace, &packed.digest);
    if ask(client, Method::HEAD, &path, Body::empty()).await.is_err() {
        say::note(&format!("uploading {} files, {}", packed.files, size(packed.archive.len())));
        let sent = ask(client, Method::PUT, &path, Body::from(packed.archive)).await;
        sent.with_context(|| format!("cannot upload {}", dir.display()))?;
    }
    Ok(Source::Blob(uploads::blob_url(namespace, &packed.digest)))
}

fn named_after(dir: &Path) -> anyhow::Result<String> {
    let full = dir.canonicalize().with_context(|| format!("cannot read {}", dir.display()))?;
    let last = full.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name::label(&last)
        .ok_or_else(|| anyhow!("{} gives no name for an application; choose one with --name", full.display()))
}

fn size(bytes: usize) -> String {
    match bytes {
        0..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

/// `NAME=VALUE`; the rules for names are the API's.
fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// `90s`, `10m`, `1h30m`.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration =
        text.parse().map_err(|_| "expected a time like 90s, 10m or 1h".to_owned())?;
    Duration::try_from(span).map_err(|_| "a time cannot be negative".to_owned())
}
