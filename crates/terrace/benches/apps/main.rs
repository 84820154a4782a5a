//! `make bench`: how long an application takes from its source to its first answer, and what a thousand of them cost.
//!
//! The release binary runs on a directory of its own with real processes; this program only asks and reads counters. It
//! prints; it judges nothing.

#[allow(dead_code, reason = "other measurements use the rest of it")]
mod figures;
#[allow(dead_code, reason = "other measurements use the rest of it")]
mod platform;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use api::apps::{Application, ApplicationPhase};
use futures::{StreamExt, stream};
use kube::api::{Api, ListParams, PostParams};
use serde_json::json;

use figures::ms;
use platform::{Counters, Platform};

/// Whatever went wrong, in words for the person at the terminal.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How often a deployment is repeated; the median is told.
const ROUNDS: usize = 5;
/// How many applications the crowd has; `TERRACE_BENCH_APPS` asks for another number.
const CROWD: usize = 1_000;
/// How many applications are created at a time.
const CREATORS: usize = 16;
/// How long the steady state is watched.
const STEADY: Duration = Duration::from_secs(60);
/// How long anything may take before it is given up.
const LIMIT: Duration = Duration::from_secs(900);

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
    row("", "Terrace")?;
    row("---", "--:")?;
    for example in ["static", "python"] {
        let (first, changed) = deployments(&platform, example)?;
        row(&format!("`terrace deploy` of a {example} app to its first 200, first of its kind"), &ms(first))?;
        row(
            &format!("`terrace deploy` of a {example} app to its first 200, median of {ROUNDS}"),
            &ms(changed),
        )?;
    }
    crowd(&platform).await?;
    platform.stop()
}

/// How long the first deployment of an example takes, and the median of others with other contents.
fn deployments(platform: &Platform, example: &str) -> Outcome<(Duration, Duration)> {
    let source = platform.copy_of(example)?;
    let first = platform.deploy(&source, &format!("{example}-first"))?;
    let mut others = Vec::new();
    for round in 0..ROUNDS {
        std::fs::write(source.join("round.txt"), round.to_string())?;
        others.push(platform.deploy(&source, &format!("{example}-{round}"))?);
    }
    others.sort();
    Ok((first, others[ROUNDS / 2]))
}

/// A crowd of applications of one image: created at once, settled, and then left alone.
async fn crowd(platform: &Platform) -> Outcome<()> {
    let wanted = std::env::var("TERRACE_BENCH_APPS").ok().and_then(|text| text.parse().ok()).unwrap_or(CROWD);
    let client = platform.client().await?;
    let apps = Api::<Application>::namespaced(client, "default");
    let image = apps.get("static-first").await?.status.and_then(|status| status.latest_image);
    let image = image.ok_or("the static app has no image")?;
    let before = platform.counters()?;
    let begun = Instant::now();
    let made = stream::iter(0..wanted).map(|number| {
        let (apps, image) = (apps.clone(), image.clone());
        async move {
            let app = json!({
                "apiVersion": "iaf.io/v1alpha1", "kind": "Application",
                "metadata": { "name": format!("crowd-{number}"), "labels": { "bench": "crowd" } },
                "spec": { "image": image },
            });
            apps.create(&PostParams::default(), &serde_json::from_value(app)?).await?;
            Ok::<_, Box<dyn Error + Send + Sync>>(())
        }
    });
    let made: Vec<_> = made.buffer_unordered(CREATORS).collect().await;
    made.into_iter().collect::<Outcome<Vec<()>>>()?;
    let created = begun.elapsed();
    all_run(&apps, wanted).await?;
    let settled = begun.elapsed();
    let after = platform.quiet()?;
    let name = |what: &str| format!("{wanted} apps of one image, {what}");
    let passes = after.passes - before.passes;
    row(&name("all created"), &ms(created))?;
    row(&name("all running"), &ms(settled))?;
    row(&name("passes"), &format!("{passes:.0}"))?;
    row(&name("passes per second until all run"), &format!("{:.0}", passes / settled.as_secs_f64()))?;
    row(
        &name("writes per app by controllers"),
        &format!("{:.1}", (after.writes - before.writes) / wanted as f64),
    )?;
    row(&name("CPU of the platform per app"), &ms((after.cpu - before.cpu) / u32::try_from(wanted)?))?;
    row(&name("memory of the platform"), &format!("{} MiB", after.memory_mib))?;
    steady(platform, &after, &name)
}

fn steady(platform: &Platform, from: &Counters, name: &dyn Fn(&str) -> String) -> Outcome<()> {
    std::thread::sleep(STEADY);
    let to = platform.counters()?;
    let minute = STEADY.as_secs_f64() / 60.0;
    let busy = (to.cpu - from.cpu).as_secs_f64() / STEADY.as_secs_f64() * 100.0;
    row(&name("left alone, writes per minute"), &format!("{:.0}", (to.writes - from.writes) / minute))?;
    row(&name("left alone, passes per minute"), &format!("{:.0}", (to.passes - from.passes) / minute))?;
    row(&name("left alone, CPU of the platform"), &format!("{busy:.1} % of a core"))
}

async fn all_run(apps: &Api<Application>, wanted: usize) -> Outcome<()> {
    let begun = Instant::now();
    loop {
        let crowd = apps.list(&ListParams::default().labels("bench=crowd")).await?;
        let runs = |app: &&Application| {
            app.status.as_ref().is_some_and(|status| status.phase == Some(ApplicationPhase::Running))
        };
        let running = crowd.iter().filter(runs).count();
        if running == wanted {
            return Ok(());
        }
        if begun.elapsed() > LIMIT {
            return Err(format!("only {running} of {wanted} applications run after {LIMIT:?}").into());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn row(what: &str, value: &str) -> Outcome<()> {
    Ok(writeln!(std::io::stdout(), "| {what:<75} | {value:>12} |")?)
}
