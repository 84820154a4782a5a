//! `make bench`: what five hundred buckets and two hundred queues cost, made and left alone.
//!
//! The release binary runs on a directory of its own, beside a server that answers as AWS does and writes every request
//! down; this program only asks and counts. It prints; it judges nothing.

#[path = "../apps/figures.rs"]
#[allow(dead_code, reason = "other measurements use the rest of it")]
mod figures;
#[path = "../../../controllers/tests/aws/moto.rs"]
#[allow(dead_code, reason = "tests use the rest of it")]
mod moto;
#[path = "../apps/platform.rs"]
#[allow(dead_code, reason = "other measurements use the rest of it")]
mod platform;
mod recording;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use api::infra::{AWSProvider, S3Bucket, SQSQueue};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, ListParams, PostParams};
use serde_json::{Value, json};

use figures::ms;
use moto::{Moto, REGION};
use platform::Platform;
use recording::{Counts, Recording};

/// Whatever went wrong, in words for the person at the terminal.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How long anything may take before it is given up.
const LIMIT: Duration = Duration::from_secs(1_200);
/// How many buckets there are; `TERRACE_BENCH_BUCKETS` asks for another number.
const BUCKETS: usize = 500;
/// How many queues there are; `TERRACE_BENCH_QUEUES` asks for another number.
const QUEUES: usize = 200;
/// How often each is compared with the account, in seconds.
const RESYNC: u64 = 300;
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

fn asked(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

async fn measure() -> Outcome<()> {
    let (buckets, queues) = (asked("TERRACE_BENCH_BUCKETS", BUCKETS), asked("TERRACE_BENCH_QUEUES", QUEUES));
    let recording = Recording::new()?;
    let moto = Moto::start(&recording.environment());
    let platform = Platform::start()?;
    let client = platform.client().await?;
    provided(&client, &moto).await?;
    // The server loads each service when it is first asked for it.
    moto.ask("s3", "list_buckets", json!({}));
    moto.ask("sqs", "list_queues", json!({}));
    let empty = platform.counters()?;
    recording.take()?;
    let begun = Instant::now();
    let made: Api<S3Bucket> = Api::default_namespaced(client.clone());
    create(&made, buckets, bucket).await?;
    let made: Api<SQSQueue> = Api::default_namespaced(client.clone());
    create(&made, queues, queue).await?;
    ready::<S3Bucket>(&client, buckets, |it| it.status.as_ref().is_some_and(|status| status.ready)).await?;
    ready::<SQSQueue>(&client, queues, |it| it.status.as_ref().is_some_and(|status| status.ready)).await?;
    let took = begun.elapsed();
    let settled = platform.quiet()?;
    row("", "Terrace")?;
    row("---", "--:")?;
    row(&format!("{buckets} buckets and {queues} queues, to all of them Ready"), &ms(took))?;
    told("made", &recording.take()?, (buckets, queues))?;
    let objects = buckets + queues;
    row(
        "writes to the API server per object",
        &format!("{:.1}", (settled.writes - empty.writes) / objects as f64),
    )?;
    let more = settled.memory_mib.saturating_sub(empty.memory_mib);
    let memory = format!("{} MiB ({more} MiB more than with none)", settled.memory_mib);
    row(&format!("memory of the platform with {objects} objects"), &memory)?;
    left_alone(&platform, &recording, (buckets, queues)).await?;
    platform.stop()
}

/// What happens while nobody does anything, in the time in which everything is compared once.
async fn left_alone(platform: &Platform, recording: &Recording, counts: (usize, usize)) -> Outcome<()> {
    recording.take()?;
    let before = platform.counters()?;
    tokio::time::sleep(Duration::from_secs(RESYNC)).await;
    let after = platform.counters()?;
    told("left alone for a resync", &recording.take()?, counts)?;
    row("left alone, writes to the API server per object", &{
        let objects = (counts.0 + counts.1) as f64;
        format!("{:.2}", (after.writes - before.writes) / objects)
    })?;
    let busy = (after.cpu - before.cpu).as_secs_f64() / RESYNC as f64 * 100.0;
    row("left alone, processor time of the platform", &format!("{busy:.1} % of a core"))
}

/// The calls of a while, for each resource.
fn told(when: &str, counts: &Counts, (buckets, queues): (usize, usize)) -> Outcome<()> {
    for (what, service, resources) in [("bucket", &counts.s3, buckets), ("queue", &counts.sqs, queues)] {
        let each = |calls: u64| calls as f64 / resources.max(1) as f64;
        let figures = format!("{:.1} reads, {:.1} writes", each(service.reads), each(service.writes));
        row(&format!("{when}, calls per {what}"), &figures)?;
    }
    Ok(())
}

async fn provided(client: &Client, moto: &Moto) -> Outcome<()> {
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let secret = json!({
        "metadata": { "name": "aws" }, "stringData": { "accessKeyID": "AKIABENCH", "secretAccessKey": "the-bench-s-own" },
    });
    secrets.create(&PostParams::default(), &serde_json::from_value(secret)?).await?;
    let providers: Api<AWSProvider> = Api::default_namespaced(client.clone());
    let provider = json!({
        "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": "AWSProvider", "metadata": { "name": "dev" },
        "spec": { "region": REGION, "endpoint": moto.endpoint, "credentialsSecret": { "name": "aws" } },
    });
    providers.create(&PostParams::default(), &serde_json::from_value(provider)?).await?;
    ready::<AWSProvider>(client, 1, |it| it.status.as_ref().is_some_and(|status| status.ready)).await
}

fn bucket(number: usize) -> Value {
    json!({
        "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": "S3Bucket",
        "metadata": { "name": format!("bucket-{number:04}") },
        "spec": {
            "providerRef": { "name": "dev" }, "bucketName": format!("terrace-bench-{number:04}"),
            "versioning": { "enabled": true }, "encryption": { "algorithm": "AES256" },
            "publicAccessBlock": {
                "blockPublicAcls": true, "ignorePublicAcls": true, "blockPublicPolicy": true, "restrictPublicBuckets": true,
            },
            "tags": { "app": "bench" },
        },
    })
}

fn queue(number: usize) -> Value {
    json!({
        "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": "SQSQueue",
        "metadata": { "name": format!("queue-{number:04}") },
        "spec": {
            "providerRef": { "name": "dev" }, "queueName": format!("bench-{number:04}"),
            "visibilityTimeout": 60, "messageRetentionPeriod": 86_400, "tags": { "app": "bench" },
        },
    })
}

async fn create<K>(api: &Api<K>, count: usize, manifest: fn(usize) -> Value) -> Outcome<()>
where
    K: kube::Resource<DynamicType = ()>
        + serde::Serialize
        + serde::de::DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    stream::iter(0..count)
        .map(async |number| {
            api.create(&PostParams::default(), &serde_json::from_value(manifest(number))?).await?;
            Outcome::Ok(())
        })
        .buffer_unordered(32)
        .try_collect()
        .await
}

/// Waits until all objects of a kind are ready.
async fn ready<K>(client: &Client, count: usize, is_ready: fn(&K) -> bool) -> Outcome<()>
where
    K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + serde::de::DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    let api: Api<K> = Api::default_namespaced(client.clone());
    let begun = Instant::now();
    while api.list(&ListParams::default()).await?.iter().filter(|object| is_ready(object)).count() < count {
        if begun.elapsed() > LIMIT {
            return Err(format!("waited in vain for all {}", K::plural(&())).into());
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

fn row(what: &str, value: &str) -> Outcome<()> {
    writeln!(std::io::stdout(), "| {what} | {value} |").map_err(Into::into)
}
