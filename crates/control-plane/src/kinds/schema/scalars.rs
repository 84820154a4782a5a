//! Types, bounds, lengths, patterns, formats and enums of one value.

use serde_json::{Number, Value};

use super::show::{canonical, show, show_float};
use super::validate::{ROOT, invalid, type_name};
use super::{Checks, Schema, Type, formats};
use crate::status::Cause;

/// Whether the value is of the type the schema asks for.
pub(super) fn kind(schema: &Schema, value: &Value, path: &str) -> Option<Cause> {
    let wanted: Vec<&str> = match (schema.int_or_string, schema.kind) {
        (true, _) => vec!["integer", "string"],
        (false, Some(kind)) => vec![type_name(kind)],
        (false, None) => Vec::new(),
    };
    if value.is_null() {
        return (!wanted.is_empty() && !schema.nullable).then(|| mistyped(path, &wanted.join(","), "null"));
    }
    let format = checked_format(schema);
    let (got, got_format) = found(value);
    let whole = matches!(value, Value::Number(number) if is_whole(number));
    let fits = wanted.contains(&got)
        || got == "number" && whole && wanted.contains(&"integer")
        || got == "integer" && wanted.contains(&"number");
    match format {
        Some(format) if !matches!(value, Value::String(_) | Value::Array(_)) => {
            (!fits && got_format != format).then(|| mistyped(path, format, got_format))
        }
        Some(_) if !wanted.iter().any(|wanted| matches!(*wanted, "number" | "integer")) => None,
        _ => (!wanted.is_empty() && !fits).then(|| mistyped(path, &wanted.join(","), got)),
    }
}

fn mistyped(path: &str, wanted: &str, got: &str) -> Cause {
    let got = Value::from(got);
    let why = format!("{path} in body must be of type {wanted}: {got}");
    Cause { reason: "FieldValueTypeInvalid".into(), ..invalid(path, &got, &why) }
}

fn found(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
        Value::Number(number) if number.is_i64() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
    }
}

fn is_whole(number: &Number) -> bool {
    // Past 2^53 a float says nothing about its last digits.
    number.is_i64()
        || number.as_f64().is_some_and(|float| float.fract() == 0.0 && float.abs() < 9.007_199_254_740_992e15)
}

/// The schema's format, where it means something for its type.
fn checked_format(schema: &Schema) -> Option<&str> {
    let format = schema.checks.as_ref()?.format.as_deref()?;
    let known = match (schema.int_or_string, schema.kind) {
        (true, _) | (false, None | Some(Type::String)) => formats::fits(format, "").is_some(),
        (false, Some(Type::Integer)) => matches!(format, "int32" | "int64"),
        (false, Some(Type::Number)) => matches!(format, "float" | "double"),
        (false, Some(Type::Object | Type::Array | Type::Boolean)) => false,
    };
    known.then_some(format)
}

/// Lengths, patterns, formats, bounds and counts, each only for values it speaks of.
pub(super) fn values(schema: &Schema, value: &Value, path: &str) -> Vec<Cause> {
    let Some(checks) = &schema.checks else { return Vec::new() };
    match value {
        Value::String(text) => {
            let mut causes: Vec<_> = string(checks, text, path).into_iter().collect();
            if let Some(format) = checked_format(schema)
                && formats::fits(format, text) == Some(false)
            {
                let why = format!("{path} in body must be of type {format}: {value}");
                causes.push(Cause { reason: "FieldValueTypeInvalid".into(), ..invalid(path, value, &why) });
            }
            causes
        }
        Value::Number(number) => numbers(schema, checks, number, path),
        Value::Array(list) => items(checks, list, path),
        Value::Object(map) => properties(checks, map.len() as u64, path),
        Value::Null | Value::Bool(_) => Vec::new(),
    }
}

fn string(checks: &Checks, text: &str, path: &str) -> Option<Cause> {
    let length = text.chars().count() as u64;
    if let Some(max) = checks.max_length.filter(|max| length > *max) {
        let bytes = if max == 1 { "byte" } else { "bytes" };
        let field = if path.is_empty() { ROOT } else { path };
        return Some(Cause::of(
            "FieldValueTooLong",
            field,
            format!("Too long: may not be more than {max} {bytes}"),
        ));
    }
    if let Some(min) = checks.min_length.filter(|min| length < *min) {
        let why = format!("{path} in body should be at least {min} chars long");
        return Some(invalid(path, &text.into(), &why));
    }
    let pattern = checks.pattern.as_ref().filter(|pattern| !pattern.matches(text))?;
    Some(invalid(path, &text.into(), &format!("{path} in body should match '{}'", pattern.text)))
}

fn items(checks: &Checks, list: &[Value], path: &str) -> Vec<Cause> {
    let count = list.len() as u64;
    let mut causes = Vec::new();
    if let Some(min) = checks.min_items.filter(|min| count < *min) {
        causes.push(invalid(
            path,
            &count.into(),
            &format!("{path} in body should have at least {min} items"),
        ));
    }
    causes.extend(checks.max_items.filter(|max| count > *max).map(|max| too_many(path, count, max)));
    if checks.unique_items {
        let mut texts: Vec<_> = list.iter().map(canonical).collect();
        texts.sort_unstable();
        if texts.windows(2).any(|pair| pair[0] == pair[1]) {
            causes.push(invalid(path, &"".into(), &format!("{path} in body shouldn't contain duplicates")));
        }
    }
    causes
}

fn properties(checks: &Checks, count: u64, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    if let Some(min) = checks.min_properties.filter(|min| count < *min) {
        causes.push(invalid(
            path,
            &count.into(),
            &format!("{path} in body should have at least {min} properties"),
        ));
    }
    causes.extend(checks.max_properties.filter(|max| count > *max).map(|max| too_many(path, count, max)));
    causes
}

fn too_many(path: &str, count: u64, max: u64) -> Cause {
    let items = if max == 1 { "item" } else { "items" };
    let field = if path.is_empty() { ROOT } else { path.trim_start_matches('.') };
    Cause::of("FieldValueTooMany", field, format!("Too many: {count}: must have at most {max} {items}"))
}

fn numbers(schema: &Schema, checks: &Checks, number: &Number, path: &str) -> Vec<Cause> {
    let shape = NumberShape::of(schema);
    let float = number.as_f64().unwrap_or_default();
    let value = Value::Number(number.clone());
    let mut causes: Vec<_> = shape.refuse("Checked", float, number.as_i64(), path).into_iter().collect();
    if let Some(factor) = checks.multiple_of {
        causes.extend(shape.refuse("MultipleOf", factor, None, path));
        if factor <= 0.0 {
            let why =
                format!("factor MultipleOf declared for {path} must be positive: {}", show_float(factor));
            causes.push(invalid(path, &factor.into(), &why));
        } else if !is_multiple(number, factor) {
            let why = format!("{path} in body should be a multiple of {}", show_float(factor));
            causes.push(invalid(path, &value, &why));
        }
    }
    if let Some((min, strict)) = checks.minimum {
        causes.extend(shape.refuse("Minimum boundary", min, None, path));
        if float < min || strict && float == min {
            let bound = if strict { "greater than" } else { "greater than or equal to" };
            causes.push(invalid(
                path,
                &value,
                &format!("{path} in body should be {bound} {}", show_float(min)),
            ));
        }
    }
    if let Some((max, strict)) = checks.maximum {
        causes.extend(shape.refuse("Maximum boundary", max, None, path));
        if float > max || strict && float == max {
            let bound = if strict { "less than" } else { "less than or equal to" };
            causes.push(invalid(
                path,
                &value,
                &format!("{path} in body should be {bound} {}", show_float(max)),
            ));
        }
    }
    causes
}

fn is_multiple(number: &Number, factor: f64) -> bool {
    match number.as_i64() {
        Some(whole) if factor.fract() == 0.0 && factor < 9e18 => whole % (factor as i64) == 0,
        _ => {
            let float = number.as_f64().unwrap_or_default();
            let times = if factor < 1.0 { 1.0 / factor * float } else { float / factor };
            (times - times.round()).abs() <= f64::EPSILON * times.abs().max(1.0)
        }
    }
}

/// What a numeric type and its format can hold.
struct NumberShape {
    integer: bool,
    format: Option<String>,
}

impl NumberShape {
    fn of(schema: &Schema) -> Self {
        let one = !schema.int_or_string;
        let integer = one && schema.kind == Some(Type::Integer);
        let numeric = integer || one && schema.kind == Some(Type::Number);
        Self { integer, format: checked_format(schema).filter(|_| numeric).map(str::to_owned) }
    }

    /// The API tells these without a field, because they speak of the schema as much as of the value.
    fn refuse(&self, what: &str, float: f64, whole: Option<i64>, path: &str) -> Option<Cause> {
        let holds = match (self.integer, self.format.as_deref()) {
            (true, Some("int32")) => {
                float.fract() == 0.0 && (-2_147_483_648.0..=2_147_483_647.0).contains(&float)
            }
            (true, _) => whole.is_some() || float.fract() == 0.0 && float.abs() < 9.223_372_036_854_775e18,
            (false, Some("float")) => float.abs() <= f64::from(f32::MAX),
            (false, _) => true,
        };
        if holds {
            return None;
        }
        let kind = if self.integer { "integer" } else { "number" };
        let format =
            self.format.as_ref().map_or("(default format)".into(), |format| format!("with format {format}"));
        let why = format!("{what} value must be of type {kind} {format} in {path}");
        Some(Cause::of("FieldValueInvalid", ROOT, format!("Invalid value: \"\": {why}")))
    }
}

/// Whether the value is one of those listed. `null` never is, not even where it is allowed.
pub(super) fn one_of_values(schema: &Schema, value: &Value, path: &str) -> Option<Cause> {
    let listed = schema.checks.as_ref()?.one_of_values.as_ref().filter(|listed| !listed.is_empty())?;
    let same = |one: &&Value| match (one, value) {
        (Value::Number(one), Value::Number(value)) => one.as_f64() == value.as_f64(),
        (one, value) => *one == value && !value.is_null(),
    };
    if listed.iter().any(|one| same(&one)) {
        return None;
    }
    let words: Vec<String> = listed
        .iter()
        .map(|one| Value::from(one.as_str().map_or_else(|| show(one), str::to_owned)).to_string())
        .collect();
    let field = if path.is_empty() { ROOT } else { path.trim_start_matches('.') };
    let message = format!("Unsupported value: {}: supported values: {}", show(value), words.join(", "));
    Some(Cause::of("FieldValueNotSupported", field, message))
}
