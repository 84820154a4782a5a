//! The platform dies at the wrong moment, comes back, and ends what it should.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::archive::{self, Tar};
use crate::platform::{Platform, SOON, STOPS_WITHIN, host, wait};
use crate::web::Browser;

/// How soon everything answers again; the binary under test is not optimized and the machine is shared.
const BACK_WITHIN: Duration = Duration::from_secs(15);

/// The pid of each pod's program, as the pods themselves tell.
fn programs(platform: &Platform, name: &str) -> BTreeMap<String, u64> {
    let mut seen = BTreeMap::new();
    let pods = platform.pods(name);
    wait("an answer of each pod", SOON, || {
        let told = platform.answer(name, "/").json();
        let pod = told["pod"].as_str().unwrap_or_default().to_owned();
        assert!(seen.insert(pod, told["pid"].as_u64().expect("a pid")).is_none_or(|pid| told["pid"] == pid));
        (seen.keys().eq(pods.iter())).then_some(())
    });
    seen
}

/// How many programs run per pod, by their environment.
fn running_per_pod(platform: &Platform) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in platform.left_running().iter().filter(|line| line.contains("server.py")) {
        let pid = line.split(' ').next().expect("a pid");
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let environ = String::from_utf8_lossy(&environ).into_owned();
        let pod = environ.split('\0').find_map(|pair| pair.strip_prefix("HOSTNAME=")).unwrap_or_default();
        *counts.entry(pod.to_owned()).or_default() += 1;
    }
    counts
}

/// A program whose build lasts until a file is there.
fn slow_build(platform: &Platform, go: &Path) -> serde_json::Value {
    let line = format!("while [ ! -e {} ]; do sleep 0.1; done", go.display());
    let package = json!({ "name": "slow", "scripts": { "build": line, "start": "exec python3 server.py" } });
    let server = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hard/program/server.py"));
    let tar = Tar::default()
        .file("package.json", package.to_string().as_bytes())
        .file("server.py", &server.expect("it is there"));
    json!({ "blob": archive::upload(platform, &platform.namespace, &tar.gzip()) })
}

#[test]
fn a_killed_platform_finds_its_programs_again() {
    let mut platform = Platform::start(&[]);
    let program = platform.program("program");
    platform.deploy(&program, "one", &[]);
    platform.deploy(&program, "two", &["--replicas", "2"]);
    let blob = platform.application("one")["spec"]["blob"].clone();
    let crash = json!({ "blob": blob, "env": [{ "name": "MISBEHAVE", "value": "crash" }] });
    platform.apply("crash", &crash);
    let go = platform.path().join("go");
    platform.apply("slow", &slow_build(&platform, &go));
    wait("a crash to be told", SOON, || {
        platform.application("crash")["status"].to_string().contains("I cannot go on").then_some(())
    });
    wait("a build under way", SOON, || {
        let mid_build = platform.left_running().iter().any(|line| line.contains("while [ ! -e"));
        (mid_build && platform.application("slow")["status"]["phase"] == "Building").then_some(())
    });
    let before = (programs(&platform, "one"), programs(&platform, "two"));
    let pod = before.0.keys().next().expect("one pod").clone();
    let port = platform.kubectl(&[
        "get",
        "pod",
        &pod,
        "-o",
        r"jsonpath={.metadata.annotations.terrace\.dev/port\.8080}",
    ]);
    let port: u16 = port.parse().expect("the pod carries its port");

    platform.kill();
    let mut direct = Browser::new(([127, 0, 0, 1], port).into());
    let told = direct.get("one.localhost", "/").expect("it answers while the platform is down").json();
    assert_eq!(Some(&told["pid"].as_u64().expect("a pid")), before.0.get(&pod));

    let asked = Instant::now();
    platform.rise();
    for name in ["one", "two"] {
        platform.answer(name, "/");
    }
    let back = asked.elapsed();
    assert!(back < BACK_WITHIN, "back after {back:?}");
    assert_eq!((programs(&platform, "one"), programs(&platform, "two")), before);
    let doubled: Vec<_> = running_per_pod(&platform).into_iter().filter(|(_, count)| *count > 1).collect();
    assert_eq!(doubled, []);
    std::fs::write(&go, "").expect("a file");
    platform.answer("slow", "/");
    let builds = platform.left_running().into_iter().filter(|line| line.contains("while [ ! -e"));
    assert_eq!(builds.collect::<Vec<_>>(), Vec::<String>::new());
    assert_eq!(platform.application("crash")["status"]["phase"], "Deploying");

    // Killed again while it starts, each time a little later.
    for lines in 0..4 {
        platform.kill();
        platform.begin();
        platform.read_lines(lines);
    }
    platform.kill();
    platform.rise();
    assert_eq!((programs(&platform, "one"), programs(&platform, "two")), before);
    let took = platform.stop("-TERM");
    assert!(took < STOPS_WITHIN, "stopping took {took:?}");

    platform.rise();
    assert_ne!(platform.answer("one", "/").json()["pid"].as_u64(), before.0.get(&pod).copied());
    platform.answer("slow", "/");
    platform.stop("-TERM");
}

#[test]
fn ctrl_c_ends_programs_that_do_not_listen_and_what_they_hide() {
    let mut platform = Platform::start(&[]);
    let program = platform.program("program");
    platform.deploy(&program, "deaf", &["--env", "MISBEHAVE=stray"]);
    let hidden = |platform: &Platform| {
        platform.left_running().iter().filter(|line| line.ends_with("sleep 3600 ")).count()
    };
    assert_eq!(hidden(&platform), 1);
    let first = platform.answer("deaf", "/").json()["pid"].clone();
    platform.kill();
    platform.rise();
    assert_eq!(platform.answer("deaf", "/").json()["pid"], first);
    let took = platform.stop("-INT");
    assert!(took < STOPS_WITHIN, "stopping took {took:?}");

    // A pod that does not listen is replaced in time, and its hidden process goes with it.
    platform.rise();
    let old = platform.answer("deaf", "/").json()["pod"].as_str().expect("a name").to_owned();
    platform.kubectl(&["delete", "pod", &old, "--grace-period=1"]);
    wait("another pod", SOON, || {
        let answer = Browser::new(platform.gateway).get(&host("deaf"), "/").ok()?;
        (answer.status == 200 && answer.json()["pod"] != old.as_str()).then_some(())
    });
    wait("one hidden process", SOON, || (hidden(&platform) == 1).then_some(()));
    let took = platform.stop("-INT");
    assert!(took < STOPS_WITHIN, "stopping took {took:?}");
}

#[test]
fn programs_come_back_when_they_or_their_parents_are_killed() {
    let mut platform = Platform::start(&[]);
    let program = platform.program("program");
    platform.deploy(&program, "one", &["--env", "MISBEHAVE=stray"]);
    let pid = |platform: &Platform| platform.answer("one", "/").json()["pid"].as_u64().expect("a pid");
    let kill = |pid: u64| {
        let killed = Command::new("kill").args(["-9", &pid.to_string()]).status();
        assert!(killed.expect("kill is there").success());
    };
    let another = |platform: &Platform, old: u64| {
        wait("another program", SOON, || Some(pid(platform)).filter(|pid| *pid != old))
    };
    let alone = |platform: &Platform| {
        wait("what was left behind to end", SOON, || {
            let strays = platform.left_running().iter().filter(|line| line.ends_with("sleep 3600 ")).count();
            (strays == 1 && running_per_pod(platform).values().all(|count| *count == 1)).then_some(())
        });
    };
    // Its parent dies: what it started is ended, and started again.
    let first = pid(&platform);
    kill(parent(first));
    let second = another(&platform, first);
    alone(&platform);
    // It dies while nobody is there to see.
    platform.kill();
    kill(second);
    platform.rise();
    let third = another(&platform, second);
    alone(&platform);
    // So does its parent.
    platform.kill();
    kill(parent(third));
    platform.rise();
    another(&platform, third);
    alone(&platform);
    let took = platform.stop("-TERM");
    assert!(took < STOPS_WITHIN, "stopping took {took:?}");
}

fn parent(pid: u64) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    stat.rsplit(')').next().and_then(|rest| rest.split(' ').nth(2)?.parse().ok()).expect("a parent")
}
