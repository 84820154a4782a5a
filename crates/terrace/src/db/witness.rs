//! The platform's part in showing a password: it writes down who wants to see which, before they do.
//!
//! The page stands on the API's own port and is for the API's own users: whoever may read the Secret may have it written
//! down that they do. It gives nothing out.

use std::convert::Infallible;

use agents::Agents;
use agents::audit::{Outcome, Record, digest, plain};
use api::names::{Label, ObjectName};
use control_plane::ControlPlane;
use control_plane::status::{Reason, Status};
use control_plane::wire::{ApiService, Body, Identified, Mounted, Upload, full, refusal};
use http::header::USER_AGENT;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use serde_json::{Map, Value};
use tower::ServiceExt;

use super::claim::Kind;

/// What every path begins with.
const PREFIX: &str = "/terrace/claims/v1/";
/// Longest name of a program that is kept.
const AGENT_MAX: usize = 100;

/// Where it is written down that the password of a claim is shown.
pub(super) fn path(namespace: &str, kind: Kind, name: &str) -> String {
    format!("{PREFIX}namespaces/{namespace}/{}/{name}/shown", kind.plural())
}

/// Lets the platform write down who has a password shown.
pub(crate) fn mount(plane: &ControlPlane, agents: Agents) {
    let api = plane.guarded_service();
    let service = tower::service_fn(move |request: Request<Upload>| {
        let (api, agents) = (api.clone(), agents.clone());
        async move { Ok::<_, Infallible>(answer(api, &agents, &request.into_parts().0).await) }
    });
    plane.mount(PREFIX, Mounted::new(service));
}

async fn answer(api: ApiService, agents: &Agents, parts: &Parts) -> Response<Body> {
    let outcome = match (Claimed::parse(parts.uri.path()), parts.extensions.get::<Identified>()) {
        (None, _) => Err(Status::new(StatusCode::NOT_FOUND, Reason::NotFound, "no such page")),
        (_, None) => Err(Status::unauthorized()),
        (Some(_), _) if parts.method != Method::POST => Err(Status::new(
            StatusCode::METHOD_NOT_ALLOWED,
            Reason::MethodNotAllowed,
            "the server does not allow this method on the requested resource",
        )),
        (Some(claimed), Some(user)) => claimed.witness(api, agents, user, parts).await,
    };
    outcome.map_or_else(|status| refusal(&status), |()| Response::new(full("{}\n".into())))
}

/// A claim, as a path names it.
#[derive(Debug, PartialEq)]
struct Claimed {
    namespace: Label,
    kind: Kind,
    name: ObjectName,
}

impl Claimed {
    /// Reads a path as it stands. Nothing is decoded, because no good path needs it.
    fn parse(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.strip_prefix(PREFIX)?.split('/').collect();
        let ["namespaces", namespace, plural, name, "shown"] = parts.as_slice() else { return None };
        let kind = Kind::ALL.into_iter().find(|kind| kind.plural() == *plural)?;
        Some(Self { namespace: namespace.parse().ok()?, kind, name: name.parse().ok()? })
    }

    /// Writes down what becomes of it, whatever that is.
    async fn witness(
        &self,
        api: ApiService,
        agents: &Agents,
        user: &Identified,
        parts: &Parts,
    ) -> Result<(), Status> {
        let Identified(who) = user;
        // No token has such a name, so nobody is taken for somebody else.
        let who = format!("user:{}", who.name);
        let outcome = match agents.admit_as(&who) {
            Ok(()) => self.may_read(api, user).await,
            Err(error) => {
                let (code, reason) = (StatusCode::TOO_MANY_REQUESTS, Reason::TooManyRequests);
                let status = Status::new(code, reason, error.to_string());
                Err(Refused { status, outcome: Outcome::Refused, word: error.word() })
            }
        };
        let agent = parts.headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
        agents
            .note(self.record(&who, &plain(agent, AGENT_MAX), &outcome))
            .await
            .map_err(|error| Status::internal(error.to_string()))?;
        outcome.map_err(|refused| refused.status)
    }

    /// Reads the claim and its Secret as the user: what they are refused is refused in the API's own words.
    async fn may_read(&self, api: ApiService, user: &Identified) -> Result<(), Refused> {
        let Self { namespace, kind, name } = self;
        let group = "/apis/persistance.atlas.infoblox.com/v1";
        let path = format!("{group}/namespaces/{namespace}/{}/{name}", kind.plural());
        let claim = get(api.clone(), user, &path).await?;
        let secret = claim["spec"]["secretName"].as_str().unwrap_or(name.as_str());
        let path = format!("/api/v1/namespaces/{namespace}/secrets/{secret}");
        get(api, user, &path).await.map(drop)
    }

    fn record(&self, who: &str, agent: &str, outcome: &Result<(), Refused>) -> Record {
        let Self { namespace, kind, name } = self;
        let arguments = Map::from_iter([
            ("kind".to_owned(), Value::from(kind.plural())),
            ("namespace".to_owned(), namespace.as_str().into()),
            ("name".to_owned(), name.as_str().into()),
        ]);
        let (outcome, reason) = match outcome {
            Ok(()) => (Outcome::Done, None),
            Err(refused) => (refused.outcome, Some(refused.word.to_owned())),
        };
        Record {
            time: Timestamp::now(),
            token: who.to_owned(),
            name: who.to_owned(),
            agent: agent.to_owned(),
            action: match kind {
                Kind::Database => "db dsn --show".into(),
                Kind::Role => "db dsn --role --show".into(),
            },
            subject: format!("{namespace}/{name}"),
            arguments: digest(&arguments),
            plan: None,
            outcome,
            reason,
        }
    }
}

/// Why it was not to be.
struct Refused {
    /// For whoever asked.
    status: Status,
    /// For the trail: what came of it, and why.
    outcome: Outcome,
    word: &'static str,
}

/// An object as a user sees it, or why not.
async fn get(api: ApiService, user: &Identified, path: &str) -> Result<Value, Refused> {
    let broken =
        |why: String| Refused { status: Status::internal(why), outcome: Outcome::Failed, word: "Internal" };
    let request = Request::get(path).extension(user.clone()).body(Full::<bytes::Bytes>::default());
    let request = request.map_err(|error| broken(error.to_string()))?;
    let response = api.oneshot(request).await.unwrap_or_else(|never| match never {});
    let code = response.status();
    let body = response.into_body().collect().await.map_err(|error| broken(error.to_string()))?.to_bytes();
    let object: Value = serde_json::from_slice(&body).map_err(|error| broken(error.to_string()))?;
    if code.is_success() {
        return Ok(object);
    }
    let message = object["message"].as_str().unwrap_or("the API refused").to_owned();
    let (reason, outcome, word) = match code {
        StatusCode::FORBIDDEN => (Reason::Forbidden, Outcome::Refused, "Forbidden"),
        StatusCode::NOT_FOUND => (Reason::NotFound, Outcome::Failed, "NotFound"),
        _ => (Reason::Unknown, Outcome::Failed, "Refused"),
    };
    Err(Refused { status: Status::new(code, reason, message), outcome, word })
}
