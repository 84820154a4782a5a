//! A server that answers as AWS does, and AWS's own client in Python beside it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The region of the tests; not the one that needs no LocationConstraint.
pub const REGION: &str = "eu-central-1";
/// How long the server may take to start: it loads a lot of Python.
const START: Duration = Duration::from_secs(120);

/// The server and the client beside it; both are ended when it is dropped.
pub struct Moto {
    /// Where the server listens.
    pub endpoint: String,
    server: Child,
    oracle: Mutex<Oracle>,
}

struct Oracle {
    child: Child,
    ask: ChildStdin,
    hear: BufReader<ChildStdout>,
}

impl Drop for Moto {
    fn drop(&mut self) {
        let oracle = self.oracle.get_mut().unwrap_or_else(PoisonError::into_inner);
        for child in [&mut self.server, &mut oracle.child] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Moto {
    /// Starts both, with more in the server's environment.
    pub fn start(environment: &[(&str, &str)]) -> Self {
        let bin = cache().join("moto/bin");
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
        let script = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/aws").join(name);
        let mut server = Command::new(bin.join("python"));
        server.arg(script("server.py")).args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        server.envs(environment.iter().copied()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = server
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}; `scripts/ensure moto` installs it", bin.display()));
        let endpoint = format!("http://127.0.0.1:{port}");
        let mut oracle = Command::new(bin.join("python"));
        oracle.arg(script("oracle.py")).arg(&endpoint).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = oracle.spawn().expect("AWS's own client starts");
        let (ask, hear) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let oracle = Mutex::new(Oracle { child, ask, hear: BufReader::new(hear) });
        let mut moto = Self { endpoint, server, oracle };
        moto.wait(port);
        moto
    }

    fn wait(&mut self, port: u16) {
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < START, "the server does not answer");
            if let Ok(Some(ended)) = self.server.try_wait() {
                panic!("the server ended: {ended}");
            }
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }

    /// Asks the server for something that is its own: to forget everything (`reset`), to check signatures (`reset-auth`).
    pub fn command(&self, path: &str, body: &str) {
        let mut line = TcpStream::connect(self.endpoint.trim_start_matches("http://")).expect("it listens");
        let length = body.len();
        let request = format!(
            "POST /moto-api/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        line.write_all(request.as_bytes()).expect("it hears");
        let mut answer = String::new();
        line.read_to_string(&mut answer).expect("it answers");
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }

    /// Asks AWS's own client; an error is its code.
    pub fn try_ask(&self, service: &str, call: &str, args: Value) -> Result<Value, String> {
        let mut oracle = self.oracle.lock().unwrap_or_else(PoisonError::into_inner);
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
}

/// Where `scripts/ensure` puts what tests need.
fn cache() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache");
    std::env::var_os("TERRACE_CACHE_DIR").map_or_else(beside, PathBuf::from)
}
