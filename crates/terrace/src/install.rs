//! Brings the definitions of everything Terrace serves into the control plane.

use anyhow::{Context, bail};
use bytes::Bytes;
use control_plane::ControlPlane;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tokio::task::JoinHandle;
use tower::ServiceExt;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A definition in the making.
pub(crate) type Wanted = JoinHandle<Value>;

/// Begins to make every definition, ours and those of the kinds that local drivers fulfil, side by side.
pub(crate) fn wanted() -> Vec<Wanted> {
    // A definition is plain data: it always has a JSON form.
    let json = |make: api::Maker| serde_json::to_value(make()).unwrap_or_default();
    api::OURS
        .into_iter()
        .chain(api::FOREIGN)
        .map(|make| tokio::task::spawn_blocking(move || json(make)))
        .collect()
}

/// Applies each definition as soon as it is made. Returns how many there are.
pub(crate) async fn definitions(plane: &ControlPlane, wanted: Vec<Wanted>) -> anyhow::Result<usize> {
    let mut tasks = tokio::task::JoinSet::new();
    for wanted in wanted {
        let service = plane.service();
        tasks.spawn(async move {
            let wanted = wanted.await?;
            let name = wanted["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let installed = install(service, &name, &wanted).await;
            installed.with_context(|| format!("cannot install {name}"))
        });
    }
    let count = tasks.len();
    while let Some(installed) = tasks.join_next().await {
        installed??;
    }
    Ok(count)
}

/// Applies one definition, unless what lies there already says all of it.
async fn install(service: control_plane::wire::ApiService, name: &str, wanted: &Value) -> anyhow::Result<()> {
    let read = Request::get(format!("{DEFINITIONS}/{name}")).body(Full::default())?;
    let (code, body) = ask(service.clone(), read).await;
    if code.is_success() && serde_json::from_slice::<Value>(&body).is_ok_and(|there| says(&there, wanted)) {
        return Ok(());
    }
    let apply = Request::builder()
        .method(Method::PATCH)
        .uri(format!("{DEFINITIONS}/{name}?fieldManager=terrace&force=true"))
        .header(http::header::CONTENT_TYPE, "application/apply-patch+yaml")
        .body(Full::new(Bytes::from(wanted.to_string())))?;
    let (code, body) = ask(service, apply).await;
    if code.is_success() {
        return Ok(());
    }
    bail!("the control plane refused it: {}", String::from_utf8_lossy(&body))
}

async fn ask(service: control_plane::wire::ApiService, request: Request<Full<Bytes>>) -> (StatusCode, Bytes) {
    let response = service.oneshot(request).await.unwrap_or_else(|never| match never {});
    let code = response.status();
    let body = response.into_body().collect().await.map(http_body_util::Collected::to_bytes);
    (code, body.unwrap_or_default())
}

/// Whether an object holds everything that is wanted of it; what the server added does not matter.
fn says(there: &Value, wanted: &Value) -> bool {
    match (there, wanted) {
        (Value::Object(there), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, value)| value.is_null() || there.get(key).is_some_and(|t| says(t, value))),
        (Value::Array(there), Value::Array(wanted)) => {
            there.len() == wanted.len() && there.iter().zip(wanted).all(|(t, w)| says(t, w))
        }
        _ => there == wanted,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::says;

    #[test]
    fn an_object_says_what_is_wanted_when_nothing_of_it_is_missing_or_different() {
        let table = [
            ("the same", json!({ "a": 1 }), json!({ "a": 1 }), true),
            ("more than wanted", json!({ "a": 1, "b": 2 }), json!({ "a": 1 }), true),
            ("less than wanted", json!({}), json!({ "a": 1 }), false),
            ("something else", json!({ "a": { "b": 1 } }), json!({ "a": { "b": 2 } }), false),
            ("a list with more in it", json!([1, 2]), json!([1]), false),
            ("a wish for nothing", json!({}), json!({ "a": null }), true),
        ];
        for (what, there, wanted, want) in table {
            assert_eq!(says(&there, &wanted), want, "{what}");
        }
    }
}
