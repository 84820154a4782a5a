//! Passwords that must be nowhere but where they belong.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::claim::{Configuration, SYSTEM, apply, clusters, gone, key, login, ready, system_key};
use crate::platform::Platform;
use crate::server::{PASSWORD, Server, introduce};
use crate::web::Browser;

/// Every file below a directory that somebody else than its owner may read, with all directories on the way open.
fn readable_by_others(place: &Path, found: &mut Vec<PathBuf>) {
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

/// A file that may be gone; passwords are plain letters, whatever else is in it.
fn read(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}

/// Everything that can be asked about claims, in words and for programs.
fn asked(platform: &Platform) -> Vec<(String, String)> {
    let mut places = Vec::new();
    for words in [
        &["db", "list"][..],
        &["db", "list", "-o", "json"],
        &["db", "status", "orders"],
        &["db", "status", "orders", "-o", "json"],
        &["db", "status", "locked"],
        &["db", "dsn", "orders"],
        &["db", "dsn", "orders", "--uri"],
        &["db", "dsn", "orders", "--show"],
    ] {
        let (_, said) = platform.terrace(&[words, &["-n", &platform.namespace]].concat());
        places.push((format!("terrace {words:?}"), said));
    }
    let kinds = "databaseclaims,events,clusters.postgresql.cnpg.io,configmaps,pods,services,endpointslices";
    for words in [&["get", kinds, "-A", "-o", "json"][..], &["describe", "databaseclaims,events,secrets", "-A"]] {
        places.push((format!("kubectl {words:?}"), platform.kubectl(words)));
    }
    let metrics = Browser::new(platform.gateway).get("127.0.0.1", "/metrics").expect("metrics").body;
    assert!(metrics.contains("terrace_database_passwords_rotated_total"), "{metrics}");
    places.push(("metrics".into(), metrics));
    for line in platform.left_running() {
        let pid = line.split(' ').next().expect("a pid").to_owned();
        let words = read(Path::new(&format!("/proc/{pid}/cmdline")));
        places.push((format!("arguments of {line}"), words));
    }
    assert!(places.iter().any(|(what, _)| what.contains("postgres")), "a server was among them");
    places
}

#[test]
fn passwords_of_claims_and_of_administrators_are_nowhere_but_in_their_secrets() {
    let server = Server::new();
    let configuration = Configuration::new(&format!("serverMaker: cluster\nmade: {{}}\n{}", server.fragment("athena")));
    let options = ["--claims-config".to_owned(), configuration.file().display().to_string()];
    let options = options.each_ref().map(String::as_str);
    let mut platform = Platform::start_in(&options, &[("RUST_LOG", "trace")]);
    introduce(&platform, "athena");
    let mut passwords = vec![("the administrator's".to_owned(), PASSWORD.to_owned())];
    apply(&platform, "orders", &json!({ "instanceLabel": "athena" }));
    apply(&platform, "bills", &json!({ "instanceLabel": "made" }));
    for name in ["orders", "bills"] {
        ready(&platform, name);
        for _ in 0..2 {
            passwords.push((format!("that of {name}"), key(&platform, name, "password")));
            login(&platform, name).ask("select 1").expect("it answers");
            crate::claim::db(&platform, &["rotate", name]);
        }
        passwords.push((format!("that of {name}"), key(&platform, name, "password")));
    }
    let cluster = clusters(&platform).pop().expect("one was made");
    passwords.push(("the superuser's".into(), system_key(&platform, &format!("{cluster}-superuser"), "password")));
    assert!(passwords.iter().all(|(_, password)| password.len() >= 15), "passwords that cannot be guessed");
    // Errors tell much: of a login that is refused, of a Secret that is somebody else's, of a name that is taken.
    platform.kubectl(&["create", "secret", "generic", "locked", "--from-literal=password=somebody-elses"]);
    apply(&platform, "locked", &json!({ "instanceLabel": "athena" }));
    crate::claim::unready(&platform, "locked", "NotOurs");
    let patch = json!({ "stringData": { "password": "Canary-of-the-mistake-3X" } }).to_string();
    platform.kubectl(&["-n", SYSTEM, "patch", "secret", "athena-master", "--type=merge", "-p", &patch]);
    passwords.push(("the wrong one".into(), "Canary-of-the-mistake-3X".into()));
    apply(&platform, "refused", &json!({ "instanceLabel": "athena" }));
    crate::claim::unready(&platform, "refused", "CredentialsInvalid");
    let mut places = asked(&platform);
    let mut open = Vec::new();
    readable_by_others(platform.path(), &mut open);
    for path in open {
        places.push((path.display().to_string(), read(&path)));
    }
    platform.kubectl(&["delete", "dbc", "bills", "--timeout=60s"]);
    gone(&platform, "bills");
    platform.stop("-TERM");
    let log = read(&platform.path().join("stderr"));
    assert!(log.contains("TRACE"), "the platform tells everything");
    places.push(("the log at trace level".into(), log));
    // It writes every statement down, as servers do that are watched closely.
    let log = server.log();
    assert!(log.contains("SCRAM-SHA-256$"), "passwords are set");
    places.push(("the server's own log".into(), log));
    for (what, text) in places {
        for (whose, password) in &passwords {
            assert!(!text.contains(password.as_str()), "a password, {whose}, is in {what}");
        }
    }
}
