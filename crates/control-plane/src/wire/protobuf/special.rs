//! Types whose JSON is not an object of their fields: times, quantities, numbers or texts, raw JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Data, entries, utf8};

/// Standard base64, as JSON carries bytes.
pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The value of a special type; `None` for a plain message.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Option<Value>, String> {
    Ok(Some(match name {
        "k8s.io.apimachinery.pkg.apis.meta.v1.Time" => time(bytes, false)?,
        "k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime" => time(bytes, true)?,
        "k8s.io.apimachinery.pkg.apis.meta.v1.Duration" => duration(bytes)?,
        "k8s.io.apimachinery.pkg.api.resource.Quantity" => text(bytes)?,
        "k8s.io.apimachinery.pkg.util.intstr.IntOrString" => int_or_string(bytes)?,
        "k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1" | "k8s.io.apimachinery.pkg.runtime.RawExtension" => {
            raw(bytes)?
        }
        _ => return Ok(None),
    }))
}

fn time(bytes: &[u8], micro: bool) -> Result<Value, String> {
    let (mut seconds, mut nanos, mut given) = (0i64, 0i32, false);
    for entry in entries(bytes)? {
        match (entry.number, entry.data) {
            (1, Data::Varint(number)) => (seconds, given) = (number.cast_signed(), true),
            (2, Data::Varint(number)) => nanos = i32::try_from(number).unwrap_or(0),
            _ => {}
        }
    }
    // The zero time of Go is no time at all.
    if !given || seconds <= -62_135_596_800 {
        return Ok(Value::Null);
    }
    let stamp =
        jiff::Timestamp::new(seconds, if micro { nanos } else { 0 }).map_err(|_| "a time is out of range")?;
    Ok(Value::String(if micro { format!("{stamp:.6}") } else { stamp.to_string() }))
}

fn duration(bytes: &[u8]) -> Result<Value, String> {
    let mut nanos = 0i64;
    for entry in entries(bytes)? {
        if let (1, Data::Varint(number)) = (entry.number, entry.data) {
            nanos = number.cast_signed();
        }
    }
    Ok(json!(format!("{}s", jiff::SignedDuration::from_nanos(nanos).as_secs_f64())))
}

fn text(bytes: &[u8]) -> Result<Value, String> {
    for entry in entries(bytes)? {
        if let (1, Data::Bytes(text)) = (entry.number, entry.data) {
            return utf8(text).map(Value::String);
        }
    }
    Ok(json!("0"))
}

fn int_or_string(bytes: &[u8]) -> Result<Value, String> {
    let (mut is_text, mut number, mut word) = (false, 0i64, String::new());
    for entry in entries(bytes)? {
        match (entry.number, entry.data) {
            (1, Data::Varint(kind)) => is_text = kind == 1,
            (2, Data::Varint(value)) => number = value.cast_signed(),
            (3, Data::Bytes(text)) => word = utf8(text)?,
            _ => {}
        }
    }
    Ok(if is_text { json!(word) } else { json!(number) })
}

fn raw(bytes: &[u8]) -> Result<Value, String> {
    for entry in entries(bytes)? {
        if let (1, Data::Bytes(document)) = (entry.number, entry.data) {
            return serde_json::from_slice(document).map_err(|_| "an embedded document is not JSON".into());
        }
    }
    Ok(Value::Null)
}
