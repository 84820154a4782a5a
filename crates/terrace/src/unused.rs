//! Removes images that nobody refers to: those of applications that are gone, and those that no rollback goes back to.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use api::apps::Application;
use futures::StreamExt;
use kube::Client;
use kube::api::Api;
use kube::runtime::{WatchStreamExt, watcher};
use ports::build::Images;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How often it is looked when nothing was deleted.
const EVERY: Duration = Duration::from_secs(10 * 60);
/// How long an image stays that nobody refers to: its build is about to say that it is done.
const SPARE: Duration = Duration::from_secs(10);
/// Where images are referred to. ReplicaSets name those that a rollback goes back to.
const REFERRERS: [&str; 5] = [
    "/apis/iaf.io/v1alpha1/applications",
    "/apis/kpack.io/v1alpha2/images",
    "/apis/apps/v1/replicasets",
    "/apis/apps/v1/deployments",
    "/api/v1/pods",
];
const DIGEST: &str = "@sha256:";

/// Looks now, a while after each deletion of an application, and now and then, until `stop`. `records` is where builds say
/// what came of them.
pub(crate) async fn run(images: Images, records: PathBuf, client: Client, stop: CancellationToken) {
    let apps = watcher(Api::<Application>::all(client.clone()), watcher::Config::default());
    let gone = apps.default_backoff().filter_map(|event| {
        let gone = matches!(event, Ok(watcher::Event::Delete(_)));
        std::future::ready(gone.then_some(()))
    });
    let mut gone = std::pin::pin!(gone);
    loop {
        if let Err(error) = sweep(&images, &records, &client, SPARE).await {
            tracing::warn!(error = %format!("{error:#}"), "cannot look for images to remove");
        }
        let mut next = Instant::now() + EVERY;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                // Its pods end, and its newest image may still be young. Those that follow are looked after with it.
                _ = gone.next() => next = next.min(Instant::now() + 2 * SPARE),
                () = tokio::time::sleep_until(next) => break,
            }
        }
    }
}

/// One look.
async fn sweep(images: &Images, records: &Path, client: &Client, spare: Duration) -> anyhow::Result<()> {
    let mut referenced = Vec::new();
    // Builds first: what one has made stands in its record before an object names it.
    for entry in std::fs::read_dir(records).with_context(|| format!("cannot read {}", records.display()))? {
        let path = entry?.path();
        if path.is_file() {
            // One that went meanwhile says nothing.
            referenced.extend(mentioned(&std::fs::read_to_string(path).unwrap_or_default()));
        }
    }
    for path in REFERRERS {
        let request = http::Request::get(path).body(Vec::new())?;
        let list = client.request_text(request).await.with_context(|| format!("cannot list {path}"))?;
        referenced.extend(mentioned(&list));
    }
    images.collect(referenced, spare).await?;
    Ok(())
}

/// Every digest that a text mentions anywhere: rather one kept too many than one removed that is needed.
fn mentioned(text: &str) -> Vec<String> {
    let digests = text.split(DIGEST).skip(1);
    digests.filter_map(|rest| rest.get(..64)).map(|digest| format!("{DIGEST}{digest}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_found_wherever_they_are_mentioned() {
        let (one, two) = ("1".repeat(64), "2".repeat(64));
        let text =
            format!(r#"{{"image":"r/a@sha256:{one}","note":"\"r/b@sha256:{two}\"","short":"x@sha256:3"}}"#);
        assert_eq!(mentioned(&text), [format!("@sha256:{one}"), format!("@sha256:{two}")]);
    }
}
