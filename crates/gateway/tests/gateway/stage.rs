//! What every scene needs: a gateway at a free port, backends that follow a script, and a client that hides nothing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gateway::{Doors, Gateway, Route, Settings, Table};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Nothing here takes this long; whoever waits longer waits for what never comes.
pub const DEADLINE: Duration = Duration::from_secs(20);

pub async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

/// Waits until something can be seen.
pub async fn until(what: &str, seen: impl Fn() -> bool) {
    let mut look = tokio::time::interval(Duration::from_millis(2));
    let looking = async {
        while !seen() {
            look.tick().await;
        }
    };
    tokio::time::timeout(DEADLINE, looking).await.unwrap_or_else(|_| panic!("never seen: {what}"));
}

/// A gateway that serves plain http.
pub struct Stage {
    pub gateway: Gateway,
    pub address: SocketAddr,
    pub stop: CancellationToken,
    pub serving: JoinHandle<()>,
    _end: DropGuard,
}

impl Stage {
    pub async fn new(settings: Settings) -> Self {
        let (listener, address) = listener().await;
        let (gateway, stop) = (Gateway::new(settings), CancellationToken::new());
        let (served, until) = (gateway.clone(), stop.clone());
        let serving = tokio::spawn(async move { served.serve_http(listener, until).await });
        Self { gateway, address, serving, _end: stop.clone().drop_guard(), stop }
    }

    /// With `shop.test` at these backends.
    pub async fn shop(backends: &[SocketAddr]) -> Self {
        let stage = Self::new(Settings::default()).await;
        stage.follow(backends);
        stage
    }

    pub fn follow(&self, backends: &[SocketAddr]) {
        self.gateway.follow(table(vec![route("shop.test", backends)]));
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n")).await
    }

    /// Sends these bytes and reads to the end of the connection.
    pub async fn ask(&self, request: &str) -> Answer {
        Answer::from(exchange(self.address, request).await)
    }
}

pub fn route(host: &str, backends: &[SocketAddr]) -> Route {
    Route {
        host: host.to_owned(),
        path_prefix: String::new(),
        exact: false,
        priority: 0,
        doors: Doors::BOTH,
        backends: backends.to_vec(),
        name: format!("demo/{}", host.split('.').next().unwrap_or_default()),
    }
}

pub fn table(routes: Vec<Route>) -> Table {
    Table { routes, certificates: Default::default() }
}

pub async fn exchange(address: SocketAddr, request: &str) -> String {
    let talk = async {
        let mut socket = TcpStream::connect(address).await.expect("a connection");
        socket.write_all(request.as_bytes()).await.expect("the request goes out");
        read_all(&mut socket).await
    };
    tokio::time::timeout(DEADLINE, talk).await.unwrap_or_else(|_| panic!("no end of the answer to {request}"))
}

/// Everything until the end, also when that is a reset.
pub async fn read_all(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = socket.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads until `end` has come.
pub async fn read_until(socket: &mut TcpStream, end: &str) -> String {
    let reading = async {
        let mut text = String::new();
        while !text.contains(end) {
            let mut bytes = [0; 4096];
            let count = socket.read(&mut bytes).await.expect("more bytes");
            assert!(count > 0, "the end came before {end:?} after {text:?}");
            text.push_str(&String::from_utf8_lossy(&bytes[..count]));
            assert!(!text.contains("Terrace: "), "the gateway had to answer itself: {text}");
        }
        text
    };
    tokio::time::timeout(DEADLINE, reading).await.unwrap_or_else(|_| panic!("{end:?} never came"))
}

/// What came back, taken apart.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        Self { status, head: head.to_lowercase(), body: body.to_owned() }
    }
}

/// What a backend does with its connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Stay,
    /// Closes without a word.
    Close,
    /// Closes so that the other side sees a reset.
    Reset,
}

/// A backend that answers each request with what its script says.
pub struct Backend {
    pub address: SocketAddr,
    pub connections: Arc<AtomicUsize>,
    pub open: Arc<AtomicUsize>,
    pub requests: Arc<AtomicUsize>,
    listening: JoinHandle<()>,
}

impl Backend {
    /// Answers every request with a name.
    pub async fn named(name: &'static str) -> Self {
        Self::new(move |_, _| (text(name), Then::Stay)).await
    }

    /// The script gets the head with the body, and the number of the request on its connection.
    pub async fn new(script: impl Fn(&str, usize) -> (String, Then) + Send + Sync + 'static) -> Self {
        let (listener, address) = listener().await;
        Self::at(listener, address, script)
    }

    pub fn at(
        listener: TcpListener,
        address: SocketAddr,
        script: impl Fn(&str, usize) -> (String, Then) + Send + Sync + 'static,
    ) -> Self {
        let script = Arc::new(script);
        let counters: [Arc<AtomicUsize>; 3] = Default::default();
        let [connections, open, requests] = counters.clone();
        let listening = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                counters[0].fetch_add(1, Ordering::SeqCst);
                counters[1].fetch_add(1, Ordering::SeqCst);
                let (script, open, requests) = (script.clone(), counters[1].clone(), counters[2].clone());
                tokio::spawn(async move {
                    perform(socket, &*script, &requests).await;
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, connections, open, requests, listening }
    }

    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Accepts no more; connections that exist go on.
    pub fn stop_listening(&self) {
        self.listening.abort();
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn perform(
    mut socket: TcpStream,
    script: &(impl Fn(&str, usize) -> (String, Then) + ?Sized),
    requests: &AtomicUsize,
) {
    let _ = socket.set_nodelay(true);
    let mut number = 0;
    let mut pending = Vec::new();
    while let Some(request) = next_request(&mut socket, &mut pending).await {
        requests.fetch_add(1, Ordering::SeqCst);
        let (answer, then) = script(&request, number);
        number += 1;
        if socket.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
        if then == Then::Reset {
            let _ = socket.set_zero_linger();
        }
        if then != Then::Stay {
            return;
        }
    }
}

/// The next head with its body of known length, or in chunks.
async fn next_request(socket: &mut TcpStream, pending: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(end) = request_end(pending) {
            let request: Vec<u8> = pending.drain(..end).collect();
            return Some(String::from_utf8_lossy(&request).into_owned());
        }
        if socket.read_buf(pending).await.ok()? == 0 {
            return None;
        }
    }
}

fn request_end(pending: &[u8]) -> Option<usize> {
    let text = String::from_utf8_lossy(pending);
    let body = text.find("\r\n\r\n")? + 4;
    let head = text[..body].to_lowercase();
    if head.contains("transfer-encoding: chunked") {
        return text[body..].find("0\r\n\r\n").map(|end| body + end + 5);
    }
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    (pending.len() >= body + length).then_some(body + length)
}

/// An answer with this body.
pub fn text(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}
