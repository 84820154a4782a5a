//! Registries over HTTP, as the distribution specification has it.

mod challenge;
mod wire;

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use http::header::{CONTENT_TYPE, LINK};
use http_body_util::Empty;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;

use super::address::{checked_reference, is_digest};
use super::{Error, Login, Manifest, Oci, Registry, digest_of};
use challenge::next_page;
use wire::{Answer, Ask, resolved, same_origin};

/// How long a call may take in all: a step ends within 30 seconds.
const LIMIT: Duration = Duration::from_secs(20);
/// Most that a manifest may have: what the distribution specification says registries should take.
const MANIFEST_MOST: u64 = 4 * 1024 * 1024;
/// Most that a page of tags may have.
const PAGE_MOST: u64 = 4 * 1024 * 1024;
/// Most pages of tags that are read: a hundred thousand tags are no product's.
const PAGES_MOST: usize = 100;
/// Manifests that are understood.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json";
/// Most bytes of an answer whose words do not matter.
const SMALL: u64 = 64 * 1024;

type HttpClient = Client<HttpsConnector<HttpConnector>, Empty<Bytes>>;

/// Registries over HTTP.
#[derive(Clone)]
pub struct Live {
    client: HttpClient,
    limit: Duration,
}

#[derive(Deserialize)]
struct Page {
    tags: Option<Vec<String>>,
}

impl Live {
    /// A client that trusts whom this machine trusts.
    pub fn new() -> Result<Self, Error> {
        let builder = HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(rustls::crypto::aws_lc_rs::default_provider())
            .map_err(|error| Error::Invalid {
                what: format!("this machine's certificates cannot be read: {error}"),
            })?;
        let connector = builder.https_or_http().enable_http1().build();
        Ok(Self { client: Client::builder(TokioExecutor::new()).build(connector), limit: LIMIT })
    }

    /// The same, but a call may take only this long.
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    async fn timed<T>(
        &self,
        registry: &Registry,
        what: &str,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let late =
            |_| Error::Timeout { registry: registry.host.clone(), what: what.to_owned(), limit: self.limit };
        tokio::time::timeout(self.limit, work).await.map_err(late)?
    }

    async fn all_tags(&self, registry: &Registry, name: &str) -> Result<Option<Vec<String>>, Error> {
        let (mut tags, what) = (Vec::new(), format!("tags of {name}"));
        let mut path = format!("/v2/{name}/tags/list?n=1000");
        for _ in 0..PAGES_MOST {
            let ask =
                Ask { registry, path: &path, accept: None, what: &what, most: PAGE_MOST, elsewhere: false };
            let Some(answer) = ask.send(&self.client).await? else { return Ok(None) };
            let page: Page = serde_json::from_slice(&answer.bytes)
                .map_err(|_| ask.garbled(&format!("{what} are no list")))?;
            tags.extend(page.tags.unwrap_or_default());
            let Some(next) = following(&ask, &answer)? else { return Ok(Some(tags)) };
            path = next;
        }
        Err(Error::Garbled { registry: registry.host.clone(), story: format!("{what} have no end") })
    }
}

/// Path and query of the page after this one. It is on the same registry.
fn following(ask: &Ask<'_>, answer: &Answer) -> Result<Option<String>, Error> {
    let link = answer.headers.get(LINK).and_then(|value| value.to_str().ok());
    let Some(next) = link.and_then(next_page) else { return Ok(None) };
    let scheme = if ask.registry.insecure { "http" } else { "https" };
    let here: Option<Uri> = format!("{scheme}://{}{}", ask.registry.host, ask.path).parse().ok();
    let there = here.and_then(|here| resolved(&here, next).filter(|there| same_origin(&here, there)));
    let path = there.and_then(|there| there.path_and_query().map(ToString::to_string));
    path.map(Some).ok_or_else(|| ask.garbled("its next page of tags is on another host"))
}

impl Oci for Live {
    async fn knock(&self, registry: &Registry) -> Result<(), Error> {
        let ask = Ask { registry, path: "/v2/", accept: None, what: "/v2/", most: SMALL, elsewhere: false };
        let answer = self.timed(registry, "the login", ask.send(&self.client)).await?;
        answer.map(|_| ()).ok_or_else(|| ask.garbled("it has no /v2/, so it is no registry"))
    }

    async fn tags(&self, registry: &Registry, repository: &str) -> Result<Option<Vec<String>>, Error> {
        let name = registry.path(repository)?;
        self.timed(registry, "the list of tags", self.all_tags(registry, &name)).await
    }

    async fn manifest(
        &self,
        registry: &Registry,
        repository: &str,
        reference: &str,
    ) -> Result<Option<Manifest>, Error> {
        let name = registry.path(repository)?;
        checked_reference(reference)?;
        let path = format!("/v2/{name}/manifests/{reference}");
        let what = format!("manifest {name}:{reference}");
        let accept = Some(MANIFESTS);
        let ask = Ask { registry, path: &path, accept, what: &what, most: MANIFEST_MOST, elsewhere: false };
        let answer = self.timed(registry, &what, ask.send(&self.client)).await?;
        let Some(Answer { headers, bytes }) = answer else { return Ok(None) };
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let digest = digest_of(&bytes);
        let promised = if is_digest(reference) { Some(reference) } else { header("docker-content-digest") };
        if promised.is_some_and(|promised| is_digest(promised) && promised != digest) {
            return Err(ask.garbled(&format!("{what} has another digest than it says")));
        }
        let media_type = header(CONTENT_TYPE.as_str()).unwrap_or_default();
        let media_type = media_type.split(';').next().unwrap_or_default().trim().to_owned();
        Ok(Some(Manifest { media_type, digest, bytes }))
    }

    async fn blob(
        &self,
        registry: &Registry,
        repository: &str,
        digest: &str,
        most: u64,
    ) -> Result<Bytes, Error> {
        let name = registry.path(repository)?;
        if !is_digest(digest) {
            checked_reference(digest)?;
            return Err(Error::Invalid { what: format!("`{digest}` is no digest of SHA-256") });
        }
        let path = format!("/v2/{name}/blobs/{digest}");
        let what = format!("blob {digest} in {name}");
        let ask = Ask { registry, path: &path, accept: None, what: &what, most, elsewhere: true };
        let answer = self.timed(registry, &what, ask.send(&self.client)).await?;
        let missing = || Error::Missing { registry: registry.host.clone(), what: what.clone() };
        let bytes = answer.ok_or_else(missing)?.bytes;
        if digest_of(&bytes) != digest {
            return Err(ask.garbled(&format!("{what} has another digest")));
        }
        Ok(bytes)
    }
}
