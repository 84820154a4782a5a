//! What the gateway itself answers: short plain text that says what happened.

use http::header::{ALLOW, CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use http::{Response, StatusCode};

use crate::body::Body;

/// One sentence with a status.
pub(crate) fn page(status: StatusCode, sentence: String) -> Response<Body> {
    let mut response = Response::new(Body::full(sentence + "\n"));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

pub(crate) fn bad_request(what: &str) -> Response<Body> {
    page(StatusCode::BAD_REQUEST, format!("Terrace: the request cannot be understood: {what}"))
}

/// `host` is in the form that `host::normal` writes, so it holds nothing that a browser could take for more than text.
pub(crate) fn nobody(host: &str) -> Response<Body> {
    page(StatusCode::NOT_FOUND, format!("Terrace: no application answers at {host}"))
}

pub(crate) fn not_allowed(allowed: &'static str) -> Response<Body> {
    let mut response =
        page(StatusCode::METHOD_NOT_ALLOWED, format!("Terrace: only {allowed} is answered here"));
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

pub(crate) fn connect_refused() -> Response<Body> {
    page(
        StatusCode::METHOD_NOT_ALLOWED,
        "Terrace: CONNECT is not answered: this is no forward proxy".to_owned(),
    )
}

pub(crate) fn unavailable(name: &str) -> Response<Body> {
    let sentence =
        format!("Terrace: application {name} has no running instance at the moment; try again shortly");
    let mut response = page(StatusCode::SERVICE_UNAVAILABLE, sentence);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    response
}

pub(crate) fn unreachable(name: &str) -> Response<Body> {
    let sentence = format!("Terrace: no instance of application {name} accepts connections; look at its log");
    let mut response = page(StatusCode::BAD_GATEWAY, sentence);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    response
}

pub(crate) fn broken_off(name: &str) -> Response<Body> {
    let what = "closed the connection instead of answering, and the request cannot safely be sent again";
    page(StatusCode::BAD_GATEWAY, format!("Terrace: application {name} {what}; look at its log"))
}

pub(crate) fn garbled(name: &str) -> Response<Body> {
    page(
        StatusCode::BAD_GATEWAY,
        format!("Terrace: what application {name} answered is no HTTP; look at its log"),
    )
}

pub(crate) fn late(name: &str, seconds: u64) -> Response<Body> {
    let sentence = format!("Terrace: application {name} did not begin its answer within {seconds} seconds");
    page(StatusCode::GATEWAY_TIMEOUT, sentence)
}

pub(crate) fn client_broke_off() -> Response<Body> {
    bad_request("its body broke off")
}

/// To the same address over https.
pub(crate) fn to_https(host: &str, port: u16, path: &str) -> Response<Body> {
    let location =
        if port == 443 { format!("https://{host}{path}") } else { format!("https://{host}:{port}{path}") };
    let Ok(location) = HeaderValue::try_from(&location) else {
        return bad_request("its path holds forbidden characters");
    };
    let mut response =
        page(StatusCode::PERMANENT_REDIRECT, "Terrace: this application answers over https".to_owned());
    response.headers_mut().insert(LOCATION, location);
    response
}
