//! What the command line needs beside the Kubernetes API: a place for source archives, and the logs of builds.
//!
//! Both are served on the API's own port, to the API's own users. Who may write applications in a namespace may
//! upload there; who may read them may read the logs of their builds.

mod access;
mod blobs;
mod builds;
mod route;
mod sweep;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use control_plane::ControlPlane;
use control_plane::status::{Reason, Status};
use control_plane::wire::{Body, Identified, Mounted, Upload, full, refusal};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use tokio_util::sync::CancellationToken;

use access::Access;
use blobs::{Blobs, Stored};
use builds::Builds;
use route::Route;

pub(crate) use blobs::hex;
pub(crate) use builds::NUMBER_HEADER;
pub(crate) use route::{blob_path, blob_url, log_path};

/// Largest archive; `terrace deploy` refuses to make a larger one.
pub(crate) const ARCHIVE_MAX: u64 = 256 * 1024 * 1024;

/// Where things lie, and how much is borne.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Directory of archives: `<namespace>/<sha256>.tar.gz`.
    pub blobs: PathBuf,
    /// Directory of the logs of builds: `<namespace>/<application>-<number>.log`.
    pub builds: PathBuf,
    /// More directories with one for each namespace, which goes when the namespace does.
    pub others: Vec<PathBuf>,
    /// Largest archive.
    pub archive_max: u64,
    /// How long a client may be silent while it uploads.
    pub patience: Duration,
}

impl Settings {
    /// Those of a platform whose data lies in a directory.
    pub(crate) fn under(data_dir: &std::path::Path) -> Self {
        Self {
            blobs: data_dir.join("blobs"),
            builds: data_dir.join("build-logs"),
            others: Vec::new(),
            archive_max: ARCHIVE_MAX,
            patience: Duration::from_secs(30),
        }
    }
}

/// Serves uploads and logs of builds beside the API, and removes archives that nobody needs, until `stop`.
pub(crate) fn mount(plane: &ControlPlane, settings: &Settings, stop: CancellationToken) {
    let uploads = Arc::new(Uploads {
        access: Access::new(plane),
        blobs: Blobs::new(settings),
        builds: Builds::new(settings.builds.clone(), plane.client()),
    });
    let service = tower::service_fn(move |request: Request<Upload>| {
        let uploads = uploads.clone();
        async move { Ok::<_, Infallible>(uploads.answer(request).await) }
    });
    plane.mount(route::PREFIX, Mounted::new(service));
    tokio::spawn(sweep::run(settings.clone(), plane.client(), stop));
}

struct Uploads {
    access: Access,
    blobs: Blobs,
    builds: Builds,
}

impl Uploads {
    async fn answer(&self, request: Request<Upload>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let outcome = match Route::parse(parts.uri.path()) {
            Some(Route::Blob { namespace, digest }) => self.blob(&parts, body, &namespace, &digest).await,
            Some(Route::Log { namespace, name }) => self.log(&parts, &namespace, &name).await,
            None => Err(Status::new(StatusCode::NOT_FOUND, Reason::NotFound, "no such page")),
        };
        outcome.unwrap_or_else(|status| refusal(&status))
    }

    async fn blob(
        &self,
        parts: &Parts,
        body: Upload,
        namespace: &str,
        digest: &str,
    ) -> Result<Response<Body>, Status> {
        self.access.may_write(user(parts)?, namespace).await?;
        match parts.method {
            Method::HEAD if self.blobs.renew(namespace, digest) => Ok(Response::new(full("".into()))),
            Method::HEAD => Err(Status::not_found("", "blobs", digest)),
            Method::PUT => {
                self.access.namespace_is_there(namespace).await?;
                let length = parts.headers.get(http::header::CONTENT_LENGTH);
                let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
                let stored = self.blobs.put(namespace, digest, length, body).await?;
                let code = if stored == Stored::New { StatusCode::CREATED } else { StatusCode::OK };
                let mut response = Response::new(full("".into()));
                *response.status_mut() = code;
                Ok(response)
            }
            _ => Err(method_not_allowed()),
        }
    }

    async fn log(&self, parts: &Parts, namespace: &str, name: &str) -> Result<Response<Body>, Status> {
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            return Err(method_not_allowed());
        }
        self.access.may_read(user(parts)?, namespace, name).await?;
        let asked = builds::Asked::parse(parts.uri.query().unwrap_or_default());
        let number = self.builds.latest(namespace, name, asked.after);
        let reads = parts.method == Method::GET;
        if number.is_none() && !(asked.follow && reads) {
            return Err(Status::not_found("", "builds", name));
        }
        let body = if reads { self.builds.stream(namespace, name, asked) } else { full("".into()) };
        let mut response = Response::new(body);
        let headers = response.headers_mut();
        headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if let Some(number) = number {
            headers.insert(NUMBER_HEADER, number.into());
        }
        Ok(response)
    }
}

fn user(parts: &Parts) -> Result<&Identified, Status> {
    parts.extensions.get::<Identified>().ok_or_else(Status::unauthorized)
}

fn method_not_allowed() -> Status {
    let message = "the server does not allow this method on the requested resource";
    Status::new(StatusCode::METHOD_NOT_ALLOWED, Reason::MethodNotAllowed, message)
}
