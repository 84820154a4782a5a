//! Everything that is not an object: version, health, discovery, OpenAPI, metrics, keys.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderValue, Method, Response, StatusCode};
use serde_json::{Value, json};

use super::query::Query;
use super::service::{Body, full};
use super::{decode, decode::Shape};
use crate::kinds::Kind;
use crate::kinds::discovery;
use crate::server::Server;
use crate::status::Status;
use crate::verbs::method_not_allowed;

/// The Kubernetes version whose API is spoken.
const VERSION: (&str, &str, &str) = ("1", "36", "v1.36.0+terrace");

pub(super) fn answer(
    server: &Arc<Server>,
    parts: &http::request::Parts,
    page: &str,
    query: &Query,
) -> Result<Response<Body>, Status> {
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        return Err(method_not_allowed());
    }
    let trimmed = page.trim_matches('/');
    let words: Vec<&str> = if trimmed.is_empty() { Vec::new() } else { trimmed.split('/').collect() };
    match words.as_slice() {
        [] => Ok(json_page(&discovery::root(&kinds(server)))),
        ["version"] => Ok(json_page(&version())),
        ["healthz" | "livez" | "readyz"] | ["healthz" | "livez" | "readyz", "ping" | "etcd" | "store"] => {
            Ok(health(server, &words, query))
        }
        ["metrics"] => {
            Ok(page_of("text/plain; version=0.0.4; charset=utf-8", server.metrics.text(&server.store).into()))
        }
        ["openapi", rest @ ..] => openapi(server, parts, rest),
        ["api" | "apis", ..] => discovered(server, parts, &words),
        [".well-known", "openid-configuration"] => {
            let keys = format!("https://{}/openid/v1/jwks", address(parts));
            Ok(json_page(&server.tokens.openid_configuration(&keys)))
        }
        ["openid", "v1", "jwks"] => {
            Ok(page_of("application/jwk-set+json", server.tokens.jwks().to_string().into()))
        }
        _ => Ok(not_found()),
    }
}

/// The plain page for a path that nobody serves.
pub(super) fn not_found() -> Response<Body> {
    let mut response = page_of("text/plain; charset=utf-8", Bytes::from_static(b"404 page not found\n"));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

fn page_of(kind: &'static str, body: Bytes) -> Response<Body> {
    let mut response = Response::new(full(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn json_page(value: &Value) -> Response<Body> {
    page_of("application/json", value.to_string().into())
}

fn version() -> Value {
    json!({
        "major": VERSION.0, "minor": VERSION.1, "gitVersion": VERSION.2, "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "rust", "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, architecture()),
    })
}

/// The processor, by the names that images are tagged with.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn kinds(server: &Server) -> Vec<Arc<Kind>> {
    server.catalog().entries().iter().map(|entry| entry.kind.clone()).collect()
}

fn health(server: &Server, words: &[&str], query: &Query) -> Response<Body> {
    let ready = server.is_ready();
    let checks = [("ping", true), ("store", true), ("bootstrap", ready || words[0] == "livez")];
    let healthy = checks.iter().all(|(_, good)| *good);
    let text = if query.word("verbose").is_some() || !healthy {
        let lines = checks.iter().map(|(name, good)| {
            format!("[{}]{name} {}\n", if *good { "+" } else { "-" }, if *good { "ok" } else { "failed" })
        });
        format!(
            "{}{} check {}",
            lines.collect::<String>(),
            words[0],
            if healthy { "passed" } else { "failed" }
        )
    } else {
        "ok".to_owned()
    };
    let mut response = page_of("text/plain; charset=utf-8", text.into());
    if !healthy {
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    }
    response
}

fn discovered(
    server: &Server,
    parts: &http::request::Parts,
    words: &[&str],
) -> Result<Response<Body>, Status> {
    let kinds = kinds(server);
    let accept = parts.headers.get(http::header::ACCEPT).and_then(|value| value.to_str().ok());
    if let ["api"] | ["apis"] = words {
        let accepts = decode::negotiate_discovery(accept)?;
        if let Shape::Discovery { version } = &accepts.shape {
            let document = discovery::aggregated(&kinds, words[0] == "api", version);
            return Ok(tagged(parts, &accepts.content_type, document.to_string().into()));
        }
    }
    let document = match words {
        ["api"] => Some(discovery::core_versions(&address(parts))),
        ["apis"] => Some(discovery::group_list(&kinds)),
        ["api", "v1"] => discovery::resource_list(&kinds, "", "v1"),
        ["apis", group] => discovery::group(&kinds, group),
        ["apis", group, version] => discovery::resource_list(&kinds, group, version),
        _ => None,
    };
    Ok(document.map_or_else(not_found, |document| json_page(&document)))
}

fn address(parts: &http::request::Parts) -> String {
    let host = parts.headers.get(http::header::HOST).and_then(|value| value.to_str().ok());
    host.map(str::to_owned).or(parts.uri.authority().map(ToString::to_string)).unwrap_or_default()
}

fn openapi(server: &Server, parts: &http::request::Parts, rest: &[&str]) -> Result<Response<Body>, Status> {
    let accept =
        parts.headers.get(http::header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let catalog = server.catalog();
    match rest {
        ["v2"] => {
            let (kind, body) = server.documents.v2(&catalog, accept);
            Ok(tagged(parts, kind, body))
        }
        ["v3"] => Ok(tagged(parts, "application/json", server.documents.root(&catalog))),
        ["v3", path @ ..] => match server.documents.v3(&catalog, &path.join("/")) {
            Some(body) => Ok(tagged(parts, "application/json", body)),
            None => Ok(not_found()),
        },
        _ => Ok(not_found()),
    }
}

/// A page that clients keep: they send its tag back and get nothing when it is still the same.
fn tagged(parts: &http::request::Parts, kind: &str, body: Bytes) -> Response<Body> {
    let tag = format!("\"{}\"", discovery::etag(&body));
    let same = parts.headers.get(IF_NONE_MATCH).is_some_and(|value| value.as_bytes() == tag.as_bytes());
    let mut response = Response::new(full(if same { Bytes::new() } else { body }));
    let headers = response.headers_mut();
    if same {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else if let Ok(kind) = HeaderValue::from_str(kind) {
        headers.insert(CONTENT_TYPE, kind);
    }
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    response
}
