//! Brings the definitions of everything Terrace serves into the control plane.

use std::sync::Arc;

use anyhow::{Context, bail};
use bytes::Bytes;
use control_plane::ControlPlane;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tokio::task::JoinHandle;
use tower::ServiceExt;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// The definition of services.
const MANAGED_SERVICES: &str = "managedservices.iaf.io";
/// Where one of its versions holds the version of services that name none.
const DEFAULT_VERSION: &str = "/schema/openAPIV3Schema/properties/spec/properties/version/default";

/// A definition in the making.
pub(crate) type Wanted = JoinHandle<Value>;

/// Looks for the newest major version of PostgreSQL that there is.
pub(crate) type Newest = Arc<dyn Fn() -> Option<u32> + Send + Sync>;

/// Begins to make every definition, ours and those of the kinds that local drivers fulfil, side by side. Where databases
/// run on this machine, services that name no version get the newest that is found.
pub(crate) fn wanted(newest: Option<Newest>) -> Vec<Wanted> {
    let make = |make: api::Maker| {
        let newest = newest.clone();
        tokio::task::spawn_blocking(move || definition(make, newest))
    };
    api::OURS.into_iter().chain(api::FOREIGN).map(make).collect()
}

fn definition(make: api::Maker, newest: Option<Newest>) -> Value {
    // A definition is plain data: it always has a JSON form.
    let mut definition = serde_json::to_value(make()).unwrap_or_default();
    if definition["metadata"]["name"] == MANAGED_SERVICES
        && let Some(major) = newest.and_then(|newest| newest())
    {
        let versions = definition["spec"]["versions"].as_array_mut();
        for default in
            versions.into_iter().flatten().filter_map(|version| version.pointer_mut(DEFAULT_VERSION))
        {
            *default = major.to_string().into();
        }
    }
    definition
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
///
/// Not `kit::says`: that one leaves entries of a list alone that others have added, and a definition's lists are all ours.
/// A rule or a column that a newer Terrace has no more must go.
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

    use super::{definition, says};

    #[test]
    fn an_object_says_what_is_wanted_when_nothing_of_it_is_missing_or_different() {
        let table = [
            ("the same", json!({ "a": 1 }), json!({ "a": 1 }), true),
            ("more than wanted", json!({ "a": 1, "b": 2 }), json!({ "a": 1 }), true),
            ("less than wanted", json!({}), json!({ "a": 1 }), false),
            ("something else", json!({ "a": { "b": 1 } }), json!({ "a": { "b": 2 } }), false),
            ("a list with more in it", json!([1, 2]), json!([1]), false),
            ("a column too many", json!([{ "name": "a" }, { "name": "b" }]), json!([{ "name": "a" }]), false),
            ("a wish for nothing", json!({}), json!({ "a": null }), true),
        ];
        for (what, there, wanted, want) in table {
            assert_eq!(says(&there, &wanted), want, "{what}");
        }
    }
    #[test]
    fn services_that_name_no_version_get_the_newest_that_is_found() {
        let table = [
            ("none is looked for", None, json!("17")),
            ("none is found", Some(None), json!("17")),
            ("one is found", Some(Some(15)), json!("15")),
        ];
        for (what, found, want) in table {
            let newest = found.map(|found| -> super::Newest { std::sync::Arc::new(move || found) });
            let made: Vec<_> = api::OURS.into_iter().map(|make| definition(make, newest.clone())).collect();
            let service = made.iter().find(|made| made["spec"]["names"]["kind"] == "ManagedService");
            let versions = &service.expect("it is ours")["spec"]["versions"];
            let spec = &versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
            assert_eq!(spec["properties"]["version"]["default"], want, "{what}");
            let others = made.iter().zip(api::crds()).filter(|(made, _)| Some(*made) != service);
            for (made, plain) in others {
                assert_eq!(*made, serde_json::to_value(plain).expect("is JSON"), "{what}");
            }
        }
    }
}
