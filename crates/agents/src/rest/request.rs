//! What a request asks for, as the arguments of a tool. What is not understood is refused, never left out.

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt;
use hyper::body::Body as _;
use serde_json::{Map, Value};

use super::archive;
use super::problem::Problem;
use super::routes::{Act, Route};
use crate::Error;
use crate::door::{Incoming, Unread};
use crate::server::Agents;
use crate::tool::SESSION;

/// How the session is called in a query.
pub(super) const QUERY_SESSION: &str = "session";
/// Content types of a tar.gz.
pub(super) const ARCHIVES: [&str; 3] = ["application/gzip", "application/x-gzip", "application/x-tar+gzip"];

/// The arguments that stand in a query.
pub(super) fn query(route: &Route, query: &str) -> Result<Map<String, Value>, Error> {
    let mut arguments = Map::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        // What these stand for is made of plain letters; nothing has to be written with a percent sign.
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~=".contains(&byte);
        if value.is_empty() || !value.bytes().all(plain) {
            return Err(Error::invalid("query", format!("{} has no value that can be read", shown(key))));
        }
        let parameter = route.query.iter().find(|parameter| parameter.name == key);
        let (argument, value) = match (key, parameter) {
            (QUERY_SESSION, _) => (SESSION, Value::from(value)),
            (_, Some(parameter)) if parameter.number => (parameter.name, number(parameter.name, value)?),
            (_, Some(parameter)) => (parameter.name, Value::from(value)),
            (_, None) => {
                let known: Vec<&str> = std::iter::once(QUERY_SESSION)
                    .chain(route.query.iter().map(|parameter| parameter.name))
                    .collect();
                let why = format!("there is no {}; there are: {}", shown(key), known.join(", "));
                return Err(Error::invalid("query", why));
            }
        };
        if arguments.insert(argument.to_owned(), value).is_some() {
            return Err(Error::invalid("query", format!("{} stands there twice", shown(key))));
        }
    }
    match arguments.contains_key(SESSION) {
        true => Ok(arguments),
        false => Err(Error::invalid(
            "query",
            "the session is missing: add ?session=ID; `register` answers with one",
        )),
    }
}

fn number(name: &'static str, value: &str) -> Result<Value, Error> {
    let number: Result<u32, _> = value.parse();
    number.map(Value::from).map_err(|_| Error::invalid(name, "a whole number is expected"))
}

/// Somebody's words, short enough to be said back.
fn shown(word: &str) -> String {
    format!("{:?}", word.chars().take(40).collect::<String>())
}

/// The name in a path.
pub(super) fn name(name: &str) -> Result<&str, Error> {
    let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    match name.len() <= 63 && name.bytes().all(plain) {
        true => Ok(name),
        false => Err(Error::invalid(
            "name",
            format!("{}: names have up to 63 lower-case letters, digits and hyphens", shown(name)),
        )),
    }
}

/// Adds what stands in a body.
pub(super) async fn body(
    agents: &Agents,
    route: &Route,
    headers: &HeaderMap,
    body: Incoming,
    arguments: &mut Map<String, Value>,
) -> Result<(), Problem> {
    let kind = kind(headers).unwrap_or_default();
    let packed = route.act == Act::Source && ARCHIVES.contains(&kind.as_str());
    if !packed && kind != "application/json" {
        return Err(Problem::kind(route.act == Act::Source));
    }
    let bytes = body.collect().await.map_err(|unread: Unread| Problem::unread(&unread))?.to_bytes();
    if packed {
        let limits =
            archive::Limits { bytes: agents.settings().push_bytes, files: agents.settings().push_files };
        let unpacked = tokio::task::spawn_blocking(move || archive::files(&bytes, limits)).await;
        let files = unpacked.map_err(|error| Error::Internal(error.to_string()))??;
        arguments.insert("files".into(), files.into());
        return Ok(());
    }
    for (key, value) in object(&bytes)? {
        if arguments.contains_key(&key) {
            let why = format!("{key} stands in the address, and not in the body");
            return Err(Error::invalid("body", why).into());
        }
        arguments.insert(key, value);
    }
    Ok(())
}

/// A page that takes no body has none.
pub(super) fn nothing(body: &Incoming) -> Result<(), Error> {
    match body.is_end_stream() {
        true => Ok(()),
        false => Err(Error::invalid("body", "this request takes none")),
    }
}

/// The content type, without its parameters; text in another charset than UTF-8 is of no type that is known here.
fn kind(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase();
    let mut parts = value.split(';').map(str::trim);
    let kind = parts.next()?.to_owned();
    let understood = parts.all(|part| matches!(part, "" | "charset=utf-8" | "charset=\"utf-8\""));
    understood.then_some(kind)
}

fn object(bytes: &[u8]) -> Result<Map<String, Value>, Error> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Error::invalid("body", format!("it is not UTF-8 after {} bytes", error.valid_up_to()))
    })?;
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Error::invalid("body", "a JSON object is expected")),
        Err(error) => Err(Error::invalid("body", format!("it is not JSON: {error}"))),
    }
}
