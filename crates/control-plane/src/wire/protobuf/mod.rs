//! Protobuf bodies of built-in kinds, turned into JSON: some clients write nothing else. Answers are JSON.

mod messages;
mod special;
#[cfg(test)]
mod tests;

use messages::{Field, Shape};
use serde_json::{Map, Number, Value, json};

/// The bytes every body begins with.
const MAGIC: &[u8] = b"k8s\0";
/// Objects nest less deep than this; what nests deeper is an attack.
const DEEPEST: usize = 64;

/// Reads an enveloped object.
pub fn decode(bytes: &[u8]) -> Result<Value, String> {
    let envelope =
        bytes.strip_prefix(MAGIC).ok_or("the body does not begin like a Kubernetes protobuf object")?;
    let (mut version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for entry in entries(envelope)? {
        match (entry.number, entry.data) {
            (1, Data::Bytes(meta)) => {
                for entry in entries(meta)? {
                    match (entry.number, entry.data) {
                        (1, Data::Bytes(text)) => version = utf8(text)?,
                        (2, Data::Bytes(text)) => kind = utf8(text)?,
                        _ => {}
                    }
                }
            }
            (2, Data::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let name = messages::name(&version, &kind)
        .ok_or_else(|| format!("{version} {kind} has no known protobuf form"))?;
    let mut object = json!({ "apiVersion": version, "kind": kind });
    if let (Value::Object(map), Value::Object(fields)) = (&mut object, message(name, raw, 0)?) {
        map.extend(fields);
    }
    Ok(object)
}

/// One field as it lies in the bytes.
struct Entry<'a> {
    number: u32,
    data: Data<'a>,
}

enum Data<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

fn entries(mut bytes: &[u8]) -> Result<Vec<Entry<'_>>, String> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let number = u32::try_from(tag >> 3).map_err(|_| "a field number is too large")?;
        let data = match tag & 7 {
            0 => Data::Varint(varint(&mut bytes)?),
            1 => Data::Fixed64(u64::from_le_bytes(fixed(&mut bytes)?)),
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).map_err(|_| CUT)?;
                let (head, tail) = bytes.split_at_checked(length).ok_or(CUT)?;
                bytes = tail;
                Data::Bytes(head)
            }
            5 => Data::Fixed32(u32::from_le_bytes(fixed(&mut bytes)?)),
            other => return Err(format!("wire type {other} is not used by Kubernetes")),
        };
        all.push(Entry { number, data });
    }
    Ok(all)
}

const CUT: &str = "the body ends in the middle of a field";

fn fixed<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], String> {
    let (head, tail) = bytes.split_first_chunk::<N>().ok_or(CUT)?;
    *bytes = tail;
    Ok(*head)
}

fn varint(bytes: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().ok_or(CUT)?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("a number is too long".into())
}

fn utf8(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "a text is not UTF-8".into())
}

/// One message by its table; types that JSON writes in a form of their own come first.
fn message(name: &str, bytes: &[u8], depth: usize) -> Result<Value, String> {
    if depth > DEEPEST {
        return Err(format!("the object nests deeper than {DEEPEST} levels"));
    }
    if let Some(value) = special::read(name, bytes)? {
        return Ok(value);
    }
    let fields = messages::fields(name).ok_or_else(|| format!("{name} has no known protobuf form"))?;
    let mut map = Map::new();
    for entry in entries(bytes)? {
        // A field that is newer than this table is dropped, as an unknown JSON field is.
        let Some(field) = fields.iter().find(|field| field.number == entry.number) else { continue };
        put(&mut map, field, &entry.data, depth)?;
    }
    // `Verbs`, `ExtraValue` and their like are lists that had to be wrapped.
    match (fields, map.len()) {
        ([only], 0) if only.name == "items" && matches!(only.shape, Shape::Repeated) => Ok(json!([])),
        ([only], 1) if only.name == "items" && matches!(only.shape, Shape::Repeated) => {
            Ok(map.shift_remove("items").unwrap_or_default())
        }
        _ => Ok(Value::Object(map)),
    }
}

fn put(map: &mut Map<String, Value>, field: &Field, data: &Data<'_>, depth: usize) -> Result<(), String> {
    match field.shape {
        Shape::One => {
            let value = scalar(&field.kind, data, depth)?;
            // The encoder writes every plain text and number, also the absent ones; in JSON an empty text is
            // absent, and so is a generation that was never counted.
            let absent = value.is_null() || value == "" || (field.name == "generation" && value == 0);
            if !absent {
                map.insert(field.name.clone(), value);
            }
        }
        Shape::Repeated => {
            let value = scalar(&field.kind, data, depth)?;
            let list = map.entry(field.name.clone()).or_insert_with(|| json!([]));
            if let Value::Array(list) = list {
                list.push(value);
            }
        }
        Shape::Map => {
            let Data::Bytes(bytes) = data else { return Err(format!("{} is not a map", field.name)) };
            let (mut key, mut value) = (String::new(), Value::Null);
            for entry in entries(bytes)? {
                match (entry.number, &entry.data) {
                    (1, Data::Bytes(text)) => key = utf8(text)?,
                    (2, data) => value = scalar(&field.kind, data, depth)?,
                    _ => {}
                }
            }
            let entries = map.entry(field.name.clone()).or_insert_with(|| json!({}));
            entries[key] = if value.is_null() { json!("") } else { value };
        }
    }
    Ok(())
}

fn scalar(kind: &str, data: &Data<'_>, depth: usize) -> Result<Value, String> {
    Ok(match (kind, data) {
        ("string", Data::Bytes(text)) => Value::String(utf8(text)?),
        ("bytes", Data::Bytes(bytes)) => Value::String(special::base64(bytes)),
        ("bool", Data::Varint(number)) => Value::Bool(*number != 0),
        // Signed numbers are written in two's complement of 64 bits.
        ("int32" | "int64", Data::Varint(number)) => json!(number.cast_signed()),
        ("uint32" | "uint64", Data::Varint(number)) => json!(number),
        ("double", Data::Fixed64(bits)) => {
            Number::from_f64(f64::from_bits(*bits)).map_or(Value::Null, Value::Number)
        }
        ("float", Data::Fixed32(bits)) => {
            Number::from_f64(f64::from(f32::from_bits(*bits))).map_or(Value::Null, Value::Number)
        }
        (name, Data::Bytes(bytes)) => message(name, bytes, depth + 1)?,
        (name, _) => return Err(format!("a field of type {name} has another wire type")),
    })
}
