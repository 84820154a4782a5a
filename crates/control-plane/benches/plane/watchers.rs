//! From the moment an update is sent to the moment each watcher holds the event.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::client::Endpoint;
use crate::subject::Started;
use crate::{Outcome, objects};

/// Streams on one HTTP/2 connection; Go's server takes no more.
const STREAMS: usize = 100;
/// An event that takes longer is lost.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the watchers share: the update that is on its way, and who has seen it.
struct Round {
    sent: RwLock<Instant>,
    missing: AtomicUsize,
    complete: Notify,
    times: Mutex<Vec<Duration>>,
}

/// One time per watcher and update, and the processor time the server spent on them all.
pub async fn latencies(
    endpoint: &Endpoint,
    started: &Started,
    watchers: usize,
    updates: usize,
) -> Outcome<(Vec<Duration>, Duration)> {
    let name = format!("watched-{watchers}");
    let collection = objects::path("watched");
    let mut writer = endpoint.connect().await?;
    writer.send(Method::POST, &collection, "application/json", objects::parcel(&name, 0)).await?;
    let round = Arc::new(Round {
        sent: RwLock::new(Instant::now()),
        missing: AtomicUsize::new(0),
        complete: Notify::new(),
        times: Mutex::new(Vec::with_capacity(watchers * updates)),
    });
    let version = writer.json(&collection).await?["metadata"]["resourceVersion"].clone();
    let version = version.as_str().unwrap_or_default();
    let query = format!("watch=true&resourceVersion={version}&fieldSelector=metadata.name%3D{name}");
    let mut tasks = open(endpoint, &format!("{collection}?{query}"), watchers, &round).await?;
    let object = format!("{collection}/{name}");
    let before = started.processor_time()?;
    for number in 1..=updates {
        let body = Bytes::from(format!("{{\"spec\":{{\"number\":{number}}}}}"));
        round.missing.store(watchers, Ordering::SeqCst);
        *round.sent.write() = Instant::now();
        writer.send(Method::PATCH, &object, "application/merge-patch+json", body).await?;
        let all = tokio::time::timeout(PATIENCE, round.complete.notified());
        all.await.map_err(|_| {
            format!("{} of {watchers} watchers miss an update", round.missing.load(Ordering::SeqCst))
        })?;
    }
    let spent = started.processor_time()?.saturating_sub(before);
    tasks.shutdown().await;
    let times = std::mem::take(&mut *round.times.lock());
    Ok((times, spent))
}

async fn open(endpoint: &Endpoint, path: &str, count: usize, round: &Arc<Round>) -> Outcome<JoinSet<()>> {
    let mut tasks = JoinSet::new();
    let url = endpoint.url(path);
    let mut left = count;
    while left > 0 {
        let mut shared = endpoint.connect_shared().await?;
        for _ in 0..left.min(STREAMS) {
            let request = Request::get(&url).header("accept", "application/json").body(Full::default())?;
            shared.ready().await?;
            let response = shared.send_request(request).await?;
            if !response.status().is_success() {
                return Err(format!("watch: {}", response.status()).into());
            }
            tasks.spawn(follow(response.into_body(), round.clone()));
        }
        left = left.saturating_sub(STREAMS);
    }
    Ok(tasks)
}

/// Every event is one line, and a line breaks nowhere else.
async fn follow(mut body: Incoming, round: Arc<Round>) {
    while let Some(Ok(frame)) = body.frame().await {
        let Some(data) = frame.data_ref() else { continue };
        let events = data.iter().filter(|byte| **byte == b'\n').count();
        for _ in 0..events {
            let time = round.sent.read().elapsed();
            round.times.lock().push(time);
            if round.missing.fetch_sub(1, Ordering::SeqCst) == 1 {
                round.complete.notify_one();
            }
        }
    }
}
