//! YAML with its lines.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// Names of fields that are often written with an equals sign, as in files of other formats.
pub(super) const FIELDS: [&str; 11] = [
    "username",
    "host",
    "port",
    "sslMode",
    "passwordSecretRef",
    "passwordSecretKey",
    "shape",
    "minStorageGB",
    "engineVersion",
    "deletePolicy",
    "reclaimPolicy",
];

/// A key, its line, and its value.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) line: u64,
    pub(super) value: Value,
}

/// A value as it is written: a number and the same number in quotes are one.
#[derive(Debug)]
pub(super) enum Value {
    Nothing,
    Word(String),
    List,
    Map(Vec<Entry>),
}

/// The entries of a text, or what is wrong with it, by line.
pub(super) fn read(text: &str) -> Result<Vec<Entry>, Vec<(u64, String)>> {
    let misspelt: Vec<_> = (1..).zip(text.lines()).filter_map(equals_sign).collect();
    if !misspelt.is_empty() {
        return Err(misspelt);
    }
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    match serde_saphyr::from_str::<Spanned<Value>>(text) {
        Ok(Spanned { value: Value::Map(entries), .. }) => Ok(entries),
        Ok(Spanned { value: Value::Nothing, .. }) => Ok(Vec::new()),
        Ok(Spanned { value: Value::Word(_) | Value::List, .. }) => Err(vec![(
            1,
            "the file is no map; write keys with their values, such as `region: eu-west-1`".into(),
        )]),
        Err(error) => {
            let line = error.location().map_or(1, |place| place.line());
            let story = error.without_snippet().to_string();
            let story = story.lines().next().unwrap_or_default().to_owned();
            Err(vec![(line, format!("this is not YAML: {story}"))])
        }
    }
}

/// `username=root`, where YAML needs a colon.
fn equals_sign((line, text): (u64, &str)) -> Option<(u64, String)> {
    let (key, value) = text.trim().split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let known = FIELDS.contains(&key) || super::fields::KEYS.contains(&key);
    known.then(|| (line, format!("`{key}={value}` has no colon; write `{key}: {value}`")))
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visit)
    }
}

struct Visit;

impl<'de> Visitor<'de> for Visit {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word, a number or a map")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Word(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Word(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Word(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Word(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Word(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        while list.next_element::<Value>()?.is_some() {}
        Ok(Value::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry::<Spanned<String>, Value>()? {
            entries.push(Entry { line: key.referenced.line(), key: key.value, value });
        }
        Ok(Value::Map(entries))
    }
}
