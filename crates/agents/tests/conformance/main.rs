//! The protocol's official conformance suite, in every version of the protocol that the server speaks.

mod asking;
mod fixtures;
mod plain;
mod stage;
mod tasks;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use serde_json::Value;
use tokio::process::Command;

use fixtures::Fixtures;
use stage::Stage;

/// What is run: the sets that the suite froze for the two newest versions (they hold the extension for tasks, too), and
/// all that applies to the version before.
///
/// Not run, because they do not apply: `sep-2640-skills-*` (the server offers no skills), and everything that tests
/// clients or authorization servers (tokens come from the platform's own command).
const RUNS: [&[&str]; 3] = [
    &["--requirements", "2026-07-28"],
    &["--requirements", "2025-11-25"],
    &["--suite", "all", "--spec-version", "2025-06-18"],
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_official_suite_passes_in_every_version() {
    let stage = Stage::open(Arc::new(Fixtures)).await;
    for run in RUNS {
        let results = tempfile::tempdir().expect("a directory");
        let output = suite(&stage, run, results.path()).await;
        let (passed, failed) = judged(results.path());
        println!("{}: {passed} checks passed\n{}", run.join(" "), summary(&output));
        assert!(failed.is_empty(), "{}: failed:\n{}", run.join(" "), failed.join("\n"));
        assert!(passed > 0, "{}: nothing was checked:\n{output}", run.join(" "));
    }
}

async fn suite(stage: &Stage, run: &[&str], results: &Path) -> String {
    let bin = cache().join("conformance/node_modules/.bin");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new(bin.join("conformance"))
        .env("PATH", format!("{}:{path}", bin.display()))
        .args(["server", "--url", &format!("http://{}/mcp", stage.address), "--output-dir"])
        .arg(results)
        .args(run)
        .stdin(Stdio::null())
        .output()
        .await
        .expect("the suite runs: `scripts/ensure conformance` installs it");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

/// How many checks passed, and what the others say.
fn judged(results: &Path) -> (usize, Vec<String>) {
    let (mut passed, mut failed) = (0, Vec::new());
    for scenario in std::fs::read_dir(results).expect("results").flatten() {
        let text = std::fs::read(scenario.path().join("checks.json")).expect("checks");
        let checks: Vec<Value> = serde_json::from_slice(&text).expect("a list");
        for check in checks {
            match check["status"].as_str() {
                Some("FAILURE" | "WARNING") => {
                    let name = scenario.file_name().to_string_lossy().into_owned();
                    let (id, why) = (&check["id"], &check["errorMessage"]);
                    failed.push(format!("{name}: {id}: {why}\n    {}", check["details"]));
                }
                Some("SUCCESS") => passed += 1,
                _ => {}
            }
        }
    }
    failed.sort();
    (passed, failed)
}

/// The suite's own summary.
fn summary(output: &str) -> &str {
    output.find("=== SUMMARY ===").map_or(output, |place| &output[place..])
}

fn cache() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::var_os("TERRACE_CACHE_DIR").map_or_else(|| root.join(".cache"), PathBuf::from)
}
