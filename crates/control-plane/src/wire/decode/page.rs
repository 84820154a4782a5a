//! Continue tokens: where a list that was cut goes on.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Value, json};

use super::json as decode;
use crate::status::Status;

/// The alphabet of tokens. Stray bits in the last letter are let pass, as the original does.
const LETTERS: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

const VERSION: &str = "meta.k8s.io/v1";
const INVALID: &str = "continue key is not valid";

/// A token that goes on behind this object. Revision 0 means the newest state, whatever it is by then.
pub fn continue_token(revision: u64, namespace: &str, name: &str) -> String {
    let namespace = if namespace.is_empty() { String::new() } else { format!("/{namespace}") };
    let revision = if revision == 0 { json!(-1) } else { json!(revision) };
    let token = json!({ "v": VERSION, "rv": revision, "start": format!("{namespace}/{name}\0") });
    LETTERS.encode(token.to_string())
}

/// The revision, namespace and name in a token.
pub fn parse_continue(token: &str) -> Result<(u64, String, String), Status> {
    parse(token).map_err(|why| Status::bad_request(format!("invalid continue token: {why}")))
}

fn parse(token: &str) -> Result<(u64, String, String), String> {
    let bytes = LETTERS
        .decode(token)
        .map_err(|_| format!("{INVALID}: illegal base64 data at input byte {}", first_illegal(token)))?;
    let token = decode(&bytes).map_err(|why| format!("{INVALID}: {why}"))?.value;
    let (version, revision, start) = fields(&token).map_err(|why| format!("{INVALID}: {why}"))?;
    if version != VERSION {
        return Err(format!("{INVALID}: server does not recognize this encoded version {version}"));
    }
    if revision == 0 {
        return Err(format!("{INVALID}: incorrect encoded start resourceVersion (version {VERSION})"));
    }
    if start.is_empty() {
        return Err(format!("{INVALID}: encoded start key empty (version {VERSION})"));
    }
    // A key that climbs out of its collection must not be believed.
    let key = start.strip_prefix('/').unwrap_or(start);
    if key.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(format!("{INVALID}: {start}"));
    }
    let key = key.strip_suffix('\0').unwrap_or(key);
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    Ok((u64::try_from(revision).unwrap_or_default(), namespace.to_owned(), name.to_owned()))
}

fn fields(token: &Value) -> Result<(&str, i64, &str), String> {
    let kind = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let wrong = |value: &Value, what: &str| format!("json: cannot unmarshal {} into Go {what}", kind(value));
    let Some(map) = token.as_object() else {
        return match token {
            Value::Null => Ok(("", 0, "")),
            _ => Err(wrong(token, "value of type storage.continueToken")),
        };
    };
    let text = |name: &str| match map.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(other) => Err(wrong(other, &format!("struct field continueToken.{name} of type string"))),
    };
    let revision = match map.get("rv") {
        None | Some(Value::Null) => 0,
        Some(other) => {
            other.as_i64().ok_or_else(|| wrong(other, "struct field continueToken.rv of type int64"))?
        }
    };
    Ok((text("v")?, revision, text("start")?))
}

/// Where the first letter stands that is none, or else the letter too many at the end.
fn first_illegal(token: &str) -> usize {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    token.bytes().position(|byte| !legal(byte)).unwrap_or_else(|| token.len().saturating_sub(1))
}
