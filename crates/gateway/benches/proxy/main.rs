//! `cargo bench -p gateway`: the gateway and the server of static files beside nginx, as one table.
//!
//! Every server is a process of its own with two workers; the load is this process with one thread, which shares the
//! machine with them. Both proxies stand before the same backend, which is our server of static files. It prints; it
//! judges nothing.

mod load;
mod servers;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use load::{Load, Measured};
use servers::{Server, Servers};

/// Whatever went wrong, in words for the person at the terminal.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// How long each cell is measured, after a tenth of that to get warm.
const EACH: Duration = Duration::from_secs(2);
const FILES: [(&str, usize); 2] = [("1 KiB", 1 << 10), ("1 MiB", 1 << 20)];
const CONNECTIONS: [usize; 3] = [1, 16, 64];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let outcome = match arguments.get(1).map(String::as_str) {
        Some("serve-files") => servers::files(&arguments[2]),
        Some("serve-proxy") => servers::proxy(&arguments[2]),
        // `cargo test` runs benches too; there is nothing to test here.
        Some("--test") => Ok(()),
        _ => compare(arguments.iter().find(|argument| argument.parse::<u64>().is_ok())),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "the comparison failed: {error}");
            ExitCode::FAILURE
        }
    }
}

/// `only` is a number of connections, to look at one row for long.
fn compare(only: Option<&String>) -> Outcome<()> {
    let directory = tempfile::tempdir()?;
    for (name, size) in FILES {
        std::fs::write(directory.path().join(name.replace(' ', "")), vec![b'x'; size])?;
    }
    let servers = Servers::start(directory.path())?;
    let mut out = std::io::stdout().lock();
    if servers.nginx_proxy.is_none() {
        writeln!(
            out,
            "\n*** NGINX IS NOT HERE: nothing to compare with. `scripts/ensure nginx` brings it. ***\n"
        )?;
    }
    writeln!(
        out,
        "| what | file | connections | ours /s | nginx /s | ratio | ours p50 / p99 | nginx p50 / p99 | ours CPU | nginx CPU | ratio |"
    )?;
    writeln!(out, "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")?;
    let pairs =
        [("proxy", &servers.proxy, &servers.nginx_proxy), ("files", &servers.files, &servers.nginx_files)];
    for (what, ours, theirs) in pairs {
        for (file, size) in FILES {
            for connections in
                CONNECTIONS.into_iter().filter(|count| only.is_none_or(|only| *only == count.to_string()))
            {
                let load =
                    Load { path: format!("/{}", file.replace(' ', "")), size, connections, each: EACH };
                // A proxy alone: what its backend uses is the same on both sides.
                let ours = measure(&load, ours)?;
                let theirs = theirs.as_ref().map(|server| measure(&load, server)).transpose()?;
                writeln!(out, "| {what} | {file} | {connections} |{}", row(&ours, theirs.as_ref()))?;
                out.flush()?;
            }
        }
    }
    Ok(())
}

fn measure(load: &Load, server: &Server) -> Outcome<Measured> {
    let before = server.cpu()?;
    let mut measured = load.run(server.address)?;
    measured.cpu = server.cpu()?.saturating_sub(before);
    Ok(measured)
}

/// Above 1, ours is that many times better.
fn row(ours: &Measured, theirs: Option<&Measured>) -> String {
    let times = |m: &Measured| format!("{} / {} µs", m.percentile(50), m.percentile(99));
    let each = |m: &Measured| m.cpu.as_secs_f64() * 1e6 / m.total as f64;
    let Some(theirs) = theirs else {
        return format!(" {:.0} | – | – | {} | – | {:.1} µs | – | – |", ours.rate(), times(ours), each(ours));
    };
    let (rate, cpu) = (ours.rate() / theirs.rate(), each(theirs) / each(ours));
    format!(
        " {:.0} | {:.0} | {rate:.2}× | {} | {} | {:.1} µs | {:.1} µs | {cpu:.2}× |",
        ours.rate(),
        theirs.rate(),
        times(ours),
        times(theirs),
        each(ours),
        each(theirs),
    )
}
