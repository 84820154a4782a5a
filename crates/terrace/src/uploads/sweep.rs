//! Removes archives that nobody refers to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::Api;
use kube::runtime::{WatchStreamExt, watcher};
use tokio_util::sync::CancellationToken;

use super::Settings;
use super::blobs::{ARCHIVE, PART};
use super::route::{blob_url, is_digest};

/// How often it is looked.
const EVERY: Duration = Duration::from_secs(10 * 60);
/// How long an archive stays that nobody refers to: long enough for whoever uploaded it to use it.
const SPARE: Duration = Duration::from_secs(24 * 60 * 60);
/// Where archives are referred to. ReplicaSets and Deployments name those that a rollback goes back to.
const REFERRERS: [&str; 4] = [
    "/apis/iaf.io/v1alpha1/applications",
    "/apis/kpack.io/v1alpha2/images",
    "/apis/apps/v1/replicasets",
    "/apis/apps/v1/deployments",
];
const SCHEME: &str = "terrace-blob://";

/// Looks again and again, and whenever a namespace is gone, until `stop`.
pub(super) async fn run(settings: Settings, client: Client, stop: CancellationToken) {
    let namespaces =
        watcher(Api::<Namespace>::all(client.clone()), watcher::Config::default().any_semantic());
    let gone = namespaces.default_backoff().filter_map(|event| {
        let gone = matches!(event, Ok(watcher::Event::Delete(_)));
        std::future::ready(gone.then_some(()))
    });
    let mut gone = std::pin::pin!(gone);
    loop {
        if let Err(error) = sweep(&settings, &client, SystemTime::now()).await {
            tracing::warn!(error = %format!("{error:#}"), "cannot look for archives to remove");
        }
        tokio::select! {
            () = stop.cancelled() => return,
            _ = gone.next() => {}
            () = tokio::time::sleep(EVERY) => {}
        }
    }
}

/// One look: everything of namespaces that are gone, and old archives that nothing refers to.
pub(super) async fn sweep(settings: &Settings, client: &Client, now: SystemTime) -> anyhow::Result<()> {
    // What there is first, the namespaces second: one that comes in between is not taken for gone.
    let (folders, kept) = (folders(&settings.blobs)?, kept(&settings.blobs)?);
    let mut others = self::folders(&settings.builds)?;
    for place in &settings.others {
        others.extend(self::folders(place)?);
    }
    if folders.is_empty() && others.is_empty() {
        return Ok(());
    }
    let namespaces = names(&list(client, "/api/v1/namespaces").await?)?;
    for (name, folder) in folders.into_iter().chain(others) {
        if !namespaces.contains(&name) {
            remove_folder(&folder);
        }
    }
    let old = |file: &&Kept| now.duration_since(file.changed).is_ok_and(|age| age > SPARE);
    let aged: Vec<&Kept> =
        kept.iter().filter(|file| namespaces.contains(&file.namespace)).filter(old).collect();
    if aged.is_empty() {
        return Ok(());
    }
    let mut used = BTreeSet::new();
    for path in REFERRERS {
        used.extend(mentioned(&list(client, path).await?));
    }
    for file in aged {
        let needed = file.url.as_ref().is_some_and(|url| used.contains(url));
        // Somebody may have asked for it since.
        let renewed = std::fs::metadata(&file.path).and_then(|metadata| metadata.modified());
        if !needed && renewed.is_ok_and(|changed| changed == file.changed) {
            remove(&file.path);
        }
    }
    Ok(())
}

/// The directories of namespaces in a directory, with their names.
fn folders(place: &Path) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let told = || format!("cannot read {}", place.display());
    let entries = match std::fs::read_dir(place) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(told)?,
    };
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry.with_context(told)?;
        if entry.file_type().with_context(told)?.is_dir() {
            folders.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
        }
    }
    Ok(folders)
}

/// A file that is kept: an archive, which has an address, or what is left of an upload.
struct Kept {
    namespace: String,
    url: Option<String>,
    path: PathBuf,
    changed: SystemTime,
}

fn kept(blobs: &Path) -> anyhow::Result<Vec<Kept>> {
    let mut kept = Vec::new();
    for (namespace, folder) in folders(blobs)? {
        let told = || format!("cannot read {}", folder.display());
        for entry in std::fs::read_dir(&folder).with_context(told)? {
            let entry = entry.with_context(told)?;
            let file = entry.file_name().to_string_lossy().into_owned();
            let digest = file.strip_suffix(ARCHIVE).filter(|digest| is_digest(digest));
            if digest.is_none() && !file.ends_with(PART) {
                continue;
            }
            // One that went meanwhile need not be removed.
            let Ok(changed) = entry.metadata().and_then(|metadata| metadata.modified()) else { continue };
            let url = digest.map(|digest| blob_url(&namespace, digest));
            kept.push(Kept { namespace: namespace.clone(), url, path: entry.path(), changed });
        }
    }
    Ok(kept)
}

async fn list(client: &Client, path: &str) -> anyhow::Result<String> {
    let request = http::Request::get(path).body(Vec::new())?;
    client.request_text(request).await.with_context(|| format!("cannot list {path}"))
}

fn names(list: &str) -> anyhow::Result<BTreeSet<String>> {
    let list: serde_json::Value = serde_json::from_str(list)?;
    let items = list["items"].as_array().context("a list without items")?;
    Ok(items.iter().filter_map(|item| item["metadata"]["name"].as_str().map(str::to_owned)).collect())
}

/// Every archive that a text mentions anywhere: rather one kept too many than one removed that is needed.
fn mentioned(text: &str) -> impl Iterator<Item = String> {
    let word = |rest: &str| {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-/".contains(c))).unwrap_or(rest.len());
        format!("{SCHEME}{}", &rest[..end])
    };
    text.split(SCHEME).skip(1).map(word).collect::<Vec<_>>().into_iter()
}

fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_file(path) {
        tracing::warn!(%error, path = %path.display(), "cannot remove an archive");
    }
}

fn remove_folder(path: &Path) {
    if let Err(error) = std::fs::remove_dir_all(path) {
        tracing::warn!(%error, path = %path.display(), "cannot remove what a namespace left");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_found_wherever_they_are_mentioned() {
        let text = r#"{"blob":"terrace-blob://a/12","note":"{\"blob\":\"terrace-blob://b-c/34\"} terrace-blob://d/5, x"}"#;
        let found: Vec<String> = mentioned(text).collect();
        assert_eq!(found, ["terrace-blob://a/12", "terrace-blob://b-c/34", "terrace-blob://d/5"]);
    }
}
