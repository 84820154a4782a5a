//! An agent in miniature: every request by itself, as the newest protocol has it, and every byte of the answer in sight.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::platform::Platform;

/// The protocol that is spoken.
pub const VERSION: &str = "2026-07-28";
/// Whoever waits so long for an answer has been dropped.
const PATIENCE: Duration = Duration::from_secs(60);

/// An agent with a token, or without one.
#[derive(Clone)]
pub struct Agent {
    address: SocketAddr,
    token: Option<String>,
    /// Whether its client can ask a person.
    pub asks: bool,
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Answer {
    pub code: u16,
    pub body: Value,
}

impl Answer {
    /// What a tool answered, or the words in which it refused.
    pub fn tool(&self) -> Result<Value, String> {
        let result = &self.body["result"];
        let words = || result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        match (&self.body["error"]["message"], result["isError"].as_bool()) {
            (Value::String(message), _) => Err(message.clone()),
            (_, Some(true)) => Err(words()),
            _ if self.code != 200 => Err(format!("{} {}", self.code, self.body)),
            _ if result["resultType"] == "input_required" => Ok(result.clone()),
            _ => Ok(result["structuredContent"].clone()),
        }
    }
}

impl Agent {
    /// An agent of a platform.
    pub fn new(platform: &Platform, token: Option<&str>) -> Self {
        let address = address(platform);
        Self { address, token: token.map(str::to_owned), asks: true }
    }

    /// One whose client cannot ask anybody.
    pub fn alone(mut self) -> Self {
        self.asks = false;
        self
    }

    /// Calls a tool.
    pub fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.request("tools/call", Some(tool), json!({ "name": tool, "arguments": arguments }))
    }

    /// Calls a tool that has to answer.
    #[track_caller]
    pub fn done(&self, tool: &str, arguments: Value) -> Value {
        self.call(tool, arguments).tool().unwrap_or_else(|error| panic!("{tool}: {error}"))
    }

    /// Calls a tool that has to refuse, and gives its words.
    #[track_caller]
    pub fn refused(&self, tool: &str, arguments: Value) -> String {
        match self.call(tool, arguments).tool() {
            Err(words) => words,
            Ok(answer) => panic!("{tool} was not refused: {answer}"),
        }
    }

    /// Begins a session.
    #[track_caller]
    pub fn register(&self) -> String {
        self.done("register", json!({}))["session_id"].as_str().expect("it has an id").to_owned()
    }

    /// Reads a resource.
    pub fn read(&self, uri: &str) -> Answer {
        self.request("resources/read", Some(uri), json!({ "uri": uri }))
    }

    /// One request of the protocol.
    pub fn request(&self, method: &str, name: Option<&str>, mut params: Value) -> Answer {
        let able = if self.asks { json!({ "elicitation": { "form": {}, "url": {} } }) } else { json!({}) };
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": { "name": "tester", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": able,
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let mut head = format!("MCP-Protocol-Version: {VERSION}\r\nMcp-Method: {method}\r\n");
        if let Some(name) = name {
            head.push_str(&format!("Mcp-Name: {name}\r\n"));
        }
        head.push_str("Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n");
        self.http("POST", "/mcp", &head, body.as_bytes())
    }

    /// One request of HTTP, on a connection of its own.
    pub fn http(&self, method: &str, path: &str, head: &str, body: &[u8]) -> Answer {
        let mut socket = TcpStream::connect_timeout(&self.address, PATIENCE).expect("the door is open");
        socket.set_read_timeout(Some(PATIENCE)).expect("it can be set");
        let token = self.token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n"));
        let (address, length) = (self.address, body.len());
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n{head}{}\r\n",
            token.unwrap_or_default()
        );
        socket.write_all(text.as_bytes()).expect("it listens");
        // A server that refuses early may not read all of it.
        let _ = socket.write_all(body);
        let mut bytes = Vec::new();
        let _ = socket.read_to_end(&mut bytes);
        parsed(&bytes)
    }
}

/// Where agents connect.
pub fn address(platform: &Platform) -> SocketAddr {
    let text = std::fs::read_to_string(platform.data().join("agents-address")).expect("it is written down");
    text.trim().trim_start_matches("http://").parse().expect("it is an address")
}

/// A token, made by whoever may.
#[track_caller]
pub fn token(platform: &Platform, name: &str, options: &[&str]) -> String {
    let output = platform
        .command(env!("CARGO_BIN_EXE_terrace"))
        .args(["token", "create", name])
        .args(options)
        .output()
        .expect("the binary is there");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "terrace token create {name}: {words}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn parsed(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
    let body = if head.to_lowercase().contains("transfer-encoding: chunked") {
        unchunked(body)
    } else {
        body.into()
    };
    // A stream of events ends with the answer.
    let last = body.lines().filter_map(|line| line.strip_prefix("data: ")).rfind(|data| !data.is_empty());
    let told = last.map_or(body.as_str(), |data| data);
    let body = serde_json::from_str(told).unwrap_or_else(|_| Value::String(body.clone()));
    Answer { code, body }
}

fn unchunked(body: &str) -> String {
    let (mut whole, mut rest) = (String::new(), body);
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or_default();
        if size == 0 || after.len() < size {
            whole.push_str(if size == 0 { "" } else { after });
            break;
        }
        whole.push_str(&after[..size]);
        rest = after[size..].trim_start_matches("\r\n");
    }
    whole
}
