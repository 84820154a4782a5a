//! One request to a registry: who asks, where it leads, how much of an answer is taken.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, LOCATION, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use serde::Deserialize;
use std::time::Duration;

use super::challenge::{Challenge, query};
use super::{Error, HttpClient, Login, Registry};

/// How often an answer may send us elsewhere; registries do it once.
const REDIRECTS: usize = 5;
/// Most that a token may have; those of public registries have some thousand bytes.
const TOKEN_MOST: u64 = 256 * 1024;
/// How long to wait if a registry allows no more requests and does not say for how long.
const LIMITED: Duration = Duration::from_secs(60);

/// What is asked.
pub(super) struct Ask<'a> {
    pub(super) registry: &'a Registry,
    /// Path and query.
    pub(super) path: &'a str,
    /// Types of manifests that are understood.
    pub(super) accept: Option<&'static str>,
    /// What it is, for people.
    pub(super) what: &'a str,
    /// Most bytes that are taken.
    pub(super) most: u64,
    /// Whether the answer may come from another host: only if its digest is checked.
    pub(super) elsewhere: bool,
}

/// An answer.
pub(super) struct Answer {
    pub(super) headers: HeaderMap,
    pub(super) bytes: Bytes,
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Ask<'_> {
    /// Asks; none if it is not there.
    pub(super) async fn send(&self, client: &HttpClient) -> Result<Option<Answer>, Error> {
        let scheme = if self.registry.insecure { "http" } else { "https" };
        let address = format!("{scheme}://{}{}", self.registry.host, self.path);
        let uri: Uri = address.parse().map_err(|_| self.garbled("the address cannot be asked"))?;
        let first = self.follow(client, &uri, None).await?;
        let response = if first.status() == StatusCode::UNAUTHORIZED {
            let challenge = Challenge::of(first.headers());
            let key = self.key(client, challenge).await?;
            self.follow(client, &uri, Some(key)).await?
        } else {
            first
        };
        self.judged(response).await
    }

    /// What opens the registry after a challenge.
    async fn key(&self, client: &HttpClient, challenge: Option<Challenge>) -> Result<HeaderValue, Error> {
        match (challenge, &self.registry.login) {
            (Some(Challenge::Basic), Some(login)) => basic(login).ok_or_else(|| self.denied()),
            (Some(Challenge::Bearer { realm, service, scope }), login) => {
                let fields = query(&[("service", service.as_ref()), ("scope", scope.as_ref())]);
                let join = if realm.contains('?') { '&' } else { '?' };
                let uri = self.realm(&format!("{realm}{join}{fields}"))?;
                self.token(client, &uri, login.as_ref()).await
            }
            (Some(Challenge::Basic), None) | (None, _) => Err(self.denied()),
        }
    }

    /// Where tokens are fetched. A password goes there, so it is encrypted wherever the registry is.
    fn realm(&self, address: &str) -> Result<Uri, Error> {
        let uri: Uri = address.parse().map_err(|_| self.garbled("it sends for a token to no address"))?;
        let safe = uri.scheme_str() == Some("https");
        let open = self.registry.insecure && uri.scheme_str() == Some("http");
        let plain = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
        if (safe || open) && plain {
            return Ok(uri);
        }
        Err(self.garbled("it sends for a token to an address without TLS"))
    }

    async fn token(
        &self,
        client: &HttpClient,
        uri: &Uri,
        login: Option<&Login>,
    ) -> Result<HeaderValue, Error> {
        let key = login.and_then(basic);
        let response = self.once(client, uri, key.as_ref()).await?;
        if matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(self.denied());
        }
        if !response.status().is_success() {
            return Err(self.refusal(&response));
        }
        let bytes = self.taken(response.into_body(), TOKEN_MOST).await?;
        let token: Token = serde_json::from_slice(&bytes).map_err(|_| self.garbled("its token is none"))?;
        let token = token.token.or(token.access_token).ok_or_else(|| self.garbled("its token is none"))?;
        sealed(&format!("Bearer {token}")).ok_or_else(|| self.garbled("its token is none"))
    }

    /// Asks, and goes where an answer sends us. A key is shown to the registry alone.
    async fn follow(
        &self,
        client: &HttpClient,
        start: &Uri,
        key: Option<HeaderValue>,
    ) -> Result<Response<Incoming>, Error> {
        let mut uri = start.clone();
        for _ in 0..=REDIRECTS {
            let home = same_origin(start, &uri);
            let response = self.once(client, &uri, key.as_ref().filter(|_| home)).await?;
            if !response.status().is_redirection() {
                if !home && response.status() == StatusCode::UNAUTHORIZED {
                    return Err(self.garbled("it sends to another host that wants a login"));
                }
                return Ok(response);
            }
            uri = self.next(&uri, response.headers())?;
            if !self.elsewhere && !same_origin(start, &uri) {
                return Err(self.garbled("it sends to another host"));
            }
        }
        Err(self.garbled("it sends elsewhere again and again"))
    }

    /// Where a redirect leads. It may not leave encryption behind.
    fn next(&self, from: &Uri, headers: &HeaderMap) -> Result<Uri, Error> {
        let location = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let to = resolved(from, location).ok_or_else(|| self.garbled("it sends to no address"))?;
        match (from.scheme_str(), to.scheme_str()) {
            (_, Some("https")) | (Some("http"), Some("http")) => Ok(to),
            _ => Err(self.garbled("it sends away from https")),
        }
    }

    async fn once(
        &self,
        client: &HttpClient,
        uri: &Uri,
        key: Option<&HeaderValue>,
    ) -> Result<Response<Incoming>, Error> {
        let mut request = Request::get(uri.clone()).header(USER_AGENT, "terrace");
        if let Some(accept) = self.accept {
            request = request.header(ACCEPT, accept);
        }
        if let Some(key) = key {
            request = request.header(AUTHORIZATION, key);
        }
        let request = request.body(Empty::new()).map_err(|_| self.garbled("the address cannot be asked"))?;
        client.request(request).await.map_err(|error| self.unreachable(chain(&error)))
    }

    async fn judged(&self, response: Response<Incoming>) -> Result<Option<Answer>, Error> {
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        if response.status() != StatusCode::OK {
            return Err(self.refusal(&response));
        }
        let length = response.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        if length.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > self.most) {
            return Err(self.too_large(self.most));
        }
        let headers = response.headers().clone();
        let bytes = self.taken(response.into_body(), self.most).await?;
        Ok(Some(Answer { headers, bytes }))
    }

    async fn taken(&self, mut body: Incoming, most: u64) -> Result<Bytes, Error> {
        let mut bytes = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| self.unreachable(chain(&error)))?;
            let Some(data) = frame.data_ref() else { continue };
            if (bytes.len() + data.len()) as u64 > most {
                return Err(self.too_large(most));
            }
            bytes.extend_from_slice(data);
        }
        Ok(bytes.freeze())
    }

    /// What an answer means that is no success.
    fn refusal(&self, response: &Response<Incoming>) -> Error {
        let registry = self.registry.host.clone();
        match response.status() {
            StatusCode::UNAUTHORIZED => self.denied(),
            StatusCode::FORBIDDEN => Error::Forbidden { registry, what: self.what.to_owned() },
            StatusCode::TOO_MANY_REQUESTS => {
                let said = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
                let seconds = said.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
                Error::Limited { registry, wait: seconds.unwrap_or(LIMITED) }
            }
            status if status.is_server_error() => self.unreachable(format!("it answered {status}")),
            status => self.garbled(&format!("{} was answered with {status}", self.what)),
        }
    }

    fn denied(&self) -> Error {
        Error::Denied { registry: self.registry.host.clone() }
    }

    fn unreachable(&self, story: String) -> Error {
        Error::Unreachable { registry: self.registry.host.clone(), story }
    }

    pub(super) fn garbled(&self, story: &str) -> Error {
        Error::Garbled { registry: self.registry.host.clone(), story: story.to_owned() }
    }

    fn too_large(&self, most: u64) -> Error {
        Error::TooLarge { registry: self.registry.host.clone(), what: self.what.to_owned(), most }
    }
}

/// An address that an answer names, which may be only a path.
pub(super) fn resolved(from: &Uri, location: &str) -> Option<Uri> {
    if location.starts_with('/') && !location.starts_with("//") {
        return format!("{}://{}{location}", from.scheme_str()?, from.authority()?).parse().ok();
    }
    let to: Uri = location.parse().ok()?;
    let plain = to.authority().is_some_and(|authority| !authority.as_str().contains('@'));
    (to.scheme().is_some() && plain).then_some(to)
}

pub(super) fn same_origin(one: &Uri, two: &Uri) -> bool {
    let port = |uri: &Uri| uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
    one.scheme() == two.scheme() && one.host() == two.host() && port(one) == port(two)
}

fn basic(login: &Login) -> Option<HeaderValue> {
    let pair = format!("{}:{}", login.username, login.password.open());
    sealed(&format!("Basic {}", STANDARD.encode(pair)))
}

/// A header that no log shows.
fn sealed(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// An error with what caused it.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
