//! What stands for AWS: a server that answers as it does, AWS's own client in Python, and the line between our client and
//! the server, on which every request is counted and can be broken.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_smithy_http_client::Builder;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use controllers::infra::Desk;
use kit::testing::{Broken, Gate};
use parking_lot::Mutex;
use ports::aws::{Aws, Settings};
use serde_json::{Value, json};

/// The region of the tests; not the one that needs no LocationConstraint.
pub const REGION: &str = "eu-central-1";
/// How long passes are waited for: less than the five minutes after which a resource is compared again.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How long the server may take to start: it loads a lot of Python.
const START: Duration = Duration::from_secs(120);

/// The server and the client beside it.
pub struct Ground {
    pub endpoint: String,
    server: Child,
    oracle: Mutex<Oracle>,
}

struct Oracle {
    child: Child,
    ask: ChildStdin,
    hear: BufReader<ChildStdout>,
}

impl Drop for Ground {
    fn drop(&mut self) {
        for child in [&mut self.server, &mut self.oracle.get_mut().child] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Ground {
    /// Starts both.
    pub fn new() -> Self {
        let bin = cache().join("moto/bin");
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
        let mut server = Command::new(bin.join("moto_server"));
        server.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        // It would show everybody the buckets of all accounts.
        server.env("MOTO_S3_ALLOW_CROSSACCOUNT_ACCESS", "false");
        // It must not find credentials or another server in our environment.
        server.env("MOTO_ALLOW_NONEXISTENT_REGION", "false").stdout(Stdio::null()).stderr(Stdio::null());
        let server = server
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}; `scripts/ensure moto` installs it", bin.display()));
        let endpoint = format!("http://127.0.0.1:{port}");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/aws/oracle.py");
        let mut oracle = Command::new(bin.join("python"));
        oracle.arg(script).arg(&endpoint).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = oracle.spawn().expect("AWS's own client starts");
        let (ask, hear) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let oracle = Mutex::new(Oracle { child, ask, hear: BufReader::new(hear) });
        let mut ground = Self { endpoint, server, oracle };
        ground.wait(port);
        ground
    }

    fn wait(&mut self, port: u16) {
        let begun = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < START, "the server does not answer");
            if let Ok(Some(ended)) = self.server.try_wait() {
                panic!("the server ended: {ended}");
            }
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }

    /// Forgets everything that anybody made.
    pub fn reset(&self) {
        let mut line =
            std::net::TcpStream::connect(self.endpoint.trim_start_matches("http://")).expect("it listens");
        let request = "POST /moto-api/reset HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        line.write_all(request.as_bytes()).expect("it hears");
        let mut answer = String::new();
        std::io::Read::read_to_string(&mut line, &mut answer).expect("it answers");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// Asks AWS's own client; an error is its code.
    pub fn try_ask(&self, service: &str, call: &str, args: Value) -> Result<Value, String> {
        let mut oracle = self.oracle.lock();
        let asked = json!({ "service": service, "region": REGION, "call": call, "args": args });
        writeln!(oracle.ask, "{asked}").expect("it hears");
        let mut line = String::new();
        oracle.hear.read_line(&mut line).expect("it answers");
        let said: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{call} {asked}: {error}: {line:?}"));
        match said.get("error") {
            Some(code) => Err(code.as_str().unwrap_or_default().to_owned()),
            None => Ok(said["answer"].clone()),
        }
    }

    /// Asks AWS's own client for something that it must be able to answer.
    pub fn ask(&self, service: &str, call: &str, args: Value) -> Value {
        self.try_ask(service, call, args.clone())
            .unwrap_or_else(|code| panic!("{service} {call} {args}: {code}"))
    }

    /// A desk whose requests go through a gate, each tried once.
    pub fn desk(&self, gate: &Gate) -> Desk {
        self.desk_over(gate, |inner| inner)
    }

    /// The same, where somebody stands between the gate and the server.
    pub fn desk_over(
        &self,
        gate: &Gate,
        over: impl Fn(SharedHttpConnector) -> SharedHttpConnector + Send + Sync + 'static,
    ) -> Desk {
        let settings = Settings { attempts: 1, http: Some(gated(gate, over)), ..Settings::default() };
        Desk::new(Arc::new(Aws::new(settings)))
    }

    /// A Secret and a provider in `default` that is ready.
    pub fn provider(&self) -> [Value; 2] {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "aws", "namespace": "default" },
            "stringData": { "accessKeyID": "AKIAEXAMPLE", "secretAccessKey": "not-a-secret" },
        });
        let provider = json!({
            "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": "AWSProvider",
            "metadata": { "name": "dev", "namespace": "default" },
            "spec": {
                "region": REGION, "endpoint": self.endpoint, "credentialsSecret": { "name": "aws" },
                "defaultTags": { "team": "shop" },
            },
            "status": { "ready": true, "accountID": "123456789012" },
        });
        [secret, provider]
    }
}

/// Where `scripts/ensure` puts what tests need.
fn cache() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache");
    std::env::var_os("TERRACE_CACHE_DIR").map_or_else(beside, PathBuf::from)
}

/// An HTTP client whose requests go through a gate.
fn gated(
    gate: &Gate,
    over: impl Fn(SharedHttpConnector) -> SharedHttpConnector + Send + Sync + 'static,
) -> SharedHttpClient {
    let (gate, inner) = (gate.clone(), Builder::new().build_http());
    http_client_fn(move |settings, components| {
        let inner = over(inner.http_connector(settings, components));
        SharedHttpConnector::new(Line { gate: gate.clone(), inner })
    })
}

struct Line {
    gate: Gate,
    inner: SharedHttpConnector,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a line with a gate")
    }
}

impl HttpConnector for Line {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (what, writes) = told(&request);
        let (gate, asked) = (self.gate.clone(), self.inner.call(request));
        HttpConnectorFuture::new(async move {
            let answer = match writes {
                true => gate.write(what, asked).await,
                false => gate.read(what, asked).await,
            };
            match answer {
                Ok(answer) => answer,
                Err(Broken::Failed) => Err(ConnectorError::io(Broken::Failed.into())),
                Err(Broken::TimedOut) => Err(ConnectorError::timeout(Broken::TimedOut.into())),
            }
        })
    }
}

/// What a request asks for, and whether it changes anything.
fn told(request: &HttpRequest) -> (String, bool) {
    let reads =
        |action: &str| ["Get", "List", "Describe", "AssumeRole"].iter().any(|word| action.starts_with(word));
    if let Some(target) = request.headers().get("x-amz-target") {
        let action = target.rsplit('.').next().unwrap_or_default();
        return (action.to_owned(), !reads(action));
    }
    let body = request.body().bytes().map(String::from_utf8_lossy).unwrap_or_default();
    if let Some(action) = body.split('&').find_map(|pair| pair.strip_prefix("Action=")) {
        return (action.to_owned(), !reads(action));
    }
    let uri = request.uri().trim_start_matches("http://");
    let path = uri.split_once('/').map_or("", |(_, path)| path);
    (format!("{} /{path}", request.method()), !["GET", "HEAD"].contains(&request.method()))
}
