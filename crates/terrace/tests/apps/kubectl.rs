//! kubectl on programs that run: tables, logs, roll-outs, deaths and services.

use std::time::Duration;

use serde_json::{Value, json};

use crate::http;
use crate::phases::MORTAL;
use crate::platform::{Platform, Told, until};

/// How long a change takes at most on a busy machine.
const SOON: Duration = Duration::from_secs(60);
const NAMESPACE: &str = "team";

#[test]
fn kubectl_reads_rolls_out_and_ends_real_programs() {
    let platform = Platform::start(&[]);
    platform.kubectl(&["create", "namespace", NAMESPACE]).ok();
    let image = image(&platform);
    platform.apply(&[deployment(&image), service()]);
    k(&platform, &["rollout", "status", "deploy/web", "--timeout=60s"]).ok();
    shows_tables(&platform, &image);
    answers_at_its_service(&platform);
    scales(&platform);
    rolls_out(&platform);
    comes_back(&platform);
    tells_of_the_dead(&platform);
    ends_with_its_namespace(&platform);
    platform.stop();
}

/// An image of the namespace: what one namespace built is not for another.
fn image(platform: &Platform) -> String {
    let source = platform.source("mortal", &[("app.py", MORTAL)]);
    let told = platform.terrace(&["deploy", &source, "--name", "built", "-n", NAMESPACE, "-o", "json"]).ok();
    let told: Value = serde_json::from_str(&told).expect("is JSON");
    told["image"].as_str().expect("the image is named").to_owned()
}

fn k(platform: &Platform, args: &[&str]) -> Told {
    let mut all = vec!["-n", NAMESPACE];
    all.extend(args);
    platform.kubectl(&all)
}

fn deployment(image: &str) -> Value {
    let container = json!({
        "name": "web", "image": image, "ports": [{ "containerPort": 8080 }],
        "readinessProbe": { "tcpSocket": { "port": 8080 }, "periodSeconds": 1 },
    });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "namespace": NAMESPACE },
        "spec": {
            "replicas": 1, "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "terminationGracePeriodSeconds": 1, "containers": [container] },
            },
        },
    })
}

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web", "namespace": NAMESPACE },
        "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80, "targetPort": 8080 }] },
    })
}

/// The one pod that runs and does not go.
fn pod(platform: &Platform) -> String {
    let told = k(platform, &["get", "pods", "-l", "app=web", "-o", "json"]).ok();
    let told: Value = serde_json::from_str(&told).expect("is JSON");
    let stays = |pod: &&Value| pod["metadata"]["deletionTimestamp"].is_null();
    let found: Vec<&Value> = told["items"].as_array().expect("is a list").iter().filter(stays).collect();
    assert_eq!(found.len(), 1, "{told}");
    found[0]["metadata"]["name"].as_str().expect("has a name").to_owned()
}

fn shows_tables(platform: &Platform, image: &str) {
    let table = k(platform, &["get", "pods", "-l", "app=web"]).ok();
    let row: Vec<&str> = table.lines().nth(1).unwrap_or_default().split_whitespace().collect();
    assert_eq!(row.get(1..4), Some(&["1/1", "Running", "0"][..]), "{table}");
    let table = k(platform, &["get", "deploy,rs,svc"]).ok();
    let words = |start: &str| -> Vec<String> {
        let line = table.lines().find(|line| line.starts_with(start)).unwrap_or_default();
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(
        words("deployment.apps/web").get(1..4),
        Some(&["1/1", "1", "1"].map(String::from)[..]),
        "{table}"
    );
    assert_eq!(
        words("replicaset.apps/web").get(1..4),
        Some(&["1", "1", "1"].map(String::from)[..]),
        "{table}"
    );
    let service = words("service/web");
    assert!(service[2].starts_with("127.96.") && service[4] == "80/TCP", "{table}");
    let told = k(platform, &["describe", "pod", &pod(platform)]).ok();
    for word in [image, "Scheduled", "Started", "Ready", "local"] {
        assert!(told.contains(word), "{word} is not described: {told}");
    }
    let nodes = platform.kubectl(&["get", "nodes"]).ok();
    assert!(nodes.lines().nth(1).is_some_and(|line| line.contains("Ready")), "{nodes}");
}

fn answers_at_its_service(platform: &Platform) {
    let service = platform.object(NAMESPACE, "service", "web");
    let address = format!("{}:80", service["spec"]["clusterIP"].as_str().expect("has an address"));
    until(SOON, "the service answers", || {
        let answer = http::get(&address, "web.team", "/").ok()?;
        (answer.status == 200 && answer.text.ends_with("alive")).then_some(())
    });
}

fn scales(platform: &Platform) {
    for count in ["3", "1"] {
        k(platform, &["scale", "deploy/web", &format!("--replicas={count}")]).ok();
        let path = format!("jsonpath={{.status.availableReplicas}}={count}");
        k(platform, &["wait", "deploy/web", "--for", &path, "--timeout=60s"]).ok();
    }
    until(SOON, "one pod is left", || {
        let pods = k(platform, &["get", "pods", "-l", "app=web", "-o", "name"]).ok();
        (pods.lines().count() == 1).then_some(())
    });
}

fn greeting(platform: &Platform, wanted: &str) {
    let service = platform.object(NAMESPACE, "service", "web");
    let address = format!("{}:80", service["spec"]["clusterIP"].as_str().expect("has an address"));
    until(SOON, wanted, || {
        http::get(&address, "web", "/").ok().filter(|answer| answer.text.ends_with(wanted))
    });
}

fn rolls_out(platform: &Platform) {
    let status = || k(platform, &["rollout", "status", "deploy/web", "--timeout=60s"]).ok();
    k(platform, &["set", "env", "deploy/web", "GREETING=changed"]).ok();
    assert!(status().contains("successfully rolled out"));
    greeting(platform, "changed");
    let history = k(platform, &["rollout", "history", "deploy/web"]).ok();
    let numbers: Vec<&str> = history.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(numbers.ends_with(&["1", "2"]), "{history}");
    k(platform, &["rollout", "undo", "deploy/web"]).ok();
    assert!(status().contains("successfully rolled out"));
    greeting(platform, "alive");
    let before = pod(platform);
    k(platform, &["rollout", "restart", "deploy/web"]).ok();
    status();
    assert_ne!(pod(platform), before, "another pod runs after a restart");
    // An image that is nowhere: the old version goes on, and the pod says what it lacks.
    let image =
        platform.object(NAMESPACE, "deploy", "web")["spec"]["template"]["spec"]["containers"][0]["image"]
            .as_str()
            .expect("has an image")
            .to_owned();
    k(platform, &["set", "image", "deploy/web", "web=registry.localhost/team/nothing@sha256:00"]).ok();
    until(SOON, "the missing image is told", || {
        let told = k(platform, &["get", "pods"]).ok();
        (told.contains("ErrImage") || told.contains("ImagePull") || told.contains("InvalidImageName"))
            .then_some(())
    });
    greeting(platform, "alive");
    k(platform, &["set", "image", "deploy/web", &format!("web={image}")]).ok();
    status();
}

fn comes_back(platform: &Platform) {
    let before = pod(platform);
    k(platform, &["delete", "pod", &before]).ok();
    k(platform, &["rollout", "status", "deploy/web", "--timeout=60s"]).ok();
    assert_ne!(pod(platform), before);
    greeting(platform, "alive");
    k(platform, &["scale", "application/built", "--replicas=2"]).ok();
    let path = "jsonpath={.status.availableReplicas}=2";
    k(platform, &["wait", "application/built", "--for", path, "--timeout=60s"]).ok();
}

fn tells_of_the_dead(platform: &Platform) {
    let name = pod(platform);
    let none = k(platform, &["logs", &name, "--previous"]).ends_with(1);
    assert!(none.contains("previous terminated container \"web\""), "{none}");
    let mut follow = platform.kubectl_lines(&["-n", NAMESPACE, "logs", "-f", &name]);
    follow.until(SOON, "what was said before", |line| line == "begins");
    let service = platform.object(NAMESPACE, "service", "web");
    let address = format!("{}:80", service["spec"]["clusterIP"].as_str().expect("has an address"));
    // It dies before it can answer.
    let _ = http::get(&address, "web", "/die");
    follow.until(SOON, "its last words", |line| line == "told to die");
    k(
        platform,
        &[
            "wait",
            "pod",
            &name,
            "--for=jsonpath={.status.containerStatuses[0].restartCount}=1",
            "--timeout=60s",
        ],
    )
    .ok();
    let previous = k(platform, &["logs", &name, "--previous"]).ok();
    assert!(previous.contains("told to die"), "{previous}");
    let object = platform.object(NAMESPACE, "pod", &name);
    let state = &object["status"]["containerStatuses"][0]["lastState"]["terminated"];
    assert_eq!(state["exitCode"], 7, "{object}");
    greeting(platform, "alive");
    let now = k(platform, &["logs", &name]).ok();
    assert!(now.contains("begins") && !now.contains("told to die"), "each run has a log of its own: {now}");
}

fn ends_with_its_namespace(platform: &Platform) {
    assert!(platform.processes().len() >= 3, "its programs run: {:#?}", platform.processes());
    platform.kubectl(&["delete", "namespace", NAMESPACE, "--timeout=60s"]).ok();
    let left = platform.processes();
    assert!(left.is_empty(), "the namespace is gone, and these run: {left:#?}");
    let told = platform.kubectl(&["get", "pods", "-A", "-o", "name"]).ok();
    assert_eq!(told, "");
}
