//! YAML with its lines.

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle};

use super::fields::{KEYS, PASSWORD_KEYS};

/// Names of fields that are often written with an equals sign, as in files of other formats.
pub(super) const FIELDS: [&str; 16] = [
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
    "extensions",
    "allowSuperUser",
    "allowReplicationRole",
    "adoptExisting",
    "caSecretRef",
];

/// A key, its line, and its value.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) line: u64,
    pub(super) value: Value,
}

/// A value as it is written: a number and the same number in quotes are one, and `15.10` is not `15.1`.
#[derive(Debug)]
pub(super) enum Value {
    Nothing,
    Word(String),
    /// Its items, each with its line.
    List(Vec<(u64, Value)>),
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
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            vec![(line(error.marker().line()), format!("this is not YAML: {}", error.info()))]
        })?;
        builder.take(event, line(span.start.line())).map_err(|problem| vec![problem])?;
    }
    match builder.root {
        Some(Value::Map(entries)) => Ok(entries),
        Some(Value::Nothing) | None => Ok(Vec::new()),
        Some(Value::Word(_) | Value::List(_)) => {
            let want = "write keys with their values, such as `region: eu-west-1`";
            Err(vec![(1, format!("the file is no map; {want}"))])
        }
    }
}

fn line(line: usize) -> u64 {
    u64::try_from(line).unwrap_or(u64::MAX)
}

/// `username=root`, where YAML needs a colon.
fn equals_sign((line, text): (u64, &str)) -> Option<(u64, String)> {
    let (key, value) = text.trim().split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let known = FIELDS.contains(&key) || KEYS.contains(&key) || PASSWORD_KEYS.contains(&key);
    known.then(|| (line, format!("`{key}={value}` has no colon; write `{key}: {value}`")))
}

/// A list or map that is still open.
enum Frame {
    List { items: Vec<(u64, Value)>, line: u64 },
    Map { entries: Vec<Entry>, key: Option<(String, u64)>, line: u64 },
}

#[derive(Default)]
struct Builder {
    frames: Vec<Frame>,
    root: Option<Value>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, line: u64) -> Result<(), (u64, String)> {
        match event {
            Event::Scalar(text, style, _, _) => {
                let plain = matches!(style, ScalarStyle::Plain);
                match plain && matches!(text.as_ref(), "" | "~" | "null") {
                    true => self.finish(Value::Nothing, line),
                    false => self.finish(Value::Word(text.into_owned()), line),
                }
            }
            Event::SequenceStart(..) => {
                self.frames.push(Frame::List { items: Vec::new(), line });
                Ok(())
            }
            Event::MappingStart(..) => {
                self.frames.push(Frame::Map { entries: Vec::new(), key: None, line });
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => match self.frames.pop() {
                Some(Frame::Map { entries, line, .. }) => self.finish(Value::Map(entries), line),
                Some(Frame::List { items, line }) => self.finish(Value::List(items), line),
                None => Ok(()),
            },
            Event::Alias(_) => Err((line, "an alias has no place here; write the value itself".to_owned())),
            Event::DocumentStart(..) if self.root.is_some() => {
                Err((line, "a second document has no place here; write one map".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Puts a value where it belongs.
    fn finish(&mut self, value: Value, line: u64) -> Result<(), (u64, String)> {
        match self.frames.last_mut() {
            None => self.root = Some(value),
            Some(Frame::List { items, .. }) => items.push((line, value)),
            Some(Frame::Map { entries, key, .. }) => match (key.take(), value) {
                (Some((key, line)), value) => entries.push(Entry { key, line, value }),
                (None, Value::Word(word)) if entries.iter().any(|entry| entry.key == word) => {
                    return Err((line, format!("`{word}` stands here a second time; write it once")));
                }
                (None, Value::Word(word)) => *key = Some((word, line)),
                (None, Value::Nothing | Value::List(_) | Value::Map(_)) => {
                    return Err((line, "a key is a word".to_owned()));
                }
            },
        }
        Ok(())
    }
}
