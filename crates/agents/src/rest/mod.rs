//! REST for scripts: the same tools, the same tokens, the same rules, and one record for every request.

mod archive;
mod openapi;
mod problem;
mod request;
mod routes;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, LOCATION, USER_AGENT};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Map, Value, json};

use crate::Error;
use crate::audit;
use crate::door::{Body, Incoming};
use crate::identity::Caller;
use crate::server::{Agents, Asked, record};
use crate::tool::{Erased, Progress, SESSION, Stop};
use problem::Problem;
use routes::{Act, Found, Route};

/// Where the document lies that describes all of it. It holds no secret, and is shown without a token.
pub(crate) const DOCUMENT: &str = "/api/v1/openapi.json";

/// Whether a path is one of these pages, whether there is such a page or not.
pub(crate) fn is_own(path: &str) -> bool {
    path.starts_with("/api/")
}

/// The document that describes all of it.
pub(crate) fn document(tools: &[Erased]) -> Response<Body> {
    answered(StatusCode::OK, &openapi::document(tools))
}

/// What was refused at the door, in the form of all refusals here.
pub(crate) fn refused(response: Response<Body>) -> Response<Body> {
    Problem::at_the_door(response.status()).response(response.headers().clone())
}

/// Answers a request, and writes it down.
pub(crate) async fn answer(agents: &Agents, caller: &Caller, request: Request<Incoming>) -> Response<Body> {
    let agent = request.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let agent = audit::plain(agent, 100);
    let action = format!("{} {}", request.method(), request.uri().path());
    let mut asked = Asked::default();
    let outcome = conduct(agents, caller, request, &mut asked).await;
    let (mut noted, response) = match outcome {
        Ok((code, value)) => {
            let mut response = answered(code, &value);
            if code == StatusCode::CREATED {
                locate(&mut response, &asked);
            }
            (record(caller, &agent, &asked, &Ok(())), response)
        }
        Err(problem) => (problem.record(caller, &agent, &asked), problem.response(http::HeaderMap::new())),
    };
    noted.action = action;
    match agents.note(noted).await {
        Ok(()) => response,
        Err(error) => Problem::from(error).response(http::HeaderMap::new()),
    }
}

/// Does what a request asks for. `asked` is filled as far as it could be read.
async fn conduct(
    agents: &Agents,
    caller: &Caller,
    request: Request<Incoming>,
    asked: &mut Asked,
) -> Result<(StatusCode, Value), Problem> {
    // Before the body is read: who asks too often is not to cost more than this.
    agents.admit(caller)?;
    let (parts, body) = request.into_parts();
    let (route, name) = match routes::find(parts.method.as_str(), parts.uri.path()) {
        Found::Route(route, name) => (route, name),
        Found::Methods(methods) => return Err(Problem::method(&methods)),
        Found::Nothing => return Err(Problem::nowhere()),
    };
    asked.tool = route.tool.to_owned();
    let mut arguments = request::query(route, parts.uri.query().unwrap_or_default())?;
    if let Some(name) = name {
        arguments.insert("name".into(), request::name(name)?.into());
    }
    // What is known so far, for the record of a request whose body cannot be read.
    asked.arguments = arguments.clone();
    if route.act == Act::Build {
        arguments.insert("build".into(), true.into());
    }
    match route.act.takes_body() {
        true => request::body(agents, route, &parts.headers, body, &mut arguments).await?,
        false => request::nothing(&body)?,
    }
    asked.arguments = arguments;
    if !agents.tools().iter().any(|tool| tool.name() == route.tool) {
        return Err(Problem::from(Error::NotAvailable));
    }
    if route.act == Act::Create {
        is_new(agents, caller, &asked.arguments).await?;
    }
    let value = agents.perform(caller, asked.clone(), Progress::default()).await.map_err(Problem::stopped)?;
    Ok((route.act.code(), value))
}

/// Whether there is no application of that name yet.
async fn is_new(agents: &Agents, caller: &Caller, arguments: &Map<String, Value>) -> Result<(), Problem> {
    let (Some(session), Some(Value::String(name))) = (arguments.get(SESSION), arguments.get("name")) else {
        return Ok(());
    };
    let arguments = json!({ SESSION: session, "name": name });
    let looked = Asked {
        tool: "app_status".into(),
        arguments: arguments.as_object().cloned().unwrap_or_default(),
        ..Asked::default()
    };
    let namespace = session.as_str().unwrap_or_default().to_owned();
    match agents.perform(caller, looked, Progress::default()).await {
        Err(Stop::Wrong(Error::NotFound { .. })) => Ok(()),
        Ok(_) => Err(Error::Exists { what: "application", name: name.clone(), namespace }.into()),
        Err(stop) => Err(Problem::stopped(stop)),
    }
}

fn answered(code: StatusCode, value: &Value) -> Response<Body> {
    json_response(code, "application/json", value)
}

fn json_response(code: StatusCode, kind: &'static str, value: &Value) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(format!("{value}\n"))).boxed_unsync());
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Says where what was made is found.
fn locate(response: &mut Response<Body>, asked: &Asked) {
    let word = |key: &str| asked.arguments.get(key).and_then(Value::as_str).unwrap_or_default();
    let place = format!("{}/{}?session={}", routes::APPLICATIONS, word("name"), word(SESSION));
    if let Ok(place) = HeaderValue::from_str(&place) {
        response.headers_mut().insert(LOCATION, place);
    }
}

/// All pages, for whoever describes them.
fn pages() -> impl Iterator<Item = &'static Route> {
    routes::ROUTES.iter()
}
