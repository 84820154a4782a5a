//! A password that must be nowhere but where it belongs.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::platform::Platform;
use crate::service::{connect, ready, secret};

/// Every file below a directory that somebody else than its owner may read, with all directories on the way open.
fn readable_by_others(place: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let Ok(kind) = entry.metadata() else { continue };
        let mode = kind.permissions().mode();
        if kind.is_dir() && mode & 0o001 != 0 {
            readable_by_others(&entry.path(), found);
        } else if kind.is_file() && mode & 0o004 != 0 {
            found.push(entry.path());
        }
    }
}

fn contains(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

#[test]
fn a_password_is_nowhere_but_in_its_secret() {
    let mut platform = Platform::start_in(&[], &[("RUST_LOG", "trace")]);
    let ns = platform.namespace.clone();
    let mut said = String::new();
    let mut tell = |platform: &Platform, words: &[&str]| {
        let (_, text) = platform.terrace(&[words, &["-n", &ns]].concat());
        said += &text;
    };
    tell(&platform, &["service", "create", "db"]);
    ready(&platform, "db");
    let password = secret(&platform, "db", "password");
    assert!(password.len() >= 20, "a password that cannot be guessed has {} letters", password.len());
    // All that can be asked of a service, in words and for programs.
    let page = platform.path().join("site");
    std::fs::create_dir(&page).expect("a directory");
    std::fs::write(page.join("index.html"), "hello").expect("a file");
    platform.deploy(&page, "web", &[]);
    connect(&platform, "db").ask("create table t (n int)").expect("the owner may");
    for words in [
        &["service", "bind", "db", "web"][..],
        &["service", "bind", "db", "web", "-o", "json"],
        &["service", "status", "db"],
        &["service", "status", "db", "-o", "json"],
        &["service", "list", "-o", "json"],
        &["service", "backup", "db"],
        &["service", "backups", "db"],
        &["apps", "-o", "json"],
        &["logs", "web"],
        &["service", "unbind", "db", "web", "-o", "json"],
    ] {
        tell(&platform, words);
    }
    let mut places = vec![("what the commands said".to_owned(), said.into_bytes())];
    for kind in
        ["events", "managedservices", "clusters.postgresql.cnpg.io", "applications", "pods", "configmaps"]
    {
        let text = platform.kubectl(&["get", kind, "-A", "-o", "json"]);
        places.push((kind.to_owned(), text.into_bytes()));
    }
    let metrics = crate::web::Browser::new(platform.gateway).get("127.0.0.1", "/metrics").expect("metrics");
    assert!(metrics.body.contains("terrace_passes_total"));
    let stands = r#"terrace_objects{room="managed_service",ready="True""#;
    assert!(metrics.body.contains(stands), "how the service stands is told, too: {}", metrics.body);
    places.push(("metrics".into(), metrics.body.into_bytes()));
    for line in platform.left_running() {
        let pid = line.split(' ').next().expect("a pid").to_owned();
        places.push((
            format!("arguments of {line}"),
            std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default(),
        ));
    }
    assert!(places.iter().any(|(what, _)| what.contains("postgres")), "the server was among them");
    let mut open = Vec::new();
    readable_by_others(platform.path(), &mut open);
    for path in open {
        places.push((path.display().to_string(), std::fs::read(&path).unwrap_or_default()));
    }
    platform.stop("-TERM");
    let log = std::fs::read(platform.path().join("stderr")).expect("its words");
    assert!(contains(&log, "TRACE"), "the platform tells everything");
    places.push(("the log at trace level".into(), log));
    for (what, bytes) in places {
        assert!(!contains(&bytes, &password), "the password is in {what}");
    }
}
