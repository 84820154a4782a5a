//! A control plane in this process, and the few words tests ask it with.
#![allow(dead_code)]

use bytes::Bytes;
use control_plane::ControlPlane;
use control_plane::gates::rbac::User;
use control_plane::wire::{ApiService, Body, Identified};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

/// How long anything may take before a test gives up on it.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

pub struct House {
    pub plane: ControlPlane,
    pub service: ApiService,
}

pub struct Reply {
    pub code: u16,
    pub headers: http::HeaderMap,
    pub text: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|why| panic!("{why}: {}", self.text))
    }

    /// `409 AlreadyExists`: how refusals are compared.
    pub fn told(&self) -> String {
        let reason = serde_json::from_str::<Value>(&self.text)
            .ok()
            .and_then(|v| v["reason"].as_str().map(str::to_owned));
        format!("{} {}", self.code, reason.unwrap_or_default()).trim().to_owned()
    }
}

impl House {
    pub async fn new() -> Self {
        let plane = ControlPlane::start().await.expect("starts");
        let service = plane.service();
        Self { plane, service }
    }

    /// The same house, asked by a user without any rights of their own.
    pub fn as_user(&self, name: &str, groups: &[&str]) -> Asker {
        let mut groups: Vec<String> = groups.iter().map(|g| (*g).to_owned()).collect();
        groups.push("system:authenticated".into());
        let user = User { name: name.into(), groups, ..User::default() };
        Asker { service: self.plane.guarded_service(), user: Some(user), token: None }
    }

    /// The same house, asked with a token.
    pub fn with_token(&self, token: &str) -> Asker {
        Asker { service: self.plane.guarded_service(), user: None, token: Some(token.into()) }
    }

    /// The same house, asked by somebody without credentials.
    pub fn nobody(&self) -> Asker {
        Asker { service: self.plane.guarded_service(), user: None, token: None }
    }

    pub fn admin(&self) -> Asker {
        Asker { service: self.service.clone(), user: None, token: None }
    }
}

#[derive(Clone)]
pub struct Asker {
    service: ApiService,
    user: Option<User>,
    token: Option<String>,
}

impl Asker {
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: impl Into<Bytes>,
    ) -> Response<Body> {
        let mut builder = Request::builder().method(method).uri(path).header("user-agent", "test/1");
        if !kind.is_empty() {
            builder = builder.header("content-type", kind);
        }
        if let Some(user) = &self.user {
            builder = builder.extension(Identified(user.clone()));
        }
        if let Some(token) = &self.token {
            builder = builder.header("authorization", format!("Bearer {token}"));
        }
        let request = builder.body(Full::new(body.into())).expect("is a request");
        self.service.clone().oneshot(request).await.expect("the service never fails")
    }

    pub async fn ask(&self, method: Method, path: &str, kind: &str, body: impl Into<Bytes>) -> Reply {
        let response = self.send(method, path, kind, body).await;
        let (parts, body) = response.into_parts();
        let collected = tokio::time::timeout(PATIENCE, body.collect()).await.expect("the answer ends");
        let bytes = collected.expect("never fails").to_bytes();
        Reply {
            code: parts.status.as_u16(),
            headers: parts.headers,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.ask(Method::GET, path, "", "").await
    }

    pub async fn post(&self, path: &str, object: &Value) -> Reply {
        self.ask(Method::POST, path, "application/json", object.to_string()).await
    }

    pub async fn put(&self, path: &str, object: &Value) -> Reply {
        self.ask(Method::PUT, path, "application/json", object.to_string()).await
    }

    pub async fn merge(&self, path: &str, patch: &Value) -> Reply {
        self.ask(Method::PATCH, path, "application/merge-patch+json", patch.to_string()).await
    }

    pub async fn apply(&self, path: &str, manager: &str, object: &Value) -> Reply {
        let path = format!("{path}?fieldManager={manager}");
        self.ask(Method::PATCH, &path, "application/apply-patch+yaml", object.to_string()).await
    }

    pub async fn delete(&self, path: &str, options: &Value) -> Reply {
        self.ask(Method::DELETE, path, "application/json", options.to_string()).await
    }

    /// Creates an object that must be accepted.
    pub async fn made(&self, path: &str, object: &Value) -> Value {
        let reply = self.post(path, object).await;
        assert_eq!(reply.code, 201, "{path}: {}", reply.text);
        reply.json()
    }

    /// Opens a watch.
    pub async fn watch(&self, path: &str) -> Events {
        let joint = if path.contains('?') { '&' } else { '?' };
        let response = self.send(Method::GET, &format!("{path}{joint}watch=1"), "", "").await;
        assert_eq!(response.status(), 200);
        Events { body: response.into_body(), rest: String::new() }
    }

    /// Waits until the object is as wished; `None` is an object that is gone. Wakes by the watch, never by time.
    pub async fn until(
        &self,
        collection: &str,
        name: &str,
        wish: impl Fn(Option<&Value>) -> bool,
    ) -> Option<Value> {
        let waiting = async {
            let selector = format!("{collection}?fieldSelector=metadata.name%3D{name}");
            loop {
                let list = self.get(&selector).await.json();
                let found = list["items"].as_array().and_then(|items| items.first()).cloned();
                if wish(found.as_ref()) {
                    return found;
                }
                let version = list["metadata"]["resourceVersion"].as_str().expect("has a version").to_owned();
                let mut events = self.watch(&format!("{selector}&resourceVersion={version}")).await;
                events.next().await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting)
            .await
            .unwrap_or_else(|_| panic!("{collection}/{name} never got there"))
    }

    pub async fn gone(&self, collection: &str, name: &str) {
        self.until(collection, name, |found| found.is_none()).await;
    }
}

/// The events of one watch.
pub struct Events {
    body: Body,
    rest: String,
}

impl Events {
    /// The next event; `None` when the watch has ended.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((line, rest)) = self.rest.split_once('\n') {
                let event = serde_json::from_str(line).expect("is JSON");
                self.rest = rest.to_owned();
                return Some(event);
            }
            let frame = tokio::time::timeout(PATIENCE, self.body.frame()).await.expect("an event comes")?;
            let data = frame.expect("never fails").into_data().expect("is data");
            self.rest.push_str(std::str::from_utf8(&data).expect("is text"));
        }
    }

    /// `ADDED a`: the next event in two words.
    pub async fn told(&mut self) -> String {
        match self.next().await {
            Some(event) => format!("{} {}", word(&event["type"]), word(&event["object"]["metadata"]["name"]))
                .trim()
                .to_owned(),
            None => "end".into(),
        }
    }
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A definition of `Widget` with the given scope.
pub fn widgets() -> Value {
    serde_json::from_str(include_str!("../recorded/widgets.json")).expect("is JSON")
}

pub fn config(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } })
}

pub const CONFIGS: &str = "/api/v1/namespaces/default/configmaps";
pub const WIDGETS: &str = "/apis/demo.io/v1/namespaces/default/widgets";
pub const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
