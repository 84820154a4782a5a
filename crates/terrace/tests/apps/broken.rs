//! Applications that cannot be: each says what is wrong with it, where its owner looks first.

use std::time::Duration;

use serde_json::json;

use crate::platform::{Platform, has, root};
use crate::watch::{message, reason};

/// How long a change takes at most on a busy machine.
const SOON: Duration = Duration::from_secs(60);

#[test]
fn each_broken_application_says_what_is_wrong() {
    let platform = Platform::start(&[]);
    let cases = [no_recipe, no_toolchain, compile_error, exits_at_once, never_listens, secret_missing];
    std::thread::scope(|scope| {
        let platform = &platform;
        for case in cases {
            scope.spawn(move || case(platform));
        }
    });
    platform.stop();
}

fn broken(name: &str) -> String {
    root().join("crates/ports/tests/apps").join(name).display().to_string()
}

/// Deploys what fails, and returns what was said.
fn fails(platform: &Platform, folder: &str, name: &str, timeout: &str) -> String {
    platform.terrace(&["deploy", folder, "--name", name, "--timeout", timeout]).ends_with(1)
}

fn no_recipe(platform: &Platform) {
    let folder = platform.source("notes", &[("notes.txt", "nothing to run here\n")]);
    let said = fails(platform, &folder, "notes", "60s");
    let app = platform.object("default", "application", "notes");
    for text in [said.as_str(), message(&app, "Ready")] {
        for file in ["Procfile", "go.mod", "package.json", "requirements.txt", "Cargo.toml", "index.html"] {
            assert!(text.contains(file), "{file} is not named: {text}");
        }
    }
    assert_eq!(app["status"]["phase"], "Failed");
}

fn no_toolchain(platform: &Platform) {
    if has("bundle") {
        eprintln!("SKIPPED: a missing toolchain, because Ruby is on this machine");
        return;
    }
    let folder =
        platform.source("gems", &[("Gemfile", "source 'https://rubygems.org'\n"), ("config.ru", "")]);
    let said = fails(platform, &folder, "gems", "60s");
    let app = platform.object("default", "application", "gems");
    for text in [said.as_str(), message(&app, "Ready")] {
        assert!(text.contains("bundle") || text.contains("ruby"), "the program is not named: {text}");
    }
    assert_eq!(app["status"]["phase"], "Failed");
    assert_eq!(reason(&app, "Ready"), "BuildFailed");
    assert_eq!(reason(&app, "Stalled"), "BuildFailed", "nothing more happens until somebody pushes again");
    assert_eq!(reason(&app, "Reconciling"), "");
}

fn compile_error(platform: &Platform) {
    if !has("go") {
        return;
    }
    let said = fails(platform, &broken("compile-error"), "typo", "150s");
    assert!(said.contains("undefined: undefinedGreeting"), "{said}");
    let app = platform.object("default", "application", "typo");
    assert_eq!(app["status"]["phase"], "Failed");
    let why = message(&app, "Ready");
    assert!(why.contains("undefined: undefinedGreeting"), "{why}");
}

fn exits_at_once(platform: &Platform) {
    let mut watch = platform.watch_apps("default");
    let said = fails(platform, &broken("exits-at-once"), "leaver", "20s");
    assert!(said.contains("the database address is missing"), "{said}");
    let app = watch.until(SOON, "its end is told", |app| {
        app["metadata"]["name"] == "leaver" && message(app, "Ready").contains("exited with code 3")
    });
    assert!(message(&app, "Ready").contains("the database address is missing"), "{app}");
    assert_eq!(app["status"]["phase"], "Deploying", "it may still recover");
    let before = platform.terrace(&["logs", "leaver", "--previous"]).ok();
    assert!(before.contains("the database address is missing"), "{before}");
}

fn never_listens(platform: &Platform) {
    let mut watch = platform.watch_apps("default");
    let said = fails(platform, &broken("never-listens"), "thinker", "25s");
    assert!(said.contains("port 8080"), "{said}");
    let app = watch.until(SOON, "its silence is told", |app| {
        app["metadata"]["name"] == "thinker" && reason(app, "Ready") == "ProbeFailing"
    });
    assert!(message(&app, "Ready").contains("nothing answers on port 8080"), "{app}");
    assert_eq!(app["status"]["phase"], "Deploying");
}

fn secret_missing(platform: &Platform) {
    let folder = root().join("examples/apps/static").display().to_string();
    let told = platform.terrace(&["deploy", &folder, "--name", "site", "-o", "json"]).ok();
    let told: serde_json::Value = serde_json::from_str(&told).expect("is JSON");
    let mut watch = platform.watch_apps("default");
    let entry = json!({ "name": "TOKEN", "secretKeyRef": { "name": "tokens", "key": "site" } });
    platform.apply(&[json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "Application",
        "metadata": { "name": "keyless", "namespace": "default" },
        "spec": { "image": told["image"], "env": [entry] },
    })]);
    let app = watch.until(SOON, "the missing Secret is told", |app| {
        app["metadata"]["name"] == "keyless" && reason(app, "Ready") == "CreateContainerConfigError"
    });
    assert!(message(&app, "Ready").contains("tokens"), "{app}");
    platform.kubectl(&["create", "secret", "generic", "tokens", "--from-literal=site=s3cret"]).ok();
    watch.until(SOON, "it runs with the Secret", |app| {
        app["metadata"]["name"] == "keyless" && app["status"]["phase"] == "Running"
    });
}
