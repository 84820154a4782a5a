//! Brings the definitions of everything Terrace serves into the control plane.

use anyhow::{Context, bail};
use bytes::Bytes;
use control_plane::ControlPlane;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use tower::ServiceExt;

/// Applies every definition, ours and those of the kinds that local drivers fulfil. Returns how many.
pub(crate) async fn definitions(plane: &ControlPlane) -> anyhow::Result<usize> {
    let mut count = 0;
    for definition in api::crds().into_iter().chain(api::foreign_crds()) {
        let name = definition.metadata.name.clone().unwrap_or_default();
        let body = serde_json::to_vec(&definition)?;
        apply(plane, &name, body.into()).await.with_context(|| format!("cannot install {name}"))?;
        count += 1;
    }
    Ok(count)
}

async fn apply(plane: &ControlPlane, name: &str, body: Bytes) -> anyhow::Result<()> {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let request = Request::builder()
        .method(Method::PATCH)
        .uri(format!("{path}/{name}?fieldManager=terrace&force=true"))
        .header(http::header::CONTENT_TYPE, "application/apply-patch+yaml")
        .body(Full::new(body))?;
    let response = plane.service().oneshot(request).await.unwrap_or_else(|never| match never {});
    if response.status().is_success() {
        return Ok(());
    }
    let bytes =
        response.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    bail!("the control plane refused it: {}", String::from_utf8_lossy(&bytes))
}
