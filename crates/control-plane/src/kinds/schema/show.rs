//! Values as the API prints them in its sentences.

use serde_json::{Number, Value};

/// A value inside a message: numbers bare, text quoted, the rest as JSON with sorted keys.
pub fn show(value: &Value) -> String {
    match value {
        Value::Number(number) => show_number(number),
        Value::Null | Value::Bool(_) | Value::String(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => canonical(value),
    }
}

/// Compact JSON with sorted keys: equal values give equal text, whatever order their fields came in.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out, 0);
    out
}

fn write_canonical(value: &Value, out: &mut String, depth: usize) {
    let many = match value {
        Value::Array(list) => list.len(),
        Value::Object(map) => map.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    };
    if many > 0 && depth >= super::MAX_DEPTH {
        return out.push('…');
    }
    match value {
        Value::Object(map) => {
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            out.push('{');
            for (index, (name, field)) in fields.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write_canonical(field, out, depth + 1);
            }
            out.push('}');
        }
        Value::Array(list) => {
            out.push('[');
            for (index, element) in list.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(element, out, depth + 1);
            }
            out.push(']');
        }
        Value::Number(number) => out.push_str(&show_number(number)),
        Value::Null | Value::Bool(_) | Value::String(_) => out.push_str(&value.to_string()),
    }
}

fn show_number(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if !number.is_i64() => show_float(float),
        _ => number.to_string(),
    }
}

/// The shortest text of a float: `5`, `1.5`, and an exponent only past 21 digits.
pub fn show_float(float: f64) -> String {
    let size = float.abs();
    if size != 0.0 && !(1e-4..1e21).contains(&size) {
        let text = format!("{float:e}");
        return match text.split_once('e') {
            Some((digits, power)) => {
                let (sign, power) = power.strip_prefix('-').map_or(("+", power), |power| ("-", power));
                format!("{digits}e{sign}{power:0>2}")
            }
            None => text,
        };
    }
    format!("{float}")
}
