//! A server and its clients.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use api::apps::Application;
use bytes::Bytes;
use control_plane::ControlPlane;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::identity::{Kept, NAMESPACE, Role, mint};
use crate::mcp::extras::Extras;
use crate::server::Offers;
use crate::{Agents, Settings};

/// How long anything may take here.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Stage {
    pub(super) plane: ControlPlane,
    audit: PathBuf,
    pub(super) agents: Agents,
    address: SocketAddr,
    _dir: tempfile::TempDir,
    _stop: DropGuard,
}

impl Stage {
    pub(super) async fn open() -> Self {
        Self::with(None).await
    }

    pub(super) async fn with(extras: Option<Arc<dyn Extras>>) -> Self {
        let plane = ControlPlane::start().await.expect("starts");
        let definitions: Api<CustomResourceDefinition> = Api::all(plane.client());
        for definition in api::crds().into_iter().filter(|crd| crd.spec.group == "iaf.io") {
            definitions.create(&PostParams::default(), &definition).await.expect("is defined");
        }
        let dir = tempfile::tempdir().expect("a directory");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let audit = dir.path().join("audit");
        let settings = Settings {
            rate: 1e6,
            burst: 1_000_000,
            postgres_versions: vec!["15".into(), "17".into()],
            ..Settings::new(audit.clone(), format!("http://{address}"))
        };
        let stop = CancellationToken::new();
        let opened =
            Agents::open_with(plane.client(), settings, stop.clone(), Offers { extras, ..Offers::default() })
                .await;
        let agents = opened.expect("the server opens");
        tokio::spawn(agents.clone().serve(listener));
        Self { plane, audit, agents, address, _dir: dir, _stop: stop.drop_guard() }
    }

    /// A token, and who holds it.
    pub(super) async fn token(&self, name: &str, role: Role) -> Visitor<'_> {
        let (token, digest) = mint();
        let kept = Kept { name: name.into(), role, digest, expires: None, namespaces: Vec::new() };
        let secrets: Api<Secret> = Api::namespaced(self.plane.client(), NAMESPACE);
        secrets.create(&PostParams::default(), &kept.secret()).await.expect("is kept");
        self.agents.tokens().add(kept);
        Visitor { stage: self, name: name.into(), token }
    }

    /// An application with a status.
    pub(super) async fn app(&self, namespace: &str, name: &str) {
        let app = json!({ "metadata": { "name": name }, "spec": { "image": "nginx:1" } });
        let app: Application = serde_json::from_value(app).expect("an application");
        let apps: Api<Application> = Api::namespaced(self.plane.client(), namespace);
        apps.create(&PostParams::default(), &app).await.expect("is created");
    }

    /// Says how far an application is, as its controller does.
    pub(super) async fn say(&self, namespace: &str, name: &str, phase: &str) {
        let apps: Api<Application> = Api::namespaced(self.plane.client(), namespace);
        let generation = apps.get(name).await.expect("the application").metadata.generation;
        let status =
            json!({ "phase": phase, "observedGeneration": generation, "url": "http://shop.localhost" });
        let patch = Patch::Merge(json!({ "status": status }));
        apps.patch_status(name, &PatchParams::default(), &patch).await.expect("is told");
    }

    /// The actions, subjects and outcomes in the audit trail.
    pub(super) fn trail(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.audit).expect("the trail");
        let records = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a record"));
        let word = |record: &Value, key: &str| record[key].as_str().unwrap_or_default().to_owned();
        records
            .map(|record| {
                [word(&record, "action"), word(&record, "subject"), word(&record, "outcome")].join(" ")
            })
            .collect()
    }
}

/// The holder of a token.
pub(super) struct Visitor<'a> {
    stage: &'a Stage,
    name: String,
    token: String,
}

impl Visitor<'_> {
    /// Sends a request, and gives back what comes: its body may never end.
    pub(super) async fn send(
        &self,
        method: Method,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Response<Incoming> {
        let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
        let mut request = Request::builder()
            .method(method)
            .uri("/mcp")
            .header("host", self.stage.address.to_string())
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body)).expect("a request");
        let stream = TcpStream::connect(self.stage.address).await.expect("the server listens");
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("HTTP");
        tokio::spawn(connection);
        sender.send_request(request).await.expect("an answer")
    }

    /// A request of the later era.
    pub(super) async fn open(&self, method: &str, mut params: Value) -> Response<Incoming> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "tests", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": { "extensions": { "io.modelcontextprotocol/tasks": {} } },
        });
        params["_meta"] = meta;
        let name = ["name", "uri", "taskId"].iter().find_map(|key| params[*key].as_str()).map(str::to_owned);
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.send(Method::POST, &headers, &body).await
    }

    /// The answer to a request of the later era: its `result`, or its `error`.
    pub(super) async fn ask(&self, method: &str, params: Value) -> Value {
        answer(self.open(method, params).await).await
    }

    /// A tool's structured answer.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// The namespace of a session that is begun.
    pub(super) async fn session(&self) -> (String, String) {
        let begun = self.call("register", json!({})).await;
        let word = |key: &str| begun["structuredContent"][key].as_str().expect("a word").to_owned();
        (word("session_id"), word("namespace"))
    }

    /// Begins an HTTP session of the earlier era.
    pub(super) async fn visit(&self) -> String {
        let client = json!({ "name": "tests", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let response = self.send(Method::POST, &[], &hello).await;
        let id = response.headers()["mcp-session-id"].to_str().expect("text").to_owned();
        answer(response).await;
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.send(Method::POST, &[("mcp-session-id", &id)], &initialized).await;
        id
    }

    /// The status and answer of a request in such a session.
    pub(super) async fn within(&self, id: &str, method: &str, params: Value) -> (StatusCode, Value) {
        let body = json!({ "jsonrpc": "2.0", "id": 2, "method": method, "params": params });
        let headers = [("mcp-session-id", id), ("mcp-protocol-version", "2025-11-25")];
        let response = self.send(Method::POST, &headers, &body).await;
        let status = response.status();
        (status, if status.is_success() { answer(response).await } else { Value::Null })
    }

    /// The stream of such a session.
    pub(super) async fn stream(&self, id: &str) -> Response<Incoming> {
        let headers = [("mcp-session-id", id), ("mcp-protocol-version", "2025-11-25")];
        self.send(Method::GET, &headers, &Value::Null).await
    }

    /// A connection that carries messages, one on each line.
    pub(super) async fn line(&self) -> BufStream<TcpStream> {
        let stream = TcpStream::connect(self.stage.address).await.expect("the server listens");
        let mut stream = BufStream::new(stream);
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nconnection: upgrade\r\nupgrade: {}\r\n\r\n",
            crate::LINE,
            self.stage.address,
            self.token,
            crate::LINE_PROTOCOL,
        );
        stream.write_all(head.as_bytes()).await.expect("is written");
        stream.flush().await.expect("is written");
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).await.expect("a line");
        }
        stream
    }

    /// Takes the token away.
    pub(super) async fn revoke(&self) {
        let secrets: Api<Secret> = Api::namespaced(self.stage.plane.client(), NAMESPACE);
        let name = format!("agent-token-{}", self.name);
        secrets.delete(&name, &DeleteParams::default()).await.expect("is deleted");
    }
}

/// The messages of a response, one after the other.
pub(super) struct Messages {
    body: Incoming,
    text: String,
}

impl Messages {
    pub(super) fn of(response: Response<Incoming>) -> Self {
        assert_eq!(response.status(), StatusCode::OK, "{:?}", response.headers());
        Self { body: response.into_body(), text: String::new() }
    }

    /// The next message; `None` when there will be no more.
    pub(super) async fn next(&mut self) -> Option<Value> {
        tokio::time::timeout(PATIENCE, self.read()).await.expect("a message, or the end")
    }

    async fn read(&mut self) -> Option<Value> {
        loop {
            while let Some((line, rest)) = self.text.split_once('\n') {
                let data = line.trim().strip_prefix("data:").unwrap_or(line.trim());
                let message = serde_json::from_str::<Map<String, Value>>(data.trim()).ok();
                self.text = rest.to_owned();
                if let Some(message) = message {
                    return Some(Value::Object(message));
                }
            }
            let frame = self.body.frame().await?.ok()?;
            match frame.into_data() {
                Ok(data) => self.text.push_str(&String::from_utf8_lossy(&data)),
                Err(_) => continue,
            }
            if self.text.starts_with('{') {
                self.text.push('\n');
            }
        }
    }
}

/// The `result` of a response, or its `error`.
async fn answer(response: Response<Incoming>) -> Value {
    let (parts, body) = response.into_parts();
    let headers: HeaderMap = parts.headers;
    let bytes =
        tokio::time::timeout(PATIENCE, body.collect()).await.expect("an end").expect("a body").to_bytes();
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).trim());
    let messages = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let last = messages.rev().find(|message| message.get("id").is_some());
    let last = last.unwrap_or_else(|| panic!("no answer in {text:?} {headers:?}"));
    if last["error"].is_null() { last["result"].clone() } else { last["error"].clone() }
}
