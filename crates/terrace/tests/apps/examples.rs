//! The applications to start from, through a whole life: deployed, changed, read, taken back, deleted.

use std::time::Duration;

use serde_json::Value;

use crate::platform::{Platform, has, root, until};

/// Directory, what builds and runs it, and what it answers.
const EXAMPLES: &[(&str, &str, &str)] = &[
    ("static", "sh", "Hello from static files"),
    ("python", "python3", "Hello from Python"),
    ("node", "node", "Hello from Node.js"),
    ("go", "go", "Hello from Go"),
    ("rust", "cargo", "Hello from Rust"),
    ("procfile", "python3", "Hello from a Procfile"),
];
/// How long something takes at most that needs no build.
const SOON: Duration = Duration::from_secs(30);

#[test]
fn every_example_answers_and_a_second_deploy_changes_nothing() {
    let platform = Platform::start(&[]);
    let present: Vec<_> = EXAMPLES.iter().filter(|(_, needs, _)| has(needs)).collect();
    std::thread::scope(|scope| {
        for (name, _, answer) in &present {
            let platform = &platform;
            scope.spawn(move || deploys(platform, name, answer));
        }
    });
    lists(&platform, present.len());
    platform.stop();
}

fn deploys(platform: &Platform, name: &str, answer: &str) {
    let folder = root().join("examples/apps").join(name).display().to_string();
    let url = platform.terrace(&["deploy", &folder, "--name", name]).ok();
    let port = platform.ready["gateway"].as_str().and_then(|url| url.rsplit(':').next()).unwrap_or_default();
    assert_eq!(url.trim(), format!("http://{name}.localhost:{port}"));
    let host = format!("{name}.localhost");
    for (path, words) in [("/", answer), ("/healthz", "ok")] {
        let told = platform.get(&host, path);
        assert!(told.status == 200 && told.text.contains(words), "{name}{path}: {told:?}");
    }
    assert_eq!(platform.get(&host, "/nowhere").status, 404, "{name}");
    let again = platform.terrace(&["deploy", &folder, "--name", name]);
    assert!(again.err.contains("nothing changed"), "{name}: {again:?}");
    assert_eq!(again.ok(), url);
}

fn lists(platform: &Platform, count: usize) {
    let table = platform.terrace(&["apps"]).ok();
    let head: Vec<&str> = table.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(head, ["NAME", "PHASE", "READY", "URL", "AGE", "MESSAGE"]);
    let running = table.lines().filter(|line| line.contains("Running") && line.contains("1/1")).count();
    assert_eq!(running, count, "{table}");
    let rows: Value = serde_json::from_str(&platform.terrace(&["apps", "-o", "json"]).ok()).expect("is JSON");
    let rows = rows.as_array().expect("is a list");
    assert_eq!(rows.len(), count);
    for row in rows {
        assert!(row["ready"] == true && row["phase"] == "Running", "{row}");
        assert!(row["image"].as_str().is_some_and(|image| image.contains("@sha256:")), "{row}");
    }
}

#[test]
fn a_program_is_changed_read_taken_back_and_deleted() {
    let platform = Platform::start(&[]);
    let folder = root().join("examples/apps/python");
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).expect("the example is there");
    let first = read("app.py");
    let second = first.replace("Hello from Python", "Hello again");
    assert_ne!(first, second);
    let source =
        platform.source("shop", &[("app.py", &first), ("requirements.txt", &read("requirements.txt"))]);
    let deploy = ["deploy", source.as_str(), "--name", "shop"];
    platform.terrace(&deploy).ok();
    assert!(platform.get("shop.localhost", "/").text.contains("Hello from Python"));

    says(&platform);

    platform.source("shop", &[("app.py", &second)]);
    platform.terrace(&deploy).ok();
    let told = platform.get("shop.localhost", "/");
    assert!(told.text.contains("Hello again"), "the new one answers when deploy says so: {told:?}");
    let revisions = platform.terrace(&["rollback", "shop", "--list"]).ok();
    assert_eq!(revisions.lines().count(), 3, "a head and two versions: {revisions}");
    assert!(revisions.lines().last().is_some_and(|line| line.ends_with("current")), "{revisions}");

    platform.terrace(&["rollback", "shop"]).ok();
    let told = platform.get("shop.localhost", "/");
    assert!(told.text.contains("Hello from Python"), "the first one answers again: {told:?}");
    assert!(!platform.processes().is_empty());

    goes(&platform);
    platform.stop();
}

/// Its log is read at once, and as it is written.
fn says(platform: &Platform) {
    let log = platform.terrace(&["logs", "shop"]).ok();
    assert!(log.contains("listening on port"), "{log}");
    let build = platform.terrace(&["logs", "shop", "--build"]).ok();
    assert!(build.contains("sha256:"), "{build}");
    let mut follow = platform.terrace_lines(&["logs", "shop", "-f"]);
    follow.until(SOON, "what was said before", |line| line.contains("listening on port"));
    assert_eq!(platform.get("shop.localhost", "/just-now").status, 404);
    follow.until(SOON, "the request in the log", |line| line.contains("/just-now"));
}

/// Deleted, it leaves nothing.
fn goes(platform: &Platform) {
    let refused = platform.terrace(&["delete", "app", "shop"]).ends_with(2);
    assert!(refused.contains("--yes"), "{refused}");
    platform.terrace(&["delete", "app", "shop", "--yes"]).ok();
    assert_eq!(platform.get("shop.localhost", "/").status, 404);
    let kinds = "applications.iaf.io,deployments,replicasets,pods,services,endpointslices,endpoints,\
                 images.kpack.io,ingressroutes.traefik.io,certificates.cert-manager.io,secrets";
    until(SOON, "nothing of it left", || {
        let names = platform.names("default", kinds);
        let left: Vec<&String> = names.iter().filter(|name| name.contains("shop")).collect();
        left.is_empty().then_some(())
    });
    until(SOON, "no process left", || platform.processes().is_empty().then_some(()));
    let missing = platform.terrace(&["logs", "shop"]).ends_with(1);
    assert!(missing.contains("no application"), "{missing}");
}
