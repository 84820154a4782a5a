//! The door as its enemies see it: requests by hand.

use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine as _;
use ports::git::Git;
use ports::git::local::Limits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::ground::{Ground, READER, STRANGER, WRITER, commit, git, here, key, password, wish};

/// Small bounds, so that rows are quick.
const LIMITS: Limits = Limits {
    push_bytes: 1 << 20,
    fetch_bytes: 64 << 10,
    silence: Duration::from_secs(20),
    whole: Duration::from_secs(40),
    at_once: 64,
};

async fn made() -> Ground {
    let (ground, place) = (Ground::with(LIMITS).await, here("shop"));
    ground.local.create(&place, &wish()).await.expect("it is made");
    ground.local.commit(&place, &commit("main", None, &[("a", "1")])).await.expect("it is begun");
    ground.local.add_key(&place, &key(1, true).0).await.expect("it is let in");
    ground
}

/// Sends bytes, and answers all that comes back.
async fn talk(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.expect("somebody listens");
    // Who refuses early closes early.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

async fn ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    login: &str,
    (head, body): (&str, &[u8]),
) -> String {
    let login = match login {
        "" => String::new(),
        login => {
            format!("Authorization: Basic {}\r\n", base64::engine::general_purpose::STANDARD.encode(login))
        }
    };
    let mut bytes =
        format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{login}{head}\r\n").into_bytes();
    bytes.extend(body);
    talk(address, &bytes).await
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

/// What tells one answer from another: all but the date.
fn face(answer: &str) -> String {
    answer
        .lines()
        .filter(|line| !line.to_ascii_lowercase().starts_with("date:"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_lead_nowhere_else() {
    let ground = made().await;
    std::fs::create_dir_all(ground.home.path().join("secret.git")).expect("a directory beside");
    let upload = "info/refs?service=git-upload-pack";
    let writer = format!("ann:{WRITER}");
    let good = ask(ground.address, "GET", &format!("/git/team/shop.git/{upload}"), &writer, ("", b"")).await;
    assert_eq!(status(&good), "200", "{good}");
    let long = "x".repeat(3000);
    let paths = [
        format!("/git/../secret.git/{upload}"),
        format!("/git/team/../../secret.git/{upload}"),
        format!("/git/%2e%2e/secret.git/{upload}"),
        format!("/git/..%2fsecret.git/{upload}"),
        format!("/git/team%2fshop.git/{upload}"),
        format!("/git/team/shop%00.git/{upload}"),
        format!("/git/team/shop.git%00/{upload}"),
        format!("/git//team/shop.git/{upload}"),
        format!("/git/team/{long}.git/{upload}"),
        format!("/git/.workshop/shop.git/{upload}"),
        "/git/team/shop.git/HEAD".into(),
        "/git/team/shop.git/config".into(),
        "/git/team/shop.git/objects/info/packs".into(),
        "/git/team/shop.git/terrace/keys.json".into(),
        "/git/team/shop.git/info/refs".into(),
        "/git/team/shop.git/info/refs?service=git-upload-archive".into(),
        "/git/team/shop.git/info/refs?service=../../bin/sh".into(),
        "/git/team/shop.git/git-upload-pack".into(),
        "/git/team/shop.git/pulls/1".into(),
        "/git/".into(),
    ];
    for path in paths {
        let told = ask(ground.address, "GET", &path, &writer, ("", b"")).await;
        assert_eq!(status(&told), "404", "{path}: {told}");
        let told = ask(ground.address, "GET", &path, "", ("", b"")).await;
        assert_eq!(status(&told), "401", "{path}: {told}");
    }
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
        let path = format!("/git/team/shop.git/{upload}");
        let told = ask(ground.address, method, &path, &writer, ("", b"")).await;
        assert_eq!(status(&told), "405", "{method}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_read_cannot_tell_what_is_there() {
    let ground = made().await;
    let stranger = format!("ann:{STRANGER}");
    let key = format!("deploy-key:{}", password(1));
    for login in [stranger.as_str(), "ann:wrong", "", "deploy-key:wrong", "deploy-key:"] {
        for service in ["git-upload-pack", "git-receive-pack"] {
            let path = |name: &str| format!("/git/team/{name}.git/info/refs?service={service}");
            let there = ask(ground.address, "GET", &path("shop"), login, ("", b"")).await;
            let gone = ask(ground.address, "GET", &path("gone"), login, ("", b"")).await;
            assert_eq!(face(&there), face(&gone), "{login} {service}");
            let want = if login == stranger { "404" } else { "401" };
            assert_eq!(status(&there), want, "{login} {service}: {there}");
            let asks = there.to_ascii_lowercase().contains("www-authenticate: basic realm=");
            assert_eq!(asks, want == "401", "{there}");
        }
    }
    let path = "/git/team/gone.git/info/refs?service=git-upload-pack";
    assert_eq!(status(&ask(ground.address, "GET", path, &key, ("", b"")).await), "401");
    let push = "/git/team/shop.git/info/refs?service=git-receive-pack";
    assert_eq!(status(&ask(ground.address, "GET", push, &key, ("", b"")).await), "403");
    assert_eq!(status(&ask(ground.address, "GET", push, &format!("x:{READER}"), ("", b"")).await), "403");
    // The push itself is judged as well, whatever was said before.
    let head = "Content-Type: application/x-git-receive-pack-request\r\nContent-Length: 4\r\n";
    let path = "/git/team/shop.git/git-receive-pack";
    assert_eq!(status(&ask(ground.address, "POST", path, &key, (head, b"0000")).await), "403");
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_too_much_or_no_good_are_refused_and_leave_nothing() {
    let ground = made().await;
    let writer = format!("ann:{WRITER}");
    let push = "/git/team/shop.git/git-receive-pack";
    let fetch = "/git/team/shop.git/git-upload-pack";
    let kind = |service: &str| format!("Content-Type: application/x-git-{service}-request\r\n");
    let (pushes, fetches) = (kind("receive-pack"), kind("upload-pack"));
    let sized =
        |head: &str, bytes: &[u8]| (format!("{head}Content-Length: {}\r\n", bytes.len()), bytes.to_vec());
    let packed = |bytes: &[u8]| {
        let mut pack = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        pack.write_all(bytes).expect("it is packed");
        pack.finish().expect("it is packed")
    };
    let chunked = |bytes: &[u8]| {
        let mut all = format!("{:x}\r\n", bytes.len()).into_bytes();
        all.extend(bytes);
        all.extend(b"\r\n0\r\n\r\n");
        all
    };
    let gzip = format!("{pushes}Content-Encoding: gzip\r\n");
    let bomb = packed(&vec![b'0'; 200 << 20]);
    let big = vec![b'0'; 2 << 20];
    let table = [
        (push, sized(&pushes, &big), "413"),
        (push, (format!("{pushes}Content-Length: 99999999999\r\n"), Vec::new()), "413"),
        (push, sized(&gzip, &bomb), "413"),
        (push, sized(&gzip, b"no gzip at all"), "400"),
        (push, sized(&format!("{pushes}Content-Encoding: br\r\n"), b"x"), "415"),
        (push, sized("Content-Type: text/plain\r\n", b"x"), "415"),
        (push, sized(&fetches, b"0000"), "415"),
        (push, (format!("{pushes}Transfer-Encoding: chunked\r\n"), chunked(&vec![b'z'; 1 << 10])), "200"),
        (fetch, sized(&fetches, &vec![b'0'; 100 << 10]), "413"),
        (fetch, sized(&fetches, b"0032want 0000000000000000000000000000000000000000\n00000009done\n"), "200"),
        (fetch, sized(&fetches, b"zzzz"), "200"),
    ];
    for (row, (path, (head, body), want)) in table.into_iter().enumerate() {
        let told = ask(ground.address, "POST", path, &writer, (&head, &body)).await;
        assert_eq!(status(&told), want, "row {row}: {told:.300}");
    }
    let zero = "0".repeat(40);
    let line = format!("{zero} {} refs/heads/evil\0report-status", "1".repeat(40));
    let mut garbage = format!("{:04x}{line}0000", line.len() + 4).into_bytes();
    garbage.extend(b"PACK\0\0\0\x02\0\0\0\x01garbage and no end");
    let (head, body) = sized(&pushes, &garbage);
    let told = ask(ground.address, "POST", push, &writer, (&head, &body)).await;
    assert!(told.contains("unpack ") && !told.contains("unpack ok"), "{told}");
    assert_eq!(ground.local.read(&here("shop"), "evil", &[]).await, Ok(None));
    let seen = ground.local.read(&here("shop"), "main", &[""]).await.expect("it is read").expect("a branch");
    assert_eq!(seen.files.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_and_settings_that_lie_there_are_not_run() {
    let ground = made().await;
    let (place, scratch) = (here("shop"), ground.scratch());
    let bare = ground.home.path().join("git/team/shop.git");
    let (hook, trace) = (bare.join("hooks/pre-receive"), ground.home.path().join("ran"));
    std::fs::create_dir_all(bare.join("hooks")).expect("a directory");
    std::fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", trace.display())).expect("a hook");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, mode).expect("it can be run");
    let clone = crate::ground::cloned(scratch.path(), &ground.url(&place, &format!("ann:{WRITER}"))).await;
    let (pushed, words) = crate::ground::push(&clone, "b", "1").await;
    assert!(pushed, "{words}");
    assert!(!trace.exists(), "a hook was run");
    let (forged, words) = git(&clone, &["push", "-q", "origin", ":main"]).await;
    assert!(!forged, "the default branch stays: {words}");
}

/// How many processes of git speak over HTTP for a repository.
fn speaking(directory: &std::path::Path) -> usize {
    let wanted = directory.to_str().expect("a plain path");
    let all = std::fs::read_dir("/proc").expect("a list of processes").flatten();
    all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| {
            let line = String::from_utf8_lossy(line);
            line.contains("stateless-rpc") && line.contains(wanted)
        })
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn git_ends_when_the_client_goes() {
    let ground = made().await;
    let bare = ground.home.path().join("git/team/shop.git");
    let login = base64::engine::general_purpose::STANDARD.encode(format!("ann:{WRITER}"));
    let mut streams = Vec::new();
    for service in ["receive-pack", "upload-pack"] {
        let head = format!(
            "POST /git/team/shop.git/git-{service} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {login}\r\n\
             Content-Type: application/x-git-{service}-request\r\nContent-Length: 1000\r\n\r\n00"
        );
        let mut stream = TcpStream::connect(ground.address).await.expect("somebody listens");
        stream.write_all(head.as_bytes()).await.expect("it is sent");
        streams.push(stream);
    }
    let until = |want: bool| {
        let bare = bare.clone();
        async move {
            let end = std::time::Instant::now() + Duration::from_secs(15);
            while (speaking(&bare) > 0) != want {
                assert!(std::time::Instant::now() < end, "{} processes", speaking(&bare));
                tokio::task::yield_now().await;
            }
        }
    };
    until(true).await;
    drop(streams);
    until(false).await;
}
