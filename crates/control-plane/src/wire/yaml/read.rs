//! From YAML events to a JSON value: one pass, no recursion, bounded by what stands in the document.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};
use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, Tag};
use std::collections::HashMap;

use super::scalar::{Meaning, meaning};
use crate::kinds::table::number;
use crate::wire::decode::{self, Decoded, MAX_DEPTH};

/// Reads the first document of a stream, and tells which keys stand twice.
pub fn read(bytes: &[u8]) -> Result<Decoded, String> {
    // Most of what comes as YAML is JSON, which has a faster reader and is free of YAML's bounds on keys.
    if bytes.trim_ascii_start().starts_with(b"{")
        && let Ok(decoded) = decode::json(bytes)
    {
        return Ok(decoded);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "yaml: invalid leading UTF-8 octet".to_owned())?;
    let mut options = Options::default();
    options.emit_unresolved_aliases = true;
    options.emit_anchor_events = true;
    options.set_emit_comments(false);
    let mut builder = Builder::default();
    for event in Parser::new_from_str_with_options(text.trim_start_matches('\u{FEFF}'), options) {
        let (event, _) =
            event.map_err(|error| format!("yaml: line {}: {}", error.marker().line(), error.info()))?;
        if matches!(event, Event::DocumentEnd | Event::StreamEnd) {
            break;
        }
        builder.take(event)?;
    }
    Ok(Decoded { value: builder.root.unwrap_or_default(), duplicates: builder.duplicates })
}

const EXCESSIVE: &str = "yaml: document contains excessive aliasing";
/// Values in a document that counts as small: half a megabyte of dense text.
const SMALL: usize = 400_000;
/// Bytes of text that weigh as much as one value.
const LONG: usize = 64;

/// A finished value: how many values lie in it, and how deep.
#[derive(Clone)]
struct Node {
    value: Value,
    size: usize,
    height: usize,
    /// Whether it is a plain `<<`, which as a key merges a map.
    merges: bool,
}

/// A list or map that is still open.
struct Frame {
    anchor: usize,
    size: usize,
    height: usize,
    filling: Filling,
}

enum Filling {
    List(Vec<Value>),
    Map { fields: Map<String, Value>, key: Option<Key> },
}

enum Key {
    Named(String),
    Merge,
    Null,
}

#[derive(Default)]
struct Builder {
    frames: Vec<Frame>,
    anchors: HashMap<usize, Node>,
    names: HashMap<usize, String>,
    root: Option<Value>,
    duplicates: Vec<String>,
    /// Values that stand in the document so far, and those that aliases put beside them.
    taken: usize,
    aliased: usize,
    /// Values under anchors, kept for an alias to come.
    kept: usize,
}

impl Builder {
    fn take(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let (value, merges) = scalar(text.as_ref(), style, tag.as_deref())?;
                let size = 1 + text.len() / LONG;
                self.taken = self.taken.saturating_add(size);
                self.finish(Node { value, size, height: 0, merges }, anchor)
            }
            Event::SequenceStart(_, anchor, _) => self.open(anchor, Filling::List(Vec::new())),
            Event::MappingStart(_, anchor, _) => {
                self.open(anchor, Filling::Map { fields: Map::new(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => self.alias(anchor),
            Event::Anchor(anchor, name) => {
                self.names.insert(anchor, name.into_owned());
                Ok(())
            }
            Event::UnresolvedAlias(name) => Err(format!("yaml: unknown anchor '{name}' referenced")),
            _ => Ok(()),
        }
    }

    fn open(&mut self, anchor: usize, filling: Filling) -> Result<(), String> {
        if self.frames.len() >= MAX_DEPTH {
            return Err("yaml: exceeded max depth".to_owned());
        }
        self.taken = self.taken.saturating_add(1);
        self.frames.push(Frame { anchor, size: 1, height: 1, filling });
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        let value = match frame.filling {
            Filling::List(items) => items.into(),
            Filling::Map { fields, .. } => fields.into(),
        };
        self.finish(Node { value, size: frame.size, height: frame.height, merges: false }, frame.anchor)
    }

    /// Puts a copy of what the anchor holds here, unless the document grows out of proportion by it.
    fn alias(&mut self, anchor: usize) -> Result<(), String> {
        let Some(node) = self.anchors.get(&anchor) else {
            let name = self.names.get(&anchor).map_or("", String::as_str);
            return Err(format!("yaml: anchor '{name}' value contains itself"));
        };
        self.aliased = self.aliased.saturating_add(node.size);
        if is_excessive(self.aliased, self.taken.saturating_add(self.aliased)) {
            return Err(EXCESSIVE.to_owned());
        }
        let node = Node { merges: false, ..node.clone() };
        self.finish(node, 0)
    }

    /// Files a finished value where it belongs: under its anchor, and in the open list or map.
    fn finish(&mut self, node: Node, anchor: usize) -> Result<(), String> {
        if self.frames.len() + node.height > MAX_DEPTH {
            return Err("yaml: exceeded max depth".to_owned());
        }
        if anchor != 0 {
            self.kept = self.kept.saturating_add(node.size);
            if self.kept > SMALL {
                return Err(EXCESSIVE.to_owned());
            }
            self.anchors.insert(anchor, node.clone());
        }
        let Some(frame) = self.frames.last_mut() else {
            self.root.get_or_insert(node.value);
            return Ok(());
        };
        frame.size = frame.size.saturating_add(node.size);
        frame.height = frame.height.max(node.height + 1);
        match &mut frame.filling {
            Filling::List(items) => items.push(node.value),
            Filling::Map { fields, key } => match key.take() {
                None if node.merges => *key = Some(Key::Merge),
                None if node.value.is_null() => *key = Some(Key::Null),
                None => *key = Some(Key::Named(key_text(&node.value)?)),
                Some(Key::Merge) => merge(fields, node.value)?,
                Some(Key::Null) => {
                    let value = node.value;
                    return Err(format!(
                        "unsupported map key of type: %!s(<nil>), key: <nil>, value: {value}"
                    ));
                }
                Some(Key::Named(name)) => {
                    if fields.insert(name.clone(), node.value).is_some() {
                        self.twice(&name);
                    }
                }
            },
        }
        Ok(())
    }

    /// Notes a key of the innermost map that stands twice.
    fn twice(&mut self, name: &str) {
        /// A broken document would otherwise fill the answer.
        const SHOWN: usize = 100;
        let mut path = String::new();
        let outer = self.frames.len().saturating_sub(1);
        for frame in self.frames.iter().take(outer) {
            match &frame.filling {
                Filling::List(items) => path.push_str(&format!("[{}]", items.len())),
                Filling::Map { key: Some(Key::Named(key)), .. } => enter(&mut path, key),
                Filling::Map { .. } => enter(&mut path, "<<"),
            }
        }
        enter(&mut path, name);
        if self.duplicates.len() < SHOWN && !self.duplicates.contains(&path) {
            self.duplicates.push(path);
        }
    }
}

fn enter(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(key);
}

/// Whether aliases make up more of a document than an honest one of its size would show. The bounds are
/// those of the original's parser: almost all of a small document, a tenth of a large one.
fn is_excessive(aliased: usize, all: usize) -> bool {
    const LARGE: usize = 4_000_000;
    let percent = match all {
        ..=SMALL => 99,
        LARGE.. => 10,
        _ => 99 - 89 * (all - SMALL) / (LARGE - SMALL),
    };
    aliased > 1000 && aliased.saturating_mul(100) / all.max(1) > percent
}

/// A scalar's value, and whether it is the sign that merges a map.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<(Value, bool), String> {
    let tag = tag.map(|tag| format!("{}{}", tag.handle(), tag.suffix()));
    let plain = style == ScalarStyle::Plain;
    match tag.as_deref().map(|tag| tag.strip_prefix("tag:yaml.org,2002:").unwrap_or(tag)) {
        None if !plain => Ok((text.into(), false)),
        None if text == "<<" => Ok((text.into(), true)),
        Some("merge") => Ok((text.into(), text == "<<")),
        None => resolved(text).map(|value| (value, false)),
        Some("binary") => {
            let bytes = BASE64_STANDARD.decode(text.split_whitespace().collect::<String>());
            let bytes = bytes.map_err(|_| "yaml: !!binary value contains invalid base64 data".to_owned())?;
            Ok((String::from_utf8_lossy(&bytes).into(), false))
        }
        Some(tag @ ("bool" | "int" | "float" | "null")) => tagged(text, tag).map(|value| (value, false)),
        Some(_) => Ok((text.into(), false)),
    }
}

fn resolved(text: &str) -> Result<Value, String> {
    match meaning(text) {
        Meaning::Json(value) => Ok(value),
        Meaning::NotJson(name) => Err(format!("json: unsupported value: {name}")),
        Meaning::Time | Meaning::Text => Ok(text.into()),
    }
}

/// A scalar whose type is written before it must be of that type.
fn tagged(text: &str, tag: &str) -> Result<Value, String> {
    let value = resolved(text)?;
    let found = match &value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        _ => "str",
    };
    let fits = found == tag || (found == "number" && matches!(tag, "int" | "float"));
    if fits { Ok(value) } else { Err(format!("yaml: cannot decode !!{found} `{text}` as a !!{tag}")) }
}

/// A key as JSON has it: numbers and truths become text.
fn key_text(key: &Value) -> Result<String, String> {
    match key {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(truth) => Ok(truth.to_string()),
        Value::Number(given) => Ok(match (given.is_f64(), given.as_f64()) {
            (true, Some(value)) => number::shortest(value),
            _ => given.to_string(),
        }),
        Value::Null | Value::Array(_) | Value::Object(_) => Err("yaml: invalid map key".to_owned()),
    }
}

/// Takes over the fields of a map, or of a list of maps of which the first weighs most.
fn merge(fields: &mut Map<String, Value>, from: Value) -> Result<(), String> {
    let maps = match from {
        Value::Object(map) => vec![Value::Object(map)],
        Value::Array(maps) => maps,
        _ => vec![Value::Null],
    };
    for map in maps.into_iter().rev() {
        let Value::Object(map) = map else {
            return Err("yaml: map merge requires map or sequence of maps as the value".to_owned());
        };
        fields.extend(map);
    }
    Ok(())
}
