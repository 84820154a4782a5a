//! A real registry on a free port, and what is pushed into it.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use ports::oci::digest_of;

/// `ann:hunter2`, as Basic has it.
const LOGIN: &str = "Basic YW5uOmh1bnRlcjI=";
/// The same, as the registry wants it: bcrypt.
const HTPASSWD: &str = "ann:$2b$04$4yexOu/qqe4hjOAYABbbxe8QNJp2IycQqDTWiZTQSDB8KJiJTk0lq\n";

/// A registry that ends with its value.
pub struct Server {
    child: Child,
    _place: tempfile::TempDir,
    pub host: String,
}

impl Server {
    /// Starts one, which wants a login or not.
    pub fn start(locked: bool) -> Self {
        let place = tempfile::TempDir::new().expect("a directory");
        let at = |name: &str| place.path().join(name).display().to_string();
        let mut config = format!(
            "version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: 127.0.0.1:0\n",
            at("data")
        );
        if locked {
            std::fs::write(at("htpasswd"), HTPASSWD).expect("a file");
            config += &format!("auth:\n  htpasswd:\n    realm: test\n    path: {}\n", at("htpasswd"));
        }
        std::fs::write(at("config.yml"), config).expect("a file");
        let mut child = Command::new(program())
            .args(["serve", &at("config.yml")])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("docker-registry starts; `scripts/ensure docker-registry` fetches it");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let host = lines.find_map(|line| {
            let line = line.ok()?;
            let rest = line.split_once("listening on ")?.1;
            Some(rest.chars().take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ':')).collect())
        });
        // Somebody has to read on, or the registry stops when the pipe is full.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, _place: place, host: host.expect("it says where it listens") }
    }

    /// Pushes a blob, and answers its digest.
    pub async fn put_blob(&self, repository: &str, bytes: &[u8]) -> String {
        let digest = digest_of(bytes);
        let start = format!("http://{}/v2/{repository}/blobs/uploads/", self.host);
        let begun = send(Method::POST, &start, "", &[]).await;
        let place = begun.headers()[LOCATION].to_str().expect("an address").to_owned();
        let place = if place.starts_with('/') { format!("http://{}{place}", self.host) } else { place };
        let join = if place.contains('?') { '&' } else { '?' };
        let end = format!("{place}{join}digest={digest}");
        let done = send(Method::PUT, &end, "application/octet-stream", bytes).await;
        assert_eq!(done.status(), 201, "the blob is taken");
        digest
    }

    /// Pushes a manifest under a tag.
    pub async fn put_manifest(&self, repository: &str, tag: &str, (kind, bytes): (&str, &[u8])) {
        let place = format!("http://{}/v2/{repository}/manifests/{tag}", self.host);
        let done = send(Method::PUT, &place, kind, bytes).await;
        assert_eq!(done.status(), 201, "the manifest is taken");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cache = std::env::var_os("TERRACE_CACHE_DIR").map_or(root.join(".cache"), PathBuf::from);
    let unpacked = cache.join("tools/docker-registry/usr/bin/docker-registry");
    if unpacked.exists() { unpacked } else { "docker-registry".into() }
}

async fn send(method: Method, place: &str, kind: &str, bytes: &[u8]) -> Response<Incoming> {
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let mut request = Request::builder().method(method).uri(place).header(AUTHORIZATION, LOGIN);
    if !kind.is_empty() {
        request = request.header(CONTENT_TYPE, kind);
    }
    let request = request.body(Full::from(bytes.to_vec())).expect("a request");
    client.request(request).await.expect("the registry answers")
}
