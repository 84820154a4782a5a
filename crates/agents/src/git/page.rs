//! `/enter/{id}`: where a person enters a secret. Who knows the page's name may use it, once; the name went to the
//! person's own client alone.

use std::time::{Duration, Instant};

use api::secret::Sealed;
use bytes::Bytes;
use http::header::{HOST, HeaderName, ORIGIN};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Body;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;
use serde_json::{Map, Value};

use super::entries::Pending;
use super::{form, paper, store};
use crate::Error;
use crate::audit::{self, Outcome, Record};
use crate::server::Agents;
use crate::sessions;

/// Where the pages are.
pub(crate) const PATH: &str = "/enter/";
/// Largest form.
const FORM_MAX: usize = 64 * 1024;
/// How long a form may take to arrive.
const FORM_PATIENCE: Duration = Duration::from_secs(10);
/// Says where a browser's request comes from.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Answers at a page.
pub(crate) async fn answer<B>(agents: &Agents, request: Request<B>) -> Response<Full<Bytes>>
where
    B: Body + Send,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let id = request.uri().path().strip_prefix(PATH).unwrap_or_default().to_owned();
    let method = request.method().clone();
    let pending = agents.entries().look(&id, Instant::now());
    let (response, reason) = match (&method, &pending) {
        _ if !is_ours(agents, &request) => (strange(), Some("CrossSite")),
        (_, None) => (over(), Some("NoEntry")),
        (&Method::GET | &Method::HEAD, Some(pending)) => (paper::form(pending, None), None),
        (&Method::POST, Some(pending)) => match post(agents, &id, request).await {
            Ok(()) => (stored(pending), None),
            Err(Refused::Over) => (over(), Some("NoEntry")),
            Err(Refused::Wrong(error)) => {
                (paper::form(pending, Some(&error.to_string())), Some(error.word()))
            }
        },
        _ => {
            let text = "this page is opened, and its form is sent back; nothing else is done here";
            (paper::word(StatusCode::METHOD_NOT_ALLOWED, "Not so", text), Some("Method"))
        }
    };
    if let Err(error) = agents.note(record(&method, pending.as_ref(), reason)).await {
        tracing::error!(%error, "the use of a page could not be written down");
        return paper::word(StatusCode::INTERNAL_SERVER_ERROR, "Something is wrong", &error.to_string());
    }
    response
}

/// Why a form came to nothing.
enum Refused {
    /// The page has been used, or its time is over.
    Over,
    /// What is in it cannot be stored.
    Wrong(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Wrong(error)
    }
}

async fn post<B>(agents: &Agents, id: &str, request: Request<B>) -> Result<(), Refused>
where
    B: Body + Send,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let reading = Limited::new(request.into_body(), FORM_MAX).collect();
    let read = tokio::time::timeout(FORM_PATIENCE, reading).await;
    let body = match read {
        Ok(Ok(body)) => body.to_bytes(),
        _ => return Err(Error::invalid("form", "it is too large, or did not arrive").into()),
    };
    let unreadable = || Error::invalid("form", "it cannot be read");
    let mut fields = form::read(&body).ok_or_else(unreadable)?;
    let secret = Sealed::new(fields.remove("secret").unwrap_or_default());
    let username = fields.remove("username").map(|name| name.trim().to_owned());
    // Taken before it is stored: of two who send it at once only one can succeed.
    let Some(taken) = agents.entries().take(id, Instant::now()) else { return Err(Refused::Over) };
    let mut wish = taken.1.wish.clone();
    wish.username = username.filter(|name| !name.is_empty()).or(wish.username);
    let stored = match live(agents, &taken.1).await {
        Ok(()) => store::put(agents.client(), &taken.1.namespace, &wish, &secret).await,
        Err(error) => Err(error),
    };
    stored.map_err(|error| {
        agents.entries().put_back(id, taken);
        error.into()
    })
}

/// Whether the session is still there, and whoever asked is still let in.
async fn live(agents: &Agents, pending: &Pending) -> Result<(), Error> {
    let namespace = &pending.namespace;
    if !agents.tokens().knows(&pending.fingerprint, Timestamp::now()) {
        return Err(Error::Denied { what: "store anything: it was revoked".into() });
    }
    let found = Api::<Namespace>::all(agents.client().clone()).get_opt(namespace).await?;
    match found.is_some_and(|found| !sessions::is_ending(&found)) {
        true => Ok(()),
        false => Err(Error::NoSession { session: sessions::id(namespace).to_owned() }),
    }
}

/// Whether a request was made at this server's own address, and, where a browser sends it, from one of its own pages.
fn is_ours<B>(agents: &Agents, request: &Request<B>) -> bool {
    let header = |name: &HeaderName| request.headers().get(name).map(|value| value.to_str().unwrap_or("?"));
    let authority = request.uri().authority().map(http::uri::Authority::as_str);
    let Some(host) = header(&HOST).or(authority) else { return false };
    let own = own_addresses(&agents.settings().address);
    let at_home = own.iter().any(|address| address.strip_prefix("http://") == Some(host));
    let from = header(&ORIGIN);
    let same = |origin: &str| origin.strip_prefix("http://") == Some(host);
    let site = header(&FETCH_SITE).is_none_or(|site| matches!(site, "same-origin" | "none"));
    // A page is opened from anywhere; its form comes from nowhere else.
    at_home && (request.method() != Method::POST || (from.is_none_or(same) && site))
}

/// This server's address, in both ways in which a browser on this machine writes it.
fn own_addresses(address: &str) -> Vec<String> {
    let address = address.trim_end_matches('/').to_owned();
    let by_name = address.replace("//127.0.0.1:", "//localhost:");
    vec![address, by_name]
}

fn record(method: &Method, pending: Option<&Pending>, reason: Option<&str>) -> Record {
    let mut arguments = Map::new();
    if let Some(pending) = pending {
        arguments.insert("name".into(), Value::from(pending.wish.name.as_str()));
        arguments.insert("host".into(), Value::from(pending.wish.host.as_str()));
    }
    let of = |part: fn(&Pending) -> &String| pending.map(part).cloned().unwrap_or_default();
    Record {
        time: Timestamp::now(),
        token: of(|pending| &pending.fingerprint),
        name: of(|pending| &pending.asker),
        agent: "page".into(),
        // The page's own name stays out of the trail: who reads it could use the page.
        action: format!("{method} {PATH}"),
        subject: of(|pending| &pending.session),
        arguments: audit::digest(&arguments),
        plan: None,
        outcome: if reason.is_some() { Outcome::Refused } else { Outcome::Done },
        reason: reason.map(str::to_owned),
    }
}

fn stored(pending: &Pending) -> Response<Full<Bytes>> {
    let text = format!("{} is stored. You can close this page.", pending.wish.name);
    paper::word(StatusCode::OK, "Thank you", &text)
}

fn over() -> Response<Full<Bytes>> {
    let text = "This page has been used, or its time is over. Let the agent ask again.";
    paper::word(StatusCode::NOT_FOUND, "Nothing is waited for", text)
}

fn strange() -> Response<Full<Bytes>> {
    let text = "This did not come from a page of this platform, so nothing was done.";
    paper::word(StatusCode::FORBIDDEN, "Not from here", text)
}
