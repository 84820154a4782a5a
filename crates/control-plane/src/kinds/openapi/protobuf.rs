//! The v2 document as protocol buffers: messages of `openapi.v2`, written by hand, since only this one
//! document needs them. Field numbers are those of the published `OpenAPIv2.proto`.

use serde_json::Value;

/// The document as kubectl asks for it: `application/com.github.proto-openapi.spec.v2@v1.0+protobuf`.
/// Operations carry what clients look at: parameters, answers' descriptions and extensions.
pub fn encode(document: &Value) -> Vec<u8> {
    let mut out = Message::default();
    out.text(1, &document["swagger"]);
    out.message(2, |info| {
        info.text(1, &document["info"]["title"]);
        info.text(2, &document["info"]["version"]);
    });
    out.message(8, |paths| {
        for (name, item) in entries(&document["paths"]) {
            paths.named(2, name, |value| path(value, item));
        }
    });
    out.message(9, |definitions| {
        for (name, node) in entries(&document["definitions"]) {
            definitions.named(1, name, |value| schema(value, node));
        }
    });
    out.bytes
}

/// The numbers of operations in a path item.
const METHODS: [(&str, u32); 5] = [("get", 2), ("put", 3), ("post", 4), ("delete", 5), ("patch", 8)];

fn path(out: &mut Message, item: &Value) {
    for (method, number) in METHODS {
        if let Some(node) = item.get(method) {
            out.message(number, |value| operation(value, node));
        }
    }
    elements(&item["parameters"]).for_each(|node| parameter(out, 9, node));
}

fn operation(out: &mut Message, node: &Value) {
    out.text(3, &node["description"]);
    out.text(5, &node["operationId"]);
    elements(&node["parameters"]).for_each(|node| parameter(out, 8, node));
    out.message(9, |responses| {
        for (code, node) in entries(&node["responses"]) {
            responses
                .named(1, code, |value| value.message(1, |response| response.text(1, &node["description"])));
        }
    });
    extensions(out, 13, node);
}

fn parameter(out: &mut Message, number: u32, node: &Value) {
    let place = node["in"].as_str().unwrap_or_default();
    let required = node["required"] == true;
    out.message(number, |item| {
        item.message(1, |parameter| match place {
            "body" => parameter.message(1, |body| {
                body.text(2, &node["name"]);
                body.text(3, &node["in"]);
                body.flag(4, required);
                body.message(5, |value| schema(value, &node["schema"]));
            }),
            _ => parameter.message(2, |plain| {
                let (wrapper, kind) = if place == "path" { (4, 5) } else { (3, 6) };
                plain.message(wrapper, |value| {
                    value.flag(1, required);
                    value.text(2, &node["in"]);
                    value.text(3, &node["description"]);
                    value.text(4, &node["name"]);
                    value.text(kind, &node["type"]);
                });
            }),
        });
    });
}

fn schema(out: &mut Message, node: &Value) {
    out.text(1, &node["$ref"]);
    out.text(2, &node["format"]);
    out.text(4, &node["description"]);
    if let Some(default) = node.get("default") {
        any(out, 5, default);
    }
    out.double(7, &node["maximum"]);
    out.double(9, &node["minimum"]);
    out.count(11, &node["maxLength"]);
    out.count(12, &node["minLength"]);
    out.text(13, &node["pattern"]);
    out.count(14, &node["maxItems"]);
    out.count(15, &node["minItems"]);
    elements(&node["required"]).for_each(|name| out.text(19, name));
    elements(&node["enum"]).for_each(|value| any(out, 20, value));
    match &node["additionalProperties"] {
        Value::Bool(allowed) => out.message(21, |value| value.flag(2, *allowed)),
        values @ Value::Object(_) => out.message(21, |item| item.message(1, |value| schema(value, values))),
        _ => {}
    }
    if node["type"].is_string() {
        out.message(22, |item| item.text(1, &node["type"]));
    }
    if node["items"].is_object() {
        out.message(23, |item| item.message(1, |value| schema(value, &node["items"])));
    }
    if node["properties"].is_object() {
        out.message(25, |properties| {
            for (name, child) in entries(&node["properties"]) {
                properties.named(1, name, |value| schema(value, child));
            }
        });
    }
    extensions(out, 31, node);
}

fn extensions(out: &mut Message, number: u32, node: &Value) {
    for (name, value) in entries(node).filter(|(name, _)| name.starts_with("x-")) {
        out.message(number, |extension| {
            extension.string(1, name);
            any(extension, 2, value);
        });
    }
}

/// A free value travels as YAML, and JSON is YAML.
fn any(out: &mut Message, number: u32, value: &Value) {
    out.message(number, |any| any.string(2, &value.to_string()));
}

fn entries(node: &Value) -> impl Iterator<Item = (&str, &Value)> {
    node.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

fn elements(node: &Value) -> impl Iterator<Item = &Value> {
    node.as_array().into_iter().flatten()
}

/// One message being written; empty fields are left out, as the format has it.
#[derive(Default)]
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn text(&mut self, number: u32, value: &Value) {
        self.string(number, value.as_str().unwrap_or_default());
    }

    fn string(&mut self, number: u32, value: &str) {
        if !value.is_empty() {
            self.block(number, value.as_bytes());
        }
    }

    fn flag(&mut self, number: u32, value: bool) {
        if value {
            self.varint(u64::from(number) << 3);
            self.varint(1);
        }
    }

    fn count(&mut self, number: u32, value: &Value) {
        if let Some(count) = value.as_u64().filter(|count| *count > 0) {
            self.varint(u64::from(number) << 3);
            self.varint(count);
        }
    }

    fn double(&mut self, number: u32, value: &Value) {
        if let Some(amount) = value.as_f64().filter(|amount| *amount != 0.0) {
            self.varint(u64::from(number) << 3 | 1);
            self.bytes.extend(amount.to_le_bytes());
        }
    }

    fn message(&mut self, number: u32, write: impl FnOnce(&mut Message)) {
        let mut inner = Message::default();
        write(&mut inner);
        self.block(number, &inner.bytes);
    }

    /// An entry of a map: its name in field 1, its value in field 2.
    fn named(&mut self, number: u32, name: &str, write: impl FnOnce(&mut Message)) {
        self.message(number, |entry| {
            entry.string(1, name);
            entry.message(2, write);
        });
    }

    fn block(&mut self, number: u32, bytes: &[u8]) {
        self.varint(u64::from(number) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}
