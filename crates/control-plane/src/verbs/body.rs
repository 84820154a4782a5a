//! From the bytes of a request to one object of the right kind.

use serde_json::{Value, json};

use crate::kinds::Kind;
use crate::status::{Cause, Status};
use crate::wire::decode::{self, Media};
use crate::wire::yaml;

use super::Call;

/// A body, read.
pub(crate) struct Read {
    pub value: Value,
    /// Paths of keys that stood twice.
    pub duplicates: Vec<String>,
}

/// Reads the object of a create or an update.
pub(crate) fn object(call: &Call) -> Result<Read, Status> {
    let kind = &call.entry.kind;
    let mut read = document(call)?;
    let Value::Object(map) = &mut read.value else {
        let got = go_type(&read.value);
        let message = format!("json: cannot unmarshal {got} into Go value of type {}", kind.kind);
        return Err(unrecognized(kind, &message));
    };
    // A built-in kind is decoded into what the path says; only a custom one must name itself.
    for (key, word) in [("apiVersion", kind.api_version()), ("kind", kind.kind.clone())] {
        if map.get(key).is_none_or(|value| value.is_null() || value == "") {
            map.insert(key.to_owned(), Value::from(word));
        }
    }
    same_kind(kind, &read.value)?;
    Ok(read)
}

/// Reads any body of JSON or YAML, whatever it holds.
pub(crate) fn document(call: &Call) -> Result<Read, Status> {
    let kind = &call.entry.kind;
    match decode::media(&call.content_type) {
        Media::Json => json_document(kind, &call.body),
        Media::Yaml => yaml_document(kind, &call.body),
        Media::Protobuf => {
            let value = crate::wire::protobuf::decode(&call.body)
                .map_err(|why| Status::bad_request(format!("the object provided is unrecognized: {why}")))?;
            Ok(Read { value, duplicates: Vec::new() })
        }
        _ => Err(Status::new(
            http::StatusCode::UNSUPPORTED_MEDIA_TYPE,
            crate::status::Reason::UnsupportedMediaType,
            "the body of the request was in an unknown format - accepted media types include: \
             application/json, application/yaml, application/vnd.kubernetes.protobuf",
        )),
    }
}

/// Reads JSON.
pub(crate) fn json_document(kind: &Kind, bytes: &[u8]) -> Result<Read, Status> {
    let decoded = decode::json(bytes).map_err(|why| {
        let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]).into_owned();
        unrecognized(kind, &format!("couldn't get version/kind; json parse error: {why} ({head})"))
    })?;
    Ok(Read { value: decoded.value, duplicates: decoded.duplicates })
}

/// Reads YAML.
pub(crate) fn yaml_document(kind: &Kind, bytes: &[u8]) -> Result<Read, Status> {
    let decoded = yaml::read(bytes)
        .map_err(|why| unrecognized(kind, &format!("error converting YAML to JSON: {why}")))?;
    Ok(Read { value: decoded.value, duplicates: decoded.duplicates })
}

/// How much of a broken body is shown back.
const HEAD: usize = 128;

fn unrecognized(kind: &Kind, why: &str) -> Status {
    Status::bad_request(format!("the object provided is unrecognized (must be of type {}): {why}", kind.kind))
}

/// The JSON type of a value, in the words of decoding errors.
pub(crate) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn same_kind(kind: &Kind, object: &Value) -> Result<(), Status> {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let named = object["kind"].as_str().unwrap_or_default();
    if version == kind.api_version() && named == kind.kind {
        return Ok(());
    }
    if !kind.builtin {
        if version != kind.api_version() {
            return Err(Status::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({})",
                kind.api_version()
            )));
        }
        let cause = Cause::invalid("kind", &json!(named), &format!("must be {}", kind.kind));
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        return Err(Status::invalid(&kind.group, &kind.kind, name, vec![cause]));
    }
    let short = version.rsplit('/').next().unwrap_or_default();
    let why = if version == kind.api_version() {
        let internal = if kind.group.is_empty() { "core" } else { &kind.group };
        format!("converting ({short}.{named}) to ({internal}.{}): unknown conversion", kind.kind)
    } else {
        format!("no kind {named:?} is registered for version {version:?} in scheme \"terrace\"")
    };
    let message = format!("{named} in version {short:?} cannot be handled as a {}: {why}", kind.kind);
    Err(Status::bad_request(message))
}

/// Judges fields that the schema does not know and keys that stood twice, by the client's wish.
/// `unknown` are the paths that pruning removed. Returns warnings.
pub(crate) fn field_validation(
    call: &Call,
    unknown: &[String],
    twice: &[String],
) -> Result<Vec<String>, Status> {
    let complaints = || {
        let unknown = unknown.iter().map(|path| format!("unknown field {path:?}"));
        unknown.chain(twice.iter().map(|path| format!("duplicate field {path:?}"))).collect::<Vec<_>>()
    };
    match call.query.field_validation.as_str() {
        "Ignore" => Ok(Vec::new()),
        "Strict" if !unknown.is_empty() || !twice.is_empty() => {
            let kind = &call.entry.kind;
            Err(Status::bad_request(format!(
                "{} in version {:?} cannot be handled as a {}: strict decoding error: {}",
                kind.kind,
                kind.version,
                kind.kind,
                complaints().join(", ")
            )))
        }
        _ => Ok(complaints()),
    }
}

/// `spec.items[0].name` as a JSON pointer.
pub(crate) fn pointer(path: &str) -> String {
    let mut out = String::new();
    for part in path.split(['.', '[']) {
        let part = part.trim_end_matches(']');
        if !part.is_empty() {
            out.push('/');
            out.push_str(part);
        }
    }
    out
}
