//! A repository that wants to know who asks: a small server in front of git's own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use api::secret::Sealed;
use tempfile::TempDir;

use super::super::contract::{self, over};
use super::super::{Builds as _, Fake, Login, Progress, Source};
use super::bench::{Bench, order};
use super::sources::{commit, git};

const USERNAME: &str = "ann";
const CANARY: &str = "canary-hunter2";
/// `ann:canary-hunter2`, as it travels.
const BASIC: &str = "Basic YW5uOmNhbmFyeS1odW50ZXIy";

/// Serves the repositories of a directory to who has the login; its address. It ends with the test's process.
fn serve(root: &Path) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let root = root.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let root = root.clone();
            std::thread::spawn(move || answer(stream, &root));
        }
    });
    format!("http://{address}")
}

/// One request and its answer; the connection is closed after it.
fn answer(mut stream: TcpStream, root: &Path) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let header = |name: &str| {
        let found = lines.iter().skip(1).filter_map(|line| line.split_once(':'));
        let mut found = found.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let first = lines.first().cloned().unwrap_or_default();
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return };
    if header("authorization") != BASIC {
        let told = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\
            Connection: close\r\n\r\n";
        let _ = stream.write_all(told.as_bytes());
        return;
    }
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).expect("the whole body");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut backend = Command::new("git")
        .arg("http-backend")
        .envs([("GIT_PROJECT_ROOT", root.to_str().expect("a path")), ("GIT_HTTP_EXPORT_ALL", "1")])
        .envs([("PATH_INFO", path), ("QUERY_STRING", query), ("REQUEST_METHOD", method)])
        .envs([("CONTENT_TYPE", header("content-type")), ("GIT_PROTOCOL", header("git-protocol"))])
        .envs([
            ("HTTP_CONTENT_ENCODING", header("content-encoding")),
            ("CONTENT_LENGTH", body.len().to_string()),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git is there");
    backend.stdin.take().expect("an input").write_all(&body).expect("it listens");
    let output = backend.wait_with_output().expect("it ends").stdout;
    // What a CGI program prints is an answer without its first line.
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n");
    let _ = stream.write_all(&output);
}

fn login(prefix: &str, password: &str) -> Login {
    Login { prefix: prefix.into(), username: USERNAME.into(), password: Sealed::new(password.into()) }
}

#[tokio::test]
async fn the_fake_keeps_private_repositories_to_those_who_may_see_them() {
    let fake = Fake::default();
    let (url, head) = ("https://example.com/shop.git", "1".repeat(40));
    fake.point(url, "main", &head);
    let good = login("https://example.com", CANARY);
    fake.lock(url, &good);
    contract::asks_who_comes(&fake, url, &head, (&good, &login("https://example.com", "wrong"))).await;
}

#[tokio::test]
async fn a_private_repository_is_built_with_its_login_which_is_found_nowhere_after() {
    let bench = Bench::open().await;
    let root = TempDir::new().expect("a directory");
    let repository = root.path().join("shop");
    std::fs::create_dir(&repository).expect("a directory");
    git(&repository, &["init", "-q", "."]);
    let head = commit(&repository, "one");
    let origin = serve(root.path());
    let url = format!("{origin}/shop/.git");
    let good = login(&origin, CANARY);
    contract::asks_who_comes(&bench.live, &url, &head, (&good, &login(&origin, "wrong"))).await;

    let source = Source::Git { url: url.clone(), revision: "main".into() };
    let mut wanted = order("shop", source.clone());
    wanted.sub_path = Some("site".into());
    wanted.login = Some(good);
    bench.live.start(wanted.clone()).await.expect("it starts");
    match over(&bench.live, &wanted.id).await {
        Progress::Done { commit, .. } => assert_eq!(commit, Some(head)),
        other => panic!("{other:?}\n{}", bench.log(&wanted)),
    }
    bench.is_clean();
    let launched = bench.processes.launched();
    let in_words = launched.iter().flat_map(|launch| &launch.command).any(|word| word.contains(CANARY));
    assert!(!in_words, "no program has it among its arguments");
    let holds = |launch: &&crate::process::Launch| launch.env.values().any(|value| value.open() == CANARY);
    let others = launched.iter().filter(holds).any(|launch| {
        let verb = launch.command.get(1).map(String::as_str);
        !matches!(verb, Some("fetch" | "ls-remote"))
    });
    assert!(!others && launched.iter().any(|launch| holds(&launch)), "only what fetches sees it");
    assert!(!bench.log(&wanted).contains(CANARY));
    for place in [bench.data.path(), bench.shared.path()] {
        assert!(!found(place), "no file holds it");
    }

    let mut without = order("other", source);
    without.sub_path = Some("site".into());
    bench.live.start(without.clone()).await.expect("it starts");
    match over(&bench.live, &without.id).await {
        Progress::Failed { message, .. } => assert!(!message.contains(CANARY), "{message}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_build_with_a_login_is_ordered_again_after_a_restart_and_not_kept_on_disk() {
    let bench = Bench::open().await;
    let mut slow = bench.upload("slow", &[super::bench::SLOW_PACKAGE]);
    slow.login = Some(login("https://example.com", CANARY));
    bench.live.start(slow.clone()).await.expect("it starts");
    assert!(!found(bench.data.path()));
    let bench = bench.reopen().await;
    assert_eq!(
        bench.live.look(&slow.id).await.expect("it answers"),
        None,
        "whoever ordered it orders it again"
    );
}

/// Whether a file below a directory holds the secret.
fn found(dir: &Path) -> bool {
    let entries = std::fs::read_dir(dir).expect("a directory");
    entries.map(|entry| entry.expect("an entry").path()).any(|path| match path.is_dir() {
        true => found(&path),
        false => std::fs::read(&path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(CANARY)),
    })
}
