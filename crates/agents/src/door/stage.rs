//! A server at a real door, on a control plane in memory, for tests.

use std::net::SocketAddr;
use std::time::Duration;

use control_plane::ControlPlane;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, PostParams};
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Patience;
use crate::audit::{Head, Link, head_beside, verify};
use crate::identity::{Kept, NAMESPACE, Presented, Role, mint, rights};
use crate::server::{Agents, Asked, Offers, Settings};
use crate::tool::{Erased, Progress, registry};

/// How long a test waits for what must come.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// A server at a real door.
pub(crate) struct Stage {
    pub(crate) agents: Agents,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    dir: TempDir,
    _plane: ControlPlane,
    _stop: DropGuard,
}

/// What differs from stage to stage.
pub(crate) struct Setting {
    pub(crate) patience: Patience,
    pub(crate) burst: u32,
    pub(crate) role: Role,
    pub(crate) tools: Vec<Erased>,
}

impl Default for Setting {
    fn default() -> Self {
        Self { patience: Patience::default(), burst: 10_000, role: Role::Session, tools: registry::all() }
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) code: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Heard {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

impl Stage {
    pub(crate) async fn start(setting: Setting) -> Self {
        let plane = ControlPlane::start().await.expect("starts");
        let client = plane.client();
        rights::install(&client).await.expect("rights");
        let (token, digest) = mint();
        let kept =
            Kept { name: "tester".into(), role: setting.role, digest, expires: None, namespaces: vec![] };
        let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
        secrets.create(&PostParams::default(), &kept.secret()).await.expect("a token");
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a door");
        let address = listener.local_addr().expect("an address");
        let dir = TempDir::new().expect("a directory");
        let settings = Settings {
            rate: 0.5,
            burst: setting.burst,
            push_bytes: 100_000,
            push_files: 10,
            ..Settings::new(dir.path().join("audit.log"), format!("http://{address}"))
        };
        let (stop, offers) = (CancellationToken::new(), Offers { tools: setting.tools, extras: None });
        let agents = Agents::open_with(client, settings, stop.clone(), offers).await.expect("opens");
        tokio::spawn(agents.clone().serve_with(listener, setting.patience));
        let stage = Self { agents, address, token, dir, _plane: plane, _stop: stop.drop_guard() };
        let ready = async { while stage.get("/ready").await.code != 200 {} };
        tokio::time::timeout(SOON, ready).await.expect("the tokens are read");
        stage
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("connects")
    }

    /// Sends bytes, and hears everything until the server ends the connection.
    pub(crate) async fn say(&self, bytes: &[u8]) -> Heard {
        let mut stream = self.connect().await;
        // The server may answer, and end, before it has heard everything.
        let _ = stream.write_all(bytes).await;
        hear(stream).await
    }

    /// Asks without a token.
    pub(crate) async fn get(&self, path: &str) -> Heard {
        self.say(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes())
            .await
    }

    /// Asks with the token.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<(&str, &[u8])>) -> Heard {
        let token = &self.token;
        let mut text = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n"
        );
        let (kind, bytes) = body.unwrap_or_default();
        if body.is_some() {
            text.push_str(&format!("Content-Type: {kind}\r\nContent-Length: {}\r\n", bytes.len()));
        }
        text.push_str("\r\n");
        self.say(&[text.as_bytes(), bytes].concat()).await
    }

    /// A session of the token.
    pub(crate) async fn session(&self) -> String {
        let caller = self.agents.caller(&Presented::new(&self.token)).expect("the token is known");
        let asked = Asked { tool: "register".into(), arguments: Map::new(), ..Asked::default() };
        let begun = self.agents.run(&caller, asked, Progress::default()).await.expect("a session");
        begun["session_id"].as_str().expect("an id").to_owned()
    }

    /// What was written down, which verifies.
    pub(crate) fn trail(&self) -> Vec<Link> {
        let log = self.dir.path().join("audit.log");
        let head = Head::read(&head_beside(&log)).expect("readable").expect("a head");
        let text = std::fs::read_to_string(&log).expect("a trail");
        verify(text.as_bytes(), &head, None).unwrap_or_else(|finding| panic!("{finding}"));
        text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
    }
}

/// Hears everything until the server ends the connection; one that is reset has ended, too.
pub(crate) async fn hear(mut stream: TcpStream) -> Heard {
    let mut bytes = Vec::new();
    let _ = tokio::time::timeout(SOON, stream.read_to_end(&mut bytes)).await.expect("it ends");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
    Heard { code, head: head.to_owned(), body: body.to_owned() }
}
