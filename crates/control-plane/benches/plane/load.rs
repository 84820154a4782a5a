//! The loads: so many clients, each with a connection of its own, each with one request in flight.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::Method;
use tokio::task::JoinSet;

use crate::client::{Client, Endpoint};
use crate::{OBJECTS, Outcome, objects};

/// Enough lists to tell the slowest of a hundred.
const MOST_LISTS: usize = 100;
/// How long lists are asked for, where so many would take longer.
const LISTING: Duration = Duration::from_secs(12);

/// When a load ends.
#[derive(Clone, Copy)]
pub enum Until {
    /// After so many requests of all clients together.
    Count(usize),
    /// After this time.
    Time(Duration),
}

/// What a load has done.
pub struct Load {
    /// Requests that were answered.
    pub count: usize,
    time: Duration,
}

impl Load {
    /// Requests in a second.
    pub fn rate(&self) -> f64 {
        self.count as f64 / self.time.as_secs_f64()
    }
}

/// Creates objects. The names are `parcel-0` and on.
pub async fn creates(endpoint: &Endpoint, namespace: &str, clients: usize, until: Until) -> Outcome<Load> {
    let path = objects::path(namespace);
    run(endpoint, clients, until, move |mut client, _, number| {
        let path = path.clone();
        async move {
            let body = objects::parcel(&format!("parcel-{number}"), number);
            client.send(Method::POST, &path, "application/json", body).await?;
            Ok(client)
        }
    })
    .await
}

/// Reads one object each time, all over the collection.
pub async fn gets(endpoint: &Endpoint, namespace: &str, clients: usize, time: Duration) -> Outcome<Load> {
    let path = objects::path(namespace);
    run(endpoint, clients, Until::Time(time), move |mut client, _, number| {
        // A prime stride visits every object without a pattern a cache could like.
        let path = format!("{path}/parcel-{}", number * 7919 % OBJECTS);
        async move { client.get(&path).await.map(|_| client) }
    })
    .await
}

/// Server-side applies: each client changes an object of its own.
pub async fn applies(endpoint: &Endpoint, clients: usize, time: Duration) -> Outcome<Load> {
    let path = objects::path("applied");
    run(endpoint, clients, Until::Time(time), move |mut client, who, number| {
        let name = format!("parcel-{who}");
        let path = format!("{path}/{name}?fieldManager=bench&force=true");
        async move {
            let body = objects::parcel(&name, number);
            client.send(Method::PATCH, &path, "application/apply-patch+yaml", body).await?;
            Ok(client)
        }
    })
    .await
}

/// How long each list took, for a few seconds, and how large one is.
pub async fn lists(endpoint: &Endpoint, path: &str) -> Outcome<(Vec<Duration>, usize)> {
    let mut client = endpoint.connect().await?;
    let begun = Instant::now();
    let (mut times, mut size) = (Vec::new(), 0);
    while times.len() < MOST_LISTS && begun.elapsed() < LISTING {
        let one = Instant::now();
        size = client.get(path).await?;
        times.push(one.elapsed());
    }
    Ok((times, size))
}

/// Runs `work(client, who, number)` with every client until the end; the numbers go up one by one.
async fn run<W, F>(endpoint: &Endpoint, clients: usize, until: Until, work: W) -> Outcome<Load>
where
    W: Fn(Client, usize, usize) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Outcome<Client>> + Send + 'static,
{
    let mut connected = Vec::new();
    for _ in 0..clients {
        connected.push(endpoint.connect().await?);
    }
    let (next, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut tasks = JoinSet::new();
    let begun = Instant::now();
    for (who, mut client) in connected.into_iter().enumerate() {
        let (work, next, done) = (work.clone(), next.clone(), done.clone());
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let over = match until {
                    Until::Count(count) => number >= count,
                    Until::Time(time) => begun.elapsed() >= time,
                };
                if over {
                    return Outcome::Ok(());
                }
                client = work(client, who, number).await?;
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(Load { count: done.load(Ordering::Relaxed), time: begun.elapsed() })
}
