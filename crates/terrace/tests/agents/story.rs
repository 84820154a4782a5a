//! An agent's whole work, from `register` to `unregister`, and what is left of it: nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::agent::{address, token};
use crate::platform::{Platform, SOON, wait};

#[test]
fn an_agent_builds_deploys_and_cleans_up_over_http() {
    tell("http", "auto");
}

#[test]
fn an_agent_of_the_older_protocol_does_the_same_over_stdio() {
    tell("stdio", "legacy");
}

/// Plays the story twice, once in each era: a platform and a build that are there make the second one quick.
fn tell(way: &str, mode: &str) {
    let mut platform = Platform::start(&[]);
    let token = token(&platform, "story", &["--session"]);
    let ports = listening(&platform);
    let other = if mode == "auto" { "legacy" } else { "auto" };
    for mode in [mode, other] {
        let namespace = play(&platform, &token, "story.py", way, mode);
        nothing_is_left(&platform, &namespace, &ports);
    }
    platform.stop("-TERM");
}

#[test]
fn every_tool_answers_as_its_schema_says() {
    let mut platform = Platform::start(&[]);
    let token = token(&platform, "story", &["--session"]);
    platform.kubectl(&[
        "-n",
        "default",
        "create",
        "secret",
        "generic",
        "stock",
        "--from-literal=url=a-secret-that-only-the-person-knows",
    ]);
    let source = json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "DataSource", "metadata": { "name": "stock" },
        "spec": { "kind": "postgres", "description": "what is in stock",
                  "secretRef": { "name": "stock", "namespace": "default" }, "envVarMapping": { "url": "STOCK_URL" } },
    });
    platform.try_apply_object(&source).expect("it is taken");
    play(&platform, &token, "every_tool.py", "http", "auto");
    play(&platform, &token, "every_tool.py", "stdio", "legacy");
    platform.stop("-TERM");
}

fn play(platform: &Platform, token: &str, story: &str, way: &str, mode: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cache = std::env::var_os("TERRACE_CACHE_DIR").map_or_else(|| root.join(".cache"), PathBuf::from);
    let python = cache.join("venv/bin/python");
    assert!(python.exists(), "{} is missing: `make test` makes it", python.display());
    let output = platform
        .command(&python.display().to_string())
        .arg(root.join("tests/stories/agents").join(story))
        .args([way, mode])
        .env("TERRACE", env!("CARGO_BIN_EXE_terrace"))
        .env("TERRACE_MCP", format!("http://{}/mcp", address(platform)))
        .env("TERRACE_TOKEN", token)
        .env("TERRACE_EXAMPLES", root.join("examples/apps"))
        .output()
        .expect("python is there");
    let (out, words) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{story} {way} {mode}: {out}{words}\n{}", platform.last_words());
    out.trim().to_owned()
}

/// No namespace, process, file or port.
fn nothing_is_left(platform: &Platform, namespace: &str, ports: &BTreeSet<String>) {
    let all = platform.kubectl(&["get", "namespaces", "-o", "name"]);
    assert!(!all.contains(namespace), "{namespace} is in {all}");
    let users = users_of(namespace);
    wait("its processes to be gone", SOON, || running_as(&users).is_empty().then_some(()));
    wait("its files to be gone", SOON, || files_of(platform, namespace).is_empty().then_some(()));
    wait("its ports to be free", SOON, || (listening(platform) == *ports).then_some(()));
}

/// Files whose names tell of a namespace, the data of databases, and images.
fn files_of(platform: &Platform, namespace: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    named(platform.path(), namespace, &mut found);
    for place in ["databases/clusters", "databases/backups", "images"] {
        let place = platform.path().join("shared").join(place);
        found.extend(std::fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path()));
    }
    found
}

fn named(directory: &Path, name: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().contains(name) {
            found.push(path.clone());
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            named(&path, name, found);
        }
    }
}

/// The users of a namespace's programs, builds and databases.
fn users_of(namespace: &str) -> [u32; 3] {
    let digest = Sha256::digest(namespace);
    let number = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]) % 1_000_000;
    [200_000, 1_200_000, 2_200_000].map(|first| first + number)
}

fn running_as(users: &[u32]) -> Vec<u32> {
    use std::os::unix::fs::MetadataExt as _;
    let all = std::fs::read_dir("/proc").expect("it is there").flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let owned = |pid: &u32| {
        let place = PathBuf::from(format!("/proc/{pid}"));
        std::fs::metadata(&place).is_ok_and(|found| users.contains(&found.uid()))
            && std::fs::read(place.join("cmdline")).is_ok_and(|words| !words.is_empty())
    };
    pids.filter(owned).collect()
}

/// The addresses that the platform itself listens on.
fn listening(platform: &Platform) -> BTreeSet<String> {
    let held = std::fs::read_dir(format!("/proc/{}/fd", platform.pid())).expect("it runs").flatten();
    let sockets: BTreeSet<String> = held
        .filter_map(|entry| {
            let link = std::fs::read_link(entry.path()).ok()?.display().to_string();
            Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        })
        .collect();
    let table = std::fs::read_to_string("/proc/net/tcp").expect("it is there");
    let rows = table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row.len() > 9 && row[3] == "0A" && sockets.contains(row[9]))
        .map(|row| row[1].to_owned())
        .collect()
}
