//! Who may: answered by the control plane itself, asked as the user.

use bytes::Bytes;
use control_plane::ControlPlane;
use control_plane::status::Status;
use control_plane::wire::{ApiService, Identified};
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

const GROUP: &str = "iaf.io";
const PLURAL: &str = "applications";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// The two faces of the API: one that asks as somebody, one that knows.
pub(super) struct Access {
    guarded: ApiService,
    trusted: ApiService,
}

impl Access {
    pub(super) fn new(plane: &ControlPlane) -> Self {
        Self { guarded: plane.guarded_service(), trusted: plane.service() }
    }

    /// Whoever may write applications in a namespace may upload what they are built from.
    pub(super) async fn may_write(&self, user: &Identified, namespace: &str) -> Result<(), Status> {
        for verb in ["patch", "create", "update"] {
            if self.may(user, verb, namespace, "").await {
                return Ok(());
            }
        }
        Err(refused(user, "create", namespace, ""))
    }

    /// Whoever may read an application may read how it was built.
    pub(super) async fn may_read(
        &self,
        user: &Identified,
        namespace: &str,
        name: &str,
    ) -> Result<(), Status> {
        match self.may(user, "get", namespace, name).await {
            true => Ok(()),
            false => Err(refused(user, "get", namespace, name)),
        }
    }

    /// A namespace that is not there, or goes, takes nothing in.
    pub(super) async fn namespace_is_there(&self, namespace: &str) -> Result<(), Status> {
        let request = Request::get(format!("/api/v1/namespaces/{namespace}")).body(Full::default());
        let found = ask(self.trusted.clone(), request).await;
        match found.filter(|found| found["metadata"]["deletionTimestamp"].is_null()) {
            Some(_) => Ok(()),
            None => Err(Status::not_found("", "namespaces", namespace)),
        }
    }

    async fn may(&self, user: &Identified, verb: &str, namespace: &str, name: &str) -> bool {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": { "resourceAttributes": {
                "group": GROUP, "resource": PLURAL, "verb": verb, "namespace": namespace, "name": name,
            } },
        });
        let request = Request::post(REVIEWS)
            .header(header::CONTENT_TYPE, "application/json")
            .extension(user.clone())
            .body(Full::new(Bytes::from(review.to_string())));
        ask(self.guarded.clone(), request).await.is_some_and(|answer| answer["status"]["allowed"] == true)
    }
}

fn refused(Identified(user): &Identified, verb: &str, namespace: &str, name: &str) -> Status {
    let why = format!(
        "User {:?} cannot {verb} resource {PLURAL:?} in API group {GROUP:?} in the namespace {namespace:?}",
        user.name
    );
    Status::forbidden(GROUP, PLURAL, name, &why)
}

/// The answer, if it is a good one.
async fn ask(service: ApiService, request: http::Result<Request<Full<Bytes>>>) -> Option<Value> {
    let response = service.oneshot(request.ok()?).await.unwrap_or_else(|never| match never {});
    let good = matches!(response.status(), StatusCode::OK | StatusCode::CREATED);
    let body = response.into_body().collect().await.ok()?.to_bytes();
    if good { serde_json::from_slice(&body).ok() } else { None }
}
