//! Writes JSON values as plain YAML.
//!
//! It is written by hand because the files are read by YAML 1.1 parsers too, for which `y`, `no` and `on` are
//! booleans, and because several lines of text should stay several lines.

use serde_json::{Map, Number, Value};

#[cfg(test)]
mod tests;

/// Words that some YAML parser takes for something other than a string, in lower case.
const WORDS: [&str; 13] =
    ["", "~", "null", "true", "false", "y", "n", "yes", "no", "on", "off", ".inf", ".nan"];

/// A whole document, with a final line break.
pub fn document(value: &Value) -> String {
    let mut text = String::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => object(&mut text, fields, 0),
        Value::Array(items) if !items.is_empty() => array(&mut text, items, 0),
        scalar => {
            text.push_str(&inline(scalar));
            text.push('\n');
        }
    }
    text
}

fn object(text: &mut String, fields: &Map<String, Value>, depth: usize) {
    for (position, (key, value)) in fields.iter().enumerate() {
        // The first field of a list item stands behind the item's dash.
        if position > 0 || !text.ends_with("- ") {
            text.push_str(&"  ".repeat(depth));
        }
        text.push_str(&string(key));
        text.push(':');
        after_key(text, value, depth);
    }
}

fn after_key(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            text.push('\n');
            object(text, fields, depth + 1);
        }
        Value::Array(items) if !items.is_empty() => {
            text.push('\n');
            array(text, items, depth + 1);
        }
        Value::String(value) if is_block(value) => block(text, value, depth + 1),
        scalar => {
            text.push(' ');
            text.push_str(&inline(scalar));
            text.push('\n');
        }
    }
}

fn array(text: &mut String, items: &[Value], depth: usize) {
    for item in items {
        text.push_str(&"  ".repeat(depth));
        text.push_str("- ");
        match item {
            Value::Object(fields) if !fields.is_empty() => object(text, fields, depth + 1),
            // A list in a list is short wherever it occurs in a definition.
            scalar => {
                text.push_str(&inline(scalar));
                text.push('\n');
            }
        }
    }
}

/// Whether a string is better read as a block: several lines, none of which needs an escape.
fn is_block(value: &str) -> bool {
    value.contains('\n')
        && !value.starts_with([' ', '\n'])
        && !value.ends_with('\n')
        && value.chars().all(|c| c == '\n' || !c.is_control())
}

fn block(text: &mut String, value: &str, depth: usize) {
    text.push_str(" |-\n");
    for line in value.lines() {
        if !line.is_empty() {
            text.push_str(&"  ".repeat(depth));
            text.push_str(line);
        }
        text.push('\n');
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(value) => string(value),
        // Bounds are floating point numbers in the API and whole numbers to people.
        Value::Number(number) => whole(number).map_or_else(|| number.to_string(), |whole| whole.to_string()),
        // JSON is YAML.
        other => other.to_string(),
    }
}

fn whole(number: &Number) -> Option<i64> {
    // Below 2^53 every whole number is a floating point number, too.
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9e15)?;
    Some(float as i64)
}

fn string(value: &str) -> String {
    if value.chars().any(char::is_control) {
        Value::from(value).to_string()
    } else if is_plain(value) {
        value.to_owned()
    } else {
        format!("'{}'", value.replace('\'', "''"))
    }
}

/// Whether every parser reads the bare text as this string.
fn is_plain(value: &str) -> bool {
    let starts_plain =
        value.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '/' || c == '$');
    starts_plain
        && !WORDS.contains(&value.to_lowercase().as_str())
        && !value.ends_with([' ', ':'])
        && !value.contains(": ")
        && !value.contains(" #")
}
