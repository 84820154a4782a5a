//! Answers recorded from a real API server (1.36.4), asked again of this one, in the same order.
//!
//! What differs on purpose stands in `ACCEPTED`, with the reason.

use std::collections::BTreeMap;

use bytes::Bytes;
use control_plane::gates::rbac::User;
use control_plane::wire::Identified;
use control_plane::{ControlPlane, wire::ApiService};
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

/// Answers that differ on purpose.
const ACCEPTED: [(&str, &str); 5] = [
    ("create wrong version", "the text names a source file of the original"),
    ("add finalizer while deleting", "the original lists the same cause twice"),
    ("SSAR", "a review is never stored, so nobody owns its fields"),
    ("SSAR denied", "a review is never stored, so nobody owns its fields"),
    ("tokenreview bad", "a review is never stored, so nobody owns its fields"),
];

struct Reply {
    code: u16,
    warning: Option<String>,
    text: String,
}

async fn ask(service: &ApiService, request: Request<Full<Bytes>>) -> Reply {
    let response = service.clone().oneshot(request).await.expect("the service never fails");
    let code = response.status().as_u16();
    let warning = response.headers().get("warning").map(|value| value.to_str().expect("is text").to_owned());
    let body = response.into_body().collect().await.expect("the body ends").to_bytes();
    Reply { code, warning, text: String::from_utf8(body.to_vec()).expect("is text") }
}

fn post(path: &str, body: &Value) -> Request<Full<Bytes>> {
    let body = Full::new(Bytes::from(body.to_string()));
    Request::post(path).header("content-type", "application/json").body(body).expect("is a request")
}

/// What lay in the recorded server before the first question.
async fn furnish(service: &ApiService) {
    let definition = include_str!("recorded/widgets.json");
    let definition: Value = serde_json::from_str(definition).expect("is JSON");
    let before = [
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition),
        (
            "/apis/demo.io/v1/namespaces/default/widgets",
            json!({ "apiVersion": "demo.io/v1", "kind": "Widget", "metadata": { "name": "w1" }, "spec": { "size": 34 } }),
        ),
        (
            "/api/v1/namespaces/default/configmaps",
            json!({ "metadata": { "name": "cm1", "labels": { "app": "x" } } }),
        ),
        ("/api/v1/namespaces/default/serviceaccounts", json!({ "metadata": { "name": "bob" } })),
    ];
    for (path, object) in before {
        let reply = ask(service, post(path, &object)).await;
        assert_eq!(reply.code, 201, "{path}: {}", reply.text);
    }
}

fn request(entry: &Value) -> Request<Full<Bytes>> {
    let text = |key: &str| entry[key].as_str();
    let mut builder = Request::builder()
        .method(text("method").expect("has a method"))
        .uri(text("path").expect("has a path"));
    for (header, key) in [("content-type", "contentType"), ("accept", "accept")] {
        if let Some(value) = text(key) {
            builder = builder.header(header, value);
        }
    }
    for (name, value) in entry["headers"].as_object().into_iter().flatten() {
        builder = builder.header(name, value.as_str().expect("is text"));
    }
    builder = match text("user") {
        Some("-bad-") => builder.header("authorization", "Bearer nonsense"),
        Some("") => builder.extension(Identified(User::anonymous())),
        Some(name) => builder.extension(Identified(User {
            name: name.into(),
            groups: vec!["system:authenticated".into()],
            ..User::default()
        })),
        None => builder,
    };
    builder.body(Full::new(Bytes::from(text("body").unwrap_or_default().to_owned()))).expect("is a request")
}

/// Takes out what is another's on every run: uids, versions, times, made-up names.
fn normal(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut sorted = BTreeMap::new();
            for (key, value) in map.iter().filter(|(key, _)| *key != "storageVersionHash") {
                let hidden = matches!(
                    key.as_str(),
                    "uid" | "resourceVersion" | "creationTimestamp" | "deletionTimestamp" | "time"
                );
                sorted.insert(key.clone(), if hidden { json!("…") } else { normal(value) });
            }
            json!(sorted)
        }
        Value::Array(list) => {
            let mut list: Vec<Value> = list.iter().map(normal).collect();
            // Managed fields stand in the order of their times, which are another's on every run.
            if list.iter().any(|entry| entry.get("fieldsV1").is_some()) {
                list.sort_by_key(|entry| {
                    (
                        entry["operation"].to_string(),
                        entry["manager"].to_string(),
                        entry["subresource"].to_string(),
                    )
                });
            }
            Value::Array(list)
        }
        Value::String(text) => json!(shortened(text)),
        other => other.clone(),
    }
}

/// Uids and versions inside sentences.
fn shortened(text: &str) -> String {
    let uid = regex::Regex::new("[0-9a-f]{8}-[0-9a-f-]{27}").expect("is a pattern");
    let version = regex::Regex::new(r"(current: |in record \()\d+").expect("is a pattern");
    let age = regex::Regex::new("^[0-9]+s$").expect("is a pattern");
    let made_up = regex::Regex::new("^gen-[a-z0-9]{5}$").expect("is a pattern");
    let text = uid.replace_all(text, "…");
    let text = version.replace_all(&text, "${1}…");
    let text = age.replace_all(&text, "…s");
    made_up.replace_all(&text, "gen-…").into_owned()
}

#[tokio::test]
async fn every_recorded_question_gets_the_recorded_answer() {
    let plane = ControlPlane::start().await.expect("starts");
    let service = plane.service();
    furnish(&service).await;
    let entries: Vec<Value> = serde_json::from_str(include_str!("recorded/answers.json")).expect("is JSON");
    let mut different = Vec::new();
    for entry in &entries {
        let name = entry["name"].as_str().expect("has a name");
        let reply = ask(&service, request(entry)).await;
        let mut complaint = String::new();
        if entry["code"] != reply.code {
            complaint += &format!("  code {} instead of {}\n  {}\n", reply.code, entry["code"], reply.text);
        } else if entry
            .get("warning")
            .is_some_and(|want| Some(want.as_str().expect("is text")) != reply.warning.as_deref())
        {
            complaint += &format!("  warning {:?} instead of {}\n", reply.warning, entry["warning"]);
        } else if let Some(want) = entry.get("answer") {
            let got: Value = serde_json::from_str(&reply.text).unwrap_or(Value::Null);
            if normal(&got) != normal(want) {
                complaint += &format!("  got  {}\n  want {}\n", normal(&got), normal(want));
            }
        }
        let accepted = ACCEPTED.iter().any(|(known, _)| *known == name);
        if complaint.is_empty() == accepted {
            different.push(format!(
                "{name}{}\n{complaint}",
                if accepted { " is the same now: take it off the list" } else { "" }
            ));
        }
    }
    plane.close().await;
    assert!(
        different.is_empty(),
        "{} of {} differ:\n{}",
        different.len(),
        entries.len(),
        different.join("\n")
    );
}
