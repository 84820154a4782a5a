//! Static files, and what is none of a visitor's business.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;

use tempfile::TempDir;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::stage::{Answer, exchange, listener};

struct Site {
    address: SocketAddr,
    _directory: TempDir,
    _end: DropGuard,
}

impl Site {
    async fn new() -> Self {
        let directory = TempDir::new().expect("a directory");
        let root = directory.path().join("site");
        fs::create_dir_all(root.join("docs/.hidden")).expect("directories");
        let files = [
            ("index.html", "home"),
            ("a b.txt", "spaced"),
            ("docs/index.html", "docs"),
            ("docs/style.css", "0123456789"),
            (".env", "secret"),
            ("docs/.hidden/x", "secret"),
            ("empty.txt", ""),
        ];
        for (name, content) in files {
            fs::write(root.join(name), content).expect("a file");
        }
        fs::write(root.join("big.bin"), vec![b'x'; 300_000]).expect("a file");
        fs::write(directory.path().join("outside.txt"), "secret").expect("a file");
        fs::create_dir(directory.path().join("site-twin")).expect("a directory");
        fs::write(directory.path().join("site-twin/x.txt"), "secret").expect("a file");
        symlink("docs/style.css", root.join("inner.css")).expect("a link");
        symlink("../outside.txt", root.join("outer.txt")).expect("a link");
        symlink("/etc/passwd", root.join("absolute.txt")).expect("a link");
        symlink("..", root.join("up")).expect("a link");
        symlink("loop", root.join("loop")).expect("a link");
        let (listener, address) = listener().await;
        let stop = CancellationToken::new();
        let until = stop.clone();
        tokio::spawn(
            async move { gateway::files::serve(&root, listener, until).await.expect("a directory") },
        );
        Self { address, _directory: directory, _end: stop.drop_guard() }
    }

    async fn ask(&self, method: &str, path: &str, headers: &str) -> Answer {
        let request = format!("{method} {path} HTTP/1.1\r\nHost: x\r\n{headers}Connection: close\r\n\r\n");
        Answer::from(exchange(self.address, &request).await)
    }
}

#[tokio::test]
async fn only_what_lies_in_the_tree_is_shown() {
    let site = Site::new().await;
    let table = [
        ("/", 200, "home"),
        ("/index.html", 200, "home"),
        ("/?x=y", 200, "home"),
        ("/a%20b.txt", 200, "spaced"),
        ("/docs/", 200, "docs"),
        ("/docs", 308, ""),
        ("//docs", 308, ""),
        ("/inner.css", 200, "0123456789"),
        ("/empty.txt", 200, ""),
        ("/index.html/", 404, ""),
        ("/missing", 404, ""),
        ("/.env", 404, ""),
        ("/%2eenv", 404, ""),
        ("/docs/.hidden/x", 404, ""),
        ("/outer.txt", 404, ""),
        ("/absolute.txt", 404, ""),
        ("/up/outside.txt", 404, ""),
        ("/up/site-twin/x.txt", 404, ""),
        ("/loop", 404, ""),
        ("/../outside.txt", 404, ""),
        ("/docs/../../outside.txt", 404, ""),
        ("/%2e%2e/outside.txt", 404, ""),
        ("/..%2foutside.txt", 404, ""),
        ("/docs%2f..%2f..%2foutside.txt", 404, ""),
        ("/index.html%00.txt", 404, ""),
    ];
    for (path, status, body) in table {
        let answer = site.ask("GET", path, "").await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert!(!answer.body.contains("secret") && !answer.body.contains("root:"), "{path}: {answer:?}");
        if status == 200 {
            assert_eq!(answer.body, body, "{path}");
        }
    }
    let to = site.ask("GET", "//docs?a=b", "").await;
    assert!(to.head.contains("location: /docs/?a=b"), "never to another host: {to:?}");
    let post = site.ask("POST", "/", "Content-Length: 0\r\n").await;
    assert_eq!(post.status, 405, "{post:?}");
    assert!(post.head.contains("allow: get, head"), "{post:?}");
}

#[tokio::test]
async fn parts_and_known_files_are_answered_shortly() {
    let site = Site::new().await;
    let whole = site.ask("GET", "/docs/style.css", "").await;
    assert!(whole.head.contains("content-type: text/css; charset=utf-8"), "{whole:?}");
    let header = |name: &str| {
        whole.head.lines().find_map(|line| line.strip_prefix(name)).expect("a header").to_owned()
    };
    let (etag, modified) = (header("etag: "), header("last-modified: "));
    let date = |text: &str| text.split(' ').map(capital).collect::<Vec<_>>().join(" ");
    let modified = date(&modified);
    let table = [
        (format!("If-None-Match: {etag}\r\n"), 304, ""),
        (format!("If-None-Match: \"x\", W/{etag}\r\n"), 304, ""),
        ("If-None-Match: \"x\"\r\n".to_owned(), 200, "0123456789"),
        (format!("If-Modified-Since: {modified}\r\n"), 304, ""),
        ("If-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT\r\n".to_owned(), 200, "0123456789"),
        (format!("If-None-Match: \"x\"\r\nIf-Modified-Since: {modified}\r\n"), 200, "0123456789"),
        ("Range: bytes=2-4\r\n".to_owned(), 206, "234"),
        ("Range: bytes=-2\r\n".to_owned(), 206, "89"),
        ("Range: bytes=7-\r\n".to_owned(), 206, "789"),
        (format!("Range: bytes=2-4\r\nIf-Range: {etag}\r\n"), 206, "234"),
        ("Range: bytes=2-4\r\nIf-Range: \"old\"\r\n".to_owned(), 200, "0123456789"),
        ("Range: bytes=0-1,4-5\r\n".to_owned(), 200, "0123456789"),
        ("Range: bytes=10-\r\n".to_owned(), 416, "the file is shorter\n"),
    ];
    for (headers, status, body) in table {
        let answer = site.ask("GET", "/docs/style.css", &headers).await;
        assert_eq!((answer.status, &*answer.body), (status, body), "{headers}: {answer:?}");
    }
    let part = site.ask("GET", "/docs/style.css", "Range: bytes=2-4\r\n").await;
    assert!(
        part.head.contains("content-range: bytes 2-4/10") && part.head.contains("content-length: 3"),
        "{part:?}"
    );
}

/// The names of days, months and zones as they stood before the head was made lower case.
fn capital(word: &str) -> String {
    if word == "gmt" {
        return "GMT".to_owned();
    }
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
}

#[tokio::test]
async fn a_long_file_comes_whole_and_its_head_alone() {
    let site = Site::new().await;
    assert_eq!(site.ask("GET", "/big.bin", "").await.body.len(), 300_000);
    assert_eq!(site.ask("GET", "/big.bin", "Range: bytes=100-200099\r\n").await.body.len(), 200_000);
    let head = site.ask("HEAD", "/big.bin", "").await;
    assert_eq!((head.status, &*head.body), (200, ""));
    assert!(head.head.contains("content-length: 300000"), "{head:?}");
}

#[tokio::test]
async fn a_directory_that_is_not_there_is_an_error() {
    let (listener, _) = listener().await;
    let missing = std::path::Path::new("/nowhere/at/all");
    let outcome = gateway::files::serve(missing, listener, CancellationToken::new()).await;
    assert_eq!(outcome.expect_err("no directory").kind(), std::io::ErrorKind::NotFound);
}
