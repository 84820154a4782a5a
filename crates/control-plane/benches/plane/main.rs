//! `make bench`: what the server costs and what it does in a second, as one table.
//!
//! The release binary is started on a directory on the real disk and loaded through TLS sockets on the
//! loopback by this one process, which shares the machine with it. Where `kube-apiserver` and `etcd` are on
//! the PATH, the same happens to them afterwards. It prints; it judges nothing.

mod client;
mod load;
mod machine;
mod objects;
mod subject;
mod table;
mod watchers;

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};

use client::Endpoint;
use load::Load;
use subject::{Started, Subject};
use table::{Better, Cell, Column};

/// Whatever went wrong, in words for the person at the terminal.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// No column takes longer; one that hangs is given up.
const COLUMN_LIMIT: Duration = Duration::from_secs(240);
/// What the issue asks about.
const OBJECTS: usize = 10_000;

fn main() -> ExitCode {
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    // Dropping the measurement ends every process it has started.
    let outcome = runtime.block_on(async {
        tokio::select! {
            outcome = measure() => outcome,
            () = stopped() => Err("stopped".into()),
        }
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&*error),
    }
}

fn failed(error: &(dyn std::error::Error + Send + Sync)) -> ExitCode {
    note(&format!("bench: {error}"));
    ExitCode::FAILURE
}

async fn stopped() {
    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let (Ok(mut interrupted), Ok(mut terminated)) = signals else { return };
    tokio::select! {
        _ = interrupted.recv() => {}
        _ = terminated.recv() => {}
    }
}

/// Progress goes to standard error, so that standard output is the table alone.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

async fn measure() -> Outcome<()> {
    let mut said = machine::describe()?;
    let (ours, definitions) = column(Subject::terrace()?, &[]).await?;
    let mut columns = vec![ours];
    match Subject::peer() {
        // What was measured of ours is told in any case.
        Some(peer) => match column(peer, &definitions).await {
            Ok((theirs, _)) => columns.push(theirs),
            Err(error) => said.push(format!("no comparison: {error}")),
        },
        None => said.push("kube-apiserver and etcd are not on the PATH: no comparison".into()),
    }
    said.push(format!("load average at the end: {}", machine::load_average()));
    let mut out = std::io::stdout().lock();
    for line in said {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "\n{}", table::table(&columns))?;
    Ok(())
}

/// Everything about one server, and the definitions it holds in the end.
async fn column(
    subject: Subject,
    definitions: &[serde_json::Value],
) -> Outcome<(Column, Vec<serde_json::Value>)> {
    let name = subject.name();
    let begun = Instant::now();
    let measured = tokio::time::timeout(COLUMN_LIMIT, rows(&subject, definitions)).await;
    let (cells, held) = measured.map_err(|_| format!("{name} took longer than {COLUMN_LIMIT:?}"))??;
    note(&format!("{name}: measured in {:.0} s", begun.elapsed().as_secs_f64()));
    Ok((Column { name, cells }, held))
}

async fn rows(
    subject: &Subject,
    definitions: &[serde_json::Value],
) -> Outcome<(Vec<Cell>, Vec<serde_json::Value>)> {
    let mut cells = Vec::new();
    let (mut started, starts) = first_starts(subject).await?;
    cells.extend(starts);
    let endpoint = started.endpoint.clone();
    objects::define(&endpoint, definitions).await?;
    let held = objects::definitions(&endpoint).await?;
    cells.push(resident("memory, idle", &started).await?);

    note(&format!("{}: creates", subject.name()));
    let fill = load::creates(&endpoint, "many", 64, load::Until::Count(OBJECTS));
    let filled = loaded(&started, "durable creates, 64 clients", fill).await?;
    cells.push(resident("memory, 10,000 custom resources of 1 KiB", &started).await?);
    for (clients, namespace) in [(1, "one"), (16, "sixteen")] {
        let made = load::creates(&endpoint, namespace, clients, load::Until::Time(SHORT));
        let title = format!("durable creates, {clients} client{}", plural(clients));
        cells.extend(loaded(&started, &title, made).await?);
    }
    cells.extend(filled);
    note(&format!("{}: reads", subject.name()));
    cells.extend(loaded(&started, "GET, 64 clients", load::gets(&endpoint, "many", 64, SHORT)).await?);
    cells.extend(lists(&endpoint, &started).await?);
    note(&format!("{}: applies", subject.name()));
    let applied = load::applies(&endpoint, 16, SHORT);
    cells.extend(loaded(&started, "server-side apply, 16 clients", applied).await?);
    for (watchers, updates) in [(1, 300), (100, 100), (1000, 50)] {
        note(&format!("{}: {watchers} watcher{}", subject.name(), plural(watchers)));
        cells.extend(watched(&endpoint, &started, watchers, updates).await?);
    }
    started.stop().await;
    let again = subject.start(started.directory()).await?;
    cells.push(Cell::time("start with what the run has left behind, to /readyz", again.ready_after));
    drop(again);
    Ok((cells, held))
}

/// How long each timed load runs.
const SHORT: Duration = Duration::from_secs(4);

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// One load: how often in a second, and what each time cost the server, which other work on the machine
/// changes little.
async fn loaded(
    started: &Started,
    title: &str,
    load: impl Future<Output = Outcome<Load>>,
) -> Outcome<Vec<Cell>> {
    let before = started.processor_time()?;
    let load = load.await?;
    let spent = started.processor_time()?.saturating_sub(before);
    Ok(vec![Cell::rate(title, load.rate()), Cell::cost(title, spent, load.count)])
}

async fn watched(
    endpoint: &Endpoint,
    started: &Started,
    watchers: usize,
    updates: usize,
) -> Outcome<Vec<Cell>> {
    let title = format!("update to watch, {watchers} watcher{}", plural(watchers));
    let (times, spent) = watchers::latencies(endpoint, started, watchers, updates).await?;
    let mut cells = quantiles(&title, &times);
    cells.push(Cell::cost(&title, spent, times.len()));
    Ok(cells)
}

/// Starts on empty directories, of which the last goes on.
async fn first_starts(subject: &Subject) -> Outcome<(Started, Vec<Cell>)> {
    note(&format!("{}: starts", subject.name()));
    let mut line = Vec::new();
    let mut ready = Vec::new();
    let mut spent = Vec::new();
    let mut last = None;
    for _ in 0..subject.starts() {
        // The one before must be gone, or it would take time from this one.
        drop(last.take());
        let started = subject.start(None).await?;
        line.extend(started.line_after);
        ready.push(started.ready_after);
        spent.push(started.processor_time()?);
        last = Some(started);
    }
    let last = last.ok_or("no start was asked for")?;
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times.get(times.len() / 2).copied()
    };
    let title = "first start, to the line that says ready";
    let told = median(line).map_or_else(|| Cell::none(title), |time| Cell::time(title, time));
    let answered = Cell::time("first start, to 200 from /readyz", median(ready).unwrap_or_default());
    let cost = Cell::time("first start, server CPU", median(spent).unwrap_or_default());
    Ok((last, vec![told, answered, cost]))
}

/// Resident memory of all its processes, once it has come to rest.
async fn resident(title: &str, started: &Started) -> Outcome<Cell> {
    let mut clock = tokio::time::interval(Duration::from_secs(2));
    clock.tick().await;
    clock.tick().await;
    Ok(Cell::new(title, started.resident()? as f64 / 1_048_576.0, "MiB", Better::Less))
}

/// Lists as they are, and as informers ask for them: from whatever the server has at hand.
async fn lists(endpoint: &Endpoint, started: &Started) -> Outcome<Vec<Cell>> {
    let mut cells = Vec::new();
    for (title, query) in [("LIST of 10,000", ""), ("LIST of 10,000 at any version", "?resourceVersion=0")] {
        let before = started.processor_time()?;
        let begun = Instant::now();
        let (times, bytes) = load::lists(endpoint, &format!("{}{query}", objects::path("many"))).await?;
        let rate = (bytes * times.len()) as f64 / begun.elapsed().as_secs_f64() / 1e6;
        let spent = started.processor_time()?.saturating_sub(before);
        cells.extend(quantiles(title, &times));
        cells.push(Cell::cost(title, spent, times.len()));
        cells.push(Cell::new(&format!("{title}, throughput"), rate, "MB/s", Better::More));
        cells.push(Cell::new(&format!("{title}, size"), bytes as f64 / 1e6, "MB", Better::Neither));
    }
    Ok(cells)
}

fn quantiles(title: &str, times: &[Duration]) -> Vec<Cell> {
    let mut sorted = times.to_vec();
    sorted.sort();
    let at = |share: f64| {
        let place = ((sorted.len() as f64 * share).ceil() as usize).saturating_sub(1);
        sorted.get(place).copied().unwrap_or_default()
    };
    vec![Cell::time(&format!("{title}, p50"), at(0.5)), Cell::time(&format!("{title}, p99"), at(0.99))]
}
