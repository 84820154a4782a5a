//! Bodies, media types and continue tokens: what arrives as text and must become values.

mod accept;
mod page;
mod scan;

#[cfg(test)]
mod tests;

pub use accept::{Accepts, Answer, Media, Shape, media, negotiate, negotiate_discovery};
pub use page::{continue_token, parse_continue};

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::kinds::table::number;

/// How deep lists and maps may lie in each other. The store's reader holds the same bound, so whatever is
/// taken in can be read again.
pub(super) const MAX_DEPTH: usize = 127;

/// A document, and what was strange about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The document. Of a key that stands twice, the last value.
    pub value: Value,
    /// Paths of keys that stand twice: `data.a`, `spec.items[0].name`. Each is named once, a hundred at most.
    pub duplicates: Vec<String>,
}

/// Reads one JSON document. The error is worded as Go words it.
pub fn json(bytes: &[u8]) -> Result<Decoded, String> {
    // The original reads a byte that is no text as U+FFFD, and so do we.
    let text = String::from_utf8_lossy(bytes);
    if let Ok(decoded) = parse(&text) {
        return Ok(decoded);
    }
    if let Some(complaint) = scan::complaint(text.as_bytes()) {
        return Err(complaint);
    }
    parse(&scan::without_lone_surrogates(&text))
        .map_err(|_| "json: cannot unmarshal number into Go value of type float64".to_owned())
}

fn parse(text: &str) -> Result<Decoded, serde_json::Error> {
    let mut found = Found::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Reader(&mut found).deserialize(&mut reader)?;
    reader.end()?;
    Ok(Decoded { value, duplicates: found.duplicates })
}

/// Where the reader is, and the keys it met twice.
#[derive(Default)]
struct Found {
    path: String,
    seen: HashSet<String>,
    duplicates: Vec<String>,
}

impl Found {
    fn enter_key(&mut self, key: &str) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(key);
    }

    fn twice(&mut self) {
        /// A broken document would otherwise fill the answer.
        const SHOWN: usize = 100;
        if self.duplicates.len() < SHOWN && self.seen.insert(self.path.clone()) {
            self.duplicates.push(self.path.clone());
        }
    }
}

struct Reader<'a>(&'a mut Found);

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;
    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(number::whole(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        let outside = self.0.path.len();
        loop {
            self.0.path.push_str(&format!("[{}]", list.len()));
            let item = items.next_element_seed(Reader(self.0))?;
            self.0.path.truncate(outside);
            match item {
                Some(item) => list.push(item),
                None => return Ok(list.into()),
            }
        }
    }
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        let outside = self.0.path.len();
        while let Some(key) = fields.next_key::<String>()? {
            self.0.enter_key(&key);
            if map.contains_key(&key) {
                self.0.twice();
            }
            let value = fields.next_value_seed(Reader(self.0))?;
            self.0.path.truncate(outside);
            map.insert(key, value);
        }
        Ok(map.into())
    }
}
