//! Pages of others beside the API. They are told who asks, and decide themselves who may.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;

use super::service::{Body, Identified};
use crate::gates::rbac::User;

/// Body of a request on its way to a mounted service: not read yet, and of any size.
pub type Upload = UnsyncBoxBody<Bytes, std::io::Error>;

/// A service for every path under a prefix. Its requests carry [`Identified`]: who asks, impersonation included.
pub type Mounted = BoxCloneSyncService<Request<Upload>, Response<Body>, Infallible>;

/// Lets a mounted service answer.
pub(super) async fn answer<B>(
    mounted: Mounted,
    parts: &http::request::Parts,
    user: User,
    body: B,
) -> Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut request = Request::new(body.map_err(std::io::Error::other).boxed_unsync());
    *request.method_mut() = parts.method.clone();
    *request.uri_mut() = parts.uri.clone();
    *request.headers_mut() = parts.headers.clone();
    request.extensions_mut().insert(Identified(user));
    mounted.oneshot(request).await.unwrap_or_else(|never| match never {})
}
