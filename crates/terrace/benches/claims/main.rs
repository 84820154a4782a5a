//! `make bench`: what a thousand claims on one server cost, left alone and rotated, and what their programs notice.
//!
//! The release binary runs on a directory of its own, beside a PostgreSQL server that counts its statements; this program
//! only asks and reads counters. It prints; it judges nothing.

#[path = "../apps/figures.rs"]
#[allow(dead_code, reason = "other measurements use the rest of it")]
mod figures;
#[path = "../apps/platform.rs"]
#[allow(dead_code, reason = "other measurements use the rest of it")]
mod platform;
mod server;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use api::annotations::ROTATE;
use api::claims::DatabaseClaim;
use api::conditions::{READY, holds};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

use figures::{at, ms};
use platform::Platform;
use server::Server;

/// Whatever went wrong, in words for the person at the terminal.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How long anything may take before it is given up.
const LIMIT: Duration = Duration::from_secs(1_200);
/// How many claims there are; `TERRACE_BENCH_CLAIMS` asks for another number.
const CLAIMS: usize = 1_000;
/// For how long they are left alone, in seconds: every claim is compared with its server once in that time.
/// `TERRACE_BENCH_REST` asks for another number.
const REST: u64 = 600;
/// How many programs use their database while it is rotated.
const PROGRAMS: usize = 4;
/// How often it is looked whether something has happened.
const LOOK: Duration = Duration::from_millis(200);

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

fn asked<T: std::str::FromStr>(variable: &str, otherwise: T) -> T {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

async fn measure() -> Outcome<()> {
    let count = asked("TERRACE_BENCH_CLAIMS", CLAIMS);
    let server = Server::start().await?;
    let config = server.path().join("claims.yaml");
    std::fs::write(&config, server.configuration())?;
    let platform = Platform::start_with(&["--claims-config", &config.display().to_string()])?;
    let client = platform.client().await?;
    password(&client, &server).await?;
    row("", "Terrace")?;
    row("---", "--:")?;
    let empty = platform.counters()?;
    created(&platform, &client, &server, count).await?;
    let full = platform.quiet()?;
    let more = full.memory_mib.saturating_sub(empty.memory_mib);
    row(
        &format!("memory of the platform with {count} claims"),
        &format!("{} MiB ({more} MiB more than with none)", full.memory_mib),
    )?;
    row("writes per claim", &format!("{:.1}", (full.writes - empty.writes) / count as f64))?;
    left_alone(&platform, &server, count).await?;
    rotated(&client, &server, count).await?;
    platform.stop()
}

/// The administrator's password, where the platform looks for it.
async fn password(client: &Client, server: &Server) -> Outcome<()> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "terrace-system");
    let secret =
        json!({ "metadata": { "name": "bench-master" }, "stringData": { "password": server.password() } });
    secrets.create(&PostParams::default(), &serde_json::from_value(secret)?).await?;
    Ok(())
}

async fn created(platform: &Platform, client: &Client, server: &Server, count: usize) -> Outcome<()> {
    let claims: Api<DatabaseClaim> = Api::default_namespaced(client.clone());
    let before = server.statements().await?;
    let (watching, most) = server.watch_connections();
    let begun = Instant::now();
    stream::iter(0..count)
        .map(|number| {
            let claims = claims.clone();
            async move {
                let name = format!("claim-{number:04}");
                let claim = json!({
                    "apiVersion": "persistance.atlas.infoblox.com/v1", "kind": "DatabaseClaim",
                    "metadata": { "name": name },
                    "spec": {
                        "instanceLabel": "bench", "userName": format!("user_{number:04}"),
                        "databaseName": format!("db_{number:04}"),
                    },
                });
                claims.create(&PostParams::default(), &serde_json::from_value(claim)?).await?;
                Outcome::Ok(())
            }
        })
        .buffer_unordered(32)
        .try_collect::<()>()
        .await?;
    until("all claims to be ready", async || {
        let all = claims.list(&ListParams::default()).await?;
        let ready = all
            .iter()
            .filter(|claim| claim.status.as_ref().is_some_and(|status| holds(&status.conditions, READY)));
        Ok((ready.count() == count).then_some(()))
    })
    .await?;
    let took = begun.elapsed();
    row(&format!("{count} claims on one server, to all of them Ready"), &ms(took))?;
    let _ = platform.quiet()?;
    let statements = server.statements().await? - before;
    row("statements per claim", &format!("{:.1}", statements as f64 / count as f64))?;
    watching.abort();
    row("connections to the server at a time, at most", &most.load(Ordering::Relaxed).to_string())
}

async fn left_alone(platform: &Platform, server: &Server, count: usize) -> Outcome<()> {
    let rest = asked("TERRACE_BENCH_REST", REST);
    let (before, statements) = (platform.counters()?, server.statements().await?);
    tokio::time::sleep(Duration::from_secs(rest)).await;
    let (after, later) = (platform.counters()?, server.statements().await?);
    let minutes = rest as f64 / 60.0;
    row(
        &format!("{count} claims left alone, writes in {minutes:.0} minutes"),
        &format!("{}", after.writes - before.writes),
    )?;
    row(
        &format!("{count} claims left alone, statements per minute"),
        &format!("{:.0}", (later - statements) as f64 / minutes),
    )?;
    let busy = (after.cpu - before.cpu).as_secs_f64() / rest as f64 * 100.0;
    row(
        &format!("{count} claims left alone, processor time of the platform"),
        &format!("{busy:.1} % of a core"),
    )
}

/// Asks for a rotation of every claim at once, while some programs use their databases.
async fn rotated(client: &Client, server: &Server, count: usize) -> Outcome<()> {
    let claims: Api<DatabaseClaim> = Api::default_namespaced(client.clone());
    let logins = |all: &[DatabaseClaim]| -> BTreeMap<String, Option<String>> {
        let login =
            |claim: &DatabaseClaim| claim.status.as_ref()?.connection_info.as_ref()?.user_name.clone();
        all.iter().map(|claim| (claim.metadata.name.clone().unwrap_or_default(), login(claim))).collect()
    };
    let before = logins(&claims.list(&ListParams::default()).await?.items);
    let (done, failed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let programs: Vec<_> = (0..PROGRAMS)
        .map(|number| tokio::spawn(program(client.clone(), number, done.clone(), failed.clone())))
        .collect();
    let statements = server.statements().await?;
    let begun = Instant::now();
    let patch = json!({ "metadata": { "annotations": { ROTATE: "bench" } } });
    stream::iter(before.keys())
        .map(|name| {
            let (claims, patch) = (claims.clone(), &patch);
            async move {
                claims.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
                Outcome::Ok(())
            }
        })
        .buffer_unordered(32)
        .try_collect::<()>()
        .await?;
    until("all claims to be rotated", async || {
        let now = logins(&claims.list(&ListParams::default()).await?.items);
        Ok(now.iter().all(|(name, login)| before.get(name) != Some(login)).then_some(()))
    })
    .await?;
    let took = begun.elapsed();
    row(&format!("{count} rotations at once, in all"), &ms(took))?;
    let each = (server.statements().await? - statements) as f64 / count as f64;
    row("statements per rotation, those of the programs included", &format!("{each:.1}"))?;
    done.store(true, Ordering::Relaxed);
    let mut times = Vec::new();
    for program in programs {
        times.extend(program.await??);
    }
    let asked = times.len();
    row(
        &format!("queries of {PROGRAMS} programs meanwhile, failed ones"),
        &format!("{asked}, {}", failed.load(Ordering::Relaxed)),
    )?;
    row("such a query, p50", &ms(at(&mut times, 0.5)))?;
    row("such a query, p99", &ms(at(&mut times, 0.99)))
}

/// A program with a pool that follows its Secret: one short query after the other.
async fn program(
    client: Client,
    number: usize,
    done: Arc<AtomicBool>,
    failed: Arc<AtomicU64>,
) -> Outcome<Vec<Duration>> {
    let source = hotload::SecretSource::new(client, "default", &format!("claim-{number:04}"), "dsn.txt");
    let pool = hotload::Pool::builder(source).open().await?;
    let mut times = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let asked = async {
            let connection = pool.get().await?;
            connection.query_one("SELECT 1", &[]).await?;
            Outcome::Ok(())
        };
        if asked.await.is_err() {
            failed.fetch_add(1, Ordering::Relaxed);
        }
        times.push(begun.elapsed());
    }
    Ok(times)
}

async fn until<T>(what: &str, look: impl AsyncFn() -> Outcome<Option<T>>) -> Outcome<T> {
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

fn row(what: &str, value: &str) -> Outcome<()> {
    writeln!(std::io::stdout(), "| {what} | {value} |").map_err(Into::into)
}
