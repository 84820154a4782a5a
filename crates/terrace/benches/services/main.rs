//! `make bench`: how long a database takes until it can be used, what fifty of them cost, and how long writes stop when
//! a primary dies.
//!
//! The release binary runs on a directory of its own with real servers; this program only asks and reads counters. It
//! prints; it judges nothing.

#[path = "../apps/figures.rs"]
#[allow(dead_code, reason = "other measurements use the rest of it")]
mod figures;
#[path = "../apps/platform.rs"]
#[allow(dead_code, reason = "other measurements use the rest of it")]
mod platform;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use api::foreign::cnpg::Cluster;
use api::services::{ManagedService, ManagedServicePhase};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;
use tokio_postgres::NoTls;

use figures::{at, ms, share_kib};
use platform::Platform;

/// Whatever went wrong, in words for the person at the terminal.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How long anything may take before it is given up.
const LIMIT: Duration = Duration::from_secs(600);
/// How often a service is made; the median is told.
const ROUNDS: usize = 5;
/// How many services the crowd has; `TERRACE_BENCH_SERVICES` asks for another number.
const CROWD: usize = 50;
/// How often a primary is killed.
const KILLS: usize = 20;
/// How often it is looked whether something has happened.
const LOOK: Duration = Duration::from_millis(5);

fn main() -> ExitCode {
    let outcome =
        tokio::runtime::Runtime::new().map_err(Into::into).and_then(|runtime| runtime.block_on(measure()));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "bench: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure() -> Outcome<()> {
    let platform = Platform::start()?;
    let client = platform.client().await?;
    row("", "Terrace")?;
    row("---", "--:")?;
    for plan in ["micro", "ha"] {
        let mut times = Vec::new();
        let mut first = None;
        for round in 0..ROUNDS {
            let name = format!("{plan}-{round}");
            let took = create(&client, &name, plan).await?;
            first.get_or_insert(took);
            times.push(took);
            remove(&client, &name).await?;
        }
        row(&format!("`{plan}`: create to Ready, the first"), &ms(first.unwrap_or_default()))?;
        row(&format!("`{plan}`: create to Ready, median of {ROUNDS}"), &ms(at(&mut times, 0.5)))?;
    }
    failovers(&platform, &client).await?;
    crowd(&platform, &client).await?;
    platform.stop()
}

/// Creates a service; how long it takes until it is ready.
async fn create(client: &Client, name: &str, plan: &str) -> Outcome<Duration> {
    let begun = Instant::now();
    let services: Api<ManagedService> = Api::default_namespaced(client.clone());
    let wanted = json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "ManagedService",
        "metadata": { "name": name }, "spec": { "type": "postgres", "plan": plan },
    });
    services.create(&PostParams::default(), &serde_json::from_value(wanted)?).await?;
    until(&format!("{name} to be ready"), || async {
        let service = services.get(name).await?;
        let phase = service.status.and_then(|status| status.phase);
        Ok((phase == Some(ManagedServicePhase::Ready)).then_some(()))
    })
    .await?;
    Ok(begun.elapsed())
}

async fn remove(client: &Client, name: &str) -> Outcome<()> {
    let services: Api<ManagedService> = Api::default_namespaced(client.clone());
    services.delete(name, &DeleteParams::default()).await?;
    until(&format!("{name} to be gone"), || async {
        Ok(services.get_opt(name).await?.is_none().then_some(()))
    })
    .await
}

async fn until<T, F: Future<Output = Outcome<Option<T>>>>(what: &str, look: impl Fn() -> F) -> Outcome<T> {
    let begun = Instant::now();
    loop {
        if let Some(seen) = look().await? {
            return Ok(seen);
        }
        if begun.elapsed() > LIMIT {
            return Err(format!("waited in vain for {what}").into());
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn failovers(platform: &Platform, client: &Client) -> Outcome<()> {
    create(client, "failing", "ha").await?;
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let secret = secrets.get("failing-app").await?;
    let uri = secret.data.and_then(|mut data| data.remove("uri")).ok_or("the Secret has no uri")?;
    let uri = String::from_utf8(uri.0)?;
    write(&uri, "create table written (n int)").await?;
    let clusters: Api<Cluster> = Api::default_namespaced(client.clone());
    let mut times = Vec::new();
    for _ in 0..KILLS {
        let uid = until("all instances", || async {
            let cluster = clusters.get("failing").await?;
            let whole = cluster.status.is_some_and(|status| status.ready_instances == Some(3));
            Ok(cluster.metadata.uid.filter(|_| whole))
        })
        .await?;
        let place = platform.path().join("shared/databases/clusters").join(uid);
        let pid = primary(&place).ok_or("no primary runs")?;
        let killed = Instant::now();
        Command::new("kill").args(["-9", &pid.to_string()]).status()?;
        until("the next write", || async { Ok(write(&uri, "insert into written values (1)").await.ok()) })
            .await?;
        times.push(killed.elapsed());
    }
    row(&format!("kill -9 of the primary to the next write, p50 of {KILLS}"), &ms(at(&mut times, 0.5)))?;
    row(&format!("kill -9 of the primary to the next write, p99 of {KILLS}"), &ms(at(&mut times, 0.99)))?;
    remove(client, "failing").await
}

async fn write(uri: &str, sql: &str) -> Outcome<()> {
    let write = async {
        let (client, connection) = tokio_postgres::connect(uri, NoTls).await?;
        let connection = tokio::spawn(connection);
        let done = client.batch_execute(sql).await;
        connection.abort();
        done
    };
    Ok(tokio::time::timeout(Duration::from_secs(10), write).await??)
}

/// The first process of the instance that is no standby.
fn primary(place: &Path) -> Option<u32> {
    let instances = std::fs::read_dir(place).ok()?.flatten().map(|entry| entry.path());
    let mut primaries =
        instances.filter(|path| path.join("PG_VERSION").exists() && !path.join("standby.signal").exists());
    postmaster(&primaries.next()?)
}

fn postmaster(directory: &Path) -> Option<u32> {
    std::fs::read_to_string(directory.join("postmaster.pid")).ok()?.lines().next()?.trim().parse().ok()
}

async fn crowd(platform: &Platform, client: &Client) -> Outcome<()> {
    let count =
        std::env::var("TERRACE_BENCH_SERVICES").ok().and_then(|text| text.parse().ok()).unwrap_or(CROWD);
    let begun = Instant::now();
    let created = stream::iter(0..count).map(|number| {
        let client = client.clone();
        async move { create(&client, &format!("crowd-{number}"), "micro").await }
    });
    let mut times: Vec<Duration> = created.buffer_unordered(count).try_collect().await?;
    row(&format!("{count} `micro` at once, to all of them Ready"), &ms(begun.elapsed()))?;
    row(&format!("{count} `micro` at once, p50 of one"), &ms(at(&mut times, 0.5)))?;
    let counters = platform.quiet()?;
    row(&format!("memory of the platform with {count} services"), &format!("{} MiB", counters.memory_mib))?;
    let clusters = std::fs::read_dir(platform.path().join("shared/databases/clusters"))?.flatten();
    let pids: Vec<u32> = clusters.filter_map(|cluster| postmaster(&cluster.path().join("1"))).collect();
    let kib: u64 = pids.iter().map(|pid| proportional_kib(*pid)).sum();
    let each = kib / u64::try_from(pids.len().max(1))?;
    row(
        "memory of one instance, all its processes, shared pages shared out",
        &format!("{:.1} MiB", each as f64 / 1024.0),
    )?;
    let before = platform.counters()?;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let after = platform.counters()?;
    row(
        &format!("writes in a minute of {count} services left alone"),
        &format!("{}", after.writes - before.writes),
    )?;
    let busy = (after.cpu - before.cpu).as_secs_f64() / 60.0 * 100.0;
    row(
        &format!("processor time of the platform with {count} services left alone"),
        &format!("{busy:.1} % of a core"),
    )
}

/// The memory of a server and of all it started.
fn proportional_kib(postmaster: u32) -> u64 {
    let mut parents: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
        parents.entry(parent.unwrap_or(0)).or_default().push(pid);
    }
    let family = parents.remove(&postmaster).unwrap_or_default().into_iter().chain([postmaster]);
    family.map(share_kib).sum()
}

fn row(what: &str, value: &str) -> Outcome<()> {
    writeln!(std::io::stdout(), "| {what} | {value} |").map_err(Into::into)
}
