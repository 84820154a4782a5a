//! An agent over HTTP, in the words of 2026-07-28: no greeting, one connection that is kept, one request at a time.

use std::time::Instant;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::{LIMIT, LOOK, Outcome};

/// The application of every session.
pub const APP: &str = "shop";
const PROTOCOL: &str = "2026-07-28";

/// One agent with its connection.
pub struct Agent {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    token: String,
    number: u64,
}

impl Agent {
    pub async fn connect(host: &str, token: &str) -> Outcome<Self> {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self { sender, host: host.to_owned(), token: token.to_owned(), number: 0 })
    }

    /// Begins a session, as soon as the server knows the token. Its id is answered.
    pub async fn begun(host: &str, token: &str) -> Outcome<String> {
        let begun = Instant::now();
        loop {
            let mut agent = Self::connect(host, token).await?;
            match agent.call("register", json!({})).await? {
                (StatusCode::UNAUTHORIZED, _) if begun.elapsed() < LIMIT => tokio::time::sleep(LOOK).await,
                (_, answer) => {
                    let session = answer["result"]["structuredContent"]["session_id"].as_str();
                    return Ok(session.ok_or_else(|| format!("no session was begun: {answer}"))?.to_owned());
                }
            }
        }
    }

    /// Asks for the application of a session.
    pub async fn status(&mut self, session: &str) -> Outcome<()> {
        let (code, answer) = self.call("app_status", json!({ "session_id": session, "name": APP })).await?;
        match answer["result"]["isError"] == true || answer.get("result").is_none() {
            true => Err(format!("app_status answered {code}: {answer}").into()),
            false => Ok(()),
        }
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Outcome<(StatusCode, Value)> {
        self.number += 1;
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": PROTOCOL,
            "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let message =
            json!({ "jsonrpc": "2.0", "id": self.number, "method": "tools/call", "params": params });
        let request = Request::post("/mcp")
            .header("host", &self.host)
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", PROTOCOL)
            .header("mcp-method", "tools/call")
            .header("mcp-name", tool)
            .body(Full::new(Bytes::from(message.to_string())))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let code = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        Ok((code, answer(&body)))
    }
}

/// The answer, plain or as an event.
fn answer(body: &[u8]) -> Value {
    let text = String::from_utf8_lossy(body);
    let plain = serde_json::from_str(&text).ok();
    let event = || {
        let lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
        lines
            .filter_map(|line| serde_json::from_str(line.trim()).ok())
            .find(|value: &Value| value.get("id").is_some())
    };
    plain.or_else(event).unwrap_or_else(|| Value::String(text.into_owned()))
}
