//! Custom resources: cells found by the paths their definition names.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::jsonpath::Path;
use super::{builtin, fields, number, time};
use crate::kinds::{Column, Kind};

/// How one cell is found and shown.
pub(super) struct Getter {
    kind: String,
    /// `None` where the definition's path cannot be read: the cell stays empty.
    path: Option<Path>,
}

/// The name, then what the definition asks for, or the age when it asks for nothing.
pub(super) fn columns(kind: &Kind) -> Vec<Column> {
    let mut columns = vec![builtin::name_column()];
    columns.extend(asked(kind).iter().cloned().map(described));
    if columns.len() == 1 {
        columns.push(age_column());
    }
    columns
}

/// What finds the cells after the name.
pub(super) fn getters(kind: &Kind) -> Vec<Getter> {
    let getter = |column: &Column| Getter { kind: column.kind.clone(), path: Path::parse(&column.path) };
    match asked(kind) {
        [] => vec![getter(&age_column())],
        asked => asked.iter().map(getter).collect(),
    }
}

/// The cells of one object.
pub(super) fn row(getters: &[Getter], object: &Value, now: Timestamp) -> Vec<Value> {
    let name = Value::from(fields::name(object));
    let cell = |getter: &Getter| {
        let found = getter.path.as_ref().and_then(|path| path.first(object));
        found.map_or(Value::Null, |found| cell(&getter.kind, found, now))
    };
    std::iter::once(name).chain(getters.iter().map(cell)).collect()
}

/// The columns of the definition, without the name should it stand there already.
fn asked(kind: &Kind) -> &[Column] {
    match kind.columns.as_slice() {
        [first, rest @ ..] if first.format == "name" => rest,
        all => all,
    }
}

fn described(mut column: Column) -> Column {
    if column.description.is_empty() {
        column.description =
            format!("Custom resource definition column (in JSONPath format): {}", column.path);
    }
    column
}

fn age_column() -> Column {
    Column {
        name: "Age".into(),
        kind: "date".into(),
        format: String::new(),
        description: "Time since the server created the object.".into(),
        priority: 0,
        path: ".metadata.creationTimestamp".into(),
    }
}

/// A value as its column shows it; null when it is not of the column's type.
fn cell(kind: &str, value: &Value, now: Timestamp) -> Value {
    match (kind, value) {
        ("string", _) => printed(value).into(),
        ("integer", Value::Number(given)) => match given.as_i64() {
            Some(whole) => whole.into(),
            // Truncation is what the original does with a fraction here.
            #[allow(clippy::cast_possible_truncation)]
            None => given.as_f64().map_or(Value::Null, |fraction| json!(fraction as i64)),
        },
        ("number", Value::Number(given)) => given.as_f64().map_or(Value::Null, number::whole),
        ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(text)) => date(text, now).into(),
        _ => Value::Null,
    }
}

fn date(text: &str, now: Timestamp) -> String {
    if matches!(text, "" | "null") {
        return fields::UNKNOWN.into();
    }
    match time::rfc3339(text) {
        Some(moment) => time::since(Some(moment).filter(|moment| !time::is_zero(*moment)), now),
        None => "<invalid>".into(),
    }
}

/// Any value as text: strings bare, lists and maps as JSON with sorted keys.
fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".into(),
        Value::String(text) => text.clone(),
        Value::Bool(value) => value.to_string(),
        Value::Number(given) => match (given.as_i64(), given.as_f64()) {
            (None, Some(value)) => number::shortest(value),
            _ => given.to_string(),
        },
        Value::Array(_) | Value::Object(_) => go_json(value),
    }
}

/// JSON as Go writes it: sorted keys, and no `<`, `>` or `&` that a browser could misread.
fn go_json(value: &Value) -> String {
    let text = sorted(value).to_string();
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                safe.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            _ => safe.push(letter),
        }
    }
    safe
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> =
                fields.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            fields.sort_unstable_by(|left, right| left.0.cmp(&right.0));
            Value::Object(fields.into_iter().collect())
        }
        Value::Number(given) if given.as_i64().is_none() => given.as_f64().map_or(Value::Null, number::whole),
        other => other.clone(),
    }
}
