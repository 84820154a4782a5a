//! Somebody between our clients and the server who hears every request, can answer in the server's place, and can spoil its
//! answers. The request goes on as it came, so that its signature holds.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

/// A request that was heard.
#[derive(Clone, Debug)]
pub struct Heard {
    /// What is asked: `GetQueueUrl`.
    pub action: String,
    /// With whose key it is signed.
    pub key: String,
    /// Head and body, as they came.
    pub text: String,
}

/// What is done to a request.
#[derive(Clone)]
pub enum Fate {
    /// It is answered so, and never reaches the server.
    Answer { status: u16, headers: String, body: String },
    /// Nobody answers.
    Silence,
    /// The server does it, and its answer ends in the middle.
    Half,
    /// The server does it when there is a permit.
    Held(Arc<Semaphore>),
    /// The server does it, and this is made of the body of its answer.
    Altered(fn(&str) -> String),
}

type Rule = Box<dyn Fn(&Heard) -> Option<Fate> + Send + Sync>;

struct Shared {
    server: String,
    heard: Mutex<Vec<Heard>>,
    rule: Mutex<Option<Rule>>,
    busy: AtomicUsize,
    most: AtomicUsize,
}

/// Where the server is reached through somebody.
pub struct Proxy {
    pub endpoint: String,
    port: u16,
    shared: Arc<Shared>,
    task: Mutex<Option<AbortHandle>>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.close();
    }
}

impl Proxy {
    /// In front of the server that listens there.
    pub async fn new(server: &str) -> Self {
        let shared = Arc::new(Shared {
            server: server.trim_start_matches("http://").to_owned(),
            heard: Mutex::default(),
            rule: Mutex::default(),
            busy: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        });
        let door = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = door.local_addr().expect("an address").port();
        let proxy =
            Self { endpoint: format!("http://127.0.0.1:{port}"), port, shared, task: Mutex::default() };
        proxy.serve(door);
        proxy
    }

    /// Decides the fate of every request from now on; the last rule counts.
    pub fn rule(&self, rule: impl Fn(&Heard) -> Option<Fate> + Send + Sync + 'static) {
        *self.shared.rule.lock() = Some(Box::new(rule));
    }

    /// Lets every request through from now on.
    pub fn relent(&self) {
        *self.shared.rule.lock() = None;
    }

    /// What was heard since this was asked last.
    pub fn take(&self) -> Vec<Heard> {
        std::mem::take(&mut self.shared.heard.lock())
    }

    /// What was heard so far.
    pub fn heard(&self) -> Vec<Heard> {
        self.shared.heard.lock().clone()
    }

    /// How many requests of services are under way.
    pub fn busy(&self) -> usize {
        self.shared.busy.load(Ordering::SeqCst)
    }

    /// How many were, at most.
    pub fn most(&self) -> usize {
        self.shared.most.load(Ordering::SeqCst)
    }

    /// Nobody listens any more.
    pub fn close(&self) {
        if let Some(task) = self.task.lock().take() {
            task.abort();
        }
    }

    /// Somebody listens again, at the same place.
    pub async fn open(&self) {
        let door = TcpListener::bind(("127.0.0.1", self.port)).await.expect("the same port");
        self.serve(door);
    }

    fn serve(&self, door: TcpListener) {
        let shared = self.shared.clone();
        let task = tokio::spawn(async move {
            while let Ok((near, _)) = door.accept().await {
                let shared = shared.clone();
                // An end of either side is the end of the line.
                tokio::spawn(async move { carry(near, &shared).await });
            }
        });
        *self.task.lock() = Some(task.abort_handle());
    }
}

/// One request and its answer; the line ends with it.
async fn carry(mut near: TcpStream, shared: &Shared) -> io::Result<()> {
    near.set_nodelay(true)?;
    let mut request = Vec::new();
    let Some(head) = read_request(&mut near, &mut request).await? else { return Ok(()) };
    let heard = understood(&request);
    shared.heard.lock().push(heard.clone());
    let fate = shared.rule.lock().as_ref().and_then(|rule| rule(&heard));
    let busy = shared.busy.fetch_add(1, Ordering::SeqCst) + 1;
    shared.most.fetch_max(busy, Ordering::SeqCst);
    let answer = answered(&request, head, shared, fate.as_ref()).await;
    shared.busy.fetch_sub(1, Ordering::SeqCst);
    match fate {
        Some(Fate::Silence) => {
            // Until the other side has had enough.
            let mut rest = [0; 64];
            while near.read(&mut rest).await? > 0 {}
        }
        Some(Fate::Half) => {
            let answer = answer?;
            let body = answer.windows(4).position(|end| end == b"\r\n\r\n").map_or(0, |at| at + 4);
            near.write_all(&answer[..body + (answer.len() - body) / 2]).await?;
        }
        Some(Fate::Altered(alter)) => {
            near.write_all(altered(&answer?, alter).as_bytes()).await?;
        }
        Some(Fate::Answer { .. } | Fate::Held(_)) | None => near.write_all(&answer?).await?,
    }
    near.shutdown().await
}

fn altered(answer: &[u8], alter: fn(&str) -> String) -> String {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let body = alter(body);
    let kept = head.split("\r\n").filter(|line| !line.to_lowercase().starts_with("content-length"));
    format!("{}\r\nContent-Length: {}\r\n\r\n{body}", kept.collect::<Vec<_>>().join("\r\n"), body.len())
}

async fn answered(request: &[u8], head: usize, shared: &Shared, fate: Option<&Fate>) -> io::Result<Vec<u8>> {
    match fate {
        Some(Fate::Silence) => return Ok(Vec::new()),
        Some(Fate::Answer { status, headers, body }) => {
            let length = body.len();
            let text = format!(
                "HTTP/1.1 {status} Said\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
            return Ok(text.into_bytes());
        }
        Some(Fate::Held(permits)) => permits.acquire().await.map_err(io::Error::other)?.forget(),
        Some(Fate::Half | Fate::Altered(_)) | None => {}
    }
    let mut far = TcpStream::connect(&shared.server).await?;
    // The line is asked to end after the answer, on both sides; nothing else is touched.
    let begin = request.windows(2).position(|end| end == b"\r\n").map_or(0, |at| at + 2);
    far.write_all(&request[..begin]).await?;
    far.write_all(b"Connection: close\r\n").await?;
    far.write_all(&request[begin..head]).await?;
    far.write_all(&request[head..]).await?;
    let mut answer = Vec::new();
    far.read_to_end(&mut answer).await?;
    Ok(answer)
}

/// Reads one request whole, and says where its body begins. Nothing, if the other side had nothing to say.
async fn read_request(near: &mut TcpStream, request: &mut Vec<u8>) -> io::Result<Option<usize>> {
    let head = loop {
        if let Some(at) = request.windows(4).position(|end| end == b"\r\n\r\n") {
            break at + 4;
        }
        if near.read_buf(request).await? == 0 {
            return Ok(None);
        }
    };
    let text = String::from_utf8_lossy(&request[..head]).to_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or_default();
    while request.len() < head + length {
        if near.read_buf(request).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(head))
}

fn understood(request: &[u8]) -> Heard {
    let text = String::from_utf8_lossy(request).into_owned();
    let header = |name: &str| {
        text.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let target = header("x-amz-target").and_then(|target| target.rsplit('.').next().map(str::to_owned));
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let action = body.split('&').find_map(|pair| pair.strip_prefix("Action=")).map(str::to_owned);
    let key = header("authorization").and_then(|signed| {
        let (_, rest) = signed.split_once("Credential=")?;
        rest.split('/').next().map(str::to_owned)
    });
    Heard { action: target.or(action).unwrap_or_default(), key: key.unwrap_or_default(), text }
}
