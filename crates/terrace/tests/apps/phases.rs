//! The phase of an application is read off the world: seven situations, and what is seen from outside in each.

use std::time::Duration;

use serde_json::{Value, json};

use crate::platform::{Platform, until};
use crate::watch::reason;

/// Answers on its port, and dies when it is told to.
pub const MORTAL: &str = r#"
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        last = self.path == "/die"
        body = os.environ.get("GREETING", "alive").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        if last:
            # Answered first: who gets no answer asks again.
            self.wfile.flush()
            print("told to die", flush=True)
            os._exit(7)


print("begins", flush=True)
ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"#;
/// How long a change takes at most on a busy machine. Programs that died twice wait ten seconds and more.
const SOON: Duration = Duration::from_secs(60);
/// How long it takes at most until a death is told of, unless it was missed.
const FALLS: Duration = Duration::from_secs(5);

#[test]
fn the_phase_follows_what_builds_runs_and_dies() {
    let platform = Platform::start(&[]);
    let mut watch = platform.watch_apps("default");
    let source = platform.source("mortal", &[("app.py", MORTAL)]);
    platform.terrace(&["deploy", &source, "--name", "built"]).ok();
    let built = watch.until(SOON, "built runs", |app| is(app, "built", "Running"));
    // Cases 4, 5 and 6: a build under way, an image without pods, an image with one.
    let phases = watch.phases("built");
    let told: Vec<&str> = phases.iter().map(String::as_str).filter(|phase| *phase != "Pending").collect();
    assert_eq!(told, ["Building", "Deploying", "Running"]);
    let image = built["status"]["latestImage"].as_str().expect("the image is named").to_owned();

    // Cases 1 and 2: an image needs no build.
    let app = json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "Application",
        "metadata": { "name": "given", "namespace": "default" }, "spec": { "image": image },
    });
    platform.apply(&[app]);
    watch.until(SOON, "given runs", |app| is(app, "given", "Running"));
    let phases = watch.phases("given");
    let told: Vec<&str> = phases.iter().map(String::as_str).filter(|phase| *phase != "Pending").collect();
    assert_eq!(told, ["Deploying", "Running"]);
    assert!(platform.get("given.localhost", "/").text.ends_with("alive"));

    // Case 7: what is available is copied, up and down.
    for count in [2, 1] {
        platform.kubectl(&["scale", "application", "given", &format!("--replicas={count}")]).ok();
        watch.until(SOON, "the copies are counted", |app| {
            app["metadata"]["name"] == "given" && app["status"]["availableReplicas"] == count
        });
    }

    // Case 3: all pods of a running application die. A death may be over before anybody looked; after some of them
    // the program has to wait before it is started again.
    let fallen = (0..4).find_map(|_| {
        until(SOON, "it is told to die", || {
            (platform.get("given.localhost", "/die").status == 200).then_some(())
        });
        watch.within(FALLS, |app| is(app, "given", "Deploying"))
    });
    let fallen = fallen.expect("it is deploying again");
    assert_eq!(fallen["status"]["availableReplicas"], 0);
    watch.until(SOON, "and recovers", |app| is(app, "given", "Running"));

    for app in &watch.seen {
        follows_the_rules(app);
    }
    platform.stop();
}

/// What holds in every state that was seen.
fn follows_the_rules(app: &Value) {
    let status = &app["status"];
    let available = status["availableReplicas"].as_i64().unwrap_or_default();
    match status["phase"].as_str() {
        Some("Running") => assert!(available >= 1, "running without a copy: {status}"),
        Some("Deploying") => {
            assert_eq!(available, 0, "deploying with a copy that runs: {status}");
            let url = status["url"].as_str().unwrap_or_default();
            let name = app["metadata"]["name"].as_str().unwrap_or_default();
            assert!(url.starts_with(&format!("http://{name}.localhost:")), "{status}");
            assert!(status["latestImage"].is_string(), "{status}");
        }
        Some("Building") => assert_eq!(reason(app, "Ready"), "Building"),
        Some("Pending") | None => {}
        other => panic!("{other:?}: {status}"),
    }
}

fn is(app: &Value, name: &str, phase: &str) -> bool {
    app["metadata"]["name"] == name && app["status"]["phase"] == phase
}

#[test]
fn scaled_to_zero_it_is_stopped_and_comes_back() {
    let platform = Platform::start(&[]);
    let source = platform.source("mortal", &[("app.py", MORTAL)]);
    platform.terrace(&["deploy", &source, "--name", "shop", "--env", "GREETING=costs $5"]).ok();
    assert!(platform.get("shop.localhost", "/").text.ends_with("costs $5"));
    let mut watch = platform.watch_apps("default");
    let told = platform.terrace(&["deploy", &source, "--name", "shop", "--replicas", "0"]);
    assert!(told.err.contains("scaled to zero"), "{told:?}");
    let stopped = watch.until(SOON, "stopped", |app| reason(app, "Ready") == "Stopped");
    assert_ne!(stopped["status"]["phase"], "Running");
    assert_eq!(platform.get("shop.localhost", "/").status, 503);
    platform.terrace(&["deploy", &source, "--name", "shop", "--replicas", "1"]).ok();
    let told = platform.get("shop.localhost", "/");
    assert!(told.text.ends_with("costs $5"), "what was set before stays: {told:?}");
    platform.stop();
}
