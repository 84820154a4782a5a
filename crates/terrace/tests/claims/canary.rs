//! Passwords that must be nowhere but where they belong.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

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

/// Things to be searched: what each is, and the file that it is in.
struct Places {
    directory: TempDir,
    files: Vec<(String, PathBuf)>,
}

impl Places {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a directory"), files: Vec::new() }
    }

    fn file(&mut self, path: PathBuf) {
        self.files.push((path.display().to_string(), path));
    }

    fn text(&mut self, what: impl Into<String>, text: impl AsRef<[u8]>) {
        let path = self.directory.path().join(self.files.len().to_string());
        std::fs::write(&path, text).expect("it is ours");
        self.files.push((what.into(), path));
    }

    /// Where any of some words is. One that is planted is found, too, or nothing can be believed.
    fn holding(mut self, words: &[String]) -> Vec<String> {
        self.text("planted", &words[0]);
        let wanted = self.directory.path().join("words");
        std::fs::write(&wanted, words.join("\n")).expect("it is ours");
        let mut found = Vec::new();
        for some in self.files.chunks(500) {
            let mut grep = Command::new("grep");
            grep.args(["-l", "-s", "-a", "-F", "-f"]).arg(&wanted).args(some.iter().map(|(_, path)| path));
            let said = String::from_utf8(grep.output().expect("grep is there").stdout).expect("our names");
            let whose = |line: &str| some.iter().find(|(_, path)| path == Path::new(line));
            found.extend(said.lines().filter_map(whose).map(|(what, _)| what.clone()));
        }
        assert_eq!(found.pop().as_deref(), Some("planted"), "{found:?}");
        found
    }
}

/// Everything that can be asked about claims, in words and for programs.
fn asked(platform: &Platform, places: &mut Places) {
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
        places.text(format!("terrace {words:?}"), said);
    }
    let kinds = "databaseclaims,events,clusters.postgresql.cnpg.io,configmaps,pods,services,endpointslices";
    for words in
        [&["get", kinds, "-A", "-o", "json"][..], &["describe", "databaseclaims,events,secrets", "-A"]]
    {
        places.text(format!("kubectl {words:?}"), platform.kubectl(words));
    }
    let metrics = Browser::new(platform.gateway).get("127.0.0.1", "/metrics").expect("metrics").body;
    assert!(metrics.contains("terrace_database_passwords_rotated_total"), "{metrics}");
    places.text("metrics", metrics);
    for line in platform.left_running() {
        let pid = line.split(' ').next().expect("a pid").to_owned();
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        places.text(format!("arguments of {line}"), words);
    }
    assert!(places.files.iter().any(|(what, _)| what.contains("postgres")), "a server was among them");
}

#[test]
fn passwords_of_claims_and_of_administrators_are_nowhere_but_in_their_secrets() {
    let server = Server::new();
    let configuration =
        Configuration::new(&format!("serverMaker: cluster\nmade: {{}}\n{}", server.fragment("athena")));
    let options = ["--claims-config".to_owned(), configuration.file().display().to_string()];
    let options = options.each_ref().map(String::as_str);
    let mut platform = Platform::start_in(&options, &[("RUST_LOG", "trace")]);
    introduce(&platform, "athena");
    let mut passwords = vec![PASSWORD.to_owned()];
    apply(&platform, "orders", &json!({ "instanceLabel": "athena" }));
    apply(&platform, "bills", &json!({ "instanceLabel": "made" }));
    for name in ["orders", "bills"] {
        ready(&platform, name);
        for _ in 0..2 {
            passwords.push(key(&platform, name, "password"));
            login(&platform, name).ask("select 1").expect("it answers");
            crate::claim::db(&platform, &["rotate", name]);
        }
        passwords.push(key(&platform, name, "password"));
    }
    let cluster = clusters(&platform).pop().expect("one was made");
    passwords.push(system_key(&platform, &format!("{cluster}-superuser"), "password"));
    assert!(passwords.iter().all(|password| password.len() >= 15), "passwords that cannot be guessed");
    // Errors tell much: of a login that is refused, of a Secret that is somebody else's, of a name that is taken.
    platform.kubectl(&["create", "secret", "generic", "locked", "--from-literal=password=somebody-elses"]);
    apply(&platform, "locked", &json!({ "instanceLabel": "athena" }));
    crate::claim::unready(&platform, "locked", "NotOurs");
    let patch = json!({ "stringData": { "password": "Canary-of-the-mistake-3X" } }).to_string();
    platform.kubectl(&["-n", SYSTEM, "patch", "secret", "athena-master", "--type=merge", "-p", &patch]);
    passwords.push("Canary-of-the-mistake-3X".into());
    apply(&platform, "refused", &json!({ "instanceLabel": "athena" }));
    crate::claim::unready(&platform, "refused", "CredentialsInvalid");
    let mut places = Places::new();
    asked(&platform, &mut places);
    let mut open = Vec::new();
    readable_by_others(platform.path(), &mut open);
    open.into_iter().for_each(|path| places.file(path));
    platform.kubectl(&["delete", "dbc", "bills", "--timeout=60s"]);
    gone(&platform, "bills");
    platform.stop("-TERM");
    let log = std::fs::read_to_string(platform.path().join("stderr")).expect("its words");
    assert!(log.contains("TRACE"), "the platform tells everything");
    places.text("the log at trace level", log);
    // It writes every statement down, as servers do that are watched closely.
    let log = server.log();
    assert!(log.contains("SCRAM-SHA-256$"), "passwords are set");
    places.text("the server's own log", log);
    let found = places.holding(&passwords);
    assert!(found.is_empty(), "a password is in {found:#?}");
}
